//! What the workloads are made of.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::trace::{AccessKind, Dim3, Space, WARP_SIZE, WarpAccess};

/// A kernel of a workload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub name: &'static str,
    pub grid: Dim3,
    pub block: Dim3,
}

/// The work of a workload, thread block by thread block.
pub(super) trait Plan: Send {
    /// Its kernels, in order.
    fn kernels(&self) -> Vec<Shape>;

    /// The accesses of thread block `index` of kernel `kernel`, warp by warp.
    fn block(&self, kernel: usize, index: u64) -> Vec<WarpAccess>;
}

/// Lays arrays out one behind the other, on boundaries of 4096 bytes.
pub(super) struct Memory {
    next: u64,
}

impl Memory {
    pub fn new(base: u64) -> Self {
        Self { next: base }
    }

    /// First byte of an array of `bytes` bytes.
    pub fn array(&mut self, bytes: u64) -> u64 {
        let start = self.next;
        self.next += bytes.next_multiple_of(4096);
        start
    }
}

/// Random numbers for one part of a workload: independent of the order in which the parts are made.
pub(super) fn random(seed: u64, kernel: usize, block: u64, warp: u32) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&(kernel as u64).to_le_bytes());
    key[16..24].copy_from_slice(&block.to_le_bytes());
    key[24..28].copy_from_slice(&warp.to_le_bytes());
    ChaCha8Rng::from_seed(key)
}

/// An access whose lane `i` goes to `address(i)`; lanes for which it gives `None` are inactive.
pub(super) fn access(warp: u32, pc: u64, kind: AccessKind, width: u8, mut address: impl FnMut(usize) -> Option<u64>) -> WarpAccess {
    let (mut mask, mut addresses) = (0, [0; WARP_SIZE]);
    for (lane, place) in addresses.iter_mut().enumerate() {
        if let Some(address) = address(lane) {
            mask |= 1 << lane;
            *place = address;
        }
    }
    WarpAccess {
        warp,
        pc,
        kind,
        space: Space::Global,
        shareable: kind != AccessKind::Atomic,
        width,
        mask,
        instructions_before: 0,
        addresses,
    }
}

/// An access of the whole warp to consecutive elements from `address`.
pub(super) fn consecutive(warp: u32, pc: u64, kind: AccessKind, width: u8, address: u64) -> WarpAccess {
    access(warp, pc, kind, width, |lane| Some(address + lane as u64 * u64::from(width)))
}

impl WarpAccess {
    /// The same after `count` other instructions.
    pub(super) fn after(mut self, count: u32) -> Self {
        self.instructions_before = count;
        self
    }
}

/// An access of the whole warp to one element.
pub(super) fn broadcast(warp: u32, pc: u64, kind: AccessKind, width: u8, address: u64) -> WarpAccess {
    access(warp, pc, kind, width, |_| Some(address))
}

/// Side of a square of about `area` elements: a multiple of `unit`, at least `unit`.
pub(super) fn side(area: f64, unit: u64) -> u64 {
    (area.sqrt() / unit as f64).ceil().max(1.0) as u64 * unit
}

/// A nearly square grid of at least `blocks` thread blocks.
pub(super) fn grid(blocks: u32) -> Dim3 {
    let y = f64::from(blocks).sqrt().ceil() as u32;
    Dim3 { x: blocks.div_ceil(y), y, z: 1 }
}
