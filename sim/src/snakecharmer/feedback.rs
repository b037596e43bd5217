//! Events for the AWTs, one per cycle.

use super::sizes::Sizes;
use crate::block::{Block, Port, Signals};
use crate::c2p::signal::ports;

/// Class and handle of an event.
pub type Learned = (u64, u64);

/// The collector.
#[derive(Debug, Clone, Default)]
pub struct Feedback {
    /// Early, use, on time.
    waiting: [Option<Learned>; 3],
}

impl Feedback {
    fn first(&self) -> Option<usize> {
        self.waiting.iter().position(Option::is_some)
    }

    /// The event of this cycle.
    pub fn event(&self) -> Option<Learned> {
        self.first().and_then(|i| self.waiting[i])
    }

    /// Events of this cycle that are lost.
    pub fn dropped(&self, arriving: [Option<Learned>; 3]) -> u64 {
        let first = self.first();
        (0..3).filter(|&i| arriving[i].is_some() && self.waiting[i].is_some() && first != Some(i)).count() as u64
    }

    /// End of the cycle: handle of an early event, class and handle of a use, handle of an on-time event.
    pub fn clock(&mut self, arriving: [Option<Learned>; 3]) {
        if let Some(i) = self.first() {
            self.waiting[i] = None;
        }
        for (waiting, arriving) in self.waiting.iter_mut().zip(arriving) {
            if waiting.is_none() {
                *waiting = arriving;
            }
        }
    }
}

ports! { mod i(z: Sizes) {
    EARLY_VALID = "early_valid_i", 1, 1;
    EARLY_HANDLE = "early_handle_i", 1, z.h;
    USE_VALID = "use_valid_i", 1, 1;
    USE_LATE = "use_late_i", 1, 1;
    USE_HANDLE = "use_handle_i", 1, z.h;
    ON_TIME_VALID = "on_time_valid_i", 1, 1;
    ON_TIME_HANDLE = "on_time_handle_i", 1, z.h;
} }
ports! { mod o(z: Sizes) {
    EVENT_VALID = "event_valid_o", 1, 1;
    EVENT_CLASS = "event_class_o", 1, 2, when "event_valid_o";
    EVENT_HANDLE = "event_handle_o", 1, z.h, when "event_valid_o";
    DROPPED = "dropped_o", 1, 2;
} }

/// [`Feedback`] as a block.
pub struct FeedbackBlock {
    sizes: Sizes,
    feedback: Feedback,
}

impl FeedbackBlock {
    pub fn new(c: &l1forge_config::Config) -> Self {
        Self { sizes: Sizes::new(c), feedback: Feedback::default() }
    }

    fn arriving(inputs: &Signals) -> [Option<Learned>; 3] {
        let get = |port| inputs.get(port, 0);
        [
            (get(i::EARLY_VALID) != 0).then(|| (1, get(i::EARLY_HANDLE))),
            (get(i::USE_VALID) != 0).then(|| (2 * get(i::USE_LATE), get(i::USE_HANDLE))),
            (get(i::ON_TIME_VALID) != 0).then(|| (0, get(i::ON_TIME_HANDLE))),
        ]
    }
}

impl Block for FeedbackBlock {
    fn name(&self) -> &str {
        "feedback"
    }
    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }
    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let event = self.feedback.event();
        let (class, handle) = event.unwrap_or_default();
        outputs.set(o::EVENT_VALID, 0, event.is_some().into());
        outputs.set(o::EVENT_CLASS, 0, class);
        outputs.set(o::EVENT_HANDLE, 0, handle);
        outputs.set(o::DROPPED, 0, self.feedback.dropped(Self::arriving(inputs)));
    }
    fn clock(&mut self, inputs: &Signals) {
        self.feedback.clock(Self::arriving(inputs));
    }
}
