//! Searches in a B+ tree: a thread block for each key compares all keys of a node at once.

use super::WorkloadParameters;
use super::build::{Memory, Plan, Shape, broadcast, consecutive};
use crate::cache::mix;
use crate::trace::{AccessKind, Dim3, WarpAccess};

/// Searches for each SM at scale 1, warps of a thread block, keys of a node.
const SEARCHES_PER_SM: u32 = 48;
const WARPS: u64 = 4;
const KEYS: u64 = WARPS * 32;
/// Nodes of each level.
const LEVELS: [u64; 4] = [1, 16, 256, 4096];

pub(super) struct Btree {
    seed: u64,
    searches: u32,
    keys: [u64; 4],
    children: [u64; 4],
}

impl Btree {
    pub fn new(parameters: &WorkloadParameters) -> Self {
        let mut memory = Memory::new(parameters.base);
        let keys = LEVELS.map(|nodes| memory.array(nodes * KEYS * 4));
        let children = LEVELS.map(|nodes| memory.array(nodes * KEYS * 4));
        Self { seed: parameters.seed, searches: parameters.scaled(SEARCHES_PER_SM * parameters.sms), keys, children }
    }
}

impl Plan for Btree {
    fn kernels(&self) -> Vec<Shape> {
        vec![Shape { name: "btree", grid: Dim3::linear(self.searches), block: Dim3::linear(KEYS as u32) }]
    }

    fn block(&self, _kernel: usize, index: u64) -> Vec<WarpAccess> {
        let leaf = mix(mix(self.seed) ^ index) % LEVELS[3];
        let mut out = Vec::new();
        for warp in 0..WARPS {
            let w = warp as u32;
            for level in 0..LEVELS.len() {
                let node = leaf / (LEVELS[3] / LEVELS[level]);
                let key = (leaf / (LEVELS[3] / LEVELS[(level + 1).min(3)])) % KEYS;
                out.push(consecutive(w, 0x40, AccessKind::Load, 4, self.keys[level] + (node * KEYS + warp * 32) * 4).after(6));
                out.push(broadcast(w, 0x50, AccessKind::Load, 4, self.children[level] + (node * KEYS + key) * 4).after(4));
            }
        }
        out
    }
}
