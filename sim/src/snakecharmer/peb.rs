//! Prefetched lines that left the L1 or the PRT unused.

use super::sizes::{Sizes, bits_of};
use crate::block::{Block, Port, Signals};
use crate::c2p::signal::ports;
use l1forge_config::Config;

/// Sectors of a prefetched line, with their handle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unread {
    /// Line.
    pub line: u64,
    /// Sectors.
    pub mask: u64,
    /// Handle.
    pub handle: u64,
}

/// The buffer.
#[derive(Debug, Clone)]
pub struct Peb {
    /// Held while the mask is not 0.
    places: Vec<Unread>,
    next: usize,
}

impl Peb {
    pub fn new(c: &Config) -> Self {
        Self { places: vec![Unread::default(); c.sc_peb_entries as usize], next: 0 }
    }

    fn find(&self, line: u64) -> Option<usize> {
        self.places.iter().position(|p| p.mask != 0 && p.line == line)
    }

    /// Sectors of a load that came too early, with their handle.
    pub fn early(&self, line: u64, mask: u64) -> Option<(u64, u64)> {
        let place = &self.places[self.find(line)?];
        (place.mask & mask != 0).then_some((place.mask & mask, place.handle))
    }

    /// One cycle: line and sectors of a load, sectors pushed. Returns the number of sectors that nobody asked for.
    pub fn step(&mut self, demand: Option<(u64, u64)>, push: Option<Unread>) -> u64 {
        let mut unused = 0;
        if let Some((line, mask)) = demand
            && let Some(i) = self.find(line)
            && self.places[i].mask & mask != 0
        {
            unused += (self.places[i].mask & !mask).count_ones();
            self.places[i].mask = 0;
        }
        if let Some(push) = push {
            if let Some(i) = self.find(push.line) {
                unused += self.places[i].mask.count_ones();
                self.places[i].mask = 0;
            }
            unused += self.places[self.next].mask.count_ones();
            self.places[self.next] = push;
            self.next = (self.next + 1) % self.places.len();
        }
        unused.into()
    }

    /// Sectors held.
    pub fn held(&self) -> u64 {
        self.places.iter().map(|p| u64::from(p.mask.count_ones())).sum()
    }
}

ports! { mod i(z: Sizes) {
    DEMAND_VALID = "demand_valid_i", 1, 1;
    DEMAND_LINE = "demand_line_i", 1, z.t;
    DEMAND_MASK = "demand_mask_i", 1, z.s;
    EVICT_VALID = "evict_valid_i", 1, 1;
    EVICT_LINE = "evict_line_i", 1, z.t;
    EVICT_MASK = "evict_mask_i", 1, z.s;
    EVICT_HANDLE = "evict_handle_i", 1, z.h;
    DROP_VALID = "drop_valid_i", 1, 1;
    DROP_LINE = "drop_line_i", 1, z.t;
    DROP_MASK = "drop_mask_i", 1, z.s;
    DROP_HANDLE = "drop_handle_i", 1, z.h;
} }
ports! { mod o(z: Sizes) {
    EARLY = "early_o", 1, z.s;
    EARLY_HANDLE = "early_handle_o", 1, z.h, when "early_o";
    DROP_READY = "drop_ready_o", 1, 1;
    UNUSED = "unused_o", 1, bits_of(3 * u64::from(z.s));
} }

/// [`Peb`] as a block.
pub struct PebBlock {
    sizes: Sizes,
    peb: Peb,
}

impl PebBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), peb: Peb::new(c) }
    }

    fn demand(inputs: &Signals) -> Option<(u64, u64)> {
        (inputs.get(i::DEMAND_VALID, 0) != 0).then(|| (inputs.get(i::DEMAND_LINE, 0), inputs.get(i::DEMAND_MASK, 0)))
    }

    fn push(inputs: &Signals) -> Option<Unread> {
        let get = |port| inputs.get(port, 0);
        if get(i::EVICT_VALID) != 0 {
            Some(Unread { line: get(i::EVICT_LINE), mask: get(i::EVICT_MASK), handle: get(i::EVICT_HANDLE) })
        } else if get(i::DROP_VALID) != 0 {
            Some(Unread { line: get(i::DROP_LINE), mask: get(i::DROP_MASK), handle: get(i::DROP_HANDLE) })
        } else {
            None
        }
    }
}

impl Block for PebBlock {
    fn name(&self) -> &str {
        "peb"
    }
    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }
    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let demand = Self::demand(inputs);
        let (early, handle) = demand.and_then(|(line, mask)| self.peb.early(line, mask)).unwrap_or_default();
        outputs.set(o::EARLY, 0, early);
        outputs.set(o::EARLY_HANDLE, 0, handle);
        outputs.set(o::DROP_READY, 0, u64::from(inputs.get(i::EVICT_VALID, 0) == 0));
        outputs.set(o::UNUSED, 0, self.peb.clone().step(demand, Self::push(inputs)));
    }
    fn clock(&mut self, inputs: &Signals) {
        self.peb.step(Self::demand(inputs), Self::push(inputs));
    }
}
