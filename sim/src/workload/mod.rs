//! Built-in workloads: programs of known sharing behaviour that give the same events as a trace.
//!
//! Everything is computed from [`WorkloadParameters`]: same parameters, same events, on every machine. Thread blocks are
//! made one at a time, so memory use does not grow with the length.
//!
//! ```
//! use l1forge_sim::workload::{Workload, WorkloadParameters};
//! let parameters = WorkloadParameters { sms: 8, ..WorkloadParameters::default() };
//! let events = Workload::by_name("vector_add")?.events(parameters)?;
//! assert!(events.count() > 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atax;
mod bfs;
mod bicg;
mod btree;
mod build;
mod contend;
mod conv2d;
mod conv3d;
mod cyclic_scan;
mod floyd_warshall;
mod gemm;
mod gesummv;
mod graph_walk;
mod histogram;
mod lps;
mod matvec;
mod mm2;
mod mvt;
mod pathfinder;
mod sgemm;
mod spmv;
mod stencil2d;
mod stencil3d;
mod vector_add;
mod volume;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ParameterError;
use crate::trace::{Compression, Dim3, Event, Kernel, TraceError, WarpAccess};
use build::{Plan, Shape};

/// A built-in workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// `c[i] = a[i] + b[i]`. Streaming: no line is touched by two thread blocks, and only stores touch a line twice. The
    /// negative control.
    VectorAdd,
    /// `C = A * B` in tiles of 16 x 16. A line of A is loaded by all thread blocks of its row of tiles, a line of B by all
    /// of its two columns of tiles (with 128-byte lines, which are two tiles wide), a line of C is stored by two. Many SMs
    /// load the same lines in the same order, so a line is often in flight elsewhere before it is in an L1.
    Gemm,
    /// Five-point stencil, two kernels that swap the planes. With 128-byte lines a line of the plane that is read is
    /// touched by three thread blocks, its own and those left and right of it, and by a fourth in the first and last
    /// row of a thread block; a line of the plane that is written by one. About half of all lines are shared, by
    /// neighbours only.
    Stencil2d,
    /// Every SM goes twice round the same ring of lines, which is twice as large as a default L1, each from a place of its
    /// own; the places are evenly spaced and the seed deals them to the SMs. Every line is shared by all; a private L1
    /// never hits, but the line was loaded a little earlier by the SM ahead.
    CyclicScan,
    /// Random walks over a random graph with 8 edges a vertex, most of which lead to few vertices. Divergent: up to 32
    /// lines an instruction. At 64 SMs every line is touched by several thread blocks, the lines of popular vertices by all,
    /// at random times; marks are stored into lines that others load.
    GraphWalk,
    /// All SMs miss at once. Three kernels: every SM loads the same lines in the same order; every SM loads lines of its
    /// own, in groups of 16 that agree in their low 10 tag bits; every SM loads, stores, updates atomically and reads volatile at random
    /// in one small hot set. A stress test, not a program.
    Contend,
    /// Two products one after the other, `D = A * B` and `E = D * C`, untiled as in PolyBench: the 32 lanes of a warp load one element of the
    /// left matrix and a line of the right one. A line of the left matrix is loaded by all thread blocks of a row, one of the right by all of a
    /// column.
    Mm2,
    /// `C = A * B` with register tiles as in Parboil: columns of A come line by line, tiles of B go through shared memory.
    Sgemm,
    /// Convolution of a plane, 3 x 3.
    Conv2d,
    /// Convolution of a volume, 11 weights.
    Conv3d,
    /// Seven-point stencil on a volume.
    Stencil3d,
    /// Laplace solver on a volume; planes go through shared memory, so that only rims are loaded twice.
    Lps,
    /// `y = At * (A * x)`. Every element is loaded once in each of two kernels, by rows (32 lines an access) and by columns; vectors are shared.
    Atax,
    /// `s = At * r` and `q = A * p`.
    Bicg,
    /// `x1 += A * y1` and `x2 += At * y2` in one kernel.
    Mvt,
    /// `y = A * x + B * x`.
    Gesummv,
    /// Breadth-first search, five levels, one kernel each; few vertices have many edges.
    Bfs,
    /// All shortest paths, eight kernels: every thread block reads the row and the column of the vertex of the kernel.
    FloydWarshall,
    /// Cheapest path down a plane; neighbours share rims.
    Pathfinder,
    /// Searches in a B+ tree of four levels; the upper nodes are shared by all.
    Btree,
    /// Sparse matrix times vector, compressed rows, one lane for each row; half of the columns are random.
    Spmv,
    /// Histogram of a stream, counted with atomics in one table.
    Histogram,
}

impl Workload {
    /// All workloads, in the order in which they are listed.
    pub const ALL: [Self; 22] = [
        Self::VectorAdd,
        Self::Gemm,
        Self::Stencil2d,
        Self::CyclicScan,
        Self::GraphWalk,
        Self::Contend,
        Self::Mm2,
        Self::Sgemm,
        Self::Conv2d,
        Self::Conv3d,
        Self::Stencil3d,
        Self::Lps,
        Self::Atax,
        Self::Bicg,
        Self::Mvt,
        Self::Gesummv,
        Self::Bfs,
        Self::FloydWarshall,
        Self::Pathfinder,
        Self::Btree,
        Self::Spmv,
        Self::Histogram,
    ];

    /// The name in configurations and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::VectorAdd => "vector_add",
            Self::Gemm => "gemm",
            Self::Stencil2d => "stencil2d",
            Self::CyclicScan => "cyclic_scan",
            Self::GraphWalk => "graph_walk",
            Self::Contend => "contend",
            Self::Mm2 => "mm2",
            Self::Sgemm => "sgemm",
            Self::Conv2d => "conv2d",
            Self::Conv3d => "conv3d",
            Self::Stencil3d => "stencil3d",
            Self::Lps => "lps",
            Self::Atax => "atax",
            Self::Bicg => "bicg",
            Self::Mvt => "mvt",
            Self::Gesummv => "gesummv",
            Self::Bfs => "bfs",
            Self::FloydWarshall => "floyd_warshall",
            Self::Pathfinder => "pathfinder",
            Self::Btree => "btree",
            Self::Spmv => "spmv",
            Self::Histogram => "histogram",
        }
    }

    /// The workload called `name`.
    ///
    /// # Errors
    /// When there is none; the message lists the names.
    pub fn by_name(name: &str) -> Result<Self, ParameterError> {
        Self::ALL.into_iter().find(|workload| workload.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|workload| workload.name()).collect();
            ParameterError::new("workload", name, format!("one of {}", names.join(", ")))
        })
    }

    /// The events of the workload.
    ///
    /// # Errors
    /// When a parameter is outside its range.
    pub fn events(self, parameters: WorkloadParameters) -> Result<WorkloadEvents, ParameterError> {
        parameters.check()?;
        let plan: Box<dyn Plan> = match self {
            Self::VectorAdd => Box::new(vector_add::VectorAdd::new(&parameters)),
            Self::Gemm => Box::new(gemm::Gemm::new(&parameters)),
            Self::Stencil2d => Box::new(stencil2d::Stencil2d::new(&parameters)),
            Self::CyclicScan => Box::new(cyclic_scan::CyclicScan::new(&parameters)),
            Self::GraphWalk => Box::new(graph_walk::GraphWalk::new(&parameters)),
            Self::Contend => Box::new(contend::Contend::new(&parameters)),
            Self::Mm2 => Box::new(mm2::Mm2::new(&parameters)),
            Self::Sgemm => Box::new(sgemm::Sgemm::new(&parameters)),
            Self::Conv2d => Box::new(volume::Volume::new(&parameters, conv2d::SWEEP)),
            Self::Conv3d => Box::new(volume::Volume::new(&parameters, conv3d::SWEEP)),
            Self::Stencil3d => Box::new(volume::Volume::new(&parameters, stencil3d::SWEEP)),
            Self::Lps => Box::new(volume::Volume::new(&parameters, lps::SWEEP)),
            Self::Atax => Box::new(atax::Atax::new(&parameters)),
            Self::Bicg => Box::new(bicg::Bicg::new(&parameters)),
            Self::Mvt => Box::new(mvt::Mvt::new(&parameters)),
            Self::Gesummv => Box::new(gesummv::Gesummv::new(&parameters)),
            Self::Bfs => Box::new(bfs::Bfs::new(&parameters)),
            Self::FloydWarshall => Box::new(floyd_warshall::FloydWarshall::new(&parameters)),
            Self::Pathfinder => Box::new(pathfinder::Pathfinder::new(&parameters)),
            Self::Btree => Box::new(btree::Btree::new(&parameters)),
            Self::Spmv => Box::new(spmv::Spmv::new(&parameters)),
            Self::Histogram => Box::new(histogram::Histogram::new(&parameters)),
        };
        Ok(WorkloadEvents::new(plan))
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Size and seed of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadParameters {
    /// SMs the work is sized for, 1..=1024. With as many SMs each does a few thousand line accesses at most.
    pub sms: u32,
    /// Factor on the amount of work, 0.01..=1000.
    pub scale: f64,
    /// Seed of everything random.
    pub seed: u64,
    /// Bytes of a cache line, which arrays are aligned to: a power of two in 32..=1024.
    pub line_bytes: u32,
    /// Byte address of the first array, a multiple of 4096 below 2^62.
    pub base: u64,
}

impl Default for WorkloadParameters {
    /// 64 SMs, scale 1, seed 1, 128-byte lines, arrays from 0x7f0000000000 (as high as those of real traces).
    fn default() -> Self {
        Self { sms: 64, scale: 1.0, seed: 1, line_bytes: 128, base: 0x7f00_0000_0000 }
    }
}

impl WorkloadParameters {
    /// # Errors
    /// When a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParameterError> {
        ParameterError::check("sms", self.sms.into(), 1, 1024)?;
        if !(0.01..=1000.0).contains(&self.scale) {
            return Err(ParameterError::new("scale", self.scale, "0.01..=1000"));
        }
        crate::parameter::line_shift(self.line_bytes)?;
        if !self.base.is_multiple_of(4096) || self.base >> 62 != 0 {
            return Err(ParameterError::new("base", format!("{:#x}", self.base), "a multiple of 4096 below 2^62"));
        }
        Ok(())
    }

    /// `count` times the scale, at least 1.
    fn scaled(&self, count: u32) -> u32 {
        (f64::from(count) * self.scale).round().max(1.0) as u32
    }
}

/// The events of a workload; never an error, so that traces and workloads are used alike.
pub struct WorkloadEvents {
    plan: Box<dyn Plan>,
    kernels: std::vec::IntoIter<Shape>,
    kernel: usize,
    place: Place,
}

/// What comes next.
enum Place {
    KernelBegin,
    BlockBegin { shape: Shape, index: u64 },
    Access { shape: Shape, index: u64, rest: std::vec::IntoIter<WarpAccess>, warps: u32, instructions: u64 },
}

impl WorkloadEvents {
    fn new(plan: Box<dyn Plan>) -> Self {
        let kernels = plan.kernels().into_iter();
        Self { plan, kernels, kernel: 0, place: Place::KernelBegin }
    }
}

impl Iterator for WorkloadEvents {
    type Item = Result<Event, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Place::Access { rest, .. } = &mut self.place
            && let Some(access) = rest.next()
        {
            return Some(Ok(Event::Access(access)));
        }
        let (event, place) = match std::mem::replace(&mut self.place, Place::KernelBegin) {
            Place::KernelBegin => {
                let shape = self.kernels.next()?;
                self.kernel += 1;
                let kernel = Kernel {
                    name: shape.name.to_owned(),
                    id: self.kernel as u64,
                    grid: shape.grid,
                    block: shape.block,
                    shared_base: None,
                    local_base: None,
                    tracer_version: 5,
                    compression: Compression::None,
                };
                (Event::KernelBegin(Arc::new(kernel)), Place::BlockBegin { shape, index: 0 })
            }
            Place::BlockBegin { shape, index } if index == shape.grid.count() => (Event::KernelEnd, Place::KernelBegin),
            Place::BlockBegin { shape, index } => {
                let accesses = self.plan.block(self.kernel - 1, index);
                let instructions = accesses.iter().map(|a| 1 + u64::from(a.instructions_before)).sum();
                let warps = shape.block.count().div_ceil(32) as u32;
                let (width, height) = (u64::from(shape.grid.x), u64::from(shape.grid.y));
                let at = [index % width, index / width % height, index / width / height].map(|at| at as u32);
                let coordinates = Dim3 { x: at[0], y: at[1], z: at[2] };
                let rest = accesses.into_iter();
                (Event::BlockBegin { index, coordinates }, Place::Access { shape, index, rest, warps, instructions })
            }
            Place::Access { shape, index, warps, instructions, .. } => {
                (Event::BlockEnd { warps, instructions }, Place::BlockBegin { shape, index: index + 1 })
            }
        };
        self.place = place;
        Some(Ok(event))
    }
}
