//! The top as a block: its ports by the names of the contract.

use super::*;
use crate::block::{Block, Port, Signals};

/// Ports of the top, by the names of the contract.
struct Wires<'a>(&'a Signals);

impl Wires<'_> {
    fn get(&self, name: &str) -> u64 {
        self.0.ports().iter().position(|p| p.name == name).map_or(0, |port| self.0.get(port, 0))
    }
    fn is(&self, name: &str) -> bool {
        self.get(name) != 0
    }
}

/// Reads the inputs of a cycle from the ports.
pub fn read_inputs(signals: &Signals) -> Inputs {
    let w = Wires(signals);
    Inputs {
        enable: w.is("enable_i"),
        flush: w.is("flush_i"),
        clear_statistics: w.is("clear_statistics_i"),
        idle: w.get("idle_registers_i"),
        base: w.get("register_base_i"),
        demand: w.is("demand_valid_i").then(|| prt::Demand {
            store: w.is("demand_store_i"),
            line: w.get("demand_line_i"),
            mask: w.get("demand_mask_i"),
        }),
        origin: (w.get("demand_warp_i"), w.get("demand_pc_i")),
        prefetch_ready: w.is("prefetch_ready_i"),
        have: w.get("prefetch_have_i"),
        fill: w.is("fill_valid_i").then(|| Fill {
            table: w.is("fill_table_i"),
            to: prt::Fill {
                entry: w.get("fill_entry_i"),
                line: w.get("fill_line_i"),
                mask: w.get("fill_mask_i"),
                bypass: w.get("fill_bypass_i"),
            },
            pattern: w.get("fill_pattern_i"),
            zero: w.is("fill_zero_i"),
        }),
        refill_ready: w.is("refill_ready_i"),
        used: w.is("use_valid_i").then(|| (w.is("use_late_i"), w.get("use_mask_i"), w.get("use_handle_i"))),
        used_line: None,
        evict: w.is("evict_valid_i").then(|| Unread {
            line: w.get("evict_line_i"),
            mask: w.get("evict_mask_i"),
            handle: w.get("evict_handle_i"),
        }),
        evict_invalid: w.is("evict_invalid_i"),
        candidate: w.is("candidate_valid_i").then(|| Candidate {
            line: w.get("candidate_line_i"),
            mask: w.get("candidate_mask_i"),
            pattern: w.get("candidate_pattern_i"),
            kind: w.get("candidate_kind_i"),
            distance: w.get("candidate_distance_i"),
            confidence: w.get("candidate_confidence_i"),
            warp: w.get("candidate_warp_i"),
            pc: w.get("candidate_pc_i"),
        }),
        best: (w.get("best_kind_i"), w.get("best_warp_i"), w.get("best_pc_i")),
    }
}

/// Drives the ports from the inputs of a cycle; what has no valid keeps its value.
pub fn write_inputs(x: &Inputs, signals: &mut Signals) {
    let mut set = |name: &str, value: u64| {
        if let Some(port) = signals.ports().iter().position(|p| p.name == name) {
            signals.set(port, 0, value);
        }
    };
    set("enable_i", x.enable.into());
    set("flush_i", x.flush.into());
    set("clear_statistics_i", x.clear_statistics.into());
    set("idle_registers_i", x.idle);
    set("register_base_i", x.base);
    set("demand_valid_i", x.demand.is_some().into());
    if let Some(d) = x.demand {
        set("demand_store_i", d.store.into());
        set("demand_warp_i", x.origin.0);
        set("demand_pc_i", x.origin.1);
        set("demand_line_i", d.line);
        set("demand_mask_i", d.mask);
    }
    set("prefetch_ready_i", x.prefetch_ready.into());
    set("prefetch_have_i", x.have);
    set("fill_valid_i", x.fill.is_some().into());
    if let Some(f) = x.fill {
        set("fill_table_i", f.table.into());
        set("fill_entry_i", f.to.entry);
        set("fill_line_i", f.to.line);
        set("fill_mask_i", f.to.mask);
        set("fill_bypass_i", f.to.bypass);
        set("fill_pattern_i", f.pattern);
        set("fill_zero_i", f.zero.into());
    }
    set("refill_ready_i", x.refill_ready.into());
    set("use_valid_i", x.used.is_some().into());
    if let Some((late, mask, handle)) = x.used {
        set("use_late_i", late.into());
        set("use_mask_i", mask);
        set("use_handle_i", handle);
    }
    set("evict_valid_i", x.evict.is_some().into());
    set("evict_invalid_i", x.evict_invalid.into());
    if let Some(e) = x.evict {
        set("evict_line_i", e.line);
        set("evict_mask_i", e.mask);
        set("evict_handle_i", e.handle);
    }
    set("candidate_valid_i", x.candidate.is_some().into());
    if let Some(c) = x.candidate {
        set("candidate_line_i", c.line);
        set("candidate_mask_i", c.mask);
        set("candidate_pattern_i", c.pattern);
        set("candidate_kind_i", c.kind);
        set("candidate_distance_i", c.distance);
        set("candidate_confidence_i", c.confidence);
        set("candidate_warp_i", c.warp);
        set("candidate_pc_i", c.pc);
    }
    set("best_kind_i", x.best.0);
    set("best_warp_i", x.best.1);
    set("best_pc_i", x.best.2);
}

impl Block for SnakeCharmer {
    fn name(&self) -> &str {
        "snakecharmer"
    }

    fn inputs(&self) -> Vec<Port> {
        let z = &self.sizes;
        let external = matches!(self.tables, Tables::External);
        let mut list = vec![
            ("enable_i", 1),
            ("flush_i", 1),
            ("clear_statistics_i", 1),
            ("idle_registers_i", z.ec),
            ("register_base_i", z.rb),
            ("demand_valid_i", 1),
            ("demand_store_i", 1),
        ];
        if !external {
            list.extend([("demand_warp_i", z.w), ("demand_pc_i", z.pc)]);
        }
        list.extend([
            ("demand_line_i", z.t),
            ("demand_mask_i", z.s),
            ("prefetch_ready_i", 1),
            ("prefetch_have_i", z.s),
            ("fill_valid_i", 1),
            ("fill_table_i", 1),
            ("fill_entry_i", z.e),
            ("fill_line_i", z.t),
            ("fill_mask_i", z.s),
            ("fill_bypass_i", z.s),
            ("fill_pattern_i", z.p),
            ("fill_zero_i", 1),
            ("refill_ready_i", 1),
            ("use_valid_i", 1),
            ("use_late_i", 1),
            ("use_mask_i", z.s),
            ("use_handle_i", z.h),
            ("evict_valid_i", 1),
            ("evict_invalid_i", 1),
            ("evict_line_i", z.t),
            ("evict_mask_i", z.s),
            ("evict_handle_i", z.h),
        ]);
        if external {
            list.extend([
                ("candidate_valid_i", 1),
                ("candidate_line_i", z.t),
                ("candidate_mask_i", z.s),
                ("candidate_pattern_i", z.p),
                ("candidate_kind_i", 2),
                ("candidate_distance_i", z.d),
                ("candidate_confidence_i", 2),
                ("candidate_warp_i", z.w),
                ("candidate_pc_i", z.pc),
                ("best_kind_i", 2),
                ("best_warp_i", z.w),
                ("best_pc_i", z.pc),
            ]);
        }
        list.into_iter().map(|(name, bits)| Port::new(name, bits, 1)).collect()
    }

    fn outputs(&self) -> Vec<Port> {
        let z = &self.sizes;
        let port = |name, bits| Port::new(name, bits, 1);
        let mut list = vec![
            port("registers_drained_o", 1),
            port("answer_valid_o", 1),
            port("answer_hit_o", z.s),
            port("answer_waiting_o", z.s),
            port("answer_register_o", z.rb),
            port("prefetch_valid_o", 1),
            port("prefetch_line_o", z.t),
            port("prefetch_mask_o", z.s),
            port("prefetch_table_o", 1),
            port("prefetch_entry_o", z.e).when("prefetch_table_o"),
            port("prefetch_pattern_o", z.p),
            port("prefetch_handle_o", z.h),
            port("fill_register_mask_o", z.s),
            port("fill_register_o", z.rb).when("fill_register_mask_o"),
            port("refill_valid_o", 1),
            port("refill_line_o", z.t),
            port("refill_mask_o", z.s),
            port("refill_register_o", z.rb),
        ];
        if matches!(self.tables, Tables::External) {
            list.extend([port("candidate_ready_o", 1).when("candidate_valid_i"), port("best_distance_o", z.d)]);
        }
        list.extend(COUNTERS.iter().map(|name| Port::new(&format!("count_{name}_o"), z.cb, 1)));
        list
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let r = SnakeCharmer::outputs(self, &read_inputs(inputs));
        let offer = r.offer.unwrap_or_default();
        let refill = r.prt.refill.unwrap_or_default();
        let answer = r.prt.answer;
        let mut values = vec![
            u64::from(r.prt.drained),
            answer.valid.into(),
            answer.hit,
            answer.waiting,
            answer.register,
            r.offer.is_some().into(),
            offer.line,
            offer.mask,
            offer.entry.is_some().into(),
            offer.entry.unwrap_or(0),
            offer.pattern,
            offer.handle,
            r.prt.fill_mask,
            r.prt.fill_register,
            r.prt.refill.is_some().into(),
            refill.0,
            refill.1,
            refill.2,
        ];
        if matches!(self.tables, Tables::External) {
            values.extend([u64::from(r.candidate_ready), r.best]);
        }
        values.extend(self.counters());
        values.into_iter().enumerate().for_each(|(port, value)| outputs.set(port, 0, value));
    }

    fn clock(&mut self, inputs: &Signals) {
        self.step(&read_inputs(inputs));
    }
}
