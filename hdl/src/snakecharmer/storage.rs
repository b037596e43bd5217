//! Storage of SnakeCharmer, structure by structure.

use super::context::Context;
use super::l1_awt::warp_tag_bits;
use super::window::count_width;
use crate::rtl::{index_width, value_width};
use l1forge_config::{Config, Frontend};
use serde_json::json;

/// Bits of one structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    /// The block, or what the L1 or the MSHRs add.
    pub name: &'static str,
    /// Entries.
    pub entries: u32,
    /// Bits of an entry.
    pub entry_bits: u32,
    /// Bits beside the entries: pointers, timers, registers of the interface.
    pub other_bits: u32,
}

impl Structure {
    /// All bits.
    pub fn bits(&self) -> u64 {
        u64::from(self.entries) * u64::from(self.entry_bits) + u64::from(self.other_bits)
    }
}

/// Storage of one SM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    /// What the prefetcher itself holds, without event counters.
    pub structures: Vec<Structure>,
    /// What the L1 and the MSHRs must add: bits per line with unused prefetched sectors and per outstanding prefetch.
    pub outside: Vec<Structure>,
}

impl Storage {
    /// Bits of the prefetcher.
    pub fn bits(&self) -> u64 {
        self.structures.iter().map(Structure::bits).sum()
    }

    /// Bits that L1 and MSHRs add.
    pub fn outside_bits(&self) -> u64 {
        self.outside.iter().map(Structure::bits).sum()
    }

    /// The report as it stands in the manifest.
    pub fn report(&self) -> serde_json::Value {
        let list = |list: &[Structure]| {
            list.iter()
                .map(|s| json!({"name": s.name, "entries": s.entries, "entry_bits": s.entry_bits, "other_bits": s.other_bits, "bits": s.bits()}))
                .collect::<Vec<_>>()
        };
        json!({
            "structures": list(&self.structures),
            "bits": self.bits(),
            "bytes": self.bits().div_ceil(8),
            "paper_bytes": 2700,
            "outside": list(&self.outside),
            "outside_bits": self.outside_bits(),
        })
    }
}

/// The lines of a paper-sized set of MSHRs: prefetches that may be outstanding at once.
const MSHRS: u32 = 64;

/// Storage of a configuration.
pub fn storage(config: &Config) -> Storage {
    let c = &Context::new(config);
    let ring = |n: u32| if n > 1 { index_width(n) } else { 0 };
    let n = config.sc_patterns;
    let mut structures = Vec::new();
    let mut add = |name, entries, entry_bits, other_bits| structures.push(Structure { name, entries, entry_bits, other_bits });
    let trigger = c.w + c.p + c.t + c.s;
    match config.frontend {
        Frontend::Snake => {
            add("head_table", config.sc_warps, 1 + c.p + c.a, 0);
            let link = c.p + c.sb + 2;
            add(
                "tail_table",
                n,
                1 + c.pc + 2 + c.w + c.a + 2 * (c.sb + 2) + link,
                ring(n) + index_width(config.sc_anchor_period) + 1 + c.p + c.w + c.a,
            );
        }
        Frontend::Apogee => add("apogee", n, 1 + c.pc + c.w + c.a + 2 * (c.sb + 2), ring(n)),
        Frontend::External => {}
    }
    if config.frontend != Frontend::External {
        let pointers = 2 * ring(config.sc_trigger_depth) + value_width(u64::from(config.sc_trigger_depth));
        add("trigger queue", config.sc_trigger_depth, trigger, pointers + 1 + c.w + c.pc + c.t + c.s);
        let state = 1 + 2 + c.w + c.p + c.t + c.s + c.pc + c.d + ring(config.sc_degree) + c.p + c.t + c.d + 2;
        add("candidate_generator", 0, 0, state);
    }
    if config.sc_zero_filter {
        add("zero_filter", n, 2 + index_width(config.sc_zero_timer), 0);
    }
    if config.sc_controller {
        let kinds = u32::from(config.sc_awt_per_kind) * 2;
        let counts = 3 * count_width(c);
        let samples = value_width(u64::from(config.sc_awt_samples));
        add("l1_awt", config.sc_l1_awt_entries, 1 + kinds + warp_tag_bits(c) + c.pc + c.dl + counts + samples + c.g, 0);
        let doubling = if config.sc_awt_per_kind && config.sc_awt_doubling { 5 } else { 0 };
        add("l2_awt", config.sc_l2_awt_entries, 1 + kinds + c.pc + c.d + counts + c.g + doubling, ring(config.sc_l2_awt_entries));
        add("feedback", 3, 1 + c.h, 1);
    }
    let depth = config.sc_queue_depth;
    add("prefetch_queue", depth, 1 + c.t + c.s + c.p + c.h, 2 * ring(depth) + value_width(u64::from(depth)));
    let age = config.sc_prt_age > 0;
    let answer = 1 + 3 * c.s + c.rb + c.h;
    let other = 2 * ring(c.r) + 1 + c.s + answer + if age { index_width(config.sc_prt_age) } else { 0 };
    add("prt", c.r, c.t + c.h + 2 * c.s + if age { 2 } else { 0 }, other);
    add("peb", config.sc_peb_entries, c.t + c.s + c.h, ring(config.sc_peb_entries));
    let lines = config.l1_bytes / config.line_bytes;
    let outside = vec![
        Structure { name: "L1, per line: unused prefetched sectors", entries: lines, entry_bits: c.s, other_bits: 0 },
        Structure {
            name: "L1, lines with unused prefetched sectors: handle (side table)",
            entries: MSHRS,
            entry_bits: index_width(lines) + c.h,
            other_bits: 0,
        },
        Structure { name: "MSHRs: handle, pattern, target", entries: MSHRS, entry_bits: c.h + c.p + 1 + c.e, other_bits: 0 },
    ];
    Storage { structures, outside }
}
