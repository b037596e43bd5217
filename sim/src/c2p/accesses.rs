//! Traces and workloads as accesses of the SMs around `c2p_cache`.

use super::environment::{Access, Source};
use crate::ParameterError;
use crate::trace::{AccessKind, DealParameters, Dealer, Event, TraceError};
use l1forge_config::Config;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Events of a trace or workload.
pub type Events = Box<dyn Iterator<Item = Result<Event, TraceError>>>;

/// What went wrong while the accesses were read; they end there. Look at it when a run has ended.
pub type Failure = Rc<RefCell<Option<String>>>;

/// Bytes of accesses that may wait in memory: the rest of a larger kernel is read when an SM has room.
const BUDGET: usize = 256 << 20;

/// The accesses of all SMs, line by line; kernels are kept apart by barriers.
///
/// Thread block i of a kernel goes to SM i mod `sms`. Loads that are not shareable, and atomics, go past sharing.
pub struct Accesses {
    dealer: Dealer<Events>,
    queues: Vec<VecDeque<Access>>,
    at_barrier: Vec<bool>,
    ended: bool,
    most: u64,
    failure: Failure,
}

impl Accesses {
    /// The accesses in front of the first kernel.
    ///
    /// # Errors
    /// A parameter of the configuration is outside the range of the dealer.
    pub fn new(events: Events, config: &Config) -> Result<Self, ParameterError> {
        let parameters = DealParameters {
            sms: config.sms,
            waiting: 1 << 20,
            line_bytes: config.line_bytes,
            budget: BUDGET,
            ..DealParameters::default()
        };
        let mut accesses = Self {
            dealer: Dealer::new(events, parameters)?,
            queues: vec![VecDeque::new(); config.sms as usize],
            at_barrier: vec![false; config.sms as usize],
            ended: false,
            most: u64::MAX >> (64 - config.tag_bits()),
            failure: Failure::default(),
        };
        accesses.next_kernel();
        Ok(accesses)
    }

    /// Where a failure will be found.
    pub fn failure(&self) -> Failure {
        self.failure.clone()
    }

    fn fail(&mut self, message: String) {
        self.ended = true;
        self.failure.borrow_mut().get_or_insert(message);
    }

    fn next_kernel(&mut self) {
        match self.dealer.next_kernel() {
            Ok(Some(_)) => {}
            Ok(None) => self.ended = true,
            Err(error) => self.fail(error.to_string()),
        }
    }

    /// Reads accesses of an SM into its queue; false when it has none now.
    fn refill(&mut self, sm: usize) -> bool {
        while self.queues[sm].is_empty() {
            let number = u32::try_from(sm).unwrap_or(u32::MAX);
            match self.dealer.take_any(number) {
                Ok(Some((_, access))) => {
                    for touch in &access.lines {
                        if touch.line > self.most {
                            let (line, most) = (touch.line, self.most);
                            self.fail(format!("line {line:#x} is beyond the last one, {most:#x}: raise address_bits"));
                            return false;
                        }
                        self.queues[sm].push_back(match access.kind {
                            AccessKind::Load if access.shareable => Access::Load(touch.line),
                            AccessKind::Store => Access::Store(touch.line),
                            _ => Access::Atomic(touch.line),
                        });
                    }
                }
                Ok(None) => return false,
                Err(error) => {
                    self.fail(error.to_string());
                    return false;
                }
            }
        }
        true
    }
}

impl Source for Accesses {
    fn next(&mut self, sm: usize) -> Option<Access> {
        if self.at_barrier.iter().all(|at| *at) {
            // All SMs have passed the barrier. A kernel too large for the budget goes on behind it.
            self.at_barrier.fill(false);
            if self.dealer.kernel_done() {
                self.next_kernel();
            }
        }
        if self.refill(sm) {
            return self.queues[sm].pop_front();
        }
        if self.ended {
            return None;
        }
        self.at_barrier[sm] = true;
        Some(Access::Barrier)
    }
}
