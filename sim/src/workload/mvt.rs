//! `x1 += A * y1` and `x2 += At * y2`: by rows and by columns, both in each thread block.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape};
use super::matvec::{by_columns, by_rows, size, tiles};
use crate::trace::{Dim3, WarpAccess};

pub(super) struct Mvt {
    n: u64,
    a: u64,
    x1: u64,
    y1: u64,
    x2: u64,
    y2: u64,
}

impl Mvt {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let n = size(parameters, 1.0);
        let mut memory = Memory::new(parameters.base);
        Self {
            n,
            a: memory.array(n * n * 4),
            x1: memory.array(n * 4),
            y1: memory.array(n * 4),
            x2: memory.array(n * 4),
            y2: memory.array(n * 4),
        }
    }
}

impl Plan for Mvt {
    fn kernels(&self) -> Vec<Shape> {
        let shape = |name| Shape { name, grid: tiles(self.n), block: Dim3::linear(32) };
        vec![shape("mvt_1")]
    }

    fn block(&self, _kernel: usize, index: u64) -> Vec<WarpAccess> {
        let mut out = Vec::new();
        by_rows(&mut out, 0x40, self.n, self.a, self.y1, self.x1, index);
        by_columns(&mut out, 0x80, self.n, self.a, self.y2, self.x2, index);
        out
    }
}
