//! Breadth-first search, level by level: every kernel looks at all vertices and expands those of its level.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, access, consecutive};
use crate::cache::mix;
use crate::trace::{AccessKind, Dim3, WARP_SIZE, WarpAccess};

/// Vertices for each SM at scale 1, edges of a vertex, warps of a thread block.
const VERTICES_PER_SM: u32 = 128;
const DEGREE: u64 = 8;
const WARPS: u64 = 4;
/// Share of the vertices on each level, in 64ths.
const LEVELS: [u64; 5] = [1, 7, 24, 28, 4];

pub(super) struct Bfs {
    seed: u64,
    blocks: u32,
    vertices: u64,
    level: u64,
    rows: u64,
    edges: u64,
    cost: u64,
}

impl Bfs {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let blocks = parameters.scaled(VERTICES_PER_SM * parameters.sms).div_ceil(32 * WARPS as u32);
        let vertices = u64::from(blocks) * 32 * WARPS;
        let mut memory = Memory::new(parameters.base);
        let mut words = |count: u64| memory.array(count * 4);
        let seed = parameters.seed;
        Self {
            seed,
            blocks,
            vertices,
            level: words(vertices),
            rows: words(vertices),
            edges: words(vertices * DEGREE),
            cost: words(vertices),
        }
    }

    fn level_of(&self, vertex: u64) -> usize {
        let mut draw = mix(mix(self.seed) ^ vertex) >> 58;
        let below = |share: &u64| {
            let found = draw < *share;
            draw = draw.wrapping_sub(*share);
            found
        };
        LEVELS.iter().position(below).unwrap_or(0)
    }

    /// Target of an edge: few vertices have many.
    fn target(&self, edge: u64) -> u64 {
        let uniform = mix(mix(!self.seed) ^ edge) >> 32;
        (((uniform * uniform) >> 32) * self.vertices) >> 32
    }
}

impl Plan for Bfs {
    fn kernels(&self) -> Vec<Shape> {
        vec![Shape { name: "bfs", grid: Dim3::linear(self.blocks), block: Dim3::linear(32 * WARPS as u32) }; LEVELS.len()]
    }

    fn block(&self, kernel: usize, index: u64) -> Vec<WarpAccess> {
        let mut out = Vec::new();
        for warp in 0..WARPS {
            let (w, first) = (warp as u32, (index * WARPS + warp) * 32);
            out.push(consecutive(w, 0x40, AccessKind::Load, 4, self.level + first * 4).after(4));
            let now: [bool; WARP_SIZE] = std::array::from_fn(|lane| self.level_of(first + lane as u64) == kernel);
            if !now.contains(&true) {
                continue;
            }
            let go = |pc, kind, address: &dyn Fn(u64) -> u64, only: &dyn Fn(u64) -> bool| {
                access(w, pc, kind, 4, |lane| {
                    let vertex = first + lane as u64;
                    (now[lane] && only(vertex)).then(|| address(vertex))
                })
            };
            let all = |_: u64| true;
            out.push(go(0x60, AccessKind::Load, &|v| self.rows + v * 4, &all).after(3));
            for e in 0..DEGREE {
                let target = |v: u64| self.target(v * DEGREE + e);
                out.push(go(0x80, AccessKind::Load, &|v| self.edges + (v * DEGREE + e) * 4, &all).after(3));
                out.push(go(0x90, AccessKind::Load, &|v| self.level + target(v) * 4, &all).after(2));
                let new = |v: u64| self.level_of(target(v)) == kernel + 1;
                let store = go(0xa0, AccessKind::Store, &|v| self.cost + target(v) * 4, &new);
                if store.mask != 0 {
                    out.push(store.after(2));
                }
            }
        }
        out
    }
}
