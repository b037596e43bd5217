//! `y = A * x + B * x`: by rows, two matrices.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape};
use super::matvec::{by_rows, size, tiles};
use crate::trace::{Dim3, WarpAccess};

pub(super) struct Gesummv {
    n: u64,
    a: u64,
    b: u64,
    x: u64,
    y: u64,
}

impl Gesummv {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let n = size(parameters, 2.0);
        let mut memory = Memory::new(parameters.base);
        Self { n, a: memory.array(n * n * 4), b: memory.array(n * n * 4), x: memory.array(n * 4), y: memory.array(n * 4) }
    }
}

impl Plan for Gesummv {
    fn kernels(&self) -> Vec<Shape> {
        let shape = |name| Shape { name, grid: tiles(self.n), block: Dim3::linear(32) };
        vec![shape("gesummv_1")]
    }

    fn block(&self, _kernel: usize, index: u64) -> Vec<WarpAccess> {
        let mut out = Vec::new();
        by_rows(&mut out, 0x40, self.n, self.a, self.x, self.y, index);
        by_rows(&mut out, 0x80, self.n, self.b, self.x, self.y, index);
        out
    }
}
