//! Round-robin pick inside a module (`docs/blocks/README.md`, conventions).

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
    let after = m.wire(&format!("{name}_after"), requests & Expr::ones(n).shl(&last).shl_const(1)).doc("requests after it");
    let first = after.reduce_or().mux(&after, requests).lowest_one();
    let any = m.wire(&format!("{name}_any"), requests.reduce_or());
    let grant = match &kind {
        Kind::Lock(ready) => {
            let locked = m.reg(&format!("{name}_locked_q"), 1).doc("the last pick waits");
            locked.next(&any & !ready);
            let held = &*locked & requests.elem(&*last, 1);
            m.wire(&format!("{name}_grant"), held.mux(last.bin_to_onehot(n), first))
        }
        _ => m.wire(&format!("{name}_grant"), first),
    };
    let index = m.wire(&format!("{name}_index"), grant.onehot_to_bin());
    match kind {
        Kind::Ready(ready) => last.next_when(&any & ready, &index),
        Kind::Free | Kind::Lock(_) => last.next_when(&any, &index),
    }
    Pick { grant, index, any }
}
