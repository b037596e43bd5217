//! Sweeps over a volume: each thread loads some neighbours of its element and stores one. What the convolutions and the stencils on a volume share.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, access, consecutive, grid};
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// What distinguishes one sweep from another.
pub(super) struct Sweep {
    pub name: &'static str,
    /// Thread blocks for each SM at scale 1; each is 32 wide, one warp for each row.
    pub blocks_per_sm: u32,
    /// Rows of a thread block.
    pub height: u64,
    /// Planes a thread block goes through.
    pub depth: u64,
    /// Offsets of the loads of a thread: x, y, z.
    pub loads: &'static [(i64, i64, i64)],
    /// Instructions before the first load.
    pub before: u32,
    /// Neighbours come from shared memory, so that only the rim of the thread block is loaded.
    pub rim: bool,
    /// Program counter of the store.
    pub store_pc: u64,
}

/// A sweep over two volumes of its own.
pub(super) struct Volume {
    sweep: Sweep,
    grid: Dim3,
    /// Elements from row to row, with a margin of 32 at either side, and from plane to plane.
    pitch: u64,
    plane: u64,
    from: u64,
    to: u64,
}

impl Volume {
    pub fn new(parameters: &WorkloadParameters, sweep: Sweep) -> Self {
        let grid = grid(parameters.scaled(sweep.blocks_per_sm * parameters.sms));
        let pitch = (u64::from(grid.x) + 2) * 32;
        let plane = pitch * (u64::from(grid.y) * sweep.height + 2);
        let mut memory = Memory::new(parameters.base);
        let mut volume = || memory.array(plane * (sweep.depth + 2) * 4);
        let (from, to) = (volume(), volume());
        Self { sweep, grid, pitch, plane, from, to }
    }
}

impl Plan for Volume {
    fn kernels(&self) -> Vec<Shape> {
        vec![Shape { name: self.sweep.name, grid: self.grid, block: Dim3 { x: 32, y: self.sweep.height as u32, z: 1 } }]
    }

    fn block(&self, _kernel: usize, index: u64) -> Vec<WarpAccess> {
        let s = &self.sweep;
        let columns = u64::from(self.grid.x);
        let mut out = Vec::new();
        for warp in 0..s.height {
            let (w, row) = (warp as u32, index / columns * s.height + warp + 1);
            for z in 1..=s.depth {
                let center = z * self.plane + row * self.pitch + (index % columns + 1) * 32;
                let at = |(x, y, z): (i64, i64, i64)| {
                    self.from + center.wrapping_add_signed(z * self.plane as i64 + y * self.pitch as i64 + x) * 4
                };
                for (i, load) in s.loads.iter().enumerate() {
                    let before = if i == 0 { s.before } else { 0 };
                    out.push(consecutive(w, 0x80 + 16 * i as u64, AccessKind::Load, 4, at(*load)).after(before));
                }
                if s.rim {
                    // The outer columns by one lane each, the outer rows by the outer warps.
                    let rim = |lane: usize| (lane == 0 || lane == 31).then(|| at((if lane == 0 { -1 } else { 32 }, 0, 0)));
                    out.push(access(w, 0xa0, AccessKind::Load, 4, rim));
                    if warp == 0 || warp == s.height - 1 {
                        let y = if warp == 0 { -1 } else { 1 };
                        out.push(consecutive(w, 0xb0, AccessKind::Load, 4, at((0, y, 0))));
                    }
                }
                out.push(consecutive(w, s.store_pc, AccessKind::Store, 4, self.to + center * 4).after(s.loads.len() as u32));
            }
        }
        out
    }
}
