//! `query_slot`: one miss in flight.

use super::context::{Built, Context};
use super::probe_engine::reason;
use crate::rtl::{Expr, value_width};

pub(super) fn module(c: &Context) -> Built {
    let mut m = c.clocked(
        "query_slot",
        &format!(
            "One miss in flight: tag, id and {} indices (never the logical row of the Access Matrix), its candidates and its probes.",
            c.k
        ),
        "every step takes effect in the next cycle",
    );
    m.repeated();
    m.note("TAG_BITS", c.t).note("INDEX_BITS", c.x).note("LOOKUP_LATENCY", c.config.lookup_latency);
    let now = m.input("now_i", c.tw, "time base");
    let alloc = m.input("alloc_i", 1, "a miss enters this slot");
    let alloc_query = m.input("alloc_query_i", 1, "it is looked up; otherwise it goes to L2");
    let alloc_tag = m.input("alloc_tag_i", c.t, "its tag");
    let alloc_id = m.input("alloc_id_i", c.i, "its id");
    let encode_ready = m.input("encode_ready_i", 1, "an engine takes the tag");
    let encoded = m.input("encoded_i", 1, "the indices arrive");
    let encoded_index = m.input("encoded_index_i", c.k * c.x, "the indices");
    let lookup_ready = m.input("lookup_ready_i", c.k, "lookup i is granted");
    let row_valid = m.input("row_valid_i", c.k, "row i arrives");
    let row = m.input("row_i", c.k * c.n, "the rows");
    let select_grant = m.input("select_grant_i", 1, "the candidates are at the probe order");
    let select_found = m.input("select_found_i", 1, "there is a candidate");
    let select_target = m.input("select_target_i", c.s, "the nearest candidate");
    let offer_ready = m.input("offer_ready_i", 1, "the target queue takes the probe");
    let answer_valid = m.input("answer_valid_i", 1, "the target answers");
    let answer_hit = m.input("answer_hit_i", 1, "the answer is a hit");
    let expired = m.input("expired_i", 1, "the target did not take or answer the probe in time");
    let l2_ready = m.input("l2_ready_i", 1, "L2 takes the request");
    let outcome_ready = m.input("outcome_ready_i", 1, "the SM takes the outcome");
    let free_o = m.output("free_o", 1, "the slot is free");
    let encode_valid_o = m.output("encode_valid_o", 1, "asks for an engine");
    let encode_tag_o = m.output("encode_tag_o", c.t, "tag to encode");
    let lookup_valid_o = m.output("lookup_valid_o", c.k, "asks for row i");
    let lookup_index_o = m.output("lookup_index_o", c.k * c.x, "index of row i");
    let select_valid_o = m.output("select_valid_o", 1, "asks for the nearest candidate");
    let select_candidates_o = m.output("select_candidates_o", c.n, "the candidates");
    let offer_valid_o = m.output("offer_valid_o", 1, "a probe is offered");
    let offer_target_o = m.output("offer_target_o", c.s, "its target");
    let offer_tag_o = m.output("offer_tag_o", c.t, "its tag");
    let offer_deadline_o = m.output("offer_deadline_o", c.tw, "its deadline");
    let l2_valid_o = m.output("l2_valid_o", 1, "a request for L2");
    let l2_tag_o = m.output("l2_tag_o", c.t, "its tag");
    let l2_id_o = m.output("l2_id_o", c.i, "its id");
    let outcome_valid_o = m.output("outcome_valid_o", 1, "an outcome");
    let outcome_id_o = m.output("outcome_id_o", c.i, "id of the miss");
    let outcome_remote_o = m.output("outcome_remote_o", 1, "a remote L1 holds the line");
    let outcome_source_o = m.output("outcome_source_o", c.s, "that SM, 0 unless remote");
    let outcome_reason_o = m.output("outcome_reason_o", reason::BITS, "why the miss went to L2, 0 when remote");

    m.section("State");
    let hold = c.config.lookup_latency > 2;
    let mut names = vec!["FREE", "ENCODE", "ENCODING", "LOOKUP", "PROBE", "L2", "OUTCOME"];
    if hold {
        names.push("HOLD");
    }
    let width = value_width(names.len() as u64 - 1);
    let states: Vec<Expr> =
        names.iter().enumerate().map(|(i, name)| m.localparam(name, crate::rtl::Bits::from_u64(width, i as u64))).collect();
    let state = m.reg("state_q", width).doc("where the miss is");
    let at = |name: &str| {
        let i = names.iter().position(|n| *n == name).unwrap_or_else(|| unreachable!("no state {name}"));
        states[i].clone()
    };
    let tag = m.reg("tag_q", c.t).no_reset().doc("tag of the miss");
    let id = m.reg("id_q", c.i).no_reset().doc("id of the miss");
    let index = m.reg("index_q", c.k * c.x).no_reset().doc("the k indices");
    let pending = m.reg("pending_q", c.k).doc("lookups not granted yet");
    let remote = m.reg("remote_q", 1).no_reset().doc("a remote L1 holds the line");
    let source = m.reg("source_q", c.s).no_reset().doc("that SM");
    let why = m.reg("reason_q", reason::BITS).no_reset().doc("why the miss goes to L2");

    let in_encode = m.wire("in_encode", state.eq(at("ENCODE")));
    let in_lookup = m.wire("in_lookup", state.eq(at("LOOKUP")));
    let in_l2 = m.wire("in_l2", state.eq(at("L2")));
    let in_outcome = m.wire("in_outcome", state.eq(at("OUTCOME")));

    m.section("Candidates and probes");
    let take_index = m.wire("take_index", &encoded & state.eq(at("ENCODING")));
    let chosen = m.net("chosen", 1);
    let clear = m.wire("clear", chosen.replicate(c.n) & select_target.bin_to_onehot(c.n)).doc("the candidate chosen now");
    let reduction = super::and_reduction::module(c)?;
    let reduction = m.instance("u_and_reduction", &reduction, |i| {
        i.connect("start_i", &take_index).connect("row_valid_i", &row_valid).connect("row_i", &row).connect("clear_i", &clear);
        i.connect("candidates_o", &select_candidates_o);
    });
    let all_rows = reduction.get("done_o");
    let start = if hold {
        let latency = c.config.lookup_latency - 2;
        let left = m.reg("hold_q", value_width(u64::from(latency))).no_reset().doc("cycles left in HOLD");
        left.next_when(&all_rows, latency);
        left.next(&*left - 1u32);
        m.wire("start", state.eq(at("HOLD")) & left.eq(1u32))
    } else {
        m.wire("start", all_rows.clone())
    };
    let engine = super::probe_engine::module(c)?;
    let engine = m.instance("u_probe_engine", &engine, |i| {
        i.connect("now_i", &now).connect("start_i", &start).connect("select_grant_i", &select_grant);
        i.connect("select_found_i", &select_found).connect("select_target_i", &select_target).connect("offer_ready_i", &offer_ready);
        i.connect("answer_valid_i", &answer_valid).connect("answer_hit_i", &answer_hit).connect("expired_i", &expired);
        i.connect("select_valid_o", &select_valid_o).connect("chosen_o", &chosen).connect("offer_valid_o", &offer_valid_o);
        i.connect("offer_target_o", &offer_target_o).connect("offer_deadline_o", &offer_deadline_o);
    });
    let done = engine.get("done_o");
    let done_remote = engine.get("done_remote_o");

    m.section("Next state");
    state.next_when(&alloc, alloc_query.mux(at("ENCODE"), at("L2")));
    state.next_when(&in_encode & &encode_ready, at("ENCODING"));
    state.next_when(&take_index, at("LOOKUP"));
    if hold {
        state.next_when(&all_rows, at("HOLD"));
    }
    state.next_when(&start, at("PROBE"));
    state.next_when(&done, done_remote.mux(at("OUTCOME"), at("L2")));
    state.next_when(&in_l2 & &l2_ready, at("OUTCOME"));
    state.next_when(&in_outcome & &outcome_ready, at("FREE"));
    tag.next_when(&alloc, &alloc_tag);
    id.next_when(&alloc, &alloc_id);
    index.next_when(&take_index, &encoded_index);
    pending.next_when(&take_index, Expr::ones(c.k));
    pending.next_when(&in_lookup, &*pending & !&lookup_ready);
    remote.next_when(&alloc, 0u32);
    remote.next_when(&done, &done_remote);
    source.next_when(&done, engine.get("done_source_o"));
    why.next_when(&alloc, reason::DISABLED);
    why.next_when(&done, engine.get("done_reason_o"));

    m.section("Outputs");
    m.assign(&free_o, state.eq(at("FREE")));
    m.assign(&encode_valid_o, &in_encode);
    m.assign(&encode_tag_o, &*tag);
    m.assign(&lookup_valid_o, in_lookup.replicate(c.k) & &*pending);
    m.assign(&lookup_index_o, &*index);
    m.assign(&offer_tag_o, &*tag);
    m.assign(&l2_valid_o, &in_l2);
    m.assign(&l2_tag_o, &*tag);
    m.assign(&l2_id_o, &*id);
    m.assign(&outcome_valid_o, &in_outcome);
    m.assign(&outcome_id_o, &*id);
    m.assign(&outcome_remote_o, &*remote);
    m.assign(&outcome_source_o, remote.replicate(c.s) & &*source);
    m.assign(&outcome_reason_o, &*why);
    m.assume("alloc_free_M", !&alloc | state.eq(at("FREE")), "only a free slot is allocated");
    m.finish()
}
