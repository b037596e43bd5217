//! Probes the candidates of one query, one at a time.

use super::signal::{self, ports};
use super::sizes::Sizes;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// Why a miss went to L2; the numbers are those of `outcome_reason_o`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No SM seemed to hold the line.
    NoCandidate = 1,
    /// Every probed SM answered that it does not hold the line.
    AllMissed = 2,
    /// A target did not accept or answer in time.
    Busy = 3,
    /// The queue of a target did not take the probe in time.
    QueueFull = 4,
    /// The miss did not become a query.
    Disabled = 5,
}

impl Reason {
    /// All reasons, in the order of their numbers, which start at 1.
    pub const ALL: [Self; 5] = [Self::NoCandidate, Self::AllMissed, Self::Busy, Self::QueueFull, Self::Disabled];

    /// The reason of a number, if there is one.
    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL.get((number as usize).wrapping_sub(1)).copied()
    }
}

/// How the probing of a query ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// This SM holds the line.
    Remote(usize),
    /// Nobody gives the line.
    L2(Reason),
}

/// What reaches a probe engine in one cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct In {
    /// Time.
    pub now: u32,
    /// The candidates are there.
    pub start: bool,
    /// The engine is selected; the nearest candidate, if there is one.
    pub select: Option<Option<usize>>,
    /// The offer is taken.
    pub offer_ready: bool,
    /// An answer, and whether it is a hit.
    pub answer: Option<bool>,
    /// The probe expired.
    pub expired: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Select,
    Offer,
    Wait,
}

/// A probe engine.
#[derive(Debug, Clone)]
pub struct ProbeEngine {
    timeout: u32,
    time_mask: u32,
    limit: u32,
    state: State,
    target: usize,
    deadline: u32,
    probed: bool,
    count: u32,
}

impl ProbeEngine {
    pub fn new(c: &Config) -> Self {
        Self {
            timeout: c.probe_timeout,
            time_mask: Sizes::new(c).wrap(u32::MAX),
            limit: c.probe_limit,
            state: State::Idle,
            target: 0,
            deadline: 0,
            probed: false,
            count: 0,
        }
    }

    /// Waits to be selected.
    pub fn selects(&self) -> bool {
        self.state == State::Select
    }

    /// Offers a probe.
    pub fn offers(&self, now: u32) -> bool {
        self.state == State::Offer && now != self.deadline
    }

    /// Waits for an answer or an expiry.
    pub fn waits(&self) -> bool {
        self.state == State::Wait
    }

    /// Target of the probe.
    pub fn target(&self) -> usize {
        self.target
    }

    /// Deadline of the probe.
    pub fn deadline(&self) -> u32 {
        self.deadline
    }

    /// The candidate that is chosen in this cycle.
    pub fn chosen(&self, i: &In) -> Option<usize> {
        i.select.flatten().filter(|_| self.selects() && (self.limit == 0 || self.count < self.limit))
    }

    /// The probing ends in this cycle.
    pub fn done(&self, i: &In) -> Option<End> {
        match self.state {
            State::Idle => None,
            State::Select if i.select.is_none() || self.chosen(i).is_some() => None,
            State::Select if self.probed => Some(End::L2(Reason::AllMissed)),
            State::Select => Some(End::L2(Reason::NoCandidate)),
            State::Offer => (i.now == self.deadline).then_some(End::L2(Reason::QueueFull)),
            State::Wait if i.answer == Some(true) => Some(End::Remote(self.target)),
            State::Wait => i.expired.then_some(End::L2(Reason::Busy)),
        }
    }

    /// End of the cycle.
    pub fn clock(&mut self, i: &In) {
        let chosen = self.chosen(i);
        if self.done(i).is_some() {
            self.state = State::Idle;
            return;
        }
        self.state = match self.state {
            State::Idle if i.start => {
                (self.probed, self.count) = (false, 0);
                State::Select
            }
            State::Select if chosen.is_some() => State::Offer,
            State::Offer if i.offer_ready => State::Wait,
            State::Wait if i.answer.is_some() => State::Select,
            same => same,
        };
        if let Some(target) = chosen {
            self.target = target;
            self.deadline = (i.now + 1 + self.timeout) & self.time_mask;
            self.probed = true;
            self.count += 1;
        }
    }
}

ports! { mod i(z: Sizes) {
    NOW = "now_i", 1, z.tw;
    START = "start_i", 1, 1;
    SELECT_GRANT = "select_grant_i", 1, 1;
    SELECT_FOUND = "select_found_i", 1, 1;
    SELECT_TARGET = "select_target_i", 1, z.s;
    OFFER_READY = "offer_ready_i", 1, 1;
    ANSWER_VALID = "answer_valid_i", 1, 1;
    ANSWER_HIT = "answer_hit_i", 1, 1;
    EXPIRED = "expired_i", 1, 1;
} }
ports! { mod o(z: Sizes) {
    SELECT_VALID = "select_valid_o", 1, 1;
    CHOSEN = "chosen_o", 1, 1;
    OFFER_VALID = "offer_valid_o", 1, 1;
    OFFER_TARGET = "offer_target_o", 1, z.s, when "offer_valid_o";
    OFFER_DEADLINE = "offer_deadline_o", 1, z.tw, when "offer_valid_o";
    DONE = "done_o", 1, 1;
    DONE_REMOTE = "done_remote_o", 1, 1;
    DONE_SOURCE = "done_source_o", 1, z.s, when "done_remote_o";
    DONE_REASON = "done_reason_o", 1, 3, when "done_o";
} }

/// [`ProbeEngine`] as a block.
pub struct ProbeEngineBlock {
    sizes: Sizes,
    engine: ProbeEngine,
}

impl ProbeEngineBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), engine: ProbeEngine::new(c) }
    }

    fn inputs_of(inputs: &Signals) -> In {
        let is = |port| signal::is(inputs, port, 0);
        let found = is(i::SELECT_FOUND).then(|| inputs.get(i::SELECT_TARGET, 0) as usize);
        In {
            now: inputs.get(i::NOW, 0) as u32,
            start: is(i::START),
            select: is(i::SELECT_GRANT).then_some(found),
            offer_ready: is(i::OFFER_READY),
            answer: is(i::ANSWER_VALID).then_some(is(i::ANSWER_HIT)),
            expired: is(i::EXPIRED),
        }
    }
}

impl Block for ProbeEngineBlock {
    fn name(&self) -> &str {
        "probe_engine"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let (input, engine) = (Self::inputs_of(inputs), &self.engine);
        let done = engine.done(&input);
        signal::set_bit(outputs, o::SELECT_VALID, engine.selects());
        signal::set_bit(outputs, o::CHOSEN, engine.chosen(&input).is_some());
        signal::set_bit(outputs, o::OFFER_VALID, engine.offers(input.now));
        outputs.set(o::OFFER_TARGET, 0, engine.target as u64);
        outputs.set(o::OFFER_DEADLINE, 0, engine.deadline.into());
        signal::set_bit(outputs, o::DONE, done.is_some());
        signal::set_bit(outputs, o::DONE_REMOTE, matches!(done, Some(End::Remote(_))));
        outputs.set(o::DONE_SOURCE, 0, engine.target as u64);
        outputs.set(o::DONE_REASON, 0, if let Some(End::L2(reason)) = done { reason as u64 } else { 0 });
    }

    fn clock(&mut self, inputs: &Signals) {
        self.engine.clock(&Self::inputs_of(inputs));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    const IDLE: In = In { now: 0, start: false, select: None, offer_ready: false, answer: None, expired: false };

    fn engine(more: &[&str]) -> ProbeEngine {
        // TW = 3: time is modulo 8.
        ProbeEngine::new(&config(&[&["sms=4", "probe_timeout=3", "answer_timeout=6"][..], more].concat()))
    }

    /// Brings a new engine to OFFER: target 2, selected at `now`.
    fn offering(more: &[&str], now: u32) -> ProbeEngine {
        let mut e = engine(more);
        e.clock(&In { start: true, ..IDLE });
        assert!(e.selects());
        e.clock(&In { now, ..IDLE }); // not granted
        assert!(e.selects());
        let select = In { now, select: Some(Some(2)), ..IDLE };
        assert_eq!((e.chosen(&select), e.done(&select)), (Some(2), None));
        e.clock(&select);
        e
    }

    #[test]
    fn nothing_found() {
        let mut e = engine(&[]);
        assert_eq!(e.done(&In { answer: Some(true), expired: true, select: Some(None), ..IDLE }), None);
        e.clock(&In { start: true, ..IDLE });
        let none = In { select: Some(None), ..IDLE };
        assert_eq!((e.chosen(&none), e.done(&none)), (None, Some(End::L2(Reason::NoCandidate))));
        e.clock(&none);
        assert!(!e.selects());
    }

    #[test]
    fn hit_miss_and_expiry() {
        let mut e = offering(&[], 5);
        assert!(e.offers(6) && (e.target(), e.deadline()) == (2, 1)); // 5 + 1 + 3 modulo 8
        e.clock(&In { now: 6, ..IDLE });
        e.clock(&In { now: 7, offer_ready: true, ..IDLE });
        assert!(!e.offers(0));
        e.clock(&In { now: 1, ..IDLE }); // the deadline no longer matters to the engine
        assert_eq!(e.done(&In { now: 2, answer: Some(true), ..IDLE }), Some(End::Remote(2)));
        assert_eq!(e.done(&In { now: 2, expired: true, ..IDLE }), Some(End::L2(Reason::Busy)));
        assert_eq!(e.done(&In { now: 2, answer: Some(false), ..IDLE }), None);
        e.clock(&In { now: 2, answer: Some(false), ..IDLE });
        assert!(e.selects());
        assert_eq!(e.done(&In { select: Some(None), ..IDLE }), Some(End::L2(Reason::AllMissed)));
        // A new query starts afresh.
        e.clock(&In { select: Some(None), ..IDLE });
        e.clock(&In { start: true, ..IDLE });
        assert_eq!(e.done(&In { select: Some(None), ..IDLE }), Some(End::L2(Reason::NoCandidate)));
    }

    #[test]
    fn an_offer_lasts_the_timeout() {
        let mut e = offering(&[], 0);
        for now in 1..4 {
            assert!(e.offers(now) && e.done(&In { now, ..IDLE }).is_none());
            e.clock(&In { now, ..IDLE });
        }
        // In the cycle of the deadline it is too late even for a ready.
        let last = In { now: 4, offer_ready: true, ..IDLE };
        assert_eq!((e.offers(4), e.done(&last)), (false, Some(End::L2(Reason::QueueFull))));
        e.clock(&last);
        assert!(!e.selects() && !e.offers(5));
    }

    #[test]
    fn probe_limit() {
        let mut e = offering(&["probe_limit=2"], 0);
        for now in [1, 10] {
            e.clock(&In { now, offer_ready: true, ..IDLE });
            e.clock(&In { now, answer: Some(false), ..IDLE });
            let select = In { now, select: Some(Some(3)), ..IDLE };
            let (chosen, done) = if now == 1 { (Some(3), None) } else { (None, Some(End::L2(Reason::AllMissed))) };
            assert_eq!((e.chosen(&select), e.done(&select)), (chosen, done));
            e.clock(&select);
        }
    }

    #[test]
    fn block_outputs() {
        let mut block = ProbeEngineBlock::new(&config(&["sms=4"]));
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        let mut cycle = |set: &[(usize, u64)]| {
            set.iter().for_each(|&(port, value)| inputs.set(port, 0, value));
            block.eval(&inputs, &mut outputs);
            block.clock(&inputs);
            (0..=o::DONE_REASON).map(|port| outputs.get(port, 0)).collect::<Vec<_>>()
        };
        cycle(&[(i::START, 1)]);
        let shown = cycle(&[(i::START, 0), (i::NOW, 9), (i::SELECT_GRANT, 1), (i::SELECT_FOUND, 1), (i::SELECT_TARGET, 3)]);
        assert_eq!(&shown[..3], [1, 1, 0]);
        let shown = cycle(&[(i::SELECT_GRANT, 0), (i::OFFER_READY, 1)]);
        assert_eq!(shown[..6], [0, 0, 1, 3, 42, 0]);
        let shown = cycle(&[(i::ANSWER_VALID, 1), (i::ANSWER_HIT, 1)]);
        assert_eq!(shown[5..], [1, 1, 3, 0]);
        cycle(&[(i::ANSWER_VALID, 0), (i::START, 1)]);
        let shown = cycle(&[(i::SELECT_GRANT, 1), (i::SELECT_FOUND, 0)]);
        assert_eq!((shown[0], shown[1], shown[5], shown[6], shown[8]), (1, 0, 1, 0, 1));
    }
}
