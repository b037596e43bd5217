//! Nearest candidate of one SM.

use super::signal::{self, ports};
use super::sizes::Sizes;
use super::sm_set::SmSet;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// The other SMs in the order in which one SM probes them.
#[derive(Debug, Clone)]
pub struct ProbeOrder {
    order: Vec<u16>,
    others: SmSet,
}

impl ProbeOrder {
    /// The order of SM `sm`.
    pub fn new(c: &Config, sm: usize) -> Self {
        let (x, y) = c.place(sm as u32);
        let distance = |other: &u16| {
            let (ox, oy) = c.place(u32::from(*other));
            x.abs_diff(ox) + y.abs_diff(oy)
        };
        let mut order: Vec<u16> = (0..c.sms as u16).filter(|&other| usize::from(other) != sm).collect();
        order.sort_by_key(distance); // stable: equal distances stay in ascending order
        Self { others: order.iter().map(|&o| usize::from(o)).collect(), order }
    }

    /// The nearest of `candidates`, the SM itself left out.
    pub fn nearest(&self, candidates: SmSet) -> Option<usize> {
        if (candidates & self.others).is_empty() {
            return None;
        }
        self.order.iter().map(|&o| usize::from(o)).find(|&o| candidates.contains(o))
    }
}

ports! { mod i(z: Sizes) {
    CANDIDATES = "candidates_i", 1, z.n;
} }
ports! { mod o(z: Sizes) {
    FOUND = "found_o", 1, 1;
    TARGET = "target_o", 1, z.s;
} }

/// [`ProbeOrder`] as a block.
pub struct ProbeOrderBlock {
    sizes: Sizes,
    order: ProbeOrder,
}

impl ProbeOrderBlock {
    pub fn new(c: &Config, sm: usize) -> Self {
        Self { sizes: Sizes::new(c), order: ProbeOrder::new(c, sm) }
    }
}

impl Block for ProbeOrderBlock {
    fn name(&self) -> &str {
        "probe_order"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let nearest = self.order.nearest(signal::row(inputs, i::CANDIDATES, 0));
        signal::set_bit(outputs, o::FOUND, nearest.is_some());
        outputs.set(o::TARGET, 0, nearest.unwrap_or(0) as u64);
    }

    fn clock(&mut self, _: &Signals) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    #[test]
    fn nearest_first_ties_by_number() {
        // 3 x 3 grid, SM 4 in the middle.
        let c = config(&["sms=9"]);
        assert_eq!(ProbeOrder::new(&c, 4).order, [1, 3, 5, 7, 0, 2, 6, 8]);
        assert_eq!(ProbeOrder::new(&c, 0).order, [1, 3, 2, 4, 6, 5, 7, 8]);
        let c = config(&["sms=4", "floorplan=[[0, 0], [9, 9], [-1, 0], [0, 2]]"]);
        assert_eq!(ProbeOrder::new(&c, 0).order, [2, 3, 1]);
    }

    #[test]
    fn the_requester_is_pruned() {
        let mut block = ProbeOrderBlock::new(&config(&["sms=9"]), 4);
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        for (candidates, found, target) in [(0x1ff, 1, 1), (0b1_0001_0000, 1, 8), (0b1_0000, 0, 0), (0, 0, 0), (1, 1, 0)] {
            inputs.set(i::CANDIDATES, 0, candidates);
            block.eval(&inputs, &mut outputs);
            assert_eq!((outputs.get(o::FOUND, 0), outputs.get(o::TARGET, 0)), (found, target), "{candidates:b}");
        }
    }
}
