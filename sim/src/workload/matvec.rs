//! Products of a matrix with vectors, the common part of ATAX, BICG, MVT and GESUMMV.
//!
//! A thread block is one warp and does a tile of 32 x 32 elements; it adds its sums to the result with an atomic access. By rows, lane `i` walks
//! along row `i` of the tile (32 lines an access); by columns, the warp reads a row of the tile at once (one line).

use super::WorkloadParameters;
use super::build::{access, broadcast, consecutive, side};
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Rows and columns of a tile.
pub(super) const TILE: u64 = 32;
/// Elements of the matrix for each SM at scale 1.
const ELEMENTS_PER_SM: f64 = 2048.0;

/// Rows and columns of each of `matrices` square matrices of 4-byte elements.
pub(super) fn size(p: &WorkloadParameters, matrices: f64) -> u64 {
    side(ELEMENTS_PER_SM / matrices * f64::from(p.sms) * p.scale, TILE)
}

/// One thread block for each tile.
pub(super) fn tiles(n: u64) -> Dim3 {
    Dim3 { x: (n / TILE) as u32, y: (n / TILE) as u32, z: 1 }
}

/// `result += matrix * vector` for tile `index`.
pub(super) fn by_rows(out: &mut Vec<WarpAccess>, pc: u64, n: u64, matrix: u64, vector: u64, result: u64, index: u64) {
    let (row, column) = (index / (n / TILE) * TILE, index % (n / TILE) * TILE);
    for j in column..column + TILE {
        let element = |lane: usize| Some(matrix + ((row + lane as u64) * n + j) * 4);
        out.push(access(0, pc, AccessKind::Load, 4, element).after(2));
        out.push(broadcast(0, pc + 0x10, AccessKind::Load, 4, vector + j * 4));
    }
    out.push(consecutive(0, pc + 0x20, AccessKind::Atomic, 4, result + row * 4).after(2));
}

/// `result += transposed matrix * vector` for tile `index`.
pub(super) fn by_columns(out: &mut Vec<WarpAccess>, pc: u64, n: u64, matrix: u64, vector: u64, result: u64, index: u64) {
    let (row, column) = (index / (n / TILE) * TILE, index % (n / TILE) * TILE);
    for i in row..row + TILE {
        out.push(consecutive(0, pc, AccessKind::Load, 4, matrix + (i * n + column) * 4).after(2));
        out.push(broadcast(0, pc + 0x10, AccessKind::Load, 4, vector + i * 4));
    }
    out.push(consecutive(0, pc + 0x20, AccessKind::Atomic, 4, result + column * 4).after(2));
}
