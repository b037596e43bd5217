//! What a trace holds.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event::{Event, Kernel, Space, WarpAccess};
use super::{AccessKind, Coalescer, LineTouch, TraceError};
use crate::ParameterError;

/// Summary of a trace or workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceInfo {
    /// Bytes of a line in all counts of lines.
    pub line_bytes: u32,
    /// Copies from host to device.
    pub memcpys: u64,
    /// Bytes of these copies.
    pub memcpy_bytes: u64,
    /// The kernels, in order.
    pub kernels: Vec<KernelInfo>,
}

/// Summary of one kernel. Loads, stores, atomics, lines and bytes are those of global memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// Name, sizes, tracer version, compression.
    #[serde(flatten)]
    pub kernel: Kernel,
    /// Thread blocks in the trace.
    pub thread_blocks: u64,
    /// Warps listed.
    pub warps: u64,
    /// Warp instructions of any kind.
    pub instructions: u64,
    /// Warp instructions that load.
    pub loads: u64,
    /// Warp instructions that store.
    pub stores: u64,
    /// Warp instructions that update atomically.
    pub atomics: u64,
    /// Loads among them that no other SM's copy may serve (volatile, strong, bypassing).
    pub unshareable_loads: u64,
    /// Warp instructions that access shared, local or constant memory.
    pub other_accesses: u64,
    /// Line accesses: distinct lines of each instruction, summed.
    pub line_accesses: u64,
    /// Distinct lines.
    pub lines: u64,
    /// Lines touched by more than one thread block.
    pub shared_lines: u64,
    /// Bytes the lanes access.
    pub bytes: u64,
}

impl TraceInfo {
    /// Reads all of `events`. Memory grows with the number of distinct lines of a kernel, about 30 bytes for each, not with
    /// the length of the trace.
    ///
    /// # Errors
    /// When the trace is broken or `line_bytes` is not a power of two in 32..=1024.
    pub fn of(events: impl IntoIterator<Item = Result<Event, TraceError>>, line_bytes: u32) -> Result<Self, TraceError> {
        Self::with_progress(events, line_bytes, |_| {})
    }

    /// As [`TraceInfo::of`]; calls `progress` with the number of instructions read, after each thread block.
    ///
    /// # Errors
    /// As [`TraceInfo::of`].
    pub fn with_progress(
        events: impl IntoIterator<Item = Result<Event, TraceError>>,
        line_bytes: u32,
        mut progress: impl FnMut(u64),
    ) -> Result<Self, TraceError> {
        let mut info = Self { line_bytes, memcpys: 0, memcpy_bytes: 0, kernels: Vec::new() };
        let mut counter = Counter::new(line_bytes)?;
        let mut read = 0;
        for event in events {
            match event? {
                Event::Memcpy { bytes, .. } => {
                    info.memcpys += 1;
                    info.memcpy_bytes = info.memcpy_bytes.saturating_add(bytes);
                }
                Event::KernelBegin(kernel) => {
                    counter.owners.clear();
                    info.kernels.push(KernelInfo::new(&kernel));
                }
                Event::KernelEnd => {}
                event => {
                    let Some(kernel) = info.kernels.last_mut() else {
                        continue;
                    };
                    counter.count(kernel, &event);
                    if let Event::BlockEnd { instructions, .. } = event {
                        read += instructions;
                        progress(read);
                    }
                }
            }
        }
        Ok(info)
    }
}

impl KernelInfo {
    fn new(kernel: &Arc<Kernel>) -> Self {
        Self {
            kernel: Kernel::clone(kernel),
            thread_blocks: 0,
            warps: 0,
            instructions: 0,
            loads: 0,
            stores: 0,
            atomics: 0,
            unshareable_loads: 0,
            other_accesses: 0,
            line_accesses: 0,
            lines: 0,
            shared_lines: 0,
            bytes: 0,
        }
    }
}

/// Who touched a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    One(u64),
    Several,
}

struct Counter {
    coalescer: Coalescer,
    touched: Vec<LineTouch>,
    owners: HashMap<u64, Owner>,
}

impl Counter {
    fn new(line_bytes: u32) -> Result<Self, ParameterError> {
        Ok(Self { coalescer: Coalescer::new(line_bytes)?, touched: Vec::new(), owners: HashMap::new() })
    }

    fn count(&mut self, kernel: &mut KernelInfo, event: &Event) {
        match event {
            Event::BlockBegin { .. } => kernel.thread_blocks += 1,
            Event::BlockEnd { warps, instructions } => {
                kernel.warps += u64::from(*warps);
                kernel.instructions += instructions;
            }
            Event::Access(access) if access.space == Space::Global => self.global(kernel, access),
            Event::Access(_) => kernel.other_accesses += 1,
            _ => {}
        }
    }

    fn global(&mut self, kernel: &mut KernelInfo, access: &WarpAccess) {
        match access.kind {
            AccessKind::Load => {
                kernel.loads += 1;
                kernel.unshareable_loads += u64::from(!access.shareable);
            }
            AccessKind::Store => kernel.stores += 1,
            AccessKind::Atomic => kernel.atomics += 1,
        }
        kernel.bytes += u64::from(access.mask.count_ones()) * u64::from(access.width);
        self.coalescer.lines(access, &mut self.touched);
        kernel.line_accesses += self.touched.len() as u64;
        let block = kernel.thread_blocks;
        for touch in &self.touched {
            match self.owners.entry(touch.line).or_insert_with(|| {
                kernel.lines += 1;
                Owner::One(block)
            }) {
                Owner::One(owner) if *owner == block => {}
                Owner::Several => {}
                owner => {
                    *owner = Owner::Several;
                    kernel.shared_lines += 1;
                }
            }
        }
    }
}
