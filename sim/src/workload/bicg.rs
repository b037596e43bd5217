//! `q = A * p` and `s = At * r`, of BiCGStab: by columns, then by rows.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape};
use super::matvec::{by_columns, by_rows, size, tiles};
use crate::trace::{Dim3, WarpAccess};

pub(super) struct Bicg {
    n: u64,
    a: u64,
    p: u64,
    q: u64,
    r: u64,
    s: u64,
}

impl Bicg {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let n = size(parameters, 1.0);
        let mut memory = Memory::new(parameters.base);
        Self {
            n,
            a: memory.array(n * n * 4),
            p: memory.array(n * 4),
            q: memory.array(n * 4),
            r: memory.array(n * 4),
            s: memory.array(n * 4),
        }
    }
}

impl Plan for Bicg {
    fn kernels(&self) -> Vec<Shape> {
        let shape = |name| Shape { name, grid: tiles(self.n), block: Dim3::linear(32) };
        vec![shape("bicg_1"), shape("bicg_2")]
    }

    fn block(&self, kernel: usize, index: u64) -> Vec<WarpAccess> {
        let mut out = Vec::new();
        match kernel {
            0 => {
                by_columns(&mut out, 0x40, self.n, self.a, self.r, self.s, index);
            }
            _ => {
                by_rows(&mut out, 0x80, self.n, self.a, self.p, self.q, index);
            }
        }
        out
    }
}
