//! `query_store`: the queries of one SM.

use super::context::{Built, Context};
use super::probe_engine::reason;
use super::round_robin::{Kind, round_robin};
use crate::rtl::Expr;

pub(super) fn module(c: &Context) -> Built {
    let (n, q, k) = (c.n, c.q, c.k);
    let mut m = c.clocked(
        "query_store",
        &format!("Everything of one SM: {q} query slots and the arbiters in front of engines, banks, probe network, L2 and outcome port."),
        "an accepted miss asks for an engine in the next cycle",
    );
    m.repeated();
    m.note("QUERIES_PER_SM", q).note("SMS", n);
    let now = m.input("now_i", c.tw, "time base");
    let miss_valid = m.input("miss_valid_i", 1, "a miss");
    let miss_tag = m.input("miss_tag_i", c.t, "its tag");
    let miss_id = m.input("miss_id_i", c.i, "its id");
    let miss_shareable = m.input("miss_shareable_i", 1, "other L1s may serve it");
    let enable = m.input("enable_i", 1, "misses are looked up");
    let matrix_ready = m.input("matrix_ready_i", 1, "the Snapshot Matrix is cleared");
    let encode_ready = m.input("encode_ready_i", 1, "an engine takes the tag");
    let encoded_valid = m.input("encoded_valid_i", 1, "indices arrive");
    let encoded_slot = m.input("encoded_slot_i", c.l, "for this slot");
    let encoded_index = m.input("encoded_index_i", k * c.x, "the indices");
    let lookup_ready = m.input("lookup_ready_i", k, "lookup i is granted");
    let row_valid = m.input("row_valid_i", k, "row i arrives");
    let row_slot = m.input("row_slot_i", k * c.l, "for this slot");
    let row = m.input("row_i", k * n, "the rows");
    let select_found = m.input("select_found_i", 1, "there is a candidate");
    let select_target = m.input("select_target_i", c.s, "the nearest candidate");
    let offer_ready = m.input("offer_ready_i", 1, "the target queue takes the probe");
    let answer_valid = m.input("answer_valid_i", q, "the probe of slot q is answered");
    let answer_hit = m.input("answer_hit_i", q, "with a hit");
    let expired = m.input("expired_i", q, "the probe of slot q was not taken or answered in time");
    let l2_ready = m.input("l2_ready_i", 1, "L2 takes the request");
    let outcome_ready = m.input("outcome_ready_i", 1, "the SM takes the outcome");
    let miss_ready_o = m.output("miss_ready_o", 1, "the miss is taken");
    let query_o = m.output("query_o", 1, "a miss is taken and looked up");
    let encode_valid_o = m.output("encode_valid_o", 1, "asks for an engine");
    let encode_tag_o = m.output("encode_tag_o", c.t, "tag to encode");
    let encode_slot_o = m.output("encode_slot_o", c.l, "its slot");
    let lookup_valid_o = m.output("lookup_valid_o", k, "asks for row i");
    let lookup_index_o = m.output("lookup_index_o", k * c.x, "index of row i");
    let lookup_slot_o = m.output("lookup_slot_o", k * c.l, "its slot");
    let select_candidates_o = m.output("select_candidates_o", n, "candidates of the query that selects, else 0");
    let offer_valid_o = m.output("offer_valid_o", 1, "a probe is offered");
    let offer_target_o = m.output("offer_target_o", c.s, "its target");
    let offer_tag_o = m.output("offer_tag_o", c.t, "its tag");
    let offer_slot_o = m.output("offer_slot_o", c.l, "its slot");
    let offer_deadline_o = m.output("offer_deadline_o", c.tw, "its deadline");
    let l2_valid_o = m.output("l2_valid_o", 1, "a request for L2");
    let l2_tag_o = m.output("l2_tag_o", c.t, "its tag");
    let l2_id_o = m.output("l2_id_o", c.i, "its id");
    let outcome_valid_o = m.output("outcome_valid_o", 1, "an outcome");
    let outcome_id_o = m.output("outcome_id_o", c.i, "id of the miss");
    let outcome_remote_o = m.output("outcome_remote_o", 1, "a remote L1 holds the line");
    let outcome_source_o = m.output("outcome_source_o", c.s, "that SM");
    let outcome_reason_o = m.output("outcome_reason_o", reason::BITS, "why the miss went to L2");

    m.section("Slots");
    let alloc = m.net("alloc", q).doc("slot that takes the miss");
    let encode_take = m.net("encode_take", q).doc("slot whose tag enters an engine");
    let select_take = m.net("select_take", q).doc("slot at the probe order");
    let offer_take = m.net("offer_take", q).doc("slot whose probe is taken");
    let l2_take = m.net("l2_take", q).doc("slot whose L2 request is taken");
    let outcome_take = m.net("outcome_take", q).doc("slot whose outcome is taken");
    let lookup_take = m.net("lookup_take", q * k).doc("lookups granted, by slot and position");
    let rows_for = m.net("rows_for", q * k).doc("rows that arrive, by slot and position");
    let encoded = m.wire("encoded", encoded_valid.replicate(q) & encoded_slot.bin_to_onehot(q)).doc("slot whose indices arrive");
    let query = m.wire("query", &enable & &matrix_ready & &miss_shareable).doc("a miss is looked up");
    let slot = super::query_slot::module(c)?;
    let slots = m.instance_array("u_slot", &slot, q, |i, g| {
        i.connect("now_i", &now).connect("alloc_i", alloc.bit(g)).connect("alloc_query_i", &query);
        i.connect("alloc_tag_i", &miss_tag).connect("alloc_id_i", &miss_id);
        i.connect("encode_ready_i", encode_take.bit(g)).connect("encoded_i", encoded.bit(g)).connect("encoded_index_i", &encoded_index);
        i.connect("lookup_ready_i", lookup_take.elem(g, k)).connect("row_valid_i", rows_for.elem(g, k)).connect("row_i", &row);
        i.connect("select_grant_i", select_take.bit(g)).connect("select_found_i", &select_found).connect("select_target_i", &select_target);
        i.connect("offer_ready_i", offer_take.bit(g)).connect("answer_valid_i", answer_valid.bit(g));
        i.connect("answer_hit_i", answer_hit.bit(g)).connect("expired_i", expired.bit(g));
        i.connect("l2_ready_i", l2_take.bit(g)).connect("outcome_ready_i", outcome_take.bit(g));
    });

    m.section("Miss: the lowest free slot");
    let free = slots.get("free_o");
    let any_free = m.wire("any_free", free.reduce_or());
    m.assign(&miss_ready_o, &any_free);
    m.assign(&alloc, miss_valid.replicate(q) & free.lowest_one());
    m.assign(&query_o, &miss_valid & &any_free & &query);

    m.section("Encode");
    let pick = round_robin(&mut m, "encode", &slots.get("encode_valid_o"), Kind::Ready(encode_ready.clone()));
    m.assign(&encode_valid_o, &pick.any);
    m.assign(&encode_tag_o, pick.grant.onehot_mux(slots.get("encode_tag_o")));
    m.assign(&encode_slot_o, &pick.index);
    m.assign(&encode_take, pick.grant & encode_ready.replicate(q));

    m.section("Lookups: one slot per position");
    let wanted = slots.get("lookup_valid_o");
    let indices = slots.get("lookup_index_o");
    let (mut grants, mut rows) = (Vec::new(), Vec::new());
    for i in 0..k {
        let requests = Expr::concat_lsb_first((0..q).map(|s| wanted.bit(s * k + i)).collect::<Vec<_>>());
        let requests =
            if q == 1 { requests } else { m.wire(&format!("lookup{i}_requests"), requests).doc("slots that ask for this position") };
        let ready = lookup_ready.bit(i);
        let pick = round_robin(&mut m, &format!("lookup{i}"), &requests, Kind::Ready(ready.clone()));
        let bus = Expr::concat_lsb_first((0..q).map(|s| indices.elem(s * k + i, c.x)).collect::<Vec<_>>());
        m.assign(lookup_valid_o.bit(i), &pick.any);
        let index = m.wire(&format!("lookup{i}_chosen"), pick.grant.onehot_mux(bus)).doc("index of the slot picked");
        m.assign(lookup_index_o.elem(i, c.x), index);
        m.assign(lookup_slot_o.elem(i, c.l), &pick.index);
        grants.push(m.wire(&format!("lookup{i}_take"), pick.grant & ready.replicate(q)));
        let to = row_valid.bit(i).replicate(q) & row_slot.elem(i, c.l).bin_to_onehot(q);
        rows.push(m.wire(&format!("row{i}_for"), to).doc("slot that gets the row of this position"));
    }
    let by_slot = |list: &[Expr]| Expr::concat_lsb_first((0..q * k).map(|p| list[(p % k) as usize].bit(p / k)).collect::<Vec<_>>());
    m.assign(&lookup_take, by_slot(&grants));
    m.assign(&rows_for, by_slot(&rows));

    m.section("Select and offer");
    let pick = round_robin(&mut m, "select", &slots.get("select_valid_o"), Kind::Free);
    m.assign(&select_candidates_o, pick.grant.onehot_mux(slots.get("select_candidates_o")));
    m.assign(&select_take, &pick.grant);
    let pick = round_robin(&mut m, "offer", &slots.get("offer_valid_o"), Kind::Free);
    m.assign(&offer_valid_o, &pick.any);
    m.assign(&offer_target_o, pick.grant.onehot_mux(slots.get("offer_target_o")));
    m.assign(&offer_tag_o, pick.grant.onehot_mux(slots.get("offer_tag_o")));
    m.assign(&offer_deadline_o, pick.grant.onehot_mux(slots.get("offer_deadline_o")));
    m.assign(&offer_slot_o, &pick.index);
    m.assign(&offer_take, pick.grant & offer_ready.replicate(q));

    m.section("L2 and outcome: a request shown stays until it is taken");
    let pick = round_robin(&mut m, "l2", &slots.get("l2_valid_o"), Kind::Lock(l2_ready.clone()));
    m.assign(&l2_valid_o, &pick.any);
    m.assign(&l2_tag_o, pick.grant.onehot_mux(slots.get("l2_tag_o")));
    m.assign(&l2_id_o, pick.grant.onehot_mux(slots.get("l2_id_o")));
    m.assign(&l2_take, pick.grant & l2_ready.replicate(q));
    let pick = round_robin(&mut m, "outcome", &slots.get("outcome_valid_o"), Kind::Lock(outcome_ready.clone()));
    m.assign(&outcome_valid_o, &pick.any);
    m.assign(&outcome_id_o, pick.grant.onehot_mux(slots.get("outcome_id_o")));
    m.assign(&outcome_remote_o, pick.grant.onehot_mux(slots.get("outcome_remote_o")));
    m.assign(&outcome_source_o, pick.grant.onehot_mux(slots.get("outcome_source_o")));
    m.assign(&outcome_reason_o, pick.grant.onehot_mux(slots.get("outcome_reason_o")));
    m.assign(&outcome_take, pick.grant & outcome_ready.replicate(q));
    m.finish()
}
