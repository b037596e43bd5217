//! Five-point stencil on a plane.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, consecutive, grid};
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Thread blocks for each SM and kernel at scale 1.
const BLOCKS_PER_SM: u32 = 8;
/// Elements a thread block computes: 32 wide (a warp), 8 high.
const WIDTH: u64 = 32;
const HEIGHT: u64 = 8;
/// Bytes of an element.
const ELEMENT: u64 = 4;

pub(super) struct Stencil2d {
    grid: Dim3,
    /// Elements from row to row: a margin of 32 at either side keeps the interior aligned.
    pitch: u64,
    /// The two planes, read and written in turn.
    planes: [u64; 2],
}

impl Stencil2d {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let grid = grid(parameters.scaled(BLOCKS_PER_SM * parameters.sms));
        let pitch = (u64::from(grid.x) + 2) * WIDTH;
        let rows = u64::from(grid.y) * HEIGHT + 2;
        let mut memory = Memory::new(parameters.base);
        let mut plane = || memory.array(pitch * rows * ELEMENT);
        Self { grid, pitch, planes: [plane(), plane()] }
    }
}

impl Plan for Stencil2d {
    fn kernels(&self) -> Vec<Shape> {
        let block = Dim3 { x: WIDTH as u32, y: HEIGHT as u32, z: 1 };
        vec![Shape { name: "stencil2d", grid: self.grid, block }; 2]
    }

    fn block(&self, kernel: usize, index: u64) -> Vec<WarpAccess> {
        let columns = u64::from(self.grid.x);
        let (from, to) = (self.planes[kernel % 2], self.planes[(kernel + 1) % 2]);
        let mut accesses = Vec::new();
        for warp in 0..HEIGHT {
            let row = index / columns * HEIGHT + warp + 1;
            let center = (row * self.pitch + (index % columns + 1) * WIDTH) * ELEMENT;
            let mut go = |pc, kind, plane, offset, before| {
                let address = plane + offset;
                accesses.push(consecutive(warp as u32, pc, kind, ELEMENT as u8, address).after(before));
            };
            go(0x80, AccessKind::Load, from, center, 8);
            go(0x90, AccessKind::Load, from, center - ELEMENT, 0);
            go(0xa0, AccessKind::Load, from, center + ELEMENT, 0);
            go(0xb0, AccessKind::Load, from, center - self.pitch * ELEMENT, 0);
            go(0xc0, AccessKind::Load, from, center + self.pitch * ELEMENT, 0);
            go(0x120, AccessKind::Store, to, center, 5);
        }
        accesses
    }
}
