//! Laplace solver on a volume: planes go through shared memory, so only a thread block's own points and its rim are loaded.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, access, consecutive, grid};
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Thread blocks for each SM at scale 1; each is 32 wide, one warp for each row.
const BLOCKS_PER_SM: u32 = 5;
const HEIGHT: u64 = 4;
/// Planes a thread block goes through.
const DEPTH: u64 = 16;
/// Offsets of the loads of a thread: x, y, z. The rest comes from shared memory.
const LOADS: [(i64, i64, i64); 1] = [(0, 0, 0)];

pub(super) struct Lps {
    grid: Dim3,
    /// Elements from row to row, with a margin of 32 at either side, and from plane to plane.
    pitch: u64,
    plane: u64,
    from: u64,
    to: u64,
}

impl Lps {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let grid = grid(parameters.scaled(BLOCKS_PER_SM * parameters.sms));
        let pitch = (u64::from(grid.x) + 2) * 32;
        let plane = pitch * (u64::from(grid.y) * HEIGHT + 2);
        let mut memory = Memory::new(parameters.base);
        let mut volume = || memory.array(plane * (DEPTH + 2) * 4);
        Self { grid, pitch, plane, from: volume(), to: volume() }
    }
}

impl Plan for Lps {
    fn kernels(&self) -> Vec<Shape> {
        vec![Shape { name: "lps", grid: self.grid, block: Dim3 { x: 32, y: HEIGHT as u32, z: 1 } }]
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
                    let before = if i == 0 { 8 } else { 0 };
                    out.push(consecutive(w, 0x80 + 16 * i as u64, AccessKind::Load, 4, at(load)).after(before));
                }
                // The rim: the outer columns by one lane each, the outer rows by the outer warps.
                let rim = |lane: usize| (lane == 0 || lane == 31).then(|| at((if lane == 0 { -1 } else { 32 }, 0, 0)));
                out.push(access(w, 0xa0, AccessKind::Load, 4, rim));
                if warp == 0 || warp == HEIGHT - 1 {
                    let y = if warp == 0 { -1 } else { 1 };
                    out.push(consecutive(w, 0xb0, AccessKind::Load, 4, at((0, y, 0))));
                }
                out.push(consecutive(w, 0x300, AccessKind::Store, 4, self.to + center * 4).after(LOADS.len() as u32));
            }
        }
        out
    }
}
