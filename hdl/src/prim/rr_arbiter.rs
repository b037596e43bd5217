//! Round-robin arbiter.

use crate::rtl::{Expr, Module, ModuleBuilder, RtlError, RtlOptions, index_width};
use std::rc::Rc;

/// Whether a presented grant waits for the consumer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lock {
    /// Every grant is taken in its cycle.
    No,
    /// A grant stays until `ready_i`.
    UntilReady,
}

/// The first request after number `last` in cyclic order, one-hot; zero without requests.
///
/// Adds the wires `<name>_after`, `<name>_pool` and `<name>`; `last` must be below the number of requests.
#[track_caller]
pub fn round_robin(m: &mut ModuleBuilder, name: &str, req: &Expr, last: &Expr) -> Expr {
    let n = req.width();
    m.comment("Requests after the last grant go before the others.");
    let after = m.wire(&format!("{name}_after"), req & Expr::ones(n).shl(last).shl_const(1));
    let pool = m.wire(&format!("{name}_pool"), after.reduce_or().mux(&after, req));
    m.wire(name, pool.lowest_one())
}

/// Round-robin arbiter over `n` requesters.
///
/// The grant goes to the first request after the one granted last, in cyclic order; the first grant after reset prefers requester 0. Ports: `req_i` (n),
/// `gnt_o` (n, one-hot or zero), `idx_o` ([`index_width`]`(n)`, 0 without grant), `any_o`; with [`Lock::UntilReady`] also `ready_i`: a grant that is not taken is repeated, whatever other
/// requests come, and its requester must keep its request. One requester is passed through without state.
///
/// # Errors
/// None for `n >= 1`; the signature is that of every generator.
pub fn rr_arbiter(opts: RtlOptions, n: u32, lock: Lock) -> Result<Rc<Module>, RtlError> {
    let suffix = if lock == Lock::UntilReady { "_lock" } else { "" };
    let mut m = opts.module(&format!("rr_arbiter_{n}{suffix}"));
    m.purpose(
        "Round-robin arbiter: grants the first request after the requester granted last, in cyclic order. \
         Every requester that keeps asking is granted after at most N - 1 other grants.",
    );
    m.note("N", format!("{n} requesters"));
    m.latency("grants answer requests in the same cycle; the order advances with the clock");
    m.clock_reset();
    let w = index_width(n);
    let req = m.input("req_i", n, "one bit per requester");
    let ready = (lock == Lock::UntilReady).then(|| m.input("ready_i", 1, "the grant is taken; without it the grant is repeated"));
    let gnt_o = m.output("gnt_o", n, "granted requester, one-hot; zero without requests");
    let idx_o = m.output("idx_o", w, "granted requester, binary; zero without requests");
    let any_o = m.output("any_o", 1, "something is granted");

    if n == 1 {
        if let Some(r) = &ready {
            m.mark_unused(r);
        }
        m.assign(&gnt_o, &req);
        m.assign(&idx_o, 0);
        m.assign(&any_o, &req);
        return m.finish();
    }

    let last = m.reg("last_q", w).reset(n - 1).doc("requester granted last");
    let first = round_robin(&mut m, "first", &req, &last);
    let any = m.net("any", 1);
    let gnt = match &ready {
        None => {
            m.assign(&any, req.reduce_or());
            first
        }
        Some(ready) => {
            let locked = m.reg("locked_q", 1).doc("the last grant was not taken yet");
            locked.next(&any & !ready);
            m.assign(&any, &locked | req.reduce_or());
            let held = m.wire("held", (&req & last.bin_to_onehot(n)).reduce_or());
            m.assume("req_kept_M", !&locked | held, "a granted request stays until it is taken");
            m.wire("gnt", locked.mux(last.bin_to_onehot(n), first))
        }
    };
    let idx = m.wire("idx", gnt.onehot_to_bin());
    last.next_when(&any, &idx);
    m.assign(&gnt_o, &gnt);
    m.assign(&idx_o, &idx);
    m.assign(&any_o, &any);

    m.assert("last_in_range_A", last.le(n - 1), "the order refers to a requester that exists");
    m.assert("one_grant_A", (&gnt & (&gnt - 1)).is_zero(), "at most one grant");
    m.assert("grant_if_any_A", gnt.reduce_or().eq(&any), "a grant exactly if there is something to grant");
    m.assert("only_requests_A", (&gnt & !&req).is_zero(), "only requests are granted");
    m.finish()
}
