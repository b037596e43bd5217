//! The event stream that traces and workloads share.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Compression;

/// Lanes of a warp.
pub const WARP_SIZE: usize = 32;

/// A three-dimensional size or coordinate, as in CUDA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dim3 {
    /// Fastest-moving dimension.
    pub x: u32,
    /// Second dimension.
    pub y: u32,
    /// Slowest-moving dimension.
    pub z: u32,
}

impl Dim3 {
    /// `(x, 1, 1)`.
    pub fn linear(x: u32) -> Self {
        Self { x, y: 1, z: 1 }
    }

    /// Number of elements, saturating at `u64::MAX`.
    pub fn count(self) -> u64 {
        u64::from(self.x).saturating_mul(u64::from(self.y)).saturating_mul(u64::from(self.z))
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{},{})", self.x, self.y, self.z)
    }
}

/// What is known of a kernel launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Name, usually mangled.
    pub name: String,
    /// Launch number.
    pub id: u64,
    /// Thread blocks in each dimension.
    pub grid: Dim3,
    /// Threads of a thread block in each dimension; 1..=1024 in all.
    pub block: Dim3,
    /// First byte of the window through which generic accesses reach shared memory (16 MiB), when known.
    pub shared_base: Option<u64>,
    /// First byte of the window through which generic accesses reach local memory (16 MiB), when known.
    pub local_base: Option<u64>,
    /// Accel-Sim tracer version the kernel is written in (1..=6).
    pub tracer_version: u8,
    /// How the kernel's trace file is compressed.
    pub compression: Compression,
}

impl Kernel {
    /// Warps of a thread block.
    pub fn warps_per_block(&self) -> u32 {
        // At most 1024 threads, checked by the reader; saturate for kernels built by hand.
        u32::try_from(self.block.count().div_ceil(WARP_SIZE as u64)).unwrap_or(u32::MAX)
    }
}

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes at the L2 (`ATOM*`, `RED*`).
    Atomic,
}

/// The memory an access goes to. Only [`Space::Global`] is L1 global traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// Global memory, through the L1.
    Global,
    /// Shared memory of the thread block.
    Shared,
    /// Local memory of a thread.
    Local,
    /// Constant memory.
    Constant,
}

/// One memory instruction of one warp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarpAccess {
    /// Warp in its thread block.
    pub warp: u32,
    /// Program counter, bytes from the start of the kernel.
    pub pc: u64,
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// Memory space.
    pub space: Space,
    /// False for atomics and for volatile, strong or L1-bypassing accesses: another SM's copy must not serve them.
    pub shareable: bool,
    /// Bytes each lane accesses, 1..=32.
    pub width: u8,
    /// Active lanes, lane 0 in bit 0. May be 0.
    pub mask: u32,
    /// Instructions other than memory accesses that this warp executed since its previous memory access.
    pub instructions_before: u32,
    /// Byte address of each lane; 0 where the lane is inactive.
    pub addresses: [u64; WARP_SIZE],
}

impl WarpAccess {
    /// Active lanes and their byte addresses, in lane order.
    pub fn lanes(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let mut rest = self.mask;
        std::iter::from_fn(move || {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest.wrapping_sub(1);
            self.addresses.get(lane).map(|&address| (lane, address))
        })
    }
}

/// One step of a trace or workload. The order is always: any number of `Memcpy`, `KernelBegin`, then for each thread
/// block `BlockBegin`, its `Access`es warp by warp, `BlockEnd`; then `KernelEnd`, and again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // a box per access costs more than the copy
pub enum Event {
    /// The host copies data to the device before the next kernel.
    Memcpy {
        /// First device byte.
        address: u64,
        /// Length in bytes.
        bytes: u64,
    },
    /// A kernel starts.
    KernelBegin(Arc<Kernel>),
    /// A thread block starts.
    BlockBegin {
        /// Number of the thread block in its kernel, counted from 0 in the order of the stream.
        index: u64,
        /// Its coordinates in the grid.
        coordinates: Dim3,
    },
    /// A memory instruction of a warp of the current thread block.
    Access(WarpAccess),
    /// The thread block ends.
    BlockEnd {
        /// Warps the thread block listed.
        warps: u32,
        /// Instructions of all its warps, memory and other.
        instructions: u64,
    },
    /// The kernel ends.
    KernelEnd,
}
