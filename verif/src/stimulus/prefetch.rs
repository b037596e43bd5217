//! One driver per block of SnakeCharmer.

use super::drivers::{Fill, Free};
use super::{Driver, Io};
use l1forge_config::Config;
use l1forge_sim::snakecharmer::environment::{Environment, Profile};
use l1forge_sim::snakecharmer::streams::{Shape, Stream};
use l1forge_sim::snakecharmer::{SnakeCharmer, write_inputs};
use rand::Rng;

/// The driver of a block.
pub(super) fn driver(name: &str, c: &Config, seed: u64) -> Box<dyn Driver> {
    let (warps, patterns) = (u64::from(c.sc_warps), u64::from(c.sc_patterns));
    let free = |fills: &[(&'static str, Fill)]| -> Box<dyn Driver> { Box::new(Free(fills.to_vec())) };
    let largest = u64::from(c.sc_max_intra_warp.max(c.sc_max_inter_pc).max(c.sc_max_inter_warp));
    // Few lines, so that tables are hit; the lines differ in their high bits too.
    match name {
        "head_table" => free(&[
            ("load_valid_i", Fill::Bits(0)),
            ("load_warp_i", Fill::Below(warps)),
            ("load_pattern_i", Fill::Below(patterns)),
            ("load_line_i", Fill::Below(1 << c.sc_train_bits)),
            ("replaced_i", Fill::Seldom(1, 0.3)),
        ]),
        "tail_table" | "apogee" => Box::new(Training::new(name == "tail_table", c)),
        "candidate_generator" => Box::new(Generator { patterns, warps, largest }),
        "zero_filter" => free(&[
            ("fill_valid_i", Fill::Bits(0)),
            ("fill_pattern_i", Fill::Below(patterns.min(5))),
            ("fill_zero_i", Fill::Bits(1)),
            ("clear_valid_i", Fill::Seldom(2, 0.03)),
            ("clear_pattern_i", Fill::Below(patterns.min(5))),
            ("query_pattern_i", Fill::Below(patterns.min(5))),
        ]),
        "sgu" => Box::new(Score),
        "l1_awt" => Box::new(Awt { local: true, warps, largest, entries: c.sc_l1_awt_entries.into(), known: Vec::new(), steady: (0, 0) }),
        "l2_awt" => Box::new(Awt { local: false, warps, largest, entries: c.sc_l2_awt_entries.into(), known: Vec::new(), steady: (0, 0) }),
        "prefetch_queue" => Box::new(Queue { patterns }),
        "peb" => Box::new(Evictions),
        "feedback" => Box::new(Events),
        "prefetch_statistics" => Box::new(Counters { sectors: c.sc_sectors().into(), entries: c.sc_prt_entries.into() }),
        "prt" => Box::new(Table { entries: c.sc_prt_entries.into(), flights: Vec::new(), idle: c.sc_prt_entries.into() }),
        "snakecharmer" => Box::new(Top::new(c, seed)),
        _ => unreachable!("a golden model of {name} exists, its stimulus does not"),
    }
}

impl Io {
    /// Bits of an input.
    fn width(&self, port: &str) -> u32 {
        self.inputs.ports()[self.inputs.index(port)].bits
    }

    /// Sets an input to any value, cut to its width.
    fn put(&mut self, port: &str, value: u64) {
        let bits = self.width(port);
        self.set(port, 0, value & (u64::MAX >> (64 - bits)));
    }

    /// One of few lines that differ in low and high bits.
    fn line(&mut self, port: &str, few: u64) {
        let n = self.below(few);
        let spread = if n.is_multiple_of(3) { n.wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { n };
        self.put(port, spread);
    }

    /// A mask that is not 0.
    fn sectors(&mut self, port: &str) {
        let all = u64::MAX >> (64 - self.width(port));
        let mask = match self.rng.random_range(0..4) {
            0 => all,
            1 => 1 << self.rng.random_range(0..self.width(port)),
            _ => self.rng.random_range(1..=all),
        };
        self.put(port, mask);
    }

    /// One bit, from a knob.
    fn knob(&mut self, port: &str, knob: usize) -> bool {
        let value = self.chance(knob);
        self.flag(port, 0, value);
        value
    }
}

/// Loads in strides that now and then change.
struct Training {
    tail: bool,
    warps: u64,
    patterns: u64,
    /// Base, stride within a warp, stride between warps, of some PCs.
    strides: Vec<(u64, u64, u64)>,
    step: Vec<u64>,
    previous: Vec<Option<(u64, u64)>>,
    load: Option<(usize, u64)>,
}

impl Training {
    fn new(tail: bool, c: &Config) -> Self {
        let pcs = c.sc_patterns as usize + 2;
        Self {
            tail,
            warps: c.sc_warps.into(),
            patterns: c.sc_patterns.into(),
            strides: vec![(0, 1, 1); pcs.min(1 << c.sc_pc_bits.min(12))],
            step: vec![0; c.sc_warps as usize],
            previous: vec![None; c.sc_warps as usize],
            load: None,
        }
    }
}

impl Driver for Training {
    fn drive(&mut self, io: &mut Io) {
        if io.rarely(0.01) {
            let pc = io.rng.random_range(0..self.strides.len());
            let odd = [0, 1, 4, 0x7fff, u64::MAX, u64::MAX - 6, io.rng.random()];
            let one = odd[io.rng.random_range(0..odd.len())];
            let other = odd[io.rng.random_range(0..odd.len())];
            self.strides[pc] = (io.rng.random(), one, other);
        }
        io.knob("load_valid_i", 0);
        let warp = io.below(self.warps.min(6));
        let pc = io.below((self.strides.len() as u64).min(if io.phase.few { 3 } else { u64::MAX }));
        let (base, within, between) = self.strides[pc as usize];
        let mut line = base.wrapping_add(within.wrapping_mul(self.step[warp as usize])).wrapping_add(between.wrapping_mul(warp));
        if io.rarely(0.1) {
            line = io.rng.random();
        }
        self.step[warp as usize] = self.step[warp as usize].wrapping_add(u64::from(io.rarely(0.5)));
        io.put("load_warp_i", warp);
        io.put("load_pc_i", pc);
        io.put("load_line_i", line);
        let read = io.below(self.patterns);
        io.put("read_pattern_i", read);
        if self.tail {
            let previous = self.previous[warp as usize].filter(|_| !io.rng.random_bool(0.05));
            io.flag("previous_valid_i", 0, previous.is_some());
            if let Some((pattern, line)) = previous {
                io.put("previous_pattern_i", pattern);
                io.put("previous_line_i", line);
            }
        }
        self.load = Some((warp as usize, line));
    }

    fn observe(&mut self, io: &Io) {
        if let Some((warp, line)) = self.load.filter(|_| io.input("load_valid_i", 0) != 0) {
            self.previous[warp] = Some((io.output("load_pattern_o", 0), line));
        }
    }
}

struct Generator {
    patterns: u64,
    warps: u64,
    largest: u64,
}

impl Driver for Generator {
    fn drive(&mut self, io: &mut Io) {
        io.knob("trigger_valid_i", 0);
        io.knob("candidate_ready_i", 1);
        let (warp, pattern) = (io.below(self.warps), io.below(self.patterns));
        io.put("trigger_warp_i", warp);
        io.put("trigger_pattern_i", pattern);
        io.line("trigger_line_i", 100);
        io.sectors("trigger_mask_i");
        // Tables change seldom or all the time.
        if io.chance(2) || io.cycle == 0 {
            for port in ["read_intra_stride_i", "read_link_stride_i", "read_warp_stride_i"] {
                let value = [0, 1, u64::MAX, io.rng.random()][io.rng.random_range(0..4)];
                io.put(port, value);
            }
            for port in ["read_intra_confidence_i", "read_link_confidence_i", "read_warp_confidence_i"] {
                let value = io.rng.random_range(0..4);
                io.put(port, value);
            }
            let best = 1 + if io.rarely(0.5) { io.rng.random_range(0..self.largest) } else { io.rng.random_range(0..self.largest.min(4)) };
            io.put("best_distance_i", best);
        }
        let link = io.below(self.patterns);
        io.put("read_link_pattern_i", link);
        let pc = io.rng.random();
        io.put("read_pc_i", pc);
    }
}

struct Score;

impl Driver for Score {
    fn drive(&mut self, io: &mut Io) {
        let best: u64 = io.rng.random();
        let near = best.wrapping_add(io.rng.random_range(0..15)).wrapping_sub(7);
        let distance = if io.rarely(0.8) { near } else { io.rng.random() };
        let (kind, confidence) = (io.rng.random_range(0..4), io.rng.random_range(0..4));
        for (port, value) in [("best_i", best), ("distance_i", distance), ("kind_i", kind), ("confidence_i", confidence)] {
            io.put(port, value);
        }
    }
}

/// Either AWT.
struct Awt {
    local: bool,
    warps: u64,
    largest: u64,
    entries: u64,
    /// Entries that were given out: index and generation.
    known: Vec<(u64, u64)>,
    /// Cycles left, and class, of a long row of events for one entry: its distance comes to the limit.
    steady: (u32, u64),
}

impl Awt {
    fn context(&self, prefix: &str, io: &mut Io) {
        let kind = io.rng.random_range(0..3);
        io.put(&format!("{prefix}_kind_i"), kind);
        if self.local {
            let warp = io.below(self.warps);
            io.put(&format!("{prefix}_warp_i"), warp);
        }
        let pcs = if io.phase.few { 3 } else { self.entries + 5 };
        // Every bit of a PC is set in some.
        let pc = io.rng.random_range(0..pcs).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        io.put(&format!("{prefix}_pc_i"), pc);
    }
}

impl Driver for Awt {
    fn drive(&mut self, io: &mut Io) {
        self.context("best", io);
        self.context("lookup", io);
        if self.steady.0 == 0 && io.rarely(1.0 / 4096.0) {
            self.steady = (io.rng.random_range(50..1500), [1, 2, 2][io.rng.random_range(0..3)]);
        }
        let steady = self.steady.0 > 0;
        self.steady.0 = self.steady.0.saturating_sub(1);
        // Events for entries that nobody has had yet come first.
        let allocate = !steady && io.cycle > 40 && io.chance(0) && io.rarely(if io.phase.few { 0.5 } else { 0.1 });
        io.flag("lookup_allocate_i", 0, allocate);
        let valid = io.chance(1) || steady;
        io.flag("feedback_valid_i", 0, valid);
        // Most events of a phase are of one class.
        let class = if io.rarely(0.7) { io.phase.base % 3 } else { io.rng.random_range(0..3) };
        io.put("feedback_class_i", if steady { self.steady.1 } else { class });
        let (mut index, mut generation) = (io.rng.random_range(0..self.entries), io.rng.random());
        if io.rarely(0.5) {
            generation = 0;
        }
        if !self.known.is_empty() && io.rarely(0.95) {
            let last = self.known.len() - 1;
            // Few entries get many events.
            let at = if steady {
                last
            } else if io.rarely(0.8) {
                last - io.rng.random_range(0..=last.min(2))
            } else {
                io.rng.random_range(0..=last)
            };
            (index, generation) = self.known[at];
        }
        io.put("feedback_index_i", index);
        io.put("feedback_generation_i", generation);
        if self.local {
            let mut distance = || 1 + io.rng.random_range(0..self.largest);
            let (wide, narrow) = (distance(), distance());
            io.put("lookup_global_i", wide);
            io.put("feedback_global_i", narrow);
            io.knob("feedback_global_valid_i", 2);
        }
    }

    fn observe(&mut self, io: &Io) {
        let local = !self.local || io.output("lookup_local_o", 0) != 0;
        if io.input("lookup_allocate_i", 0) != 0 && local {
            self.known.push((io.output("lookup_index_o", 0), io.output("lookup_generation_o", 0)));
            if self.known.len() > 40 {
                self.known.remove(0);
            }
        }
    }
}

struct Queue {
    patterns: u64,
}

impl Driver for Queue {
    fn drive(&mut self, io: &mut Io) {
        io.knob("push_valid_i", 0);
        io.knob("pop_ready_i", 1);
        let flush = io.chance(2) && io.rarely(0.05);
        io.flag("flush_i", 0, flush);
        io.line("push_line_i", 20);
        io.sectors("push_mask_i");
        let pattern = io.below(self.patterns);
        io.put("push_pattern_i", pattern);
        let handle = io.rng.random();
        io.put("push_handle_i", handle);
    }
}

struct Evictions;

impl Driver for Evictions {
    fn drive(&mut self, io: &mut Io) {
        for (n, source) in ["demand", "evict", "drop"].into_iter().enumerate() {
            io.knob(&format!("{source}_valid_i"), n);
            io.line(&format!("{source}_line_i"), 90);
            io.sectors(&format!("{source}_mask_i"));
            if source != "demand" {
                let handle = io.rng.random();
                io.put(&format!("{source}_handle_i"), handle);
            }
        }
    }
}

struct Events;

impl Driver for Events {
    fn drive(&mut self, io: &mut Io) {
        for (n, source) in ["early", "use", "on_time"].into_iter().enumerate() {
            io.knob(&format!("{source}_valid_i"), n);
            let handle = io.rng.random();
            io.put(&format!("{source}_handle_i"), handle);
        }
        io.knob("use_late_i", 3);
    }
}

struct Counters {
    sectors: u64,
    entries: u64,
}

impl Driver for Counters {
    fn drive(&mut self, io: &mut Io) {
        let clear = io.chance(0) && io.rarely(0.05);
        io.flag("clear_i", 0, clear);
        let (s, table) = (self.sectors, self.sectors * self.entries);
        for (name, most) in [
            ("issued", s),
            ("on_time", 2 * s),
            ("early", s),
            ("late", s),
            ("unused", 3 * s),
            ("invalidated", table + s),
            ("registered", s),
            ("register_used", s),
            ("register_invalidated", table),
            ("dropped", s),
            ("evicted", s),
            ("candidates", 1),
            ("suppressed", 1),
            ("rejected", 1),
            ("duplicates", 1),
            ("redundant", 1),
            ("bypassed", 1),
            ("lost_triggers", 1),
            ("lost_events", 3),
        ] {
            let value = if io.chance(1) { io.rng.random_range(0..=most) } else { [0, most][io.rng.random_range(0..2)] };
            io.put(&format!("{name}_i"), value);
        }
    }
}

/// The register table, with the MSHRs that fill it.
struct Table {
    entries: u64,
    /// Entry, line and sectors of what is on its way.
    flights: Vec<(u64, u64, u64)>,
    idle: u64,
}

impl Driver for Table {
    fn drive(&mut self, io: &mut Io) {
        if io.cycle == 0 {
            let base = io.rng.random();
            io.put("register_base_i", base);
        }
        if io.chance(0) && io.rarely(0.02) {
            self.idle = [0, 1, self.entries - 1, self.entries, io.rng.random_range(0..=self.entries)][io.rng.random_range(0..5)];
        }
        io.put("idle_registers_i", self.idle);
        let flush = io.chance(1) && io.rarely(0.01);
        io.flag("flush_i", 0, flush);
        let lines = (3 * self.entries / 2 + 2).max(6);
        io.knob("demand_valid_i", 2);
        let store = io.chance(3) && io.rarely(0.3);
        io.flag("demand_store_i", 0, store);
        io.line("demand_line_i", lines);
        io.sectors("demand_mask_i");
        io.knob("prefetch_valid_i", 4);
        io.line("prefetch_line_i", lines);
        io.sectors("prefetch_mask_i");
        let handle = io.rng.random();
        io.put("prefetch_handle_i", handle);
        io.knob("refill_ready_i", 5);
        io.knob("drop_ready_i", 6);
        let fill = !self.flights.is_empty() && io.chance(7);
        io.flag("fill_valid_i", 0, fill);
        if fill {
            let at = io.rng.random_range(0..self.flights.len());
            let (entry, line, mask) = self.flights[at];
            // All of it, or some sectors now and the others later.
            let some = io.rng.random::<u64>() & mask;
            let part = if some != 0 && io.rarely(0.5) { some } else { mask };
            if part == mask {
                self.flights.swap_remove(at);
            } else {
                self.flights[at].2 &= !part;
            }
            let bypass = if io.rarely(0.2) { io.rng.random::<u64>() & part } else { 0 };
            for (port, value) in [("fill_entry_i", entry), ("fill_line_i", line), ("fill_mask_i", part), ("fill_bypass_i", bypass)] {
                io.put(port, value);
            }
        }
        // Sectors on their way are not asked for twice.
        let (line, wanted) = (io.input("prefetch_line_i", 0), io.input("prefetch_mask_i", 0));
        let mut have = self.flights.iter().filter(|f| f.1 == line).fold(0, |m, f| m | f.2);
        if io.rarely(0.2) {
            have |= io.rng.random::<u64>() & wanted;
        }
        io.put("prefetch_have_i", have);
        io.eval();
        let offered = io.input("prefetch_valid_i", 0) != 0 && io.output("prefetch_wait_o", 0) == 0 && io.output("prefetch_mask_o", 0) != 0;
        let take = offered && io.chance(8);
        io.flag("prefetch_take_i", 0, take);
        let wanted = io.output("prefetch_mask_o", 0) & !have;
        if take && io.output("prefetch_table_o", 0) != 0 && wanted != 0 {
            self.flights.push((io.output("prefetch_entry_o", 0), line, wanted));
        }
    }
}

/// The top in its environment.
struct Top {
    model: SnakeCharmer,
    environment: Environment,
}

impl Top {
    fn new(c: &Config, seed: u64) -> Self {
        let shape = Shape::ALL[seed as usize % Shape::ALL.len()];
        let stream = Stream::new(shape, 6, u64::MAX, seed).gap(2).zeros(60);
        Self { model: SnakeCharmer::new(c), environment: Environment::new(c, Profile::random(c, seed), stream, seed) }
    }
}

impl Driver for Top {
    fn drive(&mut self, io: &mut Io) {
        let x = self.environment.drive(&self.model);
        write_inputs(&x, &mut io.inputs);
        let o = self.model.outputs(&x);
        self.environment.observe(&x, &o);
        self.model.step(&x);
    }
}
