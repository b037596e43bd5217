//! `c[i] = a[i] + b[i]`.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, consecutive};
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Thread blocks for each SM at scale 1.
const BLOCKS_PER_SM: u32 = 32;
/// Warps of a thread block.
const WARPS: u32 = 8;
/// Bytes a warp takes of each array.
const WARP_BYTES: u64 = 128;

pub(super) struct VectorAdd {
    blocks: u32,
    a: u64,
    b: u64,
    c: u64,
}

impl VectorAdd {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let blocks = parameters.scaled(BLOCKS_PER_SM * parameters.sms);
        let bytes = u64::from(blocks) * u64::from(WARPS) * WARP_BYTES;
        let mut memory = Memory::new(parameters.base);
        Self { blocks, a: memory.array(bytes), b: memory.array(bytes), c: memory.array(bytes) }
    }
}

impl Plan for VectorAdd {
    fn kernels(&self) -> Vec<Shape> {
        vec![Shape { name: "vector_add", grid: Dim3::linear(self.blocks), block: Dim3::linear(WARPS * 32) }]
    }

    fn block(&self, _kernel: usize, index: u64) -> Vec<WarpAccess> {
        let mut accesses = Vec::new();
        for warp in 0..WARPS {
            let offset = (index * u64::from(WARPS) + u64::from(warp)) * WARP_BYTES;
            accesses.push(consecutive(warp, 0xa0, AccessKind::Load, 4, self.a + offset).after(10));
            accesses.push(consecutive(warp, 0xb0, AccessKind::Load, 4, self.b + offset));
            accesses.push(consecutive(warp, 0xf0, AccessKind::Store, 4, self.c + offset).after(3));
        }
        accesses
    }
}
