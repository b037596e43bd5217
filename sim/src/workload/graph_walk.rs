//! Random walks over a random graph.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, access};
use crate::cache::mix;
use crate::trace::{AccessKind, Dim3, WARP_SIZE, WarpAccess};

/// Vertices at scale 1.
const VERTICES: u32 = 8192;
/// Edges of a vertex.
const DEGREE: u64 = 8;
/// Thread blocks for each SM at scale 1, and warps of a thread block.
const BLOCKS_PER_SM: u32 = 2;
const WARPS: u32 = 4;
/// Edges each lane follows.
const STEPS: u64 = 4;

pub(super) struct GraphWalk {
    seed: u64,
    blocks: u32,
    vertices: u64,
    /// First edge of each vertex, 4 bytes each.
    rows: u64,
    /// Target of each edge, 4 bytes each.
    edges: u64,
    /// One byte for each vertex.
    visited: u64,
}

impl GraphWalk {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let vertices = u64::from(parameters.scaled(VERTICES));
        let mut memory = Memory::new(parameters.base);
        Self {
            seed: parameters.seed,
            blocks: parameters.scaled(BLOCKS_PER_SM * parameters.sms),
            vertices,
            rows: memory.array(vertices * 4),
            edges: memory.array(vertices * DEGREE * 4),
            visited: memory.array(vertices),
        }
    }

    /// Target of an edge: the lower a vertex, the more edges lead to it. The first thousandth of the vertices gets about
    /// 3 % of the edges.
    fn target(&self, edge: u64) -> u64 {
        let uniform = mix(mix(self.seed) ^ edge) >> 32;
        (((uniform * uniform) >> 32) * self.vertices) >> 32
    }
}

impl Plan for GraphWalk {
    fn kernels(&self) -> Vec<Shape> {
        vec![Shape { name: "graph_walk", grid: Dim3::linear(self.blocks), block: Dim3::linear(WARPS * 32) }]
    }

    fn block(&self, _kernel: usize, index: u64) -> Vec<WarpAccess> {
        let mut accesses = Vec::new();
        for warp in 0..WARPS {
            let choice = |lane: usize, step: u64| {
                let walker = (index * u64::from(WARPS) + u64::from(warp)) * WARP_SIZE as u64 + lane as u64;
                mix(mix(!self.seed) ^ (walker * (STEPS + 1) + step))
            };
            let mut at: [u64; WARP_SIZE] = std::array::from_fn(|lane| choice(lane, 0) % self.vertices);
            for step in 1..=STEPS {
                let mut go = |pc, kind, width, before, address: &dyn Fn(usize) -> Option<u64>| {
                    accesses.push(access(warp, pc, kind, width, address).after(before));
                };
                go(0x60, AccessKind::Load, 4, 6, &|lane| Some(self.rows + at[lane] * 4));
                let edge = at.map(|vertex| vertex * DEGREE);
                let edge: [u64; WARP_SIZE] = std::array::from_fn(|lane| edge[lane] + choice(lane, step) % DEGREE);
                go(0xa0, AccessKind::Load, 4, 3, &|lane| Some(self.edges + edge[lane] * 4));
                at = edge.map(|edge| self.target(edge));
                go(0xd0, AccessKind::Load, 1, 2, &|lane| Some(self.visited + at[lane]));
                // A quarter of the vertices is new and gets marked.
                let new = |lane: usize| choice(lane, step) >> 62 == 0;
                go(0xf0, AccessKind::Store, 1, 1, &|lane| new(lane).then_some(self.visited + at[lane]));
            }
        }
        accesses
    }
}
