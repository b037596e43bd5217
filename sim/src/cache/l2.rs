//! A simple L2: finite bandwidth, fixed latency, optional jitter.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::ParameterError;

/// Size and speed of an [`L2`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct L2Parameters {
    /// Cycles from the start of a request's service to its fill, 0..=1000000.
    pub latency: u64,
    /// Requests whose service starts in one cycle, 1..=65536.
    pub bandwidth: u32,
    /// Requests that wait for service at most, 1..=1048576; a full queue refuses more.
    pub queue: usize,
    /// Up to this many cycles are added to the latency of each request at random, 0..=1000000; 0 for none.
    pub jitter: u64,
    /// Seed of the jitter.
    pub seed: u64,
}

impl Default for L2Parameters {
    /// 200 cycles, 64 requests a cycle, 1024 waiting, no jitter.
    fn default() -> Self {
        Self { latency: 200, bandwidth: 64, queue: 1024, jitter: 0, seed: 0 }
    }
}

/// A request for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request {
    /// SM that asks.
    pub sm: u32,
    /// Number the SM gave the request; returned with the fill.
    pub id: u64,
    /// Line address.
    pub line: u64,
}

/// A line that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fill {
    /// The request it answers.
    pub request: Request,
    /// Cycle in which it arrives.
    pub cycle: u64,
}

/// The L2. In every cycle first [`push`](L2::push) what the SMs send, then [`step`](L2::step) once.
#[derive(Debug, Clone)]
pub struct L2 {
    parameters: L2Parameters,
    waiting: VecDeque<Request>,
    /// By arrival cycle, then by order of service.
    served: BinaryHeap<Reverse<(u64, u64, Request)>>,
    order: u64,
    /// First cycle not yet stepped.
    next_cycle: u64,
    random: ChaCha8Rng,
}

impl L2 {
    /// An idle L2 before cycle 0.
    ///
    /// # Errors
    /// When a parameter is outside its range.
    pub fn new(parameters: L2Parameters) -> Result<Self, ParameterError> {
        ParameterError::check("latency", parameters.latency, 0, 1_000_000)?;
        ParameterError::check("bandwidth", parameters.bandwidth.into(), 1, 1 << 16)?;
        ParameterError::check("queue", parameters.queue as u64, 1, 1 << 20)?;
        ParameterError::check("jitter", parameters.jitter, 0, 1_000_000)?;
        let random = ChaCha8Rng::seed_from_u64(parameters.seed);
        let (waiting, served) = (VecDeque::new(), BinaryHeap::new());
        Ok(Self { parameters, waiting, served, order: 0, next_cycle: 0, random })
    }

    /// Offers a request. `false` when the queue is full: offer it again in a later cycle.
    #[must_use]
    pub fn push(&mut self, request: Request) -> bool {
        let ready = self.waiting.len() < self.parameters.queue;
        if ready {
            self.waiting.push_back(request);
        }
        ready
    }

    /// A push would be accepted now.
    pub fn ready(&self) -> bool {
        self.waiting.len() < self.parameters.queue
    }

    /// Requests accepted and not yet answered.
    pub fn outstanding(&self) -> usize {
        self.waiting.len() + self.served.len()
    }

    /// Cycle `now`: starts the service of up to `bandwidth` waiting requests, in order, and appends the fills that arrive
    /// to `fills`, ordered by cycle and then by start of service. A request pushed before `step(t)` into an idle L2
    /// arrives in `step(t + latency)`. Cycles may be skipped: it is as if each had been stepped without a push.
    ///
    /// # Panics
    /// When `now` was stepped before.
    pub fn step(&mut self, now: u64, fills: &mut Vec<Fill>) {
        assert!(now >= self.next_cycle, "cycle {now} was stepped before");
        for cycle in self.next_cycle..=now {
            if self.waiting.is_empty() {
                break;
            }
            self.serve(cycle);
        }
        self.next_cycle = now + 1;
        while let Some(&Reverse((cycle, _, request))) = self.served.peek() {
            if cycle > now {
                break;
            }
            self.served.pop();
            fills.push(Fill { request, cycle });
        }
    }

    fn serve(&mut self, cycle: u64) {
        let L2Parameters { latency, bandwidth, jitter, .. } = self.parameters;
        let count = self.waiting.len().min(bandwidth as usize);
        for request in self.waiting.drain(..count) {
            let late = if jitter == 0 { 0 } else { self.random.random_range(0..=jitter) };
            self.served.push(Reverse((cycle + latency + late, self.order, request)));
            self.order += 1;
        }
    }
}
