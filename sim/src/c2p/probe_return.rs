//! Brings the events of all targets to the slots that wait for them.

use super::signal::ports;
use super::sizes::Sizes;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// What happened to the probe of one slot in one cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SlotEvent {
    /// The answer, and whether it is a hit.
    pub answer: Option<bool>,
    /// The probe expired.
    pub expired: bool,
}

/// A live event of one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetEvent {
    /// SM that asked.
    pub requester: usize,
    /// Its slot.
    pub slot: usize,
    /// The answer, or an expiry.
    pub answer: Option<bool>,
}

/// Adds a target's event to those of the slots of all SMs, s·Q + q.
pub fn deliver(z: &Sizes, event: TargetEvent, slots: &mut [SlotEvent]) {
    if event.slot >= z.q {
        return;
    }
    let Some(slot) = slots.get_mut(event.requester * z.q + event.slot) else {
        return;
    };
    match event.answer {
        Some(hit) => slot.answer = Some(hit | slot.answer.unwrap_or(false)),
        None => slot.expired = true,
    }
}

ports! { mod i(z: Sizes) {
    ANSWER_VALID = "answer_valid_i", z.n, 1;
    ANSWER_REQUESTER = "answer_requester_i", z.n, z.s;
    ANSWER_SLOT = "answer_slot_i", z.n, z.l;
    ANSWER_HIT = "answer_hit_i", z.n, 1;
    EXPIRED_VALID = "expired_valid_i", z.n, 1;
    EXPIRED_REQUESTER = "expired_requester_i", z.n, z.s;
    EXPIRED_SLOT = "expired_slot_i", z.n, z.l;
} }
ports! { mod o(z: Sizes) {
    ANSWER_VALID = "answer_valid_o", z.n * z.q, 1;
    ANSWER_HIT = "answer_hit_o", z.n * z.q, 1, when "answer_valid_o";
    EXPIRED = "expired_o", z.n * z.q, 1;
} }

/// The block.
pub struct ProbeReturnBlock {
    sizes: Sizes,
    slots: Vec<SlotEvent>,
}

impl ProbeReturnBlock {
    pub fn new(c: &Config) -> Self {
        let sizes = Sizes::new(c);
        Self { slots: vec![SlotEvent::default(); sizes.n * sizes.q], sizes }
    }
}

impl Block for ProbeReturnBlock {
    fn name(&self) -> &str {
        "probe_return"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        self.slots.fill(SlotEvent::default());
        for t in 0..self.sizes.n {
            let get = |port| inputs.get(port, t) as usize;
            if get(i::ANSWER_VALID) != 0 {
                let answer = Some(get(i::ANSWER_HIT) != 0);
                let event = TargetEvent { requester: get(i::ANSWER_REQUESTER), slot: get(i::ANSWER_SLOT), answer };
                deliver(&self.sizes, event, &mut self.slots);
            }
            if get(i::EXPIRED_VALID) != 0 {
                let event = TargetEvent { requester: get(i::EXPIRED_REQUESTER), slot: get(i::EXPIRED_SLOT), answer: None };
                deliver(&self.sizes, event, &mut self.slots);
            }
        }
        for (at, slot) in self.slots.iter().enumerate() {
            outputs.set(o::ANSWER_VALID, at, u64::from(slot.answer.is_some()));
            outputs.set(o::ANSWER_HIT, at, u64::from(slot.answer == Some(true)));
            outputs.set(o::EXPIRED, at, u64::from(slot.expired));
        }
    }

    fn clock(&mut self, _: &Signals) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    #[test]
    fn events_reach_their_slots() {
        let mut block = ProbeReturnBlock::new(&config(&["sms=3", "queries_per_sm=2"]));
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        for (port, values) in [
            (i::ANSWER_VALID, [1, 0, 1]),
            (i::ANSWER_REQUESTER, [2, 0, 1]),
            (i::ANSWER_SLOT, [1, 0, 0]),
            (i::ANSWER_HIT, [1, 1, 0]),
            (i::EXPIRED_VALID, [0, 1, 1]),
            (i::EXPIRED_REQUESTER, [1, 0, 2]),
            (i::EXPIRED_SLOT, [1, 1, 0]),
        ] {
            inputs.words_mut(port).copy_from_slice(&values);
        }
        block.eval(&inputs, &mut outputs);
        // Slots (0,0) (0,1) (1,0) (1,1) (2,0) (2,1).
        assert_eq!(outputs.words(o::ANSWER_VALID), [0, 0, 1, 0, 0, 1]);
        assert_eq!(outputs.words(o::ANSWER_HIT), [0, 0, 0, 0, 0, 1]);
        assert_eq!(outputs.words(o::EXPIRED), [0, 1, 0, 0, 1, 0]);
    }
}
