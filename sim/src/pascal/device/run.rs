//! One run of the stand-in device, event by event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::stand_in::{LoadPath, StandIn};
use crate::pascal::error::InputError;
use crate::pascal::gap_law::Gaps;
use crate::pascal::scan::Scan;
use crate::pascal::simulate::Lru;

/// How often a run records where its workers stand.
const MARKERS: u64 = 8;
/// The most requests one run may make.
const MAX_REQUESTS: u64 = 1 << 40;

/// What a run executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSpec {
    /// Workers per multiprocessor.
    pub occupancy: u32,
    /// Load path.
    pub path: LoadPath,
    /// Prefetch depth.
    pub depth: u32,
    /// Compute per block.
    pub compute: u32,
    /// Scan length N in blocks.
    pub blocks: u64,
    /// Scans W of the ring by every worker.
    pub scans: u64,
    /// A barrier of all workers after every so many blocks.
    pub checkpoint: Option<u64>,
    /// Seed of the jitter.
    pub seed: u64,
}

/// Where the workers stood at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// Phase clusters, merged across gaps of at most [`StandIn::cluster_blocks`].
    pub clusters: u64,
    /// The gap law's K at these positions.
    pub snapshot_k: u64,
    /// Blocks between the fastest and the slowest worker.
    pub lead: u64,
}

/// What a run cost.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// Workers M.
    pub workers: u64,
    /// Blocks requested by all workers.
    pub requests: u64,
    /// Blocks filled from DRAM.
    pub fills: u64,
    /// Fills per round, K.
    pub k: f64,
    /// Fill bytes.
    pub traffic_bytes: f64,
    /// Duration in picoseconds.
    pub time: u64,
    /// Largest lead seen, in blocks; looked at once per round.
    pub lead: u64,
    /// The lead and the clusters at eight instants.
    pub markers: Vec<Marker>,
}

impl RunResult {
    /// Average time per round, in picoseconds.
    pub fn time_per_round(&self) -> f64 {
        self.time as f64 / (self.requests / self.workers) as f64
    }
}

impl StandIn {
    /// Runs `spec`. The same spec gives the same result, on every machine: times are whole picoseconds.
    ///
    /// # Errors
    /// A constant of the device or a value of the spec is illegal.
    pub fn run(&self, spec: &RunSpec) -> Result<RunResult, InputError> {
        let mut run = Run::new(self, spec)?;
        run.prime();
        run.finish();
        Ok(run.result(self))
    }
}

struct Worker {
    /// Blocks consumed.
    consumed: u64,
    /// Blocks requested.
    issued: u64,
    /// The block of the ring it requests next.
    next_block: u32,
    /// Arrival times of the copies in flight, by position modulo r.
    arrivals: Vec<u64>,
    /// The lasting part of its service time.
    alpha: u64,
    /// The present service time and for how many more blocks it holds.
    service: u64,
    service_left: u64,
}

struct Run {
    blocks: u32,
    total: u64,
    r: u64,
    hit: u64,
    miss: u64,
    dram: u64,
    jitter: u64,
    jitter_blocks: u64,
    checkpoint: u64,
    cluster_blocks: u64,
    cache: Lru,
    /// When the data of each block that is being filled arrive; in the past otherwise.
    filled_at: Vec<u64>,
    dram_free: u64,
    workers: Vec<Worker>,
    /// Ends of consumption, as `time << WORKER_BITS | worker`.
    events: BinaryHeap<Reverse<u64>>,
    waiting: Vec<usize>,
    random: ChaCha8Rng,
    fills: u64,
    lead: u64,
    now: u64,
    markers: Vec<Marker>,
}

const WORKER_BITS: u32 = 14;

impl Run {
    fn new(device: &StandIn, spec: &RunSpec) -> Result<Self, InputError> {
        device.check()?;
        let r = spec.path.copies(spec.depth)? as u64;
        if spec.occupancy == 0 || spec.occupancy > 64 {
            return Err(InputError::new("o", format!("{} thread blocks, legal values are 1 to 64", spec.occupancy)));
        }
        let count = device.multiprocessors * u64::from(spec.occupancy);
        if count >= 1 << WORKER_BITS {
            return Err(InputError::new("o", format!("{count} workers, the limit is {}", (1 << WORKER_BITS) - 1)));
        }
        if spec.compute > 1 << 20 {
            return Err(InputError::new("m", format!("{} is too large, the limit is {}", spec.compute, 1 << 20)));
        }
        let cache = Lru::new(spec.blocks, device.capacity_blocks)?;
        let total = spec.blocks.checked_mul(spec.scans).filter(|&t| t > 0 && t <= MAX_REQUESTS / count);
        let total = total.ok_or_else(|| {
            let message = format!(
                "{} scans of {} blocks by {count} workers, at least 1 scan and at most {MAX_REQUESTS} requests are legal",
                spec.scans, spec.blocks
            );
            InputError::new("scans", message)
        })?;
        if spec.checkpoint == Some(0) {
            return Err(InputError::new("checkpoint", "0 blocks, at least 1 is needed"));
        }
        let mut random = ChaCha8Rng::seed_from_u64(spec.seed);
        let alpha = device.alpha(spec.occupancy, spec.compute);
        let workers = (0..count).map(|w| Worker {
            consumed: 0,
            issued: 0,
            next_block: 0,
            arrivals: vec![0; r as usize],
            alpha: alpha + u64::from(spec.occupancy) * device.skew_of(w % device.multiprocessors),
            service: 0,
            // Workers do not draw in step.
            service_left: random.random_range(0..device.jitter_blocks),
        });
        let workers: Vec<Worker> = workers.collect();
        let mut run = Self {
            blocks: spec.blocks as u32,
            total,
            r,
            hit: device.hit,
            miss: device.miss,
            dram: device.dram,
            jitter: device.jitter * u64::from(spec.occupancy),
            jitter_blocks: device.jitter_blocks,
            checkpoint: spec.checkpoint.unwrap_or(u64::MAX),
            cluster_blocks: device.cluster_blocks,
            cache,
            filled_at: vec![0; spec.blocks as usize],
            dram_free: 0,
            events: BinaryHeap::with_capacity(workers.len()),
            workers,
            waiting: Vec::new(),
            random,
            fills: 0,
            lead: 0,
            now: 0,
            markers: Vec::new(),
        };
        for w in 0..run.workers.len() {
            run.workers[w].service = run.draw_service(w);
        }
        Ok(run)
    }

    fn draw_service(&mut self, w: usize) -> u64 {
        self.workers[w].alpha - self.jitter + self.random.random_range(0..=2 * self.jitter)
    }

    /// Worker `w` issues its next copy now, unless it has issued all.
    fn issue(&mut self, w: usize) {
        let worker = &mut self.workers[w];
        if worker.issued == self.total {
            return;
        }
        let block = worker.next_block;
        let slot = (worker.issued % self.r) as usize;
        worker.issued += 1;
        worker.next_block = if block + 1 == self.blocks { 0 } else { block + 1 };
        let filled_at = &mut self.filled_at[block as usize];
        let arrival = if self.cache.access(block) {
            // A block that is still on its way arrives with the fill it shares.
            (self.now + self.hit).max(*filled_at)
        } else {
            self.fills += 1;
            let start = self.now.max(self.dram_free);
            self.dram_free = start + self.dram;
            *filled_at = start + self.miss;
            *filled_at
        };
        self.workers[w].arrivals[slot] = arrival;
    }

    /// Worker `w` starts its next block as soon as the data are there; returns the event of its end.
    fn consume(&mut self, w: usize) -> u64 {
        if self.workers[w].service_left == 0 {
            self.workers[w].service = self.draw_service(w);
            self.workers[w].service_left = self.jitter_blocks;
        }
        let worker = &mut self.workers[w];
        worker.service_left -= 1;
        let arrival = worker.arrivals[(worker.consumed % self.r) as usize];
        let end = self.now.max(arrival) + worker.service;
        end << WORKER_BITS | w as u64
    }

    /// All workers issue their first copies, one each in turn, and start.
    fn prime(&mut self) {
        for _ in 0..self.r {
            for w in 0..self.workers.len() {
                self.issue(w);
            }
        }
        for w in 0..self.workers.len() {
            let event = self.consume(w);
            self.events.push(Reverse(event));
        }
    }

    fn finish(&mut self) {
        let workers = self.workers.len() as u64;
        let total_events = self.total * workers;
        let mark_every = (total_events / MARKERS).max(1);
        let mut done = 0u64;
        let mut events = std::mem::take(&mut self.events);
        loop {
            let Some(mut top) = events.peek_mut() else {
                break;
            };
            self.now = top.0 >> WORKER_BITS;
            let w = (top.0 & ((1 << WORKER_BITS) - 1)) as usize;
            self.workers[w].consumed += 1;
            let consumed = self.workers[w].consumed;
            self.issue(w);
            if consumed < self.total && !consumed.is_multiple_of(self.checkpoint) {
                // In place of the event that was handled; the heap is put right when the borrow ends.
                *top = Reverse(self.consume(w));
                drop(top);
            } else {
                PeekMut::pop(top);
                if consumed < self.total {
                    self.waiting.push(w);
                }
                if self.waiting.len() == self.workers.len() {
                    // The last one has reached the checkpoint: all go on.
                    for w in std::mem::take(&mut self.waiting) {
                        events.push(Reverse(self.consume(w)));
                    }
                }
            }
            done += 1;
            if done.is_multiple_of(workers) {
                self.lead = self.lead.max(self.spread());
            }
            if done.is_multiple_of(mark_every) && done < total_events {
                self.mark();
            }
        }
    }

    fn spread(&self) -> u64 {
        let issued = || self.workers.iter().map(|worker| worker.issued);
        issued().max().unwrap_or(0) - issued().min().unwrap_or(0)
    }

    fn mark(&mut self) {
        let phases = self.workers.iter().map(|worker| u64::from(worker.next_block)).collect();
        let scan = Scan::new(u64::from(self.blocks), phases).expect("positions are on the ring");
        let capacity = self.cache.capacity();
        let gaps = Gaps::new(&scan);
        let snapshot_k = gaps.waterline(capacity).misses_per_round;
        let clusters = gaps.clusters(self.cluster_blocks);
        self.markers.push(Marker { clusters, snapshot_k, lead: self.spread() });
    }

    fn result(self, device: &StandIn) -> RunResult {
        let workers = self.workers.len() as u64;
        RunResult {
            workers,
            requests: self.total * workers,
            fills: self.fills,
            k: self.fills as f64 / self.total as f64,
            traffic_bytes: self.fills as f64 * device.block_bytes as f64,
            time: self.now,
            lead: self.lead,
            markers: self.markers,
        }
    }
}
