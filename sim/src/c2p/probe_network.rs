//! Brings the offers of all SMs to the queues of their targets.

use super::probe_queue::Probe;
use super::rr_arbiter::{Kind, RrArbiter};
use super::signal::{self, ports};
use super::sizes::Sizes;
use super::sm_set::SmSet;
use crate::block::{Block, Port, Signals};
use l1forge_config::Config;

/// The offer of one SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// SM that is to be probed.
    pub target: usize,
    /// The probe; its requester is the SM that offers.
    pub probe: Probe,
}

/// What [`ProbeNetwork::arbitrate`] found.
#[derive(Debug, Clone, Default)]
pub struct Arbitration {
    /// SMs whose offers are taken.
    pub ready: SmSet,
    /// (target, place in the list of offers) of each.
    pub pushes: Vec<(usize, usize)>,
    picks: Vec<(usize, usize)>,
}

/// The crossbar network.
#[derive(Debug, Clone)]
pub struct ProbeNetwork {
    arbiters: Vec<RrArbiter>,
    /// Scratch: places of the offers for each target.
    buckets: Vec<Vec<usize>>,
    touched: Vec<usize>,
}

impl ProbeNetwork {
    pub fn new(z: &Sizes) -> Self {
        Self { arbiters: vec![RrArbiter::new(Kind::Free, z.n); z.n], buckets: vec![Vec::new(); z.n], touched: Vec::new() }
    }

    /// Takes `offers`, which ascend by requester, to the targets that are ready.
    pub fn arbitrate(&mut self, offers: &[Offer], target_ready: impl Fn(usize) -> bool, out: &mut Arbitration) {
        out.ready = SmSet::EMPTY;
        out.pushes.clear();
        out.picks.clear();
        for (place, offer) in offers.iter().enumerate() {
            if let Some(bucket) = self.buckets.get_mut(offer.target) {
                if bucket.is_empty() {
                    self.touched.push(offer.target);
                }
                bucket.push(place);
            }
        }
        for target in self.touched.drain(..) {
            let bucket = &mut self.buckets[target];
            if target_ready(target) {
                let requester = |&place: &usize| offers[place].probe.requester;
                let pick = self.arbiters[target].pick(bucket.iter().map(requester)).expect("the bucket is not empty");
                let place = *bucket.iter().find(|p| requester(p) == pick).expect("it was picked from the bucket");
                out.ready.insert(pick);
                out.pushes.push((target, place));
                out.picks.push((target, pick));
            }
            bucket.clear();
        }
    }

    /// End of the cycle of `out`.
    pub fn clock(&mut self, out: &Arbitration) {
        for &(target, pick) in &out.picks {
            self.arbiters[target].clock(Some(pick), true);
        }
    }
}

ports! { mod i(z: Sizes) {
    OFFER_VALID = "offer_valid_i", z.n, 1;
    OFFER_TARGET = "offer_target_i", z.n, z.s;
    OFFER_TAG = "offer_tag_i", z.n, z.t;
    OFFER_SLOT = "offer_slot_i", z.n, z.l;
    OFFER_DEADLINE = "offer_deadline_i", z.n, z.tw;
    PUSH_READY = "push_ready_i", z.n, 1;
} }
ports! { mod o(z: Sizes) {
    OFFER_READY = "offer_ready_o", z.n, 1;
    PUSH_VALID = "push_valid_o", z.n, 1;
    PUSH_TAG = "push_tag_o", z.n, z.t, when "push_valid_o";
    PUSH_REQUESTER = "push_requester_o", z.n, z.s, when "push_valid_o";
    PUSH_SLOT = "push_slot_o", z.n, z.l, when "push_valid_o";
    PUSH_DEADLINE = "push_deadline_o", z.n, z.tw, when "push_valid_o";
} }

/// [`ProbeNetwork`] as a block.
pub struct ProbeNetworkBlock {
    sizes: Sizes,
    network: ProbeNetwork,
    out: Arbitration,
}

impl ProbeNetworkBlock {
    pub fn new(c: &Config) -> Self {
        let sizes = Sizes::new(c);
        Self { network: ProbeNetwork::new(&sizes), sizes, out: Arbitration::default() }
    }

    fn arbitrate(&mut self, inputs: &Signals) -> Vec<Offer> {
        let offering = (0..self.sizes.n).filter(|&s| signal::is(inputs, i::OFFER_VALID, s));
        let offers: Vec<_> = offering
            .map(|s| Offer {
                target: inputs.get(i::OFFER_TARGET, s) as usize,
                probe: Probe {
                    tag: inputs.get(i::OFFER_TAG, s),
                    requester: s,
                    slot: inputs.get(i::OFFER_SLOT, s) as usize,
                    deadline: inputs.get(i::OFFER_DEADLINE, s) as u32,
                },
            })
            .collect();
        self.network.arbitrate(&offers, |t| signal::is(inputs, i::PUSH_READY, t), &mut self.out);
        offers
    }
}

impl Block for ProbeNetworkBlock {
    fn name(&self) -> &str {
        "probe_network"
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.sizes)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.sizes)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let offers = self.arbitrate(inputs);
        signal::set_sms(outputs, o::OFFER_READY, self.out.ready);
        outputs.words_mut(o::PUSH_VALID).fill(0);
        for &(target, place) in &self.out.pushes {
            let probe = offers[place].probe;
            outputs.set(o::PUSH_VALID, target, 1);
            outputs.set(o::PUSH_TAG, target, probe.tag);
            outputs.set(o::PUSH_REQUESTER, target, probe.requester as u64);
            outputs.set(o::PUSH_SLOT, target, probe.slot as u64);
            outputs.set(o::PUSH_DEADLINE, target, probe.deadline.into());
        }
    }

    fn clock(&mut self, inputs: &Signals) {
        self.arbitrate(inputs);
        self.network.clock(&self.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    #[test]
    fn each_ready_target_takes_one_offer() {
        let mut block = ProbeNetworkBlock::new(&config(&["sms=4"]));
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        inputs.words_mut(i::OFFER_TARGET).copy_from_slice(&[3, 3, 0, 0]);
        inputs.words_mut(i::OFFER_TAG).copy_from_slice(&[10, 11, 12, 13]);
        inputs.words_mut(i::OFFER_SLOT).copy_from_slice(&[1, 0, 1, 0]);
        inputs.words_mut(i::OFFER_DEADLINE).copy_from_slice(&[20, 21, 22, 23]);
        let mut cycle = |valid: [u64; 4], ready: [u64; 4]| {
            inputs.words_mut(i::OFFER_VALID).copy_from_slice(&valid);
            inputs.words_mut(i::PUSH_READY).copy_from_slice(&ready);
            block.eval(&inputs, &mut outputs);
            block.clock(&inputs);
            let pushes: Vec<_> = (0..4)
                .filter(|&t| signal::is(&outputs, o::PUSH_VALID, t))
                .map(|t| [o::PUSH_TAG, o::PUSH_REQUESTER, o::PUSH_SLOT, o::PUSH_DEADLINE].map(|p| outputs.get(p, t)))
                .collect();
            (outputs.words(o::OFFER_READY).to_vec(), pushes)
        };
        let (zero, one, two, three) = ([10, 0, 1, 20], [11, 1, 0, 21], [12, 2, 1, 22], [13, 3, 0, 23]);
        assert_eq!(cycle([1; 4], [1; 4]), (vec![1, 0, 1, 0], vec![two, zero]));
        // A target that is not ready takes nothing and keeps its turn.
        assert_eq!(cycle([1; 4], [1, 1, 1, 0]), (vec![0, 0, 0, 1], vec![three]));
        assert_eq!(cycle([1; 4], [1; 4]), (vec![0, 1, 1, 0], vec![two, one]));
        assert_eq!(cycle([1, 0, 0, 0], [1; 4]), (vec![1, 0, 0, 0], vec![zero]));
        assert_eq!(cycle([0; 4], [1; 4]), (vec![0; 4], vec![]));
    }
}
