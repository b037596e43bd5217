//! Convolution of a plane with 3 x 3 weights.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, consecutive, grid};
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Thread blocks for each SM at scale 1; each is 32 wide, one warp for each row.
const BLOCKS_PER_SM: u32 = 8;
const HEIGHT: u64 = 8;
/// Planes a thread block goes through.
const DEPTH: u64 = 1;
/// Offsets of the loads of a thread: x, y, z.
const LOADS: [(i64, i64, i64); 9] =
    [(-1, -1, 0), (0, -1, 0), (1, -1, 0), (-1, 0, 0), (0, 0, 0), (1, 0, 0), (-1, 1, 0), (0, 1, 0), (1, 1, 0)];

pub(super) struct Conv2d {
    grid: Dim3,
    /// Elements from row to row, with a margin of 32 at either side, and from plane to plane.
    pitch: u64,
    plane: u64,
    from: u64,
    to: u64,
}

impl Conv2d {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let grid = grid(parameters.scaled(BLOCKS_PER_SM * parameters.sms));
        let pitch = (u64::from(grid.x) + 2) * 32;
        let plane = pitch * (u64::from(grid.y) * HEIGHT + 2);
        let mut memory = Memory::new(parameters.base);
        let mut volume = || memory.array(plane * (DEPTH + 2) * 4);
        Self { grid, pitch, plane, from: volume(), to: volume() }
    }
}

impl Plan for Conv2d {
    fn kernels(&self) -> Vec<Shape> {
        vec![Shape { name: "conv2d", grid: self.grid, block: Dim3 { x: 32, y: HEIGHT as u32, z: 1 } }]
    }

    fn block(&self, _kernel: usize, index: u64) -> Vec<WarpAccess> {
        let columns = u64::from(self.grid.x);
        let mut out = Vec::new();
        for warp in 0..HEIGHT {
            let (w, row) = (warp as u32, index / columns * HEIGHT + warp + 1);
            for z in 1..=DEPTH {
                let center = z * self.plane + row * self.pitch + (index % columns + 1) * 32;
                let at = |(x, y, z): (i64, i64, i64)| {
                    self.from + center.wrapping_add_signed(z * self.plane as i64 + y * self.pitch as i64 + x) * 4
                };
                for (i, load) in LOADS.into_iter().enumerate() {
                    let before = if i == 0 { 6 } else { 0 };
                    out.push(consecutive(w, 0x80 + 16 * i as u64, AccessKind::Load, 4, at(load)).after(before));
                }
                out.push(consecutive(w, 0x200, AccessKind::Store, 4, self.to + center * 4).after(LOADS.len() as u32));
            }
        }
        out
    }
}
