//! Histogram of a stream, counted with atomics in one table.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, access, consecutive};
use crate::cache::mix;
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Thread blocks for each SM at scale 1, warps of one, values each lane counts, bins.
const BLOCKS_PER_SM: u32 = 2;
const WARPS: u64 = 4;
const VALUES: u64 = 8;
const BINS: u64 = 1024;

pub(super) struct Histogram {
    seed: u64,
    blocks: u32,
    values: u64,
    bins: u64,
}

impl Histogram {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let blocks = parameters.scaled(BLOCKS_PER_SM * parameters.sms);
        let mut memory = Memory::new(parameters.base);
        let values = memory.array(u64::from(blocks) * WARPS * 32 * VALUES * 4);
        Self { seed: parameters.seed, blocks, values, bins: memory.array(BINS * 4) }
    }

    /// Bin of a value: low ones more often.
    fn bin(&self, value: u64) -> u64 {
        let uniform = mix(mix(self.seed) ^ value) >> 32;
        (((uniform * uniform) >> 32) * BINS) >> 32
    }
}

impl Plan for Histogram {
    fn kernels(&self) -> Vec<Shape> {
        vec![Shape { name: "histogram", grid: Dim3::linear(self.blocks), block: Dim3::linear(32 * WARPS as u32) }]
    }

    fn block(&self, _kernel: usize, index: u64) -> Vec<WarpAccess> {
        let threads = u64::from(self.blocks) * WARPS * 32;
        let mut out = Vec::new();
        for warp in 0..WARPS {
            let (w, first) = (warp as u32, (index * WARPS + warp) * 32);
            for step in 0..VALUES {
                let value = step * threads + first;
                out.push(consecutive(w, 0x40, AccessKind::Load, 4, self.values + value * 4).after(4));
                let bin = |lane: usize| Some(self.bins + self.bin(value + lane as u64) * 4);
                out.push(access(w, 0x60, AccessKind::Atomic, 4, bin).after(3));
            }
        }
        out
    }
}
