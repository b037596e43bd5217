//! `C = A * B`, in tiles.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, access};
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Rows and columns of a tile; a thread block computes one tile of C.
const TILE: u64 = 16;
/// Warps of a thread block, each with two rows of the tile.
const WARPS: u32 = 8;
/// Tiles of C for each SM at scale 1.
const TILES_PER_SM: u32 = 4;
/// Bytes of an element.
const ELEMENT: u64 = 4;

pub(super) struct Gemm {
    /// Tiles along each side of the matrices.
    tiles: u32,
    a: u64,
    b: u64,
    c: u64,
}

impl Gemm {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let tiles = parameters.scaled(TILES_PER_SM * parameters.sms);
        let tiles = f64::from(tiles).sqrt().ceil().max(2.0) as u32;
        let side = u64::from(tiles) * TILE;
        let mut memory = Memory::new(parameters.base);
        let mut matrix = || memory.array(side * side * ELEMENT);
        Self { tiles, a: matrix(), b: matrix(), c: matrix() }
    }

    /// The two rows that `warp` has of the tile in row `row` and column `column` (of tiles) of a matrix.
    fn tile(&self, warp: u32, pc: u64, kind: AccessKind, matrix: u64, row: u64, column: u64) -> WarpAccess {
        let side = u64::from(self.tiles) * TILE;
        access(warp, pc, kind, ELEMENT as u8, |lane| {
            let lane = lane as u64;
            let (y, x) = (row * TILE + u64::from(warp) * 2 + lane / TILE, column * TILE + lane % TILE);
            Some(matrix + (y * side + x) * ELEMENT)
        })
    }
}

impl Plan for Gemm {
    fn kernels(&self) -> Vec<Shape> {
        let grid = Dim3 { x: self.tiles, y: self.tiles, z: 1 };
        vec![Shape { name: "gemm", grid, block: Dim3 { x: TILE as u32, y: TILE as u32, z: 1 } }]
    }

    fn block(&self, _kernel: usize, index: u64) -> Vec<WarpAccess> {
        let tiles = u64::from(self.tiles);
        let (row, column) = (index / tiles, index % tiles);
        let mut accesses = Vec::new();
        for warp in 0..WARPS {
            for k in 0..tiles {
                // Before: shared memory and multiplications of the previous tile.
                accesses.push(self.tile(warp, 0x100, AccessKind::Load, self.a, row, k).after(50));
                accesses.push(self.tile(warp, 0x110, AccessKind::Load, self.b, k, column));
            }
            accesses.push(self.tile(warp, 0x400, AccessKind::Store, self.c, row, column).after(50));
        }
        accesses
    }
}
