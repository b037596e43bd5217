//! The APOGEE front end: fixed offsets between neighbouring warps, and addresses that all warps share.

use super::sizes::{Sizes, ones, signed};
use super::tail_table::{Load, Read, Stride, fits};
use crate::block::{Block, Port, Signals};
use crate::c2p::signal::ports;
use l1forge_config::Config;

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    valid: bool,
    pc: u64,
    warp: u64,
    line: u64,
    /// Thread-invariant.
    tia: Stride,
    /// Fixed offset.
    foa: Stride,
}

/// The table.
#[derive(Debug, Clone)]
pub struct Apogee {
    entries: Vec<Entry>,
    next: usize,
    a: u32,
    sb: u32,
}

impl Apogee {
    pub fn new(c: &Config) -> Self {
        Self { entries: vec![Entry::default(); c.sc_patterns as usize], next: 0, a: c.sc_train_bits, sb: c.sc_stride_bits }
    }

    fn find(&self, pc: u64) -> Option<usize> {
        self.entries.iter().position(|e| e.valid && e.pc == pc)
    }

    /// Pattern of a load PC, and whether it is a new one.
    pub fn pattern(&self, pc: u64) -> (u64, bool) {
        let hit = self.find(pc);
        (hit.unwrap_or(self.next) as u64, hit.is_none())
    }

    /// A pattern.
    pub fn read(&self, pattern: u64) -> Read {
        let e = &self.entries[pattern as usize];
        Read { pc: e.pc, intra: e.tia, warp: e.foa, ..Read::default() }
    }

    /// A load at the end of a cycle.
    pub fn clock(&mut self, load: Load) {
        let Some(p) = self.find(load.pc) else {
            self.entries[self.next] = Entry { valid: true, pc: load.pc, warp: load.warp, line: load.line, ..Entry::default() };
            self.next = (self.next + 1) % self.entries.len();
            return;
        };
        let (a, sb) = (self.a, self.sb);
        let e = &mut self.entries[p];
        let difference = load.line.wrapping_sub(e.line) & ones(a);
        let d = signed(difference, a);
        if load.warp == e.warp + 1 {
            e.foa.train(d, fits(d, sb));
        } else if load.warp + 1 == e.warp {
            let back = signed(difference.wrapping_neg() & ones(a), a);
            e.foa.train(back, fits(back, sb));
        }
        let moved = d != 0 && fits(d, sb) && e.tia.confidence >= 2;
        if moved {
            e.tia.stride = d;
        }
        if load.warp != e.warp {
            e.tia.confidence = if d == 0 { (e.tia.confidence + 1).min(3) } else { e.tia.confidence.saturating_sub(1) };
        }
        (e.warp, e.line) = (load.warp, load.line);
    }
}

ports! { mod i(z: Sizes) {
    LOAD_VALID = "load_valid_i", 1, 1;
    LOAD_WARP = "load_warp_i", 1, z.w;
    LOAD_PC = "load_pc_i", 1, z.pc;
    LOAD_LINE = "load_line_i", 1, z.a;
    READ_PATTERN = "read_pattern_i", 1, z.p;
} }
ports! { mod o(z: Sizes) {
    LOAD_PATTERN = "load_pattern_o", 1, z.p;
    REPLACED = "replaced_o", 1, 1;
    READ_PC = "read_pc_o", 1, z.pc;
    READ_INTRA_STRIDE = "read_intra_stride_o", 1, z.sb;
    READ_INTRA_CONFIDENCE = "read_intra_confidence_o", 1, 2;
    READ_WARP_STRIDE = "read_warp_stride_o", 1, z.sb;
    READ_WARP_CONFIDENCE = "read_warp_confidence_o", 1, 2;
} }

/// [`Apogee`] as a block.
pub struct ApogeeBlock {
    sizes: Sizes,
    table: Apogee,
}

impl ApogeeBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), table: Apogee::new(c) }
    }
}

impl Block for ApogeeBlock {
    fn name(&self) -> &str {
        "apogee"
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
            (o::READ_WARP_STRIDE, stride(read.warp)),
            (o::READ_WARP_CONFIDENCE, read.warp.confidence),
        ];
        values.into_iter().for_each(|(port, value)| outputs.set(port, 0, value));
    }
    fn clock(&mut self, inputs: &Signals) {
        let get = |port| inputs.get(port, 0);
        if get(i::LOAD_VALID) != 0 {
            self.table.clock(Load { warp: get(i::LOAD_WARP), pc: get(i::LOAD_PC), line: get(i::LOAD_LINE) });
        }
    }
}
