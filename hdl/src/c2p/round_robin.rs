//! Round-robin pick inside a module (`docs/blocks/README.md`, conventions).

use super::context::{Built, Context};
use crate::prim;
use crate::rtl::{Expr, ModuleBuilder, index_width};

/// When the pick of this cycle becomes the last one granted.
pub(super) enum Kind {
    /// Whenever there is a pick.
    Free,
    /// When the pick is taken.
    Ready(Expr),
    /// Whenever there is a pick; a pick that is not taken stays the pick.
    Lock(Expr),
}

/// A pick among requesters.
pub(super) struct Pick {
    /// One-hot, 0 without a request.
    pub grant: Expr,
    /// Number of the requester picked, 0 without a request.
    pub index: Expr,
    /// Some requester is picked.
    pub any: Expr,
}

/// Adds a round-robin arbiter over the bits of `requests`; its signals are named `NAME_*`.
#[track_caller]
pub(super) fn round_robin(m: &mut ModuleBuilder, name: &str, requests: &Expr, kind: Kind) -> Pick {
    let n = requests.width();
    if n == 1 {
        return Pick { grant: requests.clone(), index: Expr::zeros(1), any: requests.clone() };
    }
    let last = m.reg(&format!("{name}_last_q"), index_width(n)).reset(n - 1).doc("requester granted last");
    let first = prim::round_robin(m, &format!("{name}_first"), requests, &last);
    let any = m.wire(&format!("{name}_any"), requests.reduce_or());
    let grant = match &kind {
        Kind::Lock(ready) => {
            let locked = m.reg(&format!("{name}_locked_q"), 1).doc("the last pick waits");
            locked.next(&any & !ready);
            let held = &*locked & requests.elem(&*last, 1);
            m.wire(&format!("{name}_grant"), held.mux(last.bin_to_onehot(n), first))
        }
        _ => first,
    };
    let index = m.wire(&format!("{name}_index"), grant.onehot_to_bin());
    match kind {
        Kind::Ready(ready) => last.next_when(&any & ready, &index),
        Kind::Free | Kind::Lock(_) => last.next_when(&any, &index),
    }
    Pick { grant, index, any }
}

/// The arbiter alone, over the SMs, for tests.
pub(super) fn module(c: &Context, name: &str) -> Built {
    let n = c.n;
    let mut m = c.clocked(name, &format!("Round-robin arbiter over {n} requesters."), "combinational grant");
    m.note("REQUESTERS", n);
    let req = m.input("req_i", n, "requester p asks");
    let ready = |m: &mut ModuleBuilder| m.input("ready_i", 1, "the pick is taken");
    let kind = match name {
        "rr_arbiter_ready" => Kind::Ready(ready(&mut m)),
        "rr_arbiter_lock" => Kind::Lock(ready(&mut m)),
        _ => Kind::Free,
    };
    let valid_o = m.output("valid_o", 1, "there is a pick");
    let grant_o = m.output("grant_o", n, "the pick, one-hot");
    let pick = round_robin(&mut m, "pick", &req, kind);
    m.assign(&valid_o, pick.any);
    m.assign(&grant_o, pick.grant);
    m.finish()
}
