//! Cheapest path down a plane, row by row; neighbouring thread blocks overlap by a rim.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, consecutive};
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Thread blocks for each SM at scale 1, warps of one, rows it goes down.
const BLOCKS_PER_SM: u32 = 4;
const WARPS: u64 = 8;
const ROWS: u64 = 20;
/// Columns at either side that the neighbour computes too.
const RIM: u64 = ROWS;

pub(super) struct Pathfinder {
    blocks: u32,
    columns: u64,
    cost: u64,
    wall: u64,
    result: u64,
}

impl Pathfinder {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let blocks = parameters.scaled(BLOCKS_PER_SM * parameters.sms);
        let columns = u64::from(blocks) * (WARPS * 32 - 2 * RIM) + 2 * RIM;
        let mut memory = Memory::new(parameters.base);
        let cost = memory.array(columns * 4);
        let wall = memory.array(columns * ROWS * 4);
        Self { blocks, columns, cost, wall, result: memory.array(columns * 4) }
    }
}

impl Plan for Pathfinder {
    fn kernels(&self) -> Vec<Shape> {
        vec![Shape { name: "pathfinder", grid: Dim3::linear(self.blocks), block: Dim3::linear(WARPS as u32 * 32) }]
    }

    fn block(&self, _kernel: usize, index: u64) -> Vec<WarpAccess> {
        let first = index * (WARPS * 32 - 2 * RIM);
        let mut out = Vec::new();
        for warp in 0..WARPS {
            let (w, column) = (warp as u32, first + warp * 32);
            out.push(consecutive(w, 0x40, AccessKind::Load, 4, self.cost + column * 4).after(10));
            for row in 0..ROWS {
                out.push(consecutive(w, 0x60, AccessKind::Load, 4, self.wall + (row * self.columns + column) * 4).after(12));
            }
            out.push(consecutive(w, 0x90, AccessKind::Store, 4, self.result + column * 4).after(4));
        }
        out
    }
}
