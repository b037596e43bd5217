//! The patterns: one entry per load PC with its strides and their confidences.

use super::head_table::Previous;
use super::sizes::{Sizes, ones, signed};
use crate::block::{Block, Port, Signals};
use crate::c2p::signal::ports;
use l1forge_config::Config;

/// A stride that is trained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stride {
    /// Lines from one load to the next.
    pub stride: i64,
    /// 0..=3.
    pub confidence: u64,
}

impl Stride {
    /// One more sample; `fits`: it can be a stride.
    pub fn train(&mut self, d: i64, fits: bool) {
        if fits && d == self.stride {
            self.confidence = (self.confidence + 1).min(3);
        } else if self.confidence == 0 {
            if fits {
                self.stride = d;
            }
        } else {
            self.confidence -= 1;
        }
    }
}

/// `d` can be a stride of `bits` bits.
pub fn fits(d: i64, bits: u32) -> bool {
    let half = 1i64 << (bits - 1);
    (-half..half).contains(&d)
}

/// A load as the tables see it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Its warp.
    pub warp: u64,
    /// Its PC.
    pub pc: u64,
    /// Low bits of its line.
    pub line: u64,
}

/// What the generator reads of a pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Read {
    /// Load PC.
    pub pc: u64,
    /// Intra-warp.
    pub intra: Stride,
    /// Pattern that follows.
    pub link_pattern: u64,
    /// Inter-PC.
    pub link: Stride,
    /// Inter-warp.
    pub warp: Stride,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    valid: bool,
    read: Read,
    /// Warp and line that intra-warp strides are measured from.
    anchor: Option<(u64, u64)>,
    seen: bool,
}

/// The table.
#[derive(Debug, Clone)]
pub struct TailTable {
    entries: Vec<Entry>,
    /// Pattern, warp and line of the last load of all, which inter-warp strides are measured from.
    last: Option<(usize, u64, u64)>,
    next: usize,
    tick: u64,
    period: u64,
    a: u32,
    sb: u32,
}

impl TailTable {
    pub fn new(c: &Config) -> Self {
        Self {
            entries: vec![Entry::default(); c.sc_patterns as usize],
            last: None,
            next: 0,
            tick: 0,
            period: c.sc_anchor_period.into(),
            a: c.sc_train_bits,
            sb: c.sc_stride_bits,
        }
    }

    fn find(&self, pc: u64) -> Option<usize> {
        self.entries.iter().position(|e| e.valid && e.read.pc == pc)
    }

    /// Pattern of a load PC, and whether it is a new one.
    pub fn pattern(&self, pc: u64) -> (u64, bool) {
        let hit = self.find(pc);
        (hit.unwrap_or(self.next) as u64, hit.is_none())
    }

    /// A pattern.
    pub fn read(&self, pattern: u64) -> Read {
        self.entries[pattern as usize].read
    }

    /// End of the cycle.
    pub fn clock(&mut self, load: Option<Load>, previous: Option<Previous>) {
        let mut anchored = None;
        if let Some(load) = load {
            match self.find(load.pc) {
                None => anchored = Some(self.replace(load)),
                Some(p) => {
                    if self.train(p, load) {
                        anchored = Some(p);
                    }
                    self.neighbours(p, load);
                    if let Some(previous) = previous {
                        self.link(p, load, previous);
                    }
                }
            }
            self.last = Some((self.pattern(load.pc).0 as usize, load.warp, load.line));
        }
        if self.tick == self.period - 1 {
            for e in &mut self.entries {
                if !e.seen {
                    e.anchor = None;
                }
                e.seen = false;
            }
        }
        self.tick = (self.tick + 1) % self.period;
        if let (Some(p), Some(load)) = (anchored, load) {
            self.entries[p].anchor = Some((load.warp, load.line));
            self.entries[p].seen = true;
        }
    }

    /// So many cycles without a load.
    pub fn rest(&mut self, cycles: u64) {
        let periods = (self.tick + cycles) / self.period;
        self.tick = (self.tick + cycles) % self.period;
        for e in self.entries.iter_mut().filter(|_| periods > 0) {
            if !e.seen || periods > 1 {
                e.anchor = None;
            }
            e.seen = false;
        }
    }

    /// A new pattern in the oldest place.
    fn replace(&mut self, load: Load) -> usize {
        let p = self.next;
        for e in &mut self.entries {
            if e.read.link_pattern == p as u64 {
                e.read.link.confidence = 0;
            }
        }
        self.entries[p] = Entry { valid: true, read: Read { pc: load.pc, ..Read::default() }, ..Entry::default() };
        self.next = (p + 1) % self.entries.len();
        p
    }

    /// Stride of one warp. Returns whether the load becomes the anchor.
    fn train(&mut self, p: usize, load: Load) -> bool {
        let (a, sb) = (self.a, self.sb);
        let entry = &mut self.entries[p];
        let Some((warp, line)) = entry.anchor else { return true };
        if warp != load.warp {
            return false;
        }
        let d = signed(load.line.wrapping_sub(line) & ones(a), a);
        entry.read.intra.train(d, fits(d, sb));
        true
    }

    /// Stride from warp to warp, when the load before was one of the same pattern by another.
    fn neighbours(&mut self, p: usize, load: Load) {
        let (a, sb) = (self.a, self.sb);
        let Some((pattern, warp, line)) = self.last else { return };
        let n = warp.abs_diff(load.warp);
        if pattern != p || !n.is_power_of_two() {
            return;
        }
        let difference = load.line.wrapping_sub(line) & ones(a);
        let k = n.trailing_zeros();
        let q = signed(difference, a) >> k;
        let d = if load.warp > warp { q } else { signed(q.wrapping_neg() as u64 & ones(a), a) };
        let whole = difference & ones(k.min(a)) == 0;
        self.entries[p].read.warp.train(d, whole && fits(d, sb));
    }

    /// The link from the warp's last load.
    fn link(&mut self, p: usize, load: Load, previous: Previous) {
        let (a, sb) = (self.a, self.sb);
        if previous.pattern == p as u64 {
            return;
        }
        let from = &mut self.entries[previous.pattern as usize].read;
        let d = signed(load.line.wrapping_sub(previous.line) & ones(a), a);
        if from.link_pattern == p as u64 {
            from.link.train(d, fits(d, sb));
        } else if from.link.confidence == 0 {
            from.link_pattern = p as u64;
            from.link.stride = if fits(d, sb) { d } else { 0 };
        } else {
            from.link.confidence -= 1;
        }
    }
}

ports! { mod i(z: Sizes) {
    LOAD_VALID = "load_valid_i", 1, 1;
    LOAD_WARP = "load_warp_i", 1, z.w;
    LOAD_PC = "load_pc_i", 1, z.pc;
    LOAD_LINE = "load_line_i", 1, z.a;
    PREVIOUS_VALID = "previous_valid_i", 1, 1;
    PREVIOUS_PATTERN = "previous_pattern_i", 1, z.p;
    PREVIOUS_LINE = "previous_line_i", 1, z.a;
    READ_PATTERN = "read_pattern_i", 1, z.p;
} }
ports! { mod o(z: Sizes) {
    LOAD_PATTERN = "load_pattern_o", 1, z.p;
    REPLACED = "replaced_o", 1, 1;
    READ_PC = "read_pc_o", 1, z.pc;
    READ_INTRA_STRIDE = "read_intra_stride_o", 1, z.sb;
    READ_INTRA_CONFIDENCE = "read_intra_confidence_o", 1, 2;
    READ_LINK_PATTERN = "read_link_pattern_o", 1, z.p;
    READ_LINK_STRIDE = "read_link_stride_o", 1, z.sb;
    READ_LINK_CONFIDENCE = "read_link_confidence_o", 1, 2;
    READ_WARP_STRIDE = "read_warp_stride_o", 1, z.sb;
    READ_WARP_CONFIDENCE = "read_warp_confidence_o", 1, 2;
} }

/// [`TailTable`] as a block.
pub struct TailTableBlock {
    sizes: Sizes,
    table: TailTable,
}

impl TailTableBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), table: TailTable::new(c) }
    }
}

impl Block for TailTableBlock {
    fn name(&self) -> &str {
        "tail_table"
    }
    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }
    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let (pattern, new) = self.table.pattern(inputs.get(i::LOAD_PC, 0));
        let read = self.table.read(inputs.get(i::READ_PATTERN, 0));
        let stride = |s: Stride| s.stride as u64 & ones(self.sizes.sb);
        let values = [
            (o::LOAD_PATTERN, pattern),
            (o::REPLACED, u64::from(new) & inputs.get(i::LOAD_VALID, 0)),
            (o::READ_PC, read.pc),
            (o::READ_INTRA_STRIDE, stride(read.intra)),
            (o::READ_INTRA_CONFIDENCE, read.intra.confidence),
            (o::READ_LINK_PATTERN, read.link_pattern),
            (o::READ_LINK_STRIDE, stride(read.link)),
            (o::READ_LINK_CONFIDENCE, read.link.confidence),
            (o::READ_WARP_STRIDE, stride(read.warp)),
            (o::READ_WARP_CONFIDENCE, read.warp.confidence),
        ];
        values.into_iter().for_each(|(port, value)| outputs.set(port, 0, value));
    }
    fn clock(&mut self, inputs: &Signals) {
        let get = |port| inputs.get(port, 0);
        let load = Load { warp: get(i::LOAD_WARP), pc: get(i::LOAD_PC), line: get(i::LOAD_LINE) };
        let previous = Previous { pattern: get(i::PREVIOUS_PATTERN), line: get(i::PREVIOUS_LINE) };
        self.table.clock((get(i::LOAD_VALID) != 0).then_some(load), (get(i::PREVIOUS_VALID) != 0).then_some(previous));
    }
}
