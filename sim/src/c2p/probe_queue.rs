//! The probes on their way to one target L1, and those it has not answered yet.

use super::probe_return::TargetEvent;
use super::signal::{self, ports};
use super::sizes::Sizes;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;
use std::collections::VecDeque;

/// A probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Line that is looked for.
    pub tag: u64,
    /// SM that asks.
    pub requester: usize,
    /// Its slot.
    pub slot: usize,
    /// Time at which the probe must have been accepted.
    pub deadline: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    probe: Probe,
    dead: bool,
    expired: bool,
}

impl Entry {
    fn late(&self, now: u32) -> bool {
        !self.dead && (self.expired || now == self.probe.deadline)
    }
}

/// What reaches a probe queue in one cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct In {
    /// Time.
    pub now: u32,
    /// A probe offered to the queue; taken when [`ProbeQueue::push_ready`].
    pub push: Option<Probe>,
    /// An answer of the L1, and whether it is a hit.
    pub answer: Option<bool>,
    /// The L1 takes a probe.
    pub probe_ready: bool,
}

/// What happens in one cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Events {
    /// An answer for a live probe.
    pub answer: Option<TargetEvent>,
    /// An answer for a dead probe.
    pub discarded: bool,
    /// A probe that is given up.
    pub expired: Option<TargetEvent>,
}

/// The queue of one target.
#[derive(Debug, Clone)]
pub struct ProbeQueue {
    depth: usize,
    answer_depth: usize,
    answer_timeout: u32,
    time_mask: u32,
    waiting: VecDeque<Entry>,
    outstanding: VecDeque<Entry>,
    /// The oldest waiting entry was offered in the cycle before, and not taken.
    offered: bool,
}

impl ProbeQueue {
    pub fn new(c: &Config) -> Self {
        let (depth, answer_depth) = (c.probe_queue_depth as usize, c.answer_queue_depth as usize);
        Self {
            depth,
            answer_depth,
            answer_timeout: c.answer_timeout,
            time_mask: Sizes::new(c).wrap(u32::MAX),
            waiting: VecDeque::with_capacity(depth),
            outstanding: VecDeque::with_capacity(answer_depth),
            offered: false,
        }
    }

    /// No probe waits or is outstanding.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.outstanding.is_empty()
    }

    /// Without an input, the cycle changes nothing: no probe waits, and none that is outstanding expires.
    pub fn rests(&self, now: u32) -> bool {
        self.waiting.is_empty() && !self.outstanding.iter().any(|entry| entry.late(now))
    }

    /// A probe can be pushed.
    pub fn push_ready(&self) -> bool {
        self.waiting.len() < self.depth
    }

    /// The probe offered to the L1.
    pub fn probe(&self, now: u32) -> Option<&Probe> {
        let first = self.waiting.front()?;
        let room = self.outstanding.len() < self.answer_depth;
        (room && (self.offered || !(first.dead || first.late(now)))).then_some(&first.probe)
    }

    /// What happens in this cycle.
    pub fn events(&self, i: &In) -> Events {
        self.events_with(i, self.expiring(i))
    }

    fn events_with(&self, i: &In, expiring: Option<usize>) -> Events {
        let mut events = Events::default();
        let answered = if i.answer.is_some() { self.outstanding.front() } else { None };
        if let Some(entry) = answered {
            let Probe { requester, slot, .. } = entry.probe;
            events.discarded = entry.dead;
            events.answer = (!entry.dead).then_some(TargetEvent { requester, slot, answer: i.answer });
        }
        events.expired = expiring.map(|place| {
            let Probe { requester, slot, .. } = self.entry(place).probe;
            TargetEvent { requester, slot, answer: None }
        });
        events
    }

    /// Place of the entry that expires: outstanding entries first, then waiting ones.
    fn expiring(&self, i: &In) -> Option<usize> {
        let answered = usize::from(i.answer.is_some() && !self.outstanding.is_empty());
        let taken = i.probe_ready && self.probe(i.now).is_some();
        let waiting = self.outstanding.len();
        let mut entries = self.outstanding.iter().chain(&self.waiting).enumerate().skip(answered);
        entries.find(|(place, entry)| entry.late(i.now) && !(taken && *place == waiting)).map(|(place, _)| place)
    }

    fn entry(&self, place: usize) -> &Entry {
        self.outstanding.get(place).unwrap_or_else(|| &self.waiting[place - self.outstanding.len()])
    }

    /// End of the cycle.
    pub fn clock(&mut self, i: &In) {
        self.clock_with(i, self.expiring(i));
    }

    /// What happens in a cycle, and its end.
    pub fn step(&mut self, i: &In) -> Events {
        let expiring = self.expiring(i);
        let events = self.events_with(i, expiring);
        self.clock_with(i, expiring);
        events
    }

    fn clock_with(&mut self, i: &In, expiring: Option<usize>) {
        let offer = self.probe(i.now).copied();
        let push = i.push.filter(|_| self.push_ready());
        let drop = !self.offered && self.waiting.front().is_some_and(|w| w.dead);
        // Without an entry that expires, those that are late leave in this cycle.
        for (place, entry) in self.outstanding.iter_mut().chain(&mut self.waiting).enumerate().filter(|_| expiring.is_some()) {
            if entry.late(i.now) {
                entry.expired = true;
                entry.dead = expiring == Some(place);
            }
        }
        if i.answer.is_some() {
            self.outstanding.pop_front();
        }
        self.offered = offer.is_some() && !i.probe_ready;
        if let Some(mut probe) = offer
            && i.probe_ready
        {
            let dead = self.waiting.pop_front().is_some_and(|w| w.dead);
            probe.deadline = (i.now + 1 + self.answer_timeout) & self.time_mask;
            self.outstanding.push_back(Entry { probe, dead, expired: false });
        } else if drop {
            self.waiting.pop_front();
        }
        if let Some(probe) = push {
            self.waiting.push_back(Entry { probe, dead: false, expired: false });
        }
    }
}

ports! { mod i(z: Sizes) {
    NOW = "now_i", 1, z.tw;
    PUSH_VALID = "push_valid_i", 1, 1;
    PUSH_TAG = "push_tag_i", 1, z.t;
    PUSH_REQUESTER = "push_requester_i", 1, z.s;
    PUSH_SLOT = "push_slot_i", 1, z.l;
    PUSH_DEADLINE = "push_deadline_i", 1, z.tw;
    ANSWER_VALID = "answer_valid_i", 1, 1;
    ANSWER_HIT = "answer_hit_i", 1, 1;
    PROBE_READY = "probe_ready_i", 1, 1;
} }
ports! { mod o(z: Sizes) {
    PUSH_READY = "push_ready_o", 1, 1;
    ANSWER_READY = "answer_ready_o", 1, 1;
    EVENT_ANSWER = "event_answer_o", 1, 1;
    EVENT_ANSWER_REQUESTER = "event_answer_requester_o", 1, z.s, when "event_answer_o";
    EVENT_ANSWER_SLOT = "event_answer_slot_o", 1, z.l, when "event_answer_o";
    EVENT_ANSWER_HIT = "event_answer_hit_o", 1, 1, when "event_answer_o";
    DISCARDED = "discarded_o", 1, 1;
    PROBE_VALID = "probe_valid_o", 1, 1;
    PROBE_TAG = "probe_tag_o", 1, z.t, when "probe_valid_o";
    PROBE_REQUESTER = "probe_requester_o", 1, z.s, when "probe_valid_o";
    EVENT_EXPIRED = "event_expired_o", 1, 1;
    EVENT_EXPIRED_REQUESTER = "event_expired_requester_o", 1, z.s, when "event_expired_o";
    EVENT_EXPIRED_SLOT = "event_expired_slot_o", 1, z.l, when "event_expired_o";
} }

/// [`ProbeQueue`] as a block.
pub struct ProbeQueueBlock {
    sizes: Sizes,
    queue: ProbeQueue,
}

impl ProbeQueueBlock {
    pub fn new(c: &Config) -> Self {
        Self { sizes: Sizes::new(c), queue: ProbeQueue::new(c) }
    }

    fn inputs_of(inputs: &Signals) -> In {
        let get = |port| inputs.get(port, 0);
        let push = Probe {
            tag: get(i::PUSH_TAG),
            requester: get(i::PUSH_REQUESTER) as usize,
            slot: get(i::PUSH_SLOT) as usize,
            deadline: get(i::PUSH_DEADLINE) as u32,
        };
        In {
            now: get(i::NOW) as u32,
            push: (get(i::PUSH_VALID) != 0).then_some(push),
            answer: (get(i::ANSWER_VALID) != 0).then_some(get(i::ANSWER_HIT) != 0),
            probe_ready: get(i::PROBE_READY) != 0,
        }
    }
}

impl Block for ProbeQueueBlock {
    fn name(&self) -> &str {
        "probe_queue"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let input = Self::inputs_of(inputs);
        let (events, probe) = (self.queue.events(&input), self.queue.probe(input.now));
        signal::set_bit(outputs, o::PUSH_READY, self.queue.push_ready());
        signal::set_bit(outputs, o::ANSWER_READY, true);
        signal::set_bit(outputs, o::EVENT_ANSWER, events.answer.is_some());
        if let Some(event) = events.answer {
            outputs.set(o::EVENT_ANSWER_REQUESTER, 0, event.requester as u64);
            outputs.set(o::EVENT_ANSWER_SLOT, 0, event.slot as u64);
            outputs.set(o::EVENT_ANSWER_HIT, 0, u64::from(event.answer == Some(true)));
        }
        signal::set_bit(outputs, o::DISCARDED, events.discarded);
        signal::set_bit(outputs, o::PROBE_VALID, probe.is_some());
        if let Some(probe) = probe {
            outputs.set(o::PROBE_TAG, 0, probe.tag);
            outputs.set(o::PROBE_REQUESTER, 0, probe.requester as u64);
        }
        signal::set_bit(outputs, o::EVENT_EXPIRED, events.expired.is_some());
        if let Some(event) = events.expired {
            outputs.set(o::EVENT_EXPIRED_REQUESTER, 0, event.requester as u64);
            outputs.set(o::EVENT_EXPIRED_SLOT, 0, event.slot as u64);
        }
    }

    fn clock(&mut self, inputs: &Signals) {
        self.queue.clock(&Self::inputs_of(inputs));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    /// Requester of the probe, answer (requester, hit), discarded, requester that expires.
    type Shown = (Option<usize>, Option<(usize, bool)>, bool, Option<usize>);

    /// A queue with two waiting and two outstanding entries, answer_timeout 6, run cycle by cycle from `now` = 0.
    struct Run {
        queue: ProbeQueue,
        now: u32,
    }

    impl Run {
        fn new(more: &[&str]) -> Self {
            let base = &["sms=8", "probe_queue_depth=2", "answer_queue_depth=2", "answer_timeout=6", "probe_timeout=20"][..];
            Self { queue: ProbeQueue::new(&config(&[base, more].concat())), now: 0 }
        }

        /// One cycle; shows the probe's requester, the answered (requester, hit), discarded, the expired requester.
        fn cycle(&mut self, i: In) -> Shown {
            let i = In { now: self.now, ..i };
            let probe = self.queue.probe(self.now).map(|p| p.requester);
            let events = self.queue.events(&i);
            self.queue.clock(&i);
            self.now += 1;
            let answer = events.answer.map(|e| (e.requester, e.answer == Some(true)));
            (probe, answer, events.discarded, events.expired.map(|e| e.requester))
        }
    }

    const NOTHING: Shown = (None, None, false, None);

    fn push(requester: usize, deadline: u32) -> In {
        In { push: Some(Probe { tag: 7, requester, slot: 0, deadline }), ..In::default() }
    }

    fn take() -> In {
        In { probe_ready: true, ..In::default() }
    }

    fn answer(hit: bool) -> In {
        In { answer: Some(hit), ..In::default() }
    }

    #[test]
    fn a_probe_and_its_answer() {
        let mut run = Run::new(&[]);
        assert_eq!(run.cycle(answer(true)), NOTHING); // nothing outstanding
        assert_eq!(run.cycle(In { probe_ready: true, ..push(3, 20) }), NOTHING);
        assert_eq!(run.cycle(In::default()), (Some(3), None, false, None));
        assert_eq!(run.cycle(In { answer: Some(true), ..take() }), (Some(3), None, false, None)); // too early an answer
        assert_eq!(run.cycle(take()), NOTHING);
        assert_eq!(run.cycle(answer(true)), (None, Some((3, true)), false, None));
        assert!(run.queue.is_idle());
    }

    #[test]
    fn room_counts_at_the_start_of_the_cycle() {
        let mut run = Run::new(&[]);
        for r in 0..2 {
            run.cycle(In { probe_ready: true, ..push(r, 20) });
        }
        run.cycle(In { probe_ready: true, ..push(2, 20) });
        assert_eq!((run.queue.outstanding.len(), run.queue.waiting.len()), (2, 1));
        // Full of outstanding entries: nothing is offered, not even in the cycle of the answer.
        assert_eq!(run.cycle(In { answer: Some(false), ..push(3, 20) }), (None, Some((0, false)), false, None));
        assert!(!run.queue.push_ready());
        assert_eq!(run.cycle(In { probe_ready: true, ..push(4, 20) }), (Some(2), None, false, None)); // 4 finds the queue full
        assert_eq!(run.queue.waiting.iter().map(|w| w.probe.requester).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn an_offered_probe_stays_after_its_expiry() {
        let mut run = Run::new(&[]);
        run.cycle(push(3, 3));
        for _ in 1..3 {
            assert_eq!(run.cycle(In::default()), (Some(3), None, false, None));
        }
        assert_eq!(run.cycle(In::default()), (Some(3), None, false, Some(3))); // now = deadline
        assert_eq!(run.cycle(In::default()), (Some(3), None, false, None));
        assert_eq!(run.cycle(take()), (Some(3), None, false, None));
        for _ in 0..20 {
            assert_eq!(run.cycle(In::default()), NOTHING); // a dead entry does not expire again
        }
        assert_eq!(run.cycle(answer(true)), (None, None, true, None));
    }

    #[test]
    fn acceptance_in_the_cycle_of_the_deadline_counts() {
        let mut run = Run::new(&[]);
        run.cycle(push(3, 2));
        run.cycle(In::default());
        assert_eq!(run.cycle(take()), (Some(3), None, false, None)); // cycle 2
        // Outstanding from 3 to its own deadline, 2 + 1 + 6 = 9; an answer in that cycle still counts.
        for _ in 3..9 {
            assert_eq!(run.cycle(In::default()), NOTHING);
        }
        let (mut late, mut in_time) = (Run { queue: run.queue.clone(), now: 9 }, run);
        assert_eq!(late.cycle(In::default()), (None, None, false, Some(3)));
        assert_eq!(late.cycle(answer(true)), (None, None, true, None));
        assert_eq!(in_time.cycle(answer(true)), (None, Some((3, true)), false, None));
    }

    #[test]
    fn a_probe_not_offered_by_its_deadline_is_dropped() {
        let mut run = Run::new(&["answer_queue_depth=1"]);
        run.cycle(push(0, 20));
        run.cycle(In { probe_ready: true, ..push(1, 4) }); // 0 is outstanding: no room
        for _ in 2..4 {
            assert_eq!(run.cycle(In::default()), NOTHING);
        }
        // Late in cycle 4: expires, and is not offered although room comes in 5.
        assert_eq!(run.cycle(answer(false)), (None, Some((0, false)), false, Some(1)));
        assert_eq!(run.queue.waiting.len(), 1);
        assert_eq!(run.cycle(take()), NOTHING);
        assert!(run.queue.is_idle());
    }

    #[test]
    fn late_entries_take_turns() {
        // Outstanding 0 (deadline 1 + 1 + 6 = 8), waiting 1 and 2 with deadline 8 too, 1 offered.
        let mut run = Run::new(&[]);
        run.cycle(push(0, 20));
        run.cycle(In { probe_ready: true, ..push(1, 8) });
        run.cycle(push(2, 8));
        while run.now < 8 {
            assert_eq!(run.cycle(In::default()), (Some(1), None, false, None));
        }
        assert_eq!(run.cycle(In::default()), (Some(1), None, false, Some(0)));
        assert_eq!(run.cycle(In::default()), (Some(1), None, false, Some(1)));
        assert_eq!(run.cycle(In::default()), (Some(1), None, false, Some(2)));
        assert_eq!(run.cycle(In::default()), (Some(1), None, false, None));
        assert_eq!(run.cycle(take()), (Some(1), None, false, None)); // offered: stays
        assert_eq!(run.cycle(take()), NOTHING); // 2 is dropped
        assert_eq!((run.queue.waiting.len(), run.queue.outstanding.len()), (0, 2));
    }

    #[test]
    fn an_expired_entry_may_be_taken_before_its_turn() {
        let mut run = Run::new(&[]);
        run.cycle(push(0, 20));
        run.cycle(In { probe_ready: true, ..push(1, 8) });
        while run.now < 8 {
            run.cycle(In::default());
        }
        assert_eq!(run.cycle(In::default()), (Some(1), None, false, Some(0)));
        assert_eq!(run.cycle(take()), (Some(1), None, false, None)); // late, but taken: alive
        assert_eq!(run.cycle(answer(false)), (None, None, true, None));
        assert_eq!(run.cycle(answer(true)), (None, Some((1, true)), false, None));
    }

    #[test]
    fn block_ports() {
        let mut block = ProbeQueueBlock::new(&config(&["sms=8"]));
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        let mut cycle = |set: &[(usize, u64)]| {
            inputs.words_mut(i::PUSH_VALID)[0] = 0;
            set.iter().for_each(|&(port, value)| inputs.set(port, 0, value));
            block.eval(&inputs, &mut outputs);
            block.clock(&inputs);
            (0..=o::EVENT_EXPIRED_SLOT).map(|port| outputs.get(port, 0)).collect::<Vec<_>>()
        };
        let probe = [(i::PUSH_VALID, 1), (i::PUSH_TAG, 99), (i::PUSH_REQUESTER, 5), (i::PUSH_SLOT, 1), (i::PUSH_DEADLINE, 30)];
        assert_eq!(cycle(&probe)[..2], [1, 1]);
        let shown = cycle(&[(i::NOW, 1), (i::PROBE_READY, 1)]);
        assert_eq!((shown[o::PROBE_VALID], shown[o::PROBE_TAG], shown[o::PROBE_REQUESTER]), (1, 99, 5));
        let shown = cycle(&[(i::NOW, 2), (i::ANSWER_VALID, 1), (i::ANSWER_HIT, 1)]);
        assert_eq!(shown[o::EVENT_ANSWER..=o::PROBE_VALID], [1, 5, 1, 1, 0, 0]);
        cycle(&[(i::NOW, 29), (i::ANSWER_VALID, 0), (i::PUSH_VALID, 1), (i::PROBE_READY, 0)]);
        let shown = cycle(&[(i::NOW, 30)]);
        assert_eq!(shown[o::PROBE_VALID], 0); // late, never offered
        assert_eq!(shown[o::EVENT_EXPIRED..], [1, 5, 1]);
    }
}
