//! Thread blocks to SMs.
//!
//! Thread block `i` of a kernel (counted in the order of the trace) goes to SM `i mod sms`. An SM works on up to
//! `resident` thread blocks at once; when one has no access left, the SM takes its next. The trace is read in order and
//! only as far as needed, so the thread block that comes next in the trace may belong to an SM that has no place: it then
//! waits, and when too many wait, reading stops until an SM has made progress. This is the back-pressure that bounds
//! memory: `budget` bytes plus one thread block.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::compact::{Record, Records};
use super::event::{Event, Kernel, Space, WarpAccess};
use super::{AccessKind, Coalescer, LineTouch, TraceError};
use crate::ParameterError;

/// How to deal thread blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DealParameters {
    /// SMs, 1..=1024.
    pub sms: u32,
    /// Thread blocks an SM works on at once, 1..=32.
    pub resident: u32,
    /// Thread blocks that may wait for a place, in all, 0..=1048576.
    pub waiting: u32,
    /// Bytes of a cache line: a power of two in 32..=1024.
    pub line_bytes: u32,
    /// Bytes of records held at most before reading stops, at least 1; a thread block that is being read may go beyond.
    pub budget: usize,
}

impl Default for DealParameters {
    /// 64 SMs with 4 thread blocks each, 256 more waiting, 128-byte lines, 32 MiB.
    fn default() -> Self {
        Self { sms: 64, resident: 4, waiting: 256, line_bytes: 128, budget: 32 << 20 }
    }
}

/// A global memory instruction of a warp, coalesced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DealtAccess {
    /// Thread block in its kernel.
    pub block: u64,
    /// Warp in its thread block.
    pub warp: u32,
    /// Program counter.
    pub pc: u64,
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// As in [`WarpAccess::shareable`].
    pub shareable: bool,
    /// Other instructions of the warp since its previous global access, shared and local accesses among them.
    pub instructions_before: u32,
    /// The lines it touches, as [`Coalescer::lines`] gives them; empty when no lane is active.
    pub lines: Vec<LineTouch>,
}

/// Deals the thread blocks of a trace or workload to SMs, kernel after kernel.
///
/// ```
/// use l1forge_sim::trace::{DealParameters, Dealer};
/// use l1forge_sim::workload::{Workload, WorkloadParameters};
/// let events = Workload::VectorAdd.events(WorkloadParameters { sms: 4, ..Default::default() })?;
/// let mut dealer = Dealer::new(events, DealParameters { sms: 4, ..Default::default() })?;
/// let mut accesses = 0;
/// while let Some(kernel) = dealer.next_kernel()? {
///     while !dealer.kernel_done() {
///         for sm in 0..4 {
///             accesses += usize::from(dealer.take_any(sm)?.is_some());
///         }
///     }
///     println!("{}: {accesses} accesses", kernel.name);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Dealer<I> {
    events: I,
    parameters: DealParameters,
    coalescer: Coalescer,
    sms: Vec<Sm>,
    warps_per_block: u32,
    /// A kernel is open: its end was not read yet.
    open: bool,
    /// Number of the next thread block.
    next_block: u64,
    /// Thread blocks resident and waiting, in all, and bytes of their records.
    resident: usize,
    waiting: usize,
    bytes: usize,
    instructions: u64,
    starved: u64,
    /// The thread block that is being read: the accesses of each warp, and instructions of each that are not global accesses.
    reading: Vec<(Records, u32)>,
    /// Scratch: lines of an access.
    lines: Vec<LineTouch>,
    /// Memory of accesses that were given back.
    spare: Vec<Vec<LineTouch>>,
}

#[derive(Default)]
struct Sm {
    places: Vec<Option<Block>>,
    /// Thread blocks that got a place.
    begun: u64,
    waiting: VecDeque<Block>,
    /// Slot whose turn it is in `take_any`.
    next: u32,
}

struct Block {
    index: u64,
    bytes: usize,
    warps: Vec<Records>,
}

impl<I: Iterator<Item = Result<Event, TraceError>>> Dealer<I> {
    /// A dealer in front of the first kernel of `events`.
    ///
    /// # Errors
    /// When a parameter is outside its range.
    pub fn new(events: I, parameters: DealParameters) -> Result<Self, ParameterError> {
        ParameterError::check("sms", parameters.sms.into(), 1, 1024)?;
        ParameterError::check("resident", parameters.resident.into(), 1, 32)?;
        ParameterError::check("waiting", parameters.waiting.into(), 0, 1 << 20)?;
        ParameterError::check("budget", parameters.budget as u64, 1, u64::MAX)?;
        let coalescer = Coalescer::new(parameters.line_bytes)?;
        Ok(Self {
            events,
            coalescer,
            sms: (0..parameters.sms).map(|_| Sm::default()).collect(),
            parameters,
            warps_per_block: 0,
            open: false,
            next_block: 0,
            resident: 0,
            waiting: 0,
            bytes: 0,
            instructions: 0,
            starved: 0,
            reading: Vec::new(),
            lines: Vec::new(),
            spare: Vec::new(),
        })
    }

    /// Goes on to the next kernel and fills the SMs; `None` at the end. What is left of the current kernel is skipped.
    ///
    /// # Errors
    /// When the trace is broken.
    pub fn next_kernel(&mut self) -> Result<Option<Arc<Kernel>>, TraceError> {
        while self.open {
            self.read_block()?;
        }
        (self.next_block, self.resident, self.waiting, self.bytes) = (0, 0, 0, 0);
        let kernel = loop {
            match self.events.next().transpose()? {
                None => return Ok(None),
                Some(Event::KernelBegin(kernel)) => break kernel,
                Some(_) => {}
            }
        };
        self.warps_per_block = kernel.warps_per_block();
        for sm in &mut self.sms {
            *sm = Sm::default();
            sm.places.resize_with(self.parameters.resident as usize, || None);
        }
        self.open = true;
        self.refill()?;
        Ok(Some(kernel))
    }

    /// Every access of the current kernel was taken.
    pub fn kernel_done(&self) -> bool {
        !self.open && self.resident == 0 && self.waiting == 0
    }

    /// Warp slots of an SM in the current kernel: `resident` times the warps of a thread block. A slot is what a hardware
    /// warp is: successive warps use it. Slot `s` is warp `s mod warps` of the thread block in place `s / warps`.
    pub fn slots(&self) -> u32 {
        self.parameters.resident * self.warps_per_block
    }

    /// The next access in warp slot `slot` of `sm`, without taking it. `None` when the slot has none, for now: it may get
    /// some when accesses are taken, of this SM or another.
    pub fn peek(&self, sm: u32, slot: u32) -> Option<DealtAccess> {
        let block = self.block(sm, slot)?;
        let warp = slot % self.warps_per_block;
        let (record, lines) = block.warps.get(warp as usize)?.peek()?;
        Some(dealt(block.index, warp, record, lines))
    }

    /// Thread blocks of the current kernel that `sm` has begun. A slot without an access gets none before this changes.
    pub fn begun(&self, sm: u32) -> u64 {
        self.sms.get(sm as usize).map_or(0, |sm| sm.begun)
    }

    /// Slot `slot` of `sm` has an access to take. Cheaper than [`Dealer::peek`].
    pub fn has_access(&self, sm: u32, slot: u32) -> bool {
        let warp = |block: &Block| block.warps.get((slot % self.warps_per_block) as usize).is_some_and(|w| !w.is_empty());
        self.block(sm, slot).is_some_and(warp)
    }

    /// Takes the next access in warp slot `slot` of `sm`. When it was the last of its thread block, the SM's next thread
    /// block moves in.
    ///
    /// # Errors
    /// When the trace is broken further on.
    pub fn take(&mut self, sm: u32, slot: u32) -> Result<Option<DealtAccess>, TraceError> {
        let warps = self.warps_per_block;
        let Some(place) = slot.checked_div(warps) else {
            return Ok(None);
        };
        let Some(entry) = self.sms.get_mut(sm as usize) else {
            return Ok(None);
        };
        let Some(block) = entry.places.get_mut(place as usize).and_then(Option::as_mut) else {
            return Ok(None);
        };
        let warp = slot % warps;
        let Some(records) = block.warps.get_mut(warp as usize) else {
            return Ok(None);
        };
        let mut lines = self.spare.pop().unwrap_or_default();
        let Some(record) = records.pop(&mut lines) else {
            return Ok(None);
        };
        let last = records.is_empty();
        let access = dealt(block.index, warp, record, lines);
        if last && block.warps.iter().all(Records::is_empty) {
            self.retire(sm as usize, place as usize)?;
        }
        Ok(Some(access))
    }

    /// Gives an access back when it is done with: its memory serves another.
    pub fn give_back(&mut self, access: DealtAccess) {
        let mut lines = access.lines;
        lines.clear();
        self.spare.push(lines);
    }

    /// Takes the next access of `sm`, from its warp slots in turn.
    ///
    /// # Errors
    /// When the trace is broken further on.
    pub fn take_any(&mut self, sm: u32) -> Result<Option<(u32, DealtAccess)>, TraceError> {
        let slots = self.slots();
        let Some(next) = self.sms.get(sm as usize).map(|sm| sm.next) else {
            return Ok(None);
        };
        let Some(slot) = (next..slots).chain(0..slots.min(next)).find(|&slot| self.has_access(sm, slot)) else {
            return Ok(None);
        };
        self.sms[sm as usize].next = slot + 1;
        Ok(self.take(sm, slot)?.map(|access| (slot, access)))
    }

    /// Instructions, of any kind, of all thread blocks read so far, of all kernels.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Thread blocks held and bytes of their records.
    pub fn held(&self) -> (usize, usize) {
        (self.resident + self.waiting, self.bytes)
    }

    /// How often the budget kept reading back although an SM had a place free. Not 0: the SMs worked on fewer thread
    /// blocks than `resident`; raise `budget`.
    pub fn starved(&self) -> u64 {
        self.starved
    }

    fn block(&self, sm: u32, slot: u32) -> Option<&Block> {
        let place = slot.checked_div(self.warps_per_block)?;
        self.sms.get(sm as usize)?.places.get(place as usize)?.as_ref()
    }

    fn retire(&mut self, sm: usize, place: usize) -> Result<(), TraceError> {
        let entry = &mut self.sms[sm];
        if let Some(block) = entry.places[place].take() {
            self.bytes -= block.bytes;
            self.resident -= 1;
        }
        if let Some(block) = entry.waiting.pop_front() {
            entry.places[place] = Some(block);
            entry.begun += 1;
            (self.resident, self.waiting) = (self.resident + 1, self.waiting - 1);
        }
        self.refill()
    }

    /// Reads on as far as places, waiting room and budget allow.
    fn refill(&mut self) -> Result<(), TraceError> {
        while self.open {
            let sm = (self.next_block % u64::from(self.parameters.sms)) as usize;
            let place = self.sms[sm].places.iter().position(Option::is_none);
            let held = self.resident + self.waiting;
            // Half of the budget is kept for thread blocks that have a place.
            let room = match place {
                Some(_) => self.bytes < self.parameters.budget || held == 0,
                None => self.waiting < self.parameters.waiting as usize && self.bytes < self.parameters.budget / 2,
            };
            if !room {
                self.starved += u64::from(place.is_some());
                return Ok(());
            }
            let Some(block) = self.read_block()? else {
                continue;
            };
            self.bytes += block.bytes;
            match place {
                Some(place) => {
                    self.sms[sm].places[place] = Some(block);
                    self.sms[sm].begun += 1;
                    self.resident += 1;
                }
                None => {
                    self.sms[sm].waiting.push_back(block);
                    self.waiting += 1;
                }
            }
        }
        Ok(())
    }

    /// Reads one thread block; `None` when it has no global access, or at the end of the kernel.
    fn read_block(&mut self) -> Result<Option<Block>, TraceError> {
        let Self { reading, lines, .. } = self;
        for (records, skipped) in reading.iter_mut() {
            records.clear();
            *skipped = 0;
        }
        let mut warps = 0;
        loop {
            match self.events.next() {
                Some(Err(error)) => return Err(error),
                None | Some(Ok(Event::KernelEnd)) => {
                    self.open = false;
                    return Ok(None);
                }
                Some(Ok(Event::BlockBegin { .. } | Event::Memcpy { .. } | Event::KernelBegin(_))) => {}
                Some(Ok(Event::Access(access))) => {
                    let warp = access.warp as usize;
                    warps = warps.max(warp + 1);
                    if reading.len() < warps {
                        reading.resize_with(warps, Default::default);
                    }
                    let (records, skipped) = &mut reading[warp];
                    if access.space == Space::Global {
                        self.coalescer.lines(&access, lines);
                        records.push(record(&access, std::mem::take(skipped)), lines);
                    } else {
                        let more = access.instructions_before.saturating_add(1);
                        *skipped = skipped.saturating_add(more);
                    }
                }
                Some(Ok(Event::BlockEnd { instructions, .. })) => {
                    self.instructions += instructions;
                    let index = self.next_block;
                    self.next_block += 1;
                    let warps: Vec<Records> = reading[..warps].iter().map(|(records, _)| records.seal()).collect();
                    let bytes = warps.iter().map(Records::size).sum();
                    return Ok((bytes > 0).then_some(Block { index, bytes, warps }));
                }
            }
        }
    }
}

fn record(access: &WarpAccess, skipped: u32) -> Record {
    Record {
        pc: access.pc,
        kind: access.kind,
        shareable: access.shareable,
        instructions_before: access.instructions_before.saturating_add(skipped),
    }
}

fn dealt(block: u64, warp: u32, record: Record, lines: Vec<LineTouch>) -> DealtAccess {
    let Record { pc, kind, shareable, instructions_before } = record;
    DealtAccess { block, warp, pc, kind, shareable, instructions_before, lines }
}
