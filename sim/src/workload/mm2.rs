//! Two matrix products one after the other, `D = A * B` and `E = D * C`, without tiling.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, broadcast, consecutive, side};
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Length of the sums.
const INNER: u64 = 64;
/// Rows of a thread block, one warp each, 32 columns wide.
const ROWS: u64 = 8;
/// Elements of the result for each SM at scale 1.
const ELEMENTS_PER_SM: f64 = 192.0;

pub(super) struct Mm2 {
    n: u64,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
}

impl Mm2 {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let n = side(ELEMENTS_PER_SM * f64::from(parameters.sms) * parameters.scale, 32);
        let mut memory = Memory::new(parameters.base);
        let mut matrix = |rows: u64, columns: u64| memory.array(rows * columns * 4);
        Self { n, a: matrix(n, INNER), b: matrix(INNER, n), c: matrix(INNER, n), d: matrix(n, n.max(INNER)), e: matrix(n, n) }
    }
}

impl Plan for Mm2 {
    fn kernels(&self) -> Vec<Shape> {
        let grid = Dim3 { x: (self.n / 32) as u32, y: (self.n / ROWS) as u32, z: 1 };
        ["mm2_first", "mm2_second"].map(|name| Shape { name, grid, block: Dim3 { x: 32, y: ROWS as u32, z: 1 } }).into()
    }

    fn block(&self, kernel: usize, index: u64) -> Vec<WarpAccess> {
        let n = self.n;
        let (left, pitch, right, result, out_pitch) = match kernel {
            0 => (self.a, INNER, self.b, self.d, n.max(INNER)),
            _ => (self.d, n.max(INNER), self.c, self.e, n),
        };
        let (row, column) = (index / (n / 32) * ROWS, index % (n / 32) * 32);
        let mut out = Vec::new();
        for warp in 0..ROWS {
            let (w, i) = (warp as u32, row + warp);
            for k in 0..INNER {
                out.push(broadcast(w, 0x100, AccessKind::Load, 4, left + (i * pitch + k) * 4).after(2));
                out.push(consecutive(w, 0x110, AccessKind::Load, 4, right + (k * n + column) * 4));
            }
            out.push(consecutive(w, 0x120, AccessKind::Store, 4, result + (i * out_pitch + column) * 4).after(1));
        }
        out
    }
}
