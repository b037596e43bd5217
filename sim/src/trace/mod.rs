//! Accel-Sim traces: reading, coalescing, dealing to SMs, summaries, writing.
//!
//! Everything here streams: memory use depends on the size of a thread block and of the dealing window, not on the
//! length of the trace. [`TraceReader`] and [`crate::workload::Workload`] give the same [`Event`]s, so whatever takes
//! one takes the other.
//!
//! ```no_run
//! use l1forge_sim::trace::{Coalescer, Event, TraceOptions, TraceReader};
//! let mut lines = Vec::new();
//! let coalescer = Coalescer::new(128)?;
//! for event in TraceReader::open("traces/bfs".as_ref(), TraceOptions::default())? {
//!     if let Event::Access(access) = event? {
//!         coalescer.lines(&access, &mut lines);
//!         println!("warp {} touches {} lines", access.warp, lines.len());
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod coalesce;
mod compact;
mod deal;
mod error;
mod event;
mod header;
mod info;
mod input;
mod instruction;
mod list;
mod reader;
mod writer;

pub use coalesce::{Coalescer, LineTouch, SECTOR_BYTES};
pub use deal::{DealParameters, Dealer, DealtAccess};
pub use error::TraceError;
pub use event::{AccessKind, Dim3, Event, Kernel, Space, WARP_SIZE, WarpAccess};
pub use info::{KernelInfo, TraceInfo};
pub use input::Compression;
pub use reader::{TraceOptions, TraceReader};
pub use writer::{TraceWriter, WriteError, write_file, write_folder};

/// A trace or a workload, whichever: what [`TraceReader`] and [`crate::workload::WorkloadEvents`] have in common.
pub type Events = Box<dyn Iterator<Item = Result<Event, TraceError>> + Send>;
