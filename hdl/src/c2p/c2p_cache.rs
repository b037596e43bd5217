//! `c2p_cache`: the whole block.

use super::context::{Built, Context};
use super::probe_engine::reason;
use super::statistics::COUNTERS;
use super::update_lane::{self, Sources};
use crate::rtl::{Expr, ModuleBuilder, Outputs};

/// The per-SM payload, 0 where its valid is 0.
fn gated(m: &mut ModuleBuilder, port: &Expr, valid: &Expr, payload: &Expr) {
    let n = valid.width();
    let width = payload.width() / n;
    m.comb_for("s", n, |b, s| b.set(port.elem(s, width), valid.bit(s).replicate(width) & payload.elem(s, width)));
}

/// Ports of the SM side, target side and update side.
struct Ports {
    enable: Expr,
    flush: Expr,
    clear_statistics: Expr,
    miss_valid: Expr,
    miss_tag: Expr,
    miss_id: Expr,
    miss_shareable: Expr,
    outcome_ready: Expr,
    probe_ready: Expr,
    answer_valid: Expr,
    answer_hit: Expr,
    l2_ready: Expr,
    refresh_ready: Expr,
    stream_valid: Expr,
    stream_sm: Expr,
    stream_tag: Expr,
    stream_keep: Expr,
    stream_last: Expr,
    fill_valid: Expr,
    fill_tag: Expr,
    debug: Option<(Expr, Expr)>,
}

impl Ports {
    fn declare(c: &Context, m: &mut ModuleBuilder) -> Self {
        let n = c.n;
        Self {
            enable: m.input("enable_i", 1, "misses are looked up; sampled when a miss is accepted"),
            flush: m.input("flush_i", 1, "kernel boundary: clear all columns"),
            clear_statistics: m.input("clear_statistics_i", 1, "set every counter to 0"),
            miss_valid: m.input("miss_valid_i", n, "miss of SM s"),
            miss_tag: m.input("miss_tag_i", n * c.t, "its tag (line address)"),
            miss_id: m.input("miss_id_i", n * c.i, "its id, distinct among the misses of an SM in flight"),
            miss_shareable: m.input("miss_shareable_i", n, "other L1s may serve it (no atomic or volatile load)"),
            outcome_ready: m.input("outcome_ready_i", n, "SM s takes the outcome"),
            probe_ready: m.input("probe_ready_i", n, "L1 of SM s takes the probe"),
            answer_valid: m.input("answer_valid_i", n, "L1 of SM s answers its oldest probe"),
            answer_hit: m.input("answer_hit_i", n, "with a hit"),
            l2_ready: m.input("l2_ready_i", n, "L2 takes the request of SM s"),
            refresh_ready: m.input("refresh_ready_i", n, "L1 of SM s will send its tags"),
            stream_valid: m.input("stream_valid_i", 1, "a beat of rebuild tags"),
            stream_sm: m.input("stream_sm_i", c.s, "SM it comes from"),
            stream_tag: m.input("stream_tag_i", c.st * c.t, "the tags"),
            stream_keep: m.input("stream_keep_i", c.st, "which of them are there"),
            stream_last: m.input("stream_last_i", 1, "last beat of the rebuild"),
            fill_valid: m.input("fill_valid_i", n, "a line from L2 has been filled into the L1 of SM s"),
            fill_tag: m.input("fill_tag_i", n * c.t, "its tag"),
            debug: c
                .config
                .debug_port
                .then(|| (m.input("debug_valid_i", 1, "debug read"), m.input("debug_index_i", c.x, "index {bank, row} to read"))),
        }
    }
}

pub(super) fn module(c: &Context) -> Built {
    let (n, q, k, b, w) = (c.n, c.q, c.k, c.b, c.w);
    let mut m = c.clocked(
        "c2p_cache",
        &format!(
            "C2P-Cache: on an L1 miss of one of {n} SMs, looks up which other L1s may hold the line and asks them, nearest first, before L2. Packed per-SM ports, SM 0 in the low bits; every channel is valid/ready."
        ),
        &format!(
            "without conflict: {} cycles to encode, {} to look up, 1 to select, 1 to offer, 1 to the target L1; at most {} cycles from a miss to its outcome while outcome and L2 ports are ready",
            c.config.engine_latency,
            c.config.lookup_latency,
            super::context::miss_bound(c.config)
        ),
    );
    for (name, value) in [
        ("SMS", n),
        ("TAG_BITS", c.t),
        ("ID_BITS", c.i),
        ("POSITIONS", k),
        ("BANKS", b),
        ("COPIES", c.c),
        ("ROWS", c.r),
        ("ENGINES", c.config.engines),
        ("QUERIES_PER_SM", q),
        ("UPDATE_LANES", w),
    ] {
        m.note(name, value);
    }
    let p = Ports::declare(c, &mut m);
    let matrix_ready_o = m.output("matrix_ready_o", 1, "the matrix is cleared; misses before go to L2");
    let miss_ready_o = m.output("miss_ready_o", n, "the miss of SM s is taken");
    let outcome_valid_o = m.output("outcome_valid_o", n, "outcome of a miss of SM s");
    let outcome_id_o = m.output("outcome_id_o", n * c.i, "id of the miss");
    let outcome_remote_o = m.output("outcome_remote_o", n, "a remote L1 holds the line");
    let outcome_source_o = m.output("outcome_source_o", n * c.s, "that SM, 0 unless remote");
    let outcome_reason_o = m.output(
        "outcome_reason_o",
        n * reason::BITS,
        "0 remote, else why L2: 1 no candidate, 2 all missed, 3 busy, 4 queue full, 5 disabled",
    );
    let probe_valid_o = m.output("probe_valid_o", n, "probe for the L1 of SM s");
    let probe_tag_o = m.output("probe_tag_o", n * c.t, "tag to look for");
    let probe_requester_o = m.output("probe_requester_o", n * c.s, "SM that asks");
    let answer_ready_o = m.output("answer_ready_o", n, "the answer is taken: always 1");
    let l2_valid_o = m.output("l2_valid_o", n, "L2 request of SM s");
    let l2_tag_o = m.output("l2_tag_o", n * c.t, "its tag");
    let l2_id_o = m.output("l2_id_o", n * c.i, "its id");
    let refresh_valid_o = m.output("refresh_valid_o", n, "the L1 of SM s is asked for its tags");
    let stream_ready_o = m.output("stream_ready_o", 1, "the beat is taken");
    let fill_ready_o = m.output("fill_ready_o", n, "the fill notice of SM s is taken");
    let counters: Vec<Expr> =
        COUNTERS.iter().map(|(name, text)| m.output(&format!("count_{name}_o"), c.config.counter_bits, text)).collect();
    let debug_o = c.config.debug_port.then(|| {
        (
            m.output("debug_ready_o", 1, "the debug read is taken"),
            m.output("debug_valid_o", 1, "its row"),
            m.output("debug_row_o", n, "that row"),
        )
    });

    m.section("Time base of the probe timers");
    let now = m.reg("now_q", c.tw).doc("time");
    now.next(&*now + 1u32);

    m.section("Queries");
    let net = |m: &mut ModuleBuilder, name: &str, width: u32| m.net(name, width);
    let encode_ready = net(&mut m, "encode_ready", n);
    let encoded_valid = net(&mut m, "encoded_valid", n);
    let encoded_slot = net(&mut m, "encoded_slot", n * c.l);
    let encoded_index = net(&mut m, "encoded_index", n * k * c.x);
    let lookup_ready = net(&mut m, "lookup_ready", n * k);
    let row_valid = net(&mut m, "row_valid", n * k);
    let row_slot = net(&mut m, "row_slot", n * k * c.l);
    let row = net(&mut m, "row", n * k * n);
    let found = net(&mut m, "select_found", n);
    let target = net(&mut m, "select_target", n * c.s);
    let offer_ready = net(&mut m, "offer_ready", n);
    let answer_valid = net(&mut m, "answer_valid", n * q);
    let answer_hit = net(&mut m, "answer_hit", n * q);
    let expired = net(&mut m, "expired", n * q);
    let matrix_ready = net(&mut m, "matrix_ready", 1);
    let store = super::query_store::module(c)?;
    let queries = m.instance_array("u_query_store", &store, n, |i, g| {
        i.connect("now_i", &*now).connect("enable_i", &p.enable).connect("matrix_ready_i", &matrix_ready);
        i.connect("miss_valid_i", p.miss_valid.bit(g)).connect("miss_tag_i", p.miss_tag.elem(g, c.t));
        i.connect("miss_id_i", p.miss_id.elem(g, c.i)).connect("miss_shareable_i", p.miss_shareable.bit(g));
        i.connect("encode_ready_i", encode_ready.bit(g)).connect("encoded_valid_i", encoded_valid.bit(g));
        i.connect("encoded_slot_i", encoded_slot.elem(g, c.l)).connect("encoded_index_i", encoded_index.elem(g, k * c.x));
        i.connect("lookup_ready_i", lookup_ready.elem(g, k)).connect("row_valid_i", row_valid.elem(g, k));
        i.connect("row_slot_i", row_slot.elem(g, k * c.l)).connect("row_i", row.elem(g, k * n));
        i.connect("select_found_i", found.bit(g)).connect("select_target_i", target.elem(g, c.s));
        i.connect("offer_ready_i", offer_ready.bit(g)).connect("answer_valid_i", answer_valid.elem(g, q));
        i.connect("answer_hit_i", answer_hit.elem(g, q)).connect("expired_i", expired.elem(g, q));
        i.connect("l2_ready_i", p.l2_ready.bit(g)).connect("outcome_ready_i", p.outcome_ready.bit(g));
        i.connect("miss_ready_o", miss_ready_o.bit(g));
    });

    let nets = Nets { encode_ready, encoded_valid, encoded_slot, encoded_index, matrix_ready: matrix_ready.clone() };
    let update = update_side(c, &mut m, &p, &queries, &nets, [&refresh_valid_o, &stream_ready_o, &fill_ready_o])?;

    m.section("Lookups");
    let network = super::lookup_network::module(c)?;
    let matrix = super::snapshot_matrix::module(c)?;
    let read_data = m.net("read_data", c.c * b * n);
    let lookup = m.instance("u_lookup_network", &network, |i| {
        for port in ["lookup_valid", "lookup_index", "lookup_slot"] {
            i.connect(&format!("{port}_i"), queries.get(&format!("{port}_o")));
        }
        i.connect("read_data_i", &read_data).connect("lookup_ready_o", &lookup_ready);
        i.connect("row_valid_o", &row_valid).connect("row_slot_o", &row_slot).connect("row_o", &row);
        if let (Some((valid, index)), Some((_, valid_o, _))) = (&p.debug, &debug_o) {
            // No row is read that was never written.
            i.connect("debug_valid_i", valid & &matrix_ready).connect("debug_index_i", index).connect("debug_valid_o", valid_o);
        }
    });
    if let Some((ready_o, valid_o, row_o)) = &debug_o {
        m.assign(ready_o, lookup.get("debug_ready_o") & &matrix_ready);
        gated(&mut m, row_o, valid_o, &lookup.get("debug_row_o"));
    }
    m.instance("u_snapshot_matrix", &matrix, |i| {
        i.connect("read_valid_i", lookup.get("read_valid_o")).connect("read_row_i", lookup.get("read_row_o"));
        for port in ["write_valid", "write_row", "write_mask", "write_value"] {
            i.connect(&format!("{port}_i"), update.writes.get(&format!("{port}_o")));
        }
        i.connect("read_data_o", &read_data);
    });

    m.section("Probes");
    let order = super::probe_order::module(c)?;
    let orders = m.localparam("ORDERS", super::probe_order::orders(c, 0..n)).doc("for each SM the others, nearest first");
    m.instance_array("u_probe_order", &order, n, |i, g| {
        i.param("ORDER", orders.elem(g, (n - 1) * c.s));
        i.connect("candidates_i", queries.get("select_candidates_o").elem(g, n));
        i.connect("found_o", found.bit(g)).connect("target_o", target.elem(g, c.s));
    });
    let network = super::probe_network::module(c)?;
    let push_ready = m.net("push_ready", n);
    let offers = m.instance("u_probe_network", &network, |i| {
        for port in ["offer_valid", "offer_target", "offer_tag", "offer_slot", "offer_deadline"] {
            i.connect(&format!("{port}_i"), queries.get(&format!("{port}_o")));
        }
        i.connect("push_ready_i", &push_ready).connect("offer_ready_o", &offer_ready);
    });
    let queue = super::probe_queue::module(c)?;
    let targets = m.instance_array("u_probe_queue", &queue, n, |i, g| {
        i.connect("now_i", &*now).connect("push_valid_i", offers.get("push_valid_o").bit(g));
        for (port, width) in [("push_tag", c.t), ("push_requester", c.s), ("push_slot", c.l), ("push_deadline", c.tw)] {
            i.connect(&format!("{port}_i"), offers.get(&format!("{port}_o")).elem(g, width));
        }
        i.connect("answer_valid_i", p.answer_valid.bit(g)).connect("answer_hit_i", p.answer_hit.bit(g));
        i.connect("probe_ready_i", p.probe_ready.bit(g));
        i.connect("push_ready_o", push_ready.bit(g)).connect("answer_ready_o", answer_ready_o.bit(g));
        i.connect("probe_valid_o", probe_valid_o.bit(g));
    });
    gated(&mut m, &probe_tag_o, &probe_valid_o, &targets.get("probe_tag_o"));
    gated(&mut m, &probe_requester_o, &probe_valid_o, &targets.get("probe_requester_o"));
    let back = super::probe_return::module(c)?;
    m.instance("u_probe_return", &back, |i| {
        i.connect("answer_valid_i", targets.get("event_answer_o"));
        i.connect("answer_requester_i", targets.get("event_answer_requester_o"));
        i.connect("answer_slot_i", targets.get("event_answer_slot_o"));
        i.connect("answer_hit_i", targets.get("event_answer_hit_o"));
        i.connect("expired_valid_i", targets.get("event_expired_o"));
        i.connect("expired_requester_i", targets.get("event_expired_requester_o"));
        i.connect("expired_slot_i", targets.get("event_expired_slot_o"));
        i.connect("answer_valid_o", &answer_valid).connect("answer_hit_o", &answer_hit).connect("expired_o", &expired);
    });

    m.section("SM side outputs: payloads are 0 without their valid");
    let outcome_valid = queries.get("outcome_valid_o");
    m.assign(&outcome_valid_o, &outcome_valid);
    gated(&mut m, &outcome_id_o, &outcome_valid, &queries.get("outcome_id_o"));
    gated(&mut m, &outcome_remote_o, &outcome_valid, &queries.get("outcome_remote_o"));
    gated(&mut m, &outcome_source_o, &outcome_valid, &queries.get("outcome_source_o"));
    gated(&mut m, &outcome_reason_o, &outcome_valid, &queries.get("outcome_reason_o"));
    let l2_valid = queries.get("l2_valid_o");
    m.assign(&l2_valid_o, &l2_valid);
    gated(&mut m, &l2_tag_o, &l2_valid, &queries.get("l2_tag_o"));
    gated(&mut m, &l2_id_o, &l2_valid, &queries.get("l2_id_o"));
    m.assign(&matrix_ready_o, &matrix_ready);

    m.section("Statistics");
    let statistics = super::statistics::module(c)?;
    let live = targets.get("event_answer_o");
    let conflict = queries.get("lookup_valid_o") & !&lookup_ready;
    m.instance("u_statistics", &statistics, |i| {
        i.connect("clear_statistics_i", &p.clear_statistics).connect("miss_i", &p.miss_valid & &miss_ready_o);
        i.connect("query_i", queries.get("query_o")).connect("conflict_i", conflict);
        i.connect("probe_i", &probe_valid_o & &p.probe_ready).connect("outcome_i", &outcome_valid & &p.outcome_ready);
        i.connect("outcome_remote_i", queries.get("outcome_remote_o")).connect("outcome_reason_i", queries.get("outcome_reason_o"));
        i.connect("false_positive_i", live & !targets.get("event_answer_hit_o")).connect("discarded_i", targets.get("discarded_o"));
        i.connect("expired_i", targets.get("event_expired_o")).connect("dropped_i", &update.dropped).connect("rebuilt_i", &update.rebuilt);
        for ((name, _), port) in COUNTERS.iter().zip(&counters) {
            i.connect(&format!("count_{name}_o"), port);
        }
    });
    m.finish()
}

/// Nets between the update side and the queries.
struct Nets {
    encode_ready: Expr,
    encoded_valid: Expr,
    encoded_slot: Expr,
    encoded_index: Expr,
    matrix_ready: Expr,
}

/// What the update side gives to the rest.
struct Update {
    writes: Outputs,
    dropped: Expr,
    rebuilt: Expr,
}

/// Engines, fills, rebuilds and matrix writes.
fn update_side(
    c: &Context,
    m: &mut ModuleBuilder,
    p: &Ports,
    queries: &Outputs,
    nets: &Nets,
    [refresh_valid_o, stream_ready_o, fill_ready_o]: [&Expr; 3],
) -> Result<Update, crate::rtl::RtlError> {
    let (n, k, w, st) = (c.n, c.k, c.w, c.st);
    m.section("Engines");
    let lane_valid = m.net("lane_encode_valid", w);
    let lane_tag = m.net("lane_encode_tag", w * c.t);
    let pool = super::engine_pool::module(c)?;
    let pool = m.instance("u_engine_pool", &pool, |i| {
        i.connect("miss_valid_i", queries.get("encode_valid_o")).connect("miss_tag_i", queries.get("encode_tag_o"));
        i.connect("miss_slot_i", queries.get("encode_slot_o"));
        i.connect("update_valid_i", &lane_valid).connect("update_tag_i", &lane_tag);
        i.connect("miss_ready_o", &nets.encode_ready).connect("encoded_valid_o", &nets.encoded_valid);
        i.connect("encoded_slot_o", &nets.encoded_slot).connect("encoded_index_o", &nets.encoded_index);
    });

    m.section("Rebuild and fill");
    let lanes_match = m.net("lanes_match", w);
    let lanes_empty = m.net("lanes_empty", w);
    let stream_take = m.net("stream_take", st);
    let fill_take = m.net("fill_take", n);
    let buffer_empty = m.net("buffer_empty", 1);
    let (beat, last) = (m.net("stream_beat", 1), m.net("stream_last", 1));
    let clear_ready = m.net("clear_ready", 1);
    let controller = super::refresh_controller::module(c)?;
    let control = m.instance("u_refresh_controller", &controller, |i| {
        i.connect("lanes_empty_i", lanes_empty.reduce_and()).connect("lanes_match_i", lanes_match.reduce_or());
        i.connect("refresh_ready_i", &p.refresh_ready).connect("last_i", &last).connect("beat_i", &beat);
        i.connect("buffer_empty_i", &buffer_empty).connect("flush_i", &p.flush).connect("clear_ready_i", &clear_ready);
        i.connect("refresh_valid_o", refresh_valid_o).connect("matrix_ready_o", &nets.matrix_ready);
    });
    let sm = control.get("sm_o");
    let held = m.wire("held", control.get("hold_o").replicate(n) & sm.bin_to_onehot(n)).doc("SM whose fills wait");
    let queue = super::fill_queue::module(c)?;
    let fills = m.instance_array("u_fill_queue", &queue, n, |i, g| {
        i.connect("fill_valid_i", p.fill_valid.bit(g)).connect("fill_tag_i", p.fill_tag.elem(g, c.t));
        i.connect("hold_i", held.bit(g)).connect("tag_ready_i", fill_take.bit(g)).connect("flush_i", &p.flush);
        i.connect("fill_ready_o", fill_ready_o.bit(g));
    });
    let buffer = super::stream_buffer::module(c)?;
    let stream = m.instance("u_stream_buffer", &buffer, |i| {
        i.connect("stream_valid_i", &p.stream_valid).connect("stream_sm_i", &p.stream_sm).connect("stream_tag_i", &p.stream_tag);
        i.connect("stream_keep_i", &p.stream_keep).connect("stream_last_i", &p.stream_last);
        i.connect("streaming_i", control.get("streaming_o")).connect("sm_i", &sm).connect("tag_ready_i", &stream_take);
        i.connect("flush_i", &p.flush).connect("stream_ready_o", stream_ready_o).connect("empty_o", &buffer_empty);
        i.connect("beat_o", &beat).connect("last_o", &last);
    });

    m.section("Update lanes");
    let (fill_valid, fill_tag) = (fills.get("tag_valid_o"), fills.get("tag_o"));
    let (stream_valid, stream_tag) = (stream.get("tag_valid_o"), stream.get("tag_o"));
    let (mut takes_fill, mut takes_stream) = (vec![Expr::zeros(1); n as usize], vec![Expr::zeros(1); st as usize]);
    let write_valid = m.net("lane_write_valid", w * k);
    let write_index = m.net("lane_write_index", w * k * c.x);
    let write_sm = m.net("lane_write_sm", w * k * c.s);
    let write_ready = m.net("lane_write_ready", w * k);
    for lane in 0..w {
        let sources = Sources::of(c, lane);
        let bus = |fills: &Expr, stream: &Expr, width: u32| {
            let mut list: Vec<Expr> = sources.fills.iter().map(|&s| fills.elem(s, width)).collect();
            list.extend(sources.stream.iter().map(|&l| stream.elem(l, width)));
            if list.is_empty() {
                list.push(Expr::zeros(width));
            }
            Expr::concat_lsb_first(list)
        };
        let module = update_lane::of_lane(c, lane)?;
        let ready = m.net(&format!("lane{lane}_ready"), sources.count()).doc("sources taken");
        m.instance(&format!("u_update_lane{lane}"), &module, |i| {
            if !sources.fills.is_empty() {
                i.param("LANE", lane);
            }
            i.connect("source_valid_i", bus(&fill_valid, &stream_valid, 1)).connect("source_tag_i", bus(&fill_tag, &stream_tag, c.t));
            i.connect("sm_i", &sm).connect("block_i", control.get("block_o")).connect("source_ready_o", &ready);
            i.connect("encode_ready_i", pool.get("update_ready_o").bit(lane)).connect("encoded_i", pool.get("update_encoded_o").bit(lane));
            i.connect("index_i", pool.get("update_index_o").elem(lane, k * c.x)).connect("write_ready_i", write_ready.elem(lane, k));
            i.connect("encode_valid_o", lane_valid.bit(lane)).connect("encode_tag_o", lane_tag.elem(lane, c.t));
            i.connect("write_valid_o", write_valid.elem(lane, k)).connect("write_index_o", write_index.elem(lane, k * c.x));
            i.connect("write_sm_o", write_sm.elem(lane, k * c.s));
            i.connect("match_o", lanes_match.bit(lane)).connect("empty_o", lanes_empty.bit(lane));
        });
        for (j, &s) in sources.fills.iter().enumerate() {
            takes_fill[s as usize] = ready.bit(j as u32);
        }
        for (j, &l) in sources.stream.iter().enumerate() {
            takes_stream[l as usize] = ready.bit((sources.fills.len() + j) as u32);
        }
        if sources.fills.is_empty() && sources.stream.is_empty() {
            m.mark_unused(&ready);
        }
    }
    m.assign(&fill_take, Expr::concat_lsb_first(takes_fill));
    m.assign(&stream_take, Expr::concat_lsb_first(takes_stream));
    let network = super::update_network::module(c)?;
    let writes = m.instance("u_update_network", &network, |i| {
        i.connect("write_valid_i", &write_valid).connect("write_index_i", &write_index).connect("write_sm_i", &write_sm);
        i.connect("clear_valid_i", control.get("clear_valid_o")).connect("clear_all_i", control.get("clear_all_o"));
        i.connect("clear_row_i", control.get("clear_row_o")).connect("clear_sm_i", &sm).connect("write_ready_o", &write_ready);
        i.connect("clear_ready_o", &clear_ready);
    });
    Ok(Update { writes, dropped: fills.get("dropped_o"), rebuilt: control.get("rebuilt_o") })
}
