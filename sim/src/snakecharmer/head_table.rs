//! The last load of each warp.

use super::sizes::Sizes;
use crate::block::{Block, Port, Signals};
use crate::c2p::signal::ports;
use l1forge_config::Config;

/// Pattern and line of a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Previous {
    /// Pattern.
    pub pattern: u64,
    /// Low bits of the line.
    pub line: u64,
}

/// The table.
#[derive(Debug, Clone)]
pub struct HeadTable {
    warps: Vec<Option<Previous>>,
}

impl HeadTable {
    pub fn new(c: &Config) -> Self {
        Self { warps: vec![None; c.sc_warps as usize] }
    }

    /// The warp's load before.
    pub fn previous(&self, warp: u64) -> Option<Previous> {
        self.warps[warp as usize]
    }

    /// A load at the end of a cycle; `replaced`: its pattern has a new owner.
    pub fn clock(&mut self, warp: u64, load: Previous, replaced: bool) {
        if replaced {
            self.warps.iter_mut().filter(|w| w.is_some_and(|w| w.pattern == load.pattern)).for_each(|w| *w = None);
        }
        self.warps[warp as usize] = Some(load);
    }
}

ports! { mod i(z: Sizes) {
    LOAD_VALID = "load_valid_i", 1, 1;
    LOAD_WARP = "load_warp_i", 1, z.w;
    LOAD_PATTERN = "load_pattern_i", 1, z.p;
    LOAD_LINE = "load_line_i", 1, z.a;
    REPLACED = "replaced_i", 1, 1;
} }
ports! { mod o(z: Sizes) {
    PREVIOUS_VALID = "previous_valid_o", 1, 1;
    PREVIOUS_PATTERN = "previous_pattern_o", 1, z.p;
    PREVIOUS_LINE = "previous_line_o", 1, z.a;
} }

/// [`HeadTable`] as a block.
pub struct HeadTableBlock {
    sizes: Sizes,
    table: HeadTable,
}

impl HeadTableBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), table: HeadTable::new(c) }
    }
}

impl Block for HeadTableBlock {
    fn name(&self) -> &str {
        "head_table"
    }
    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }
    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let previous = self.table.previous(inputs.get(i::LOAD_WARP, 0));
        outputs.set(o::PREVIOUS_VALID, 0, previous.is_some().into());
        let previous = previous.unwrap_or_default();
        outputs.set(o::PREVIOUS_PATTERN, 0, previous.pattern);
        outputs.set(o::PREVIOUS_LINE, 0, previous.line);
    }
    fn clock(&mut self, inputs: &Signals) {
        let get = |port| inputs.get(port, 0);
        if get(i::LOAD_VALID) != 0 {
            let load = Previous { pattern: get(i::LOAD_PATTERN), line: get(i::LOAD_LINE) };
            self.table.clock(get(i::LOAD_WARP), load, get(i::REPLACED) != 0);
        }
    }
}
