//! Sparse matrix times vector, rows compressed: one lane for each row.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, access, consecutive};
use crate::cache::mix;
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Rows for each SM at scale 1, elements of a row, warps of a thread block.
const ROWS_PER_SM: u32 = 64;
const ELEMENTS: u64 = 16;
const WARPS: u64 = 2;

pub(super) struct Spmv {
    seed: u64,
    blocks: u32,
    rows: u64,
    pointers: u64,
    columns: u64,
    values: u64,
    x: u64,
    y: u64,
}

impl Spmv {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let blocks = parameters.scaled(ROWS_PER_SM * parameters.sms).div_ceil(32 * WARPS as u32);
        let rows = u64::from(blocks) * 32 * WARPS;
        let mut memory = Memory::new(parameters.base);
        let mut words = |count: u64| memory.array(count * 4);
        Self {
            seed: parameters.seed,
            blocks,
            rows,
            pointers: words(rows),
            columns: words(rows * ELEMENTS),
            values: words(rows * ELEMENTS),
            x: words(rows),
            y: words(rows),
        }
    }

    /// Column of an element: half lie near the diagonal, half anywhere.
    fn column(&self, row: u64, element: u64) -> u64 {
        let draw = mix(mix(self.seed) ^ (row * ELEMENTS + element));
        if element.is_multiple_of(2) { (row + draw % 64) % self.rows } else { draw % self.rows }
    }
}

impl Plan for Spmv {
    fn kernels(&self) -> Vec<Shape> {
        vec![Shape { name: "spmv", grid: Dim3::linear(self.blocks), block: Dim3::linear(32 * WARPS as u32) }]
    }

    fn block(&self, _kernel: usize, index: u64) -> Vec<WarpAccess> {
        let mut out = Vec::new();
        for warp in 0..WARPS {
            let (w, first) = (warp as u32, (index * WARPS + warp) * 32);
            out.push(consecutive(w, 0x40, AccessKind::Load, 4, self.pointers + first * 4).after(4));
            for e in 0..ELEMENTS {
                let row = |lane: usize| first + lane as u64;
                let at = |base: u64, lane: usize| Some(base + (row(lane) * ELEMENTS + e) * 4);
                out.push(access(w, 0x60, AccessKind::Load, 4, |lane| at(self.columns, lane)).after(2));
                out.push(access(w, 0x70, AccessKind::Load, 4, |lane| at(self.values, lane)));
                out.push(access(w, 0x80, AccessKind::Load, 4, |lane| Some(self.x + self.column(row(lane), e) * 4)).after(1));
            }
            out.push(consecutive(w, 0xa0, AccessKind::Store, 4, self.y + first * 4).after(2));
        }
        out
    }
}
