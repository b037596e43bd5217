//! `bank_arbiter`: one bank, many requesters.

use super::context::{Built, Context};
use crate::rtl::{Expr, index_width};

/// What distinguishes one use of the arbiter from another.
pub(super) struct Use<'a> {
    /// Module name.
    pub name: &'a str,
    /// Requesters.
    pub requesters: u32,
    /// Payload bits.
    pub payload: u32,
    /// Picks per cycle.
    pub picks: u32,
    /// Requesters with the payload of a pick are granted with it.
    pub merge: bool,
}

pub(super) fn module(c: &Context, u: &Use) -> Built {
    let (n, width) = (u.requesters, u.payload);
    let purpose = format!("One bank of the Snapshot Matrix: round robin over {n} requesters, {} per cycle.", u.picks);
    let latency = "grant and payload combinational";
    let mut m = if n > 1 { c.clocked(u.name, &purpose, latency) } else { c.combinational(u.name, &purpose, latency) };
    m.repeated();
    m.note("REQUESTERS", n).note("PAYLOAD_BITS", width).note("PICKS", u.picks);
    let req = m.input("req_i", n, "requester p asks for this bank");
    let payload = m.input("payload_i", n * width, "what it would use");
    let grant_o = m.output("grant_o", n, "requester p is served");
    let valid_o = m.output("valid_o", u.picks, "pick j is made");
    let payload_o = m.output("payload_o", u.picks * width, "payload of pick j, 0 without it");
    if n == 1 {
        m.assign(&grant_o, &req);
        let picks = (0..u.picks).map(|j| if j == 0 { req.clone() } else { Expr::zeros(1) });
        m.assign(&valid_o, Expr::concat_lsb_first(picks.collect::<Vec<_>>()));
        m.assign(&payload_o, (req.replicate(width) & &payload).resize(u.picks * width));
        return m.finish();
    }

    let bits = index_width(n);
    let last = m.reg("last_q", bits).reset(n - 1).doc("requester picked last");
    let later = m.wire("later", Expr::ones(n).shl(&last).shl_const(1)).doc("requesters after it");
    let mut left = req.clone();
    let mut granted: Option<Expr> = None;
    let mut newest: Option<Expr> = None;
    let (mut valids, mut payloads) = (Vec::new(), Vec::new());
    for j in 0..u.picks {
        let tag = |name: &str| if u.picks == 1 { name.to_string() } else { format!("{name}{j}") };
        let after = m.wire(&tag("after"), &left & &later);
        let pool = m.wire(&tag("pool"), after.reduce_or().mux(&after, &left)).doc("those, or all when there are none");
        let pick = m.wire(&tag("pick"), pool.lowest_one()).doc("first requester after the last one");
        let any = m.wire(&tag("any"), left.reduce_or());
        let index = m.wire(&tag("index"), pick.onehot_to_bin());
        let chosen = m.case_mux(&tag("picked"), &index, &payload, width);
        let chosen = m.wire(&tag("chosen"), any.replicate(width) & chosen);
        let mut served = pick;
        if u.merge {
            let same = m.net(&tag("same"), n).doc("requesters with the payload of the pick");
            m.comb_for("p", n, |b, p| b.set(same.bit(p), left.bit(p) & payload.elem(p, width).eq(&chosen)));
            served = m.wire(&tag("served"), served | same);
        }
        if j + 1 < u.picks {
            left = m.wire(&format!("left{j}"), &left & !&served);
        }
        granted = Some(match granted {
            None => served,
            Some(g) => g | served,
        });
        newest = Some(match newest {
            None => index,
            Some(older) => any.mux(&index, older),
        });
        valids.push(any);
        payloads.push(chosen);
    }
    let (Some(granted), Some(newest)) = (granted, newest) else { unreachable!("at least one pick") };
    last.next_when(&valids[0], newest);
    m.assign(&grant_o, granted);
    m.assign(&valid_o, Expr::concat_lsb_first(valids));
    m.assign(&payload_o, Expr::concat_lsb_first(payloads));
    m.finish()
}
