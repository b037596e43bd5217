//! The letters of docs/blocks/README.md, as numbers.

use super::sm_set::SmSet;
use l1forge_config::{Config, CopyChoice};

/// Most positions per tag.
pub const MAX_K: usize = 8;

/// Indices `{bank, row}` of one tag; the first k of them count.
pub type Indices = [u32; MAX_K];

/// Sizes of one configuration. Field names are the letters of docs/blocks/README.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    pub n: usize,
    pub q: usize,
    pub e: usize,
    pub w: usize,
    pub u: usize,
    pub m: usize,
    pub t: usize,
    pub i: usize,
    pub k: usize,
    pub b: usize,
    pub c: usize,
    pub r: usize,
    pub rw: usize,
    pub x: usize,
    pub s: usize,
    pub l: usize,
    /// V, rows an SM may read in a cycle.
    pub v: usize,
    pub tw: usize,
    pub st: usize,
    pub cb: usize,
    pub any_copy: bool,
    pub debug: bool,
}

impl Sizes {
    pub fn new(c: &Config) -> Self {
        let z = |v: u32| v as usize;
        Self {
            n: z(c.sms),
            q: z(c.queries_per_sm),
            e: z(c.engines),
            w: z(c.update_lanes),
            u: z(c.update_engines),
            m: z(c.shared_engines()),
            t: z(c.tag_bits()),
            i: z(c.id_bits),
            k: z(c.k()),
            b: z(c.banks),
            c: z(c.copies),
            r: z(c.rows()),
            rw: z(c.row_bits()),
            x: z(c.index_bits()),
            s: z(c.sm_bits()),
            l: z(c.slot_bits()),
            v: z(c.lookup_ports),
            tw: z(u32::BITS - (c.probe_timeout.max(c.answer_timeout) + 1).leading_zeros()),
            st: z(c.stream_tags()),
            cb: z(c.counter_bits),
            any_copy: c.copy_choice == CopyChoice::Any,
            debug: c.debug_port,
        }
    }

    /// Bank of an index.
    pub fn bank(&self, index: u32) -> usize {
        (index >> self.rw) as usize
    }

    /// Row, in its bank, of an index.
    pub fn row(&self, index: u32) -> u32 {
        index & ((1 << self.rw) - 1)
    }

    /// Copy that lookup port s·V + j reads with `copy_choice = "fixed"`.
    pub fn copy_of_port(&self, port: usize) -> usize {
        (port / self.v + port % self.v) % self.c
    }

    /// The lookup port of lookup s·k + i.
    pub fn port_of_lookup(&self, lookup: usize) -> usize {
        lookup / self.k * self.v + lookup % self.k % self.v
    }

    /// `time` modulo 2^TW.
    pub fn wrap(&self, time: u32) -> u32 {
        time & ((1 << self.tw) - 1)
    }

    /// A mask of k ones.
    pub fn all_k(&self) -> u8 {
        (0xff_u16 >> (MAX_K - self.k)) as u8
    }

    /// All SMs.
    pub fn all_sms(&self) -> SmSet {
        SmSet::first_n(self.n)
    }

    /// Sources of update lane `lane`: its SMs first, then its stream tags.
    pub fn lane_sms(&self, lane: usize) -> usize {
        (lane..self.n).step_by(self.w).len()
    }

    /// Stream tags that are sources of update lane `lane`.
    pub fn lane_stream_tags(&self, lane: usize) -> usize {
        (lane..self.st).step_by(self.w).len()
    }
}
