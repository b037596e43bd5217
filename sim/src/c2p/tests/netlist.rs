//! The top as a netlist of the blocks, wired by port name as the block diagram of docs/blocks/README.md shows, and compared
//! with the model of the top in every cycle: what a block shows as a block is what it does inside the top.

use super::*;
use crate::block::{Block, Signals};
use environment::Environment;

/// A block with the values of its ports.
struct Instance {
    block: Box<dyn Block>,
    inputs: Signals,
    outputs: Signals,
}

impl Instance {
    fn new(name: &str, c: &Config, instance: usize) -> Self {
        let block = block(name, c, instance).unwrap();
        Self { inputs: Signals::new(&block.inputs()), outputs: Signals::new(&block.outputs()), block }
    }

    fn get(&self, port: &str, element: usize) -> u64 {
        self.outputs.get(self.outputs.index(port), element)
    }

    fn set(&mut self, port: &str, element: usize, value: u64) {
        self.inputs.set(self.inputs.index(port), element, value);
    }
}

/// One element of an output, wired to one element of an input.
struct Wire {
    from: (usize, usize, usize),
    to: (usize, usize, usize),
}

struct Netlist {
    c: Config,
    instances: Vec<Instance>,
    wires: Vec<Wire>,
    now: u64,
    stores: usize,
    orders: usize,
    queues: usize,
    fills: usize,
    lanes: usize,
    pool: usize,
    lookups: usize,
    matrix: usize,
    probes: usize,
    returns: usize,
    buffer: usize,
    updates: usize,
    refresh: usize,
    statistics: usize,
}

impl Netlist {
    fn new(c: &Config) -> Self {
        let (n, w) = (c.sms as usize, c.update_lanes as usize);
        let mut instances = Vec::new();
        let mut add = |name: &str, count: usize, numbered: bool| {
            let first = instances.len();
            instances.extend((0..count).map(|at| Instance::new(name, c, if numbered { at } else { 0 })));
            first
        };
        let mut netlist = Self {
            c: c.clone(),
            stores: add("query_store", n, false),
            orders: add("probe_order", n, true),
            queues: add("probe_queue", n, false),
            fills: add("fill_queue", n, false),
            lanes: add("update_lane", w, true),
            pool: add("engine_pool", 1, false),
            lookups: add("lookup_network", 1, false),
            matrix: add("snapshot_matrix", 1, false),
            probes: add("probe_network", 1, false),
            returns: add("probe_return", 1, false),
            buffer: add("stream_buffer", 1, false),
            updates: add("update_network", 1, false),
            refresh: add("refresh_controller", 1, false),
            statistics: add("statistics", 1, false),
            instances: Vec::new(),
            wires: Vec::new(),
            now: 0,
        };
        netlist.instances = instances;
        netlist.connect();
        netlist
    }

    /// Wires `count` elements from `from.2` on to those from `to.2` on.
    fn wire(&mut self, count: usize, from: (usize, &str, usize), to: (usize, &str, usize)) {
        let (output, input) = (self.instances[from.0].outputs.index(from.1), self.instances[to.0].inputs.index(to.1));
        for element in 0..count {
            self.wires.push(Wire { from: (from.0, output, from.2 + element), to: (to.0, input, to.2 + element) });
        }
    }

    fn connect(&mut self) {
        let c = self.c.clone();
        let (n, q, k, w) = (c.sms as usize, c.queries_per_sm as usize, c.k() as usize, c.update_lanes as usize);
        let (bc, st) = ((c.banks * c.copies) as usize, c.stream_tags() as usize);
        for s in 0..n {
            let (store, order, queue, fill) = (self.stores + s, self.orders + s, self.queues + s, self.fills + s);
            self.wire(1, (self.refresh, "matrix_ready_o", 0), (store, "matrix_ready_i", 0));
            for (port, pool) in [("encode_valid_o", "miss_valid_i"), ("encode_tag_o", "miss_tag_i"), ("encode_slot_o", "miss_slot_i")] {
                self.wire(1, (store, port, 0), (self.pool, pool, s));
            }
            self.wire(1, (self.pool, "miss_ready_o", s), (store, "encode_ready_i", 0));
            for name in ["encoded_valid", "encoded_slot", "encoded_index"] {
                self.wire(1, (self.pool, &format!("{name}_o"), s), (store, &format!("{name}_i"), 0));
            }
            for name in ["lookup_valid", "lookup_index", "lookup_slot"] {
                self.wire(k, (store, &format!("{name}_o"), 0), (self.lookups, &format!("{name}_i"), s * k));
            }
            for name in ["lookup_ready", "row_valid", "row_slot", "row"] {
                self.wire(k, (self.lookups, &format!("{name}_o"), s * k), (store, &format!("{name}_i"), 0));
            }
            self.wire(1, (store, "select_candidates_o", 0), (order, "candidates_i", 0));
            self.wire(1, (order, "found_o", 0), (store, "select_found_i", 0));
            self.wire(1, (order, "target_o", 0), (store, "select_target_i", 0));
            for name in ["offer_valid", "offer_target", "offer_tag", "offer_slot", "offer_deadline"] {
                self.wire(1, (store, &format!("{name}_o"), 0), (self.probes, &format!("{name}_i"), s));
            }
            self.wire(1, (self.probes, "offer_ready_o", s), (store, "offer_ready_i", 0));
            for name in ["push_valid", "push_tag", "push_requester", "push_slot", "push_deadline"] {
                self.wire(1, (self.probes, &format!("{name}_o"), s), (queue, &format!("{name}_i"), 0));
            }
            self.wire(1, (queue, "push_ready_o", 0), (self.probes, "push_ready_i", s));
            for (event, port) in [
                ("event_answer_o", "answer_valid_i"),
                ("event_answer_requester_o", "answer_requester_i"),
                ("event_answer_slot_o", "answer_slot_i"),
                ("event_answer_hit_o", "answer_hit_i"),
                ("event_expired_o", "expired_valid_i"),
                ("event_expired_requester_o", "expired_requester_i"),
                ("event_expired_slot_o", "expired_slot_i"),
            ] {
                self.wire(1, (queue, event, 0), (self.returns, port, s));
            }
            for name in ["answer_valid", "answer_hit", "expired"] {
                self.wire(q, (self.returns, &format!("{name}_o"), s * q), (store, &format!("{name}_i"), 0));
            }
            let (lane, source) = (self.lanes + s % w, s / w);
            self.wire(1, (fill, "tag_valid_o", 0), (lane, "source_valid_i", source));
            self.wire(1, (fill, "tag_o", 0), (lane, "source_tag_i", source));
            self.wire(1, (lane, "source_ready_o", source), (fill, "tag_ready_i", 0));
        }
        for tag in 0..st {
            let fill_sources = (0..n).filter(|s| s % w == tag % w).count();
            let (lane, source) = (self.lanes + tag % w, fill_sources + tag / w);
            self.wire(1, (self.buffer, "tag_valid_o", tag), (lane, "source_valid_i", source));
            self.wire(1, (self.buffer, "tag_o", tag), (lane, "source_tag_i", source));
            self.wire(1, (lane, "source_ready_o", source), (self.buffer, "tag_ready_i", tag));
        }
        for lane in 0..w {
            let instance = self.lanes + lane;
            self.wire(1, (instance, "encode_valid_o", 0), (self.pool, "update_valid_i", lane));
            self.wire(1, (instance, "encode_tag_o", 0), (self.pool, "update_tag_i", lane));
            self.wire(1, (self.pool, "update_ready_o", lane), (instance, "encode_ready_i", 0));
            self.wire(1, (self.pool, "update_encoded_o", lane), (instance, "encoded_i", 0));
            self.wire(1, (self.pool, "update_index_o", lane), (instance, "index_i", 0));
            self.wire(1, (self.refresh, "sm_o", 0), (instance, "sm_i", 0));
            self.wire(1, (self.refresh, "block_o", 0), (instance, "block_i", 0));
            for name in ["write_valid", "write_index", "write_sm"] {
                self.wire(k, (instance, &format!("{name}_o"), 0), (self.updates, &format!("{name}_i"), lane * k));
            }
            self.wire(k, (self.updates, "write_ready_o", lane * k), (instance, "write_ready_i", 0));
        }
        for (name, to) in [("clear_valid", "clear_valid"), ("clear_all", "clear_all"), ("clear_row", "clear_row"), ("sm", "clear_sm")] {
            self.wire(1, (self.refresh, &format!("{name}_o"), 0), (self.updates, &format!("{to}_i"), 0));
        }
        self.wire(1, (self.updates, "clear_ready_o", 0), (self.refresh, "clear_ready_i", 0));
        for name in ["write_valid", "write_row", "write_mask", "write_value"] {
            self.wire(c.banks as usize, (self.updates, &format!("{name}_o"), 0), (self.matrix, &format!("{name}_i"), 0));
        }
        for name in ["read_valid", "read_row"] {
            self.wire(bc, (self.lookups, &format!("{name}_o"), 0), (self.matrix, &format!("{name}_i"), 0));
        }
        self.wire(bc, (self.matrix, "read_data_o", 0), (self.lookups, "read_data_i", 0));
        for (port, to) in [("streaming_o", "streaming_i"), ("sm_o", "sm_i")] {
            self.wire(1, (self.refresh, port, 0), (self.buffer, to, 0));
        }
        for (port, to) in [("empty_o", "buffer_empty_i"), ("beat_o", "beat_i"), ("last_o", "last_i")] {
            self.wire(1, (self.buffer, port, 0), (self.refresh, to, 0));
        }
        self.wire(1, (self.refresh, "rebuilt_o", 0), (self.statistics, "rebuilt_i", 0));
    }

    /// Drives the inputs that come from outside, or through a gate.
    fn glue(&mut self, top: &Signals) {
        let c = &self.c;
        let (n, k, w) = (c.sms as usize, c.k() as usize, c.update_lanes as usize);
        let get = |port: &str, element: usize| top.get(top.index(port), element);
        for s in 0..n {
            let held = self.instances[self.refresh].get("hold_o", 0) & u64::from(self.instances[self.refresh].get("sm_o", 0) == s as u64);
            let store = &mut self.instances[self.stores + s];
            store.set("now_i", 0, self.now);
            store.set("enable_i", 0, get("enable_i", 0));
            for port in ["miss_valid_i", "miss_tag_i", "miss_id_i", "miss_shareable_i", "l2_ready_i", "outcome_ready_i"] {
                store.set(port, 0, get(port, s));
            }
            let queue = &mut self.instances[self.queues + s];
            queue.set("now_i", 0, self.now);
            for port in ["answer_valid_i", "answer_hit_i", "probe_ready_i"] {
                queue.set(port, 0, get(port, s));
            }
            let fill = &mut self.instances[self.fills + s];
            fill.set("fill_valid_i", 0, get("fill_valid_i", s));
            fill.set("fill_tag_i", 0, get("fill_tag_i", s));
            fill.set("hold_i", 0, held);
            fill.set("flush_i", 0, get("flush_i", 0));
            self.instances[self.refresh].set("refresh_ready_i", s, get("refresh_ready_i", s));

            let (store, queue, fill) =
                (&self.instances[self.stores + s], &self.instances[self.queues + s], &self.instances[self.fills + s]);
            let answer = queue.get("event_answer_o", 0);
            let outcome = [store.get("outcome_valid_o", 0), store.get("outcome_remote_o", 0), store.get("outcome_reason_o", 0)];
            let events = [
                ("miss_i", store.get("miss_ready_o", 0) & get("miss_valid_i", s)),
                ("query_i", store.get("query_o", 0)),
                ("probe_i", queue.get("probe_valid_o", 0) & get("probe_ready_i", s)),
                ("outcome_i", outcome[0] & get("outcome_ready_i", s)),
                ("outcome_remote_i", outcome[1]),
                ("outcome_reason_i", outcome[2]),
                ("false_positive_i", answer & (1 - queue.get("event_answer_hit_o", 0))),
                ("discarded_i", queue.get("discarded_o", 0)),
                ("expired_i", queue.get("event_expired_o", 0)),
                ("dropped_i", fill.get("dropped_o", 0)),
            ];
            let conflicts: Vec<_> = (0..k)
                .map(|i| store.get("lookup_valid_o", i) & (1 - self.instances[self.lookups].get("lookup_ready_o", s * k + i)))
                .collect();
            let statistics = &mut self.instances[self.statistics];
            events.into_iter().for_each(|(port, value)| statistics.set(port, s, value));
            conflicts.into_iter().enumerate().for_each(|(i, value)| statistics.set("conflict_i", s * k + i, value));
        }
        let all = |port: &str| (0..w).map(|lane| self.instances[self.lanes + lane].get(port, 0)).collect::<Vec<_>>();
        let (empty, matches) = (all("empty_o"), all("match_o"));
        let refresh = &mut self.instances[self.refresh];
        refresh.set("lanes_empty_i", 0, u64::from(empty.iter().all(|e| *e == 1)));
        refresh.set("lanes_match_i", 0, u64::from(matches.contains(&1)));
        refresh.set("flush_i", 0, get("flush_i", 0));
        self.instances[self.statistics].set("clear_statistics_i", 0, get("clear_statistics_i", 0));
        let buffer = &mut self.instances[self.buffer];
        for port in ["stream_valid_i", "stream_sm_i", "stream_last_i", "flush_i"] {
            buffer.set(port, 0, get(port, 0));
        }
        for place in 0..c.stream_tags() as usize {
            buffer.set("stream_tag_i", place, get("stream_tag_i", place));
            buffer.set("stream_keep_i", place, get("stream_keep_i", place));
        }
        if c.debug_port {
            let ready = self.instances[self.refresh].get("matrix_ready_o", 0);
            let lookups = &mut self.instances[self.lookups];
            lookups.set("debug_valid_i", 0, get("debug_valid_i", 0) & ready);
            lookups.set("debug_index_i", 0, get("debug_index_i", 0));
        }
    }

    /// Evaluates until nothing changes, and shows the outputs of the top.
    fn eval(&mut self, top: &Signals, outputs: &mut Signals) {
        for pass in 0.. {
            assert!(pass < 20, "a combinational loop");
            self.glue(top);
            for wire in &self.wires {
                let (from, to) = (&self.instances[wire.from.0].outputs, &self.instances[wire.to.0].inputs);
                let words = from.ports()[wire.from.1].words();
                assert_eq!(words, to.ports()[wire.to.1].words());
                let value = from.words(wire.from.1)[wire.from.2 * words..][..words].to_vec();
                self.instances[wire.to.0].inputs.words_mut(wire.to.1)[wire.to.2 * words..][..words].copy_from_slice(&value);
            }
            let mut changed = false;
            for instance in &mut self.instances {
                let before = instance.outputs.clone();
                instance.block.eval(&instance.inputs, &mut instance.outputs);
                changed |= before != instance.outputs;
            }
            if !changed && pass > 0 {
                break;
            }
        }
        let mut show = |port: &str, element: usize, value: u64| outputs.set(outputs.index(port), element, value);
        let (refresh, buffer) = (&self.instances[self.refresh], &self.instances[self.buffer]);
        show("matrix_ready_o", 0, refresh.get("matrix_ready_o", 0));
        show("stream_ready_o", 0, buffer.get("stream_ready_o", 0));
        for s in 0..self.c.sms as usize {
            let (store, queue, fill) =
                (&self.instances[self.stores + s], &self.instances[self.queues + s], &self.instances[self.fills + s]);
            show("miss_ready_o", s, store.get("miss_ready_o", 0));
            show("answer_ready_o", s, queue.get("answer_ready_o", 0));
            show("refresh_valid_o", s, refresh.get("refresh_valid_o", s));
            show("fill_ready_o", s, fill.get("fill_ready_o", 0));
            for (instance, valid, payload) in [
                (store, "outcome_valid_o", &["outcome_id_o", "outcome_remote_o", "outcome_source_o", "outcome_reason_o"][..]),
                (store, "l2_valid_o", &["l2_tag_o", "l2_id_o"]),
                (queue, "probe_valid_o", &["probe_tag_o", "probe_requester_o"]),
            ] {
                let is_valid = instance.get(valid, 0);
                show(valid, s, is_valid);
                payload.iter().for_each(|port| show(port, s, if is_valid == 1 { instance.get(port, 0) } else { 0 }));
            }
        }
        for name in COUNTERS {
            let port = format!("count_{name}_o");
            show(&port, 0, self.instances[self.statistics].get(&port, 0));
        }
        if self.c.debug_port {
            let lookups = &self.instances[self.lookups];
            show("debug_ready_o", 0, lookups.get("debug_ready_o", 0) & refresh.get("matrix_ready_o", 0));
            let valid = lookups.get("debug_valid_o", 0);
            show("debug_valid_o", 0, valid);
            show("debug_row_o", 0, if valid == 1 { lookups.get("debug_row_o", 0) } else { 0 });
        }
    }

    fn clock(&mut self) {
        for instance in &mut self.instances {
            instance.block.clock(&instance.inputs);
        }
        let times = self.c.probe_timeout.max(self.c.answer_timeout) + 2;
        self.now = (self.now + 1) % u64::from(times.next_power_of_two());
    }
}

/// Runs both in the same environment.
fn compare(case: &Case, cycles: u64) {
    let sets: Vec<&str> = case.sets.iter().map(String::as_str).collect();
    let c = config(&sets);
    let source = Box::new(random((0..case.pool).map(|n| n * case.stride).collect(), case.stores, 0.0, case.seed));
    let mut environment = Environment::new(&c, case.profile.clone(), source, case.seed);
    let (mut model, mut netlist) = (C2pCache::new(&c), Netlist::new(&c));
    let (mut inputs, mut outputs) = (Signals::new(&model.inputs()), Signals::new(&model.outputs()));
    let mut shown = outputs.clone();
    for cycle in 0..cycles {
        environment.drive(&mut inputs);
        model.eval(&inputs, &mut outputs);
        netlist.eval(&inputs, &mut shown);
        for (port, description) in outputs.ports().iter().enumerate() {
            assert_eq!(outputs.words(port), shown.words(port), "cycle {cycle}, {}", description.name);
        }
        environment.observe(&inputs, &outputs);
        model.clock(&inputs);
        netlist.clock();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 50, ..proptest_config() })]
    #[test]
    fn the_netlist_of_blocks_is_the_top(mut case in cases()) {
        // Few banks and SMs: the blocks evaluate every port.
        case.sets.extend(["sms=3", "floorplan=[[0,0],[3,1],[-1,0]]"].map(String::from));
        case.sets.retain(|set| !set.starts_with("engines=") && !set.starts_with("update_engines="));
        case.sets.extend([format!("engines={}", 2 + case.seed % 5), format!("update_engines={}", 1 + case.seed % 5 / 2)]);
        compare(&case, 800);
    }
}
