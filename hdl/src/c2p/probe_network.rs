//! `probe_network`: offers to target queues.

use super::context::{Built, Context};
use super::round_robin::{Kind, round_robin};
use crate::rtl::Expr;
use std::rc::Rc;

/// The arbiter of one target.
fn target(c: &Context) -> Result<Rc<crate::rtl::Module>, crate::rtl::RtlError> {
    let n = c.n;
    let mut m =
        c.clocked("probe_target_arbiter", &format!("One probe target: round robin over the offers of {n} SMs."), "combinational grant");
    m.repeated();
    m.note("SMS", n);
    let width = c.t + c.l + c.tw;
    let req = m.input("req_i", n, "SM s offers a probe for this target");
    let probes = m.input("probe_i", n * width, "the probes offered");
    let grant_o = m.output("grant_o", n, "the offer of SM s is taken");
    let valid_o = m.output("valid_o", 1, "an offer is taken");
    let index_o = m.output("index_o", c.s, "of this SM");
    let probe_o = m.output("probe_o", width, "the probe taken");
    let pick = round_robin(&mut m, "offer", &req, Kind::Free);
    let probe = m.case_mux("probe", &pick.index, &probes, width);
    m.assign(&probe_o, probe);
    m.assign(&grant_o, pick.grant);
    m.assign(&valid_o, pick.any);
    m.assign(&index_o, pick.index);
    m.finish()
}

pub(super) fn module(c: &Context) -> Built {
    let n = c.n;
    let mut m = c.clocked(
        "probe_network",
        &format!("Crossbar that brings the probes of {n} SMs to {n} target queues, one per target and cycle."),
        "combinational",
    );
    m.note("SMS", n);
    let valid = m.input("offer_valid_i", n, "SM s offers a probe");
    let to = m.input("offer_target_i", n * c.s, "its target");
    let tag = m.input("offer_tag_i", n * c.t, "its tag");
    let slot = m.input("offer_slot_i", n * c.l, "its query slot");
    let deadline = m.input("offer_deadline_i", n * c.tw, "its deadline");
    let push_ready = m.input("push_ready_i", n, "the queue of target j has space");
    let ready_o = m.output("offer_ready_o", n, "the probe of SM s is taken");
    let push_valid_o = m.output("push_valid_o", n, "a probe for target j");
    let push_tag_o = m.output("push_tag_o", n * c.t, "its tag");
    let push_requester_o = m.output("push_requester_o", n * c.s, "the SM that asks");
    let push_slot_o = m.output("push_slot_o", n * c.l, "its query slot");
    let push_deadline_o = m.output("push_deadline_o", n * c.tw, "its deadline");

    let requests = m.net("requests", n * n).doc("for each target with space, the offers for it");
    m.comb_for("s", n, |b, s| {
        b.for_loop("j", n, |b, j| {
            b.set(requests.bit(j * n + s), valid.bit(s) & push_ready.bit(j) & to.elem(s, c.s).eq(j.value(c.s)));
        });
    });
    let fields = (0..n).map(|s| Expr::concat_lsb_first([tag.elem(s, c.t), slot.elem(s, c.l), deadline.elem(s, c.tw)]));
    let probe = m.wire("probe", Expr::concat_lsb_first(fields.collect::<Vec<_>>())).doc("{deadline, slot, tag} of each offer");
    let arbiter = target(c)?;
    let arbiters = m.instance_array("u_target", &arbiter, n, |i, j| {
        i.connect("req_i", requests.elem(j, n)).connect("probe_i", &probe);
        i.connect("valid_o", push_valid_o.bit(j)).connect("index_o", push_requester_o.elem(j, c.s));
    });
    m.assign(&ready_o, arbiters.get("grant_o").or_elems(n));
    let (chosen, width) = (arbiters.get("probe_o"), c.t + c.l + c.tw);
    m.comb_for("j", n, |b, j| {
        let chosen = chosen.elem(j, width);
        b.set(push_tag_o.elem(j, c.t), chosen.bits(0, c.t));
        b.set(push_slot_o.elem(j, c.l), chosen.bits(c.t, c.l));
        b.set(push_deadline_o.elem(j, c.tw), chosen.bits(c.t + c.l, c.tw));
    });
    m.finish()
}
