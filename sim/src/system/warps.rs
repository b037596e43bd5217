//! The SMs' warps: they issue the accesses of a trace or workload with real timing.
//!
//! An SM issues from its ready warps, oldest first, one memory instruction at a time; the L1 looks up one line per cycle. Instructions that
//! lie between two accesses of a warp use what it loaded before: they wait for all its loads. Accesses that follow each other directly are
//! independent and overlap, up to `loads_per_warp` of them. Stores do not hold a warp up.

use super::memory::{Load, Memory, Reply};
use super::parameters::SystemParameters;
use super::wakes::Wakes;
use crate::ParameterError;
use crate::trace::{AccessKind, DealParameters, Dealer, DealtAccess, Events, TraceError};
use l1forge_config::Config;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Memory instructions of a warp that a token can tell apart.
const PLACES: usize = 8;
/// Cycles after which an SM looks for new work although it took none.
const POLL: u64 = 64;
/// Cycles of a load that is answered from a register: the lookup, and reading the register.
const REGISTER_LATENCY: u64 = 2;

#[derive(Default)]
struct Warp {
    next: Option<DealtAccess>,
    /// Lines outstanding of each instruction in flight; 0: the place is free.
    lines: [u16; PLACES],
    in_flight: u32,
    hold: Hold,
}

/// What a warp with an access waits for.
#[derive(Default, PartialEq, Eq)]
enum Hold {
    /// Nothing: it is among the ready, or in the pipe.
    #[default]
    None,
    /// All its loads.
    All,
    /// A free place.
    One,
}

/// The memory instruction whose lines are being looked up.
struct Pipe {
    slot: u32,
    place: usize,
    access: DealtAccess,
    at: usize,
}

#[derive(Default)]
struct Sm {
    warps: Vec<Warp>,
    /// By cycle, then by warp.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    pipe: Option<Pipe>,
    /// When the issue slots are free, in 1/`issue_width` cycles, and the first cycle in which they are.
    issue_at: u64,
    issue_cycle: u64,
    /// Loads that end in a known cycle: hits in the L1, in registers.
    hits: [VecDeque<(u64, u32)>; 2],
    /// Slots without an access, and the thread blocks begun when they were looked at last.
    empty: Vec<u32>,
    begun: u64,
    took: bool,
}

/// All warps of all SMs.
pub struct Warps {
    dealer: Dealer<Events>,
    p: SystemParameters,
    sms: Vec<Sm>,
    /// When the SMs do something next, if no line comes.
    wakes: Wakes,
    /// Accesses held, and instructions in the pipe or in flight.
    work: usize,
    most_line: u64,
}

impl Warps {
    pub fn new(events: Events, config: &Config, p: &SystemParameters) -> Result<Self, ParameterError> {
        let parameters = DealParameters {
            sms: config.sms,
            resident: p.resident_blocks,
            waiting: 1 << 12,
            line_bytes: config.line_bytes,
            budget: 128 << 20,
        };
        Ok(Self {
            dealer: Dealer::new(events, parameters)?,
            p: p.clone(),
            sms: (0..config.sms).map(|_| Sm::default()).collect(),
            wakes: Wakes::new(config.sms as usize, 0),
            work: 0,
            most_line: u64::MAX >> (64 - config.tag_bits()),
        })
    }

    /// Starts the next kernel; its name, or `None` at the end.
    pub fn next_kernel(&mut self, now: u64) -> Result<Option<String>, RunError> {
        let Some(kernel) = self.dealer.next_kernel()? else { return Ok(None) };
        let slots = self.dealer.slots();
        for sm in &mut self.sms {
            *sm = Sm {
                empty: (0..slots).collect(),
                took: true,
                issue_at: now * u64::from(self.p.issue_width),
                issue_cycle: now,
                ..Sm::default()
            };
            sm.warps.resize_with(slots as usize, Warp::default);
        }
        self.wakes = Wakes::new(self.sms.len(), now);
        Ok(Some(kernel.name.clone()))
    }

    /// Every access of the kernel is done.
    pub fn kernel_done(&self) -> bool {
        self.work == 0 && self.dealer.kernel_done()
    }

    /// Instructions of all thread blocks read so far.
    pub fn instructions(&self) -> u64 {
        self.dealer.instructions()
    }

    /// One cycle of all SMs.
    pub fn step(&mut self, now: u64, memory: &mut Memory) -> Result<(), RunError> {
        let first = now as usize % self.sms.len();
        for sm in self.wakes.due(now).iter_from(first) {
            self.step_sm(now, sm, memory)?;
        }
        Ok(())
    }

    fn step_sm(&mut self, now: u64, sm: usize, memory: &mut Memory) -> Result<(), RunError> {
        for kind in 0..2 {
            while let Some(&(cycle, token)) = self.sms[sm].hits[kind].front()
                && cycle <= now
            {
                self.sms[sm].hits[kind].pop_front();
                self.line_done(now, sm, token);
            }
        }
        if !self.sms[sm].empty.is_empty() && (std::mem::take(&mut self.sms[sm].took) || now.is_multiple_of(POLL)) {
            self.poll(now, sm)?;
        }
        if self.sms[sm].pipe.is_none() {
            self.issue(now, sm);
        }
        if self.sms[sm].pipe.is_some() {
            self.look_up(now, sm, memory)?;
        }
        self.wakes.set(sm, self.next_of(now, sm));
        Ok(())
    }

    fn next_of(&self, now: u64, sm: usize) -> Option<u64> {
        let s = &self.sms[sm];
        let mut wake = u64::MAX;
        if s.pipe.is_some() || (s.took && !s.empty.is_empty()) {
            return Some(now + 1);
        }
        if let Some(Reverse((cycle, _))) = s.ready.peek() {
            wake = wake.min((*cycle).max(s.issue_cycle));
        }
        for (cycle, _) in s.hits.iter().filter_map(|h| h.front()) {
            wake = wake.min(*cycle);
        }
        if !s.empty.is_empty() && !self.dealer.kernel_done() {
            wake = wake.min((now / POLL + 1) * POLL);
        }
        Some(wake).filter(|wake| *wake != u64::MAX).map(|wake| wake.max(now + 1))
    }

    /// The next cycle in which an SM does something, if no line comes.
    pub fn next(&self) -> Option<u64> {
        self.wakes.next()
    }

    /// Takes accesses for the slots that have none.
    fn poll(&mut self, now: u64, sm: usize) -> Result<(), RunError> {
        let begun = self.dealer.begun(sm as u32);
        if std::mem::replace(&mut self.sms[sm].begun, begun) == begun {
            return Ok(());
        }
        let mut empty = std::mem::take(&mut self.sms[sm].empty);
        let mut kept = 0;
        for i in 0..empty.len() {
            let slot = empty[i];
            if !self.fetch(now, sm, slot)? {
                empty[kept] = slot;
                kept += 1;
            }
        }
        empty.truncate(kept);
        self.sms[sm].empty.append(&mut empty);
        Ok(())
    }

    /// The next access of a warp; false when there is none now.
    fn fetch(&mut self, now: u64, sm: usize, slot: u32) -> Result<bool, RunError> {
        if !self.dealer.has_access(sm as u32, slot) {
            return Ok(false);
        }
        let access = self.dealer.take(sm as u32, slot)?;
        if let Some(line) = access.iter().flat_map(|a| &a.lines).map(|l| l.line).find(|l| *l > self.most_line) {
            return Err(RunError::Address { line, most: self.most_line });
        }
        self.work += usize::from(access.is_some());
        self.sms[sm].took = true;
        self.sms[sm].warps[slot as usize].next = access;
        self.schedule(now, sm, slot);
        Ok(true)
    }

    /// A warp has an access: it is ready later, or waits for its loads.
    fn schedule(&mut self, now: u64, sm: usize, slot: u32) {
        let Sm { warps, ready, .. } = &mut self.sms[sm];
        let warp = &mut warps[slot as usize];
        let Some(access) = &warp.next else { return };
        let before = u64::from(access.instructions_before);
        warp.hold = match warp.in_flight {
            1.. if before > 0 => Hold::All,
            n if n >= self.p.loads_per_warp => Hold::One,
            _ => {
                ready.push(Reverse((now + 1 + before * u64::from(self.p.instruction_cycles), slot)));
                Hold::None
            }
        };
    }

    /// The oldest ready warp puts its access into the pipe, when the issue slots are free.
    fn issue(&mut self, now: u64, sm: usize) {
        let width = u64::from(self.p.issue_width);
        let s = &mut self.sms[sm];
        if s.issue_cycle > now || s.ready.peek().is_none_or(|Reverse((cycle, _))| *cycle > now) {
            return;
        }
        let Some(Reverse((_, slot))) = s.ready.pop() else { return };
        let warp = &mut s.warps[slot as usize];
        let Some(access) = warp.next.take() else { return };
        s.issue_at = s.issue_at.max(now * width) + 1 + u64::from(access.instructions_before);
        s.issue_cycle = s.issue_at.div_ceil(width);
        let mut place = 0;
        if access.kind != AccessKind::Store && !access.lines.is_empty() {
            place = warp.lines.iter().position(|l| *l == 0).unwrap_or_else(|| unreachable!("a ready warp has a free place"));
            warp.lines[place] = access.lines.len() as u16;
            warp.in_flight += 1;
            self.work += 1;
        }
        s.pipe = Some(Pipe { slot, place, access, at: 0 });
    }

    /// Looks up one line of the access in the pipe.
    fn look_up(&mut self, now: u64, sm: usize, memory: &mut Memory) -> Result<(), RunError> {
        let Some(pipe) = &mut self.sms[sm].pipe else { return Ok(()) };
        if let Some(touch) = pipe.access.lines.get(pipe.at) {
            let token = pipe.slot * PLACES as u32 + pipe.place as u32;
            let (pc, line) = (pipe.access.pc, touch.line);
            let reply = match pipe.access.kind {
                AccessKind::Load => memory.load(now, sm, Load { warp: pipe.slot, pc, line, shareable: pipe.access.shareable, token }),
                AccessKind::Store if memory.store(sm, line) => Reply::Wait,
                AccessKind::Store => Reply::Stall,
                AccessKind::Atomic => memory.atomic(now, sm, pc, line, token),
            };
            match reply {
                Reply::Stall => return Ok(()),
                Reply::Wait => pipe.at += 1,
                Reply::Hit => {
                    pipe.at += 1;
                    self.sms[sm].hits[0].push_back((now + u64::from(self.p.l1_latency), token));
                }
                Reply::Register => {
                    pipe.at += 1;
                    self.sms[sm].hits[1].push_back((now + REGISTER_LATENCY, token));
                }
            }
        }
        let s = &mut self.sms[sm];
        if let Some(Pipe { slot, access, .. }) = s.pipe.take_if(|p| p.at >= p.access.lines.len()) {
            self.work -= 1;
            self.dealer.give_back(access);
            if !self.fetch(now, sm, slot)? {
                self.sms[sm].empty.push(slot);
            }
        }
        Ok(())
    }

    /// Loads and atomics that are done.
    pub fn done(&mut self, now: u64, tokens: &mut Vec<(usize, u32)>) {
        for (sm, token) in tokens.drain(..) {
            self.line_done(now, sm, token);
            self.wakes.set(sm, Some(now + 1));
        }
    }

    fn line_done(&mut self, now: u64, sm: usize, token: u32) {
        let (slot, place) = (token / PLACES as u32, token as usize % PLACES);
        let warp = &mut self.sms[sm].warps[slot as usize];
        warp.lines[place] -= 1;
        if warp.lines[place] > 0 {
            return;
        }
        warp.in_flight -= 1;
        self.work -= 1;
        if warp.hold == Hold::One || (warp.hold == Hold::All && warp.in_flight == 0) {
            self.schedule(now, sm, slot);
        }
    }
}

/// Why the front end cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The trace is broken.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A line beyond the last.
    #[error("line {line:#x} is beyond the last one, {most:#x}: raise address_bits")]
    Address {
        /// The line.
        line: u64,
        /// The last one.
        most: u64,
    },
}
