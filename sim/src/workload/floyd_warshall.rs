//! All shortest paths: kernel `k` relaxes every pair over vertex `k`.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, broadcast, consecutive, side};
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Kernels, elements of the matrix for each SM at scale 1, rows of a thread block.
const KERNELS: usize = 8;
const ELEMENTS_PER_SM: f64 = 1536.0;
const ROWS: u64 = 8;

pub(super) struct FloydWarshall {
    n: u64,
    matrix: u64,
}

impl FloydWarshall {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let n = side(ELEMENTS_PER_SM * f64::from(parameters.sms) * parameters.scale, 32);
        Self { n, matrix: Memory::new(parameters.base).array(n * n * 4) }
    }
}

impl Plan for FloydWarshall {
    fn kernels(&self) -> Vec<Shape> {
        let grid = Dim3 { x: (self.n / 32) as u32, y: (self.n / ROWS) as u32, z: 1 };
        vec![Shape { name: "floyd_warshall", grid, block: Dim3 { x: 32, y: ROWS as u32, z: 1 } }; KERNELS]
    }

    fn block(&self, kernel: usize, index: u64) -> Vec<WarpAccess> {
        let (n, k) = (self.n, kernel as u64);
        let (row, column) = (index / (n / 32) * ROWS, index % (n / 32) * 32);
        let at = |i: u64, j: u64| self.matrix + (i * n + j) * 4;
        let mut out = Vec::new();
        for warp in 0..ROWS {
            let (w, i) = (warp as u32, row + warp);
            out.push(consecutive(w, 0x40, AccessKind::Load, 4, at(i, column)).after(6));
            out.push(broadcast(w, 0x50, AccessKind::Load, 4, at(i, k)));
            out.push(consecutive(w, 0x60, AccessKind::Load, 4, at(k, column)));
            out.push(consecutive(w, 0x70, AccessKind::Store, 4, at(i, column)).after(3));
        }
        out
    }
}
