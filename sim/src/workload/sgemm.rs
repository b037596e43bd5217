//! `C = A * B` with a register tile: a thread has one row of A and 16 columns, B goes through shared memory.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, access, consecutive};
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Rows and columns of a thread block's tile; it has two warps.
const ROWS: u64 = 64;
const COLUMNS: u64 = 16;
/// Rows of B that go to shared memory at once.
const STEP: u64 = 8;
/// Side of the matrices with 64 SMs at scale 1.
const SIDE: f64 = 384.0;

pub(super) struct Sgemm {
    n: u64,
    a: u64,
    b: u64,
    c: u64,
}

impl Sgemm {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let side = SIDE * (f64::from(parameters.sms) * parameters.scale / 64.0).cbrt();
        let n = (side / ROWS as f64).round().max(1.0) as u64 * ROWS;
        let mut memory = Memory::new(parameters.base);
        let mut matrix = || memory.array(n * n * 4);
        Self { n, a: matrix(), b: matrix(), c: matrix() }
    }
}

impl Plan for Sgemm {
    fn kernels(&self) -> Vec<Shape> {
        let grid = Dim3 { x: (self.n / ROWS) as u32, y: (self.n / COLUMNS) as u32, z: 1 };
        vec![Shape { name: "sgemm", grid, block: Dim3::linear(ROWS as u32) }]
    }

    fn block(&self, _kernel: usize, index: u64) -> Vec<WarpAccess> {
        let n = self.n;
        let (row, column) = (index % (n / ROWS) * ROWS, index / (n / ROWS) * COLUMNS);
        let mut out = Vec::new();
        for warp in 0..2 {
            let first = row + u64::from(warp) * 32;
            for k in 0..n {
                if k % STEP == 0 {
                    // Each warp brings half of the 8 x 16 elements.
                    let element = |lane: usize| {
                        let at = u64::from(warp) * 64 + lane as u64 * 2;
                        Some(self.b + ((k + at / COLUMNS) * n + column + at % COLUMNS) * 4)
                    };
                    out.push(access(warp, 0x200, AccessKind::Load, 8, element).after(4));
                }
                // Columns of A lie one behind the other.
                out.push(consecutive(warp, 0x210, AccessKind::Load, 4, self.a + (k * n + first) * 4).after(20));
            }
            for j in column..column + COLUMNS {
                out.push(consecutive(warp, 0x220, AccessKind::Store, 4, self.c + (j * n + first) * 4).after(1));
            }
        }
        out
    }
}
