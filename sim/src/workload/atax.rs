//! `y = At * (A * x)`: by rows, then by columns.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape};
use super::matvec::{by_columns, by_rows, size, tiles};
use crate::trace::{Dim3, WarpAccess};

pub(super) struct Atax {
    n: u64,
    a: u64,
    x: u64,
    t: u64,
    y: u64,
}

impl Atax {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let n = size(parameters, 1.0);
        let mut memory = Memory::new(parameters.base);
        Self { n, a: memory.array(n * n * 4), x: memory.array(n * 4), t: memory.array(n * 4), y: memory.array(n * 4) }
    }
}

impl Plan for Atax {
    fn kernels(&self) -> Vec<Shape> {
        let shape = |name| Shape { name, grid: tiles(self.n), block: Dim3::linear(32) };
        vec![shape("atax_1"), shape("atax_2")]
    }

    fn block(&self, kernel: usize, index: u64) -> Vec<WarpAccess> {
        let mut out = Vec::new();
        match kernel {
            0 => {
                by_rows(&mut out, 0x40, self.n, self.a, self.x, self.t, index);
            }
            _ => {
                by_columns(&mut out, 0x80, self.n, self.a, self.t, self.y, index);
            }
        }
        out
    }
}
