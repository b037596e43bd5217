//! One bank of the Snapshot Matrix: many requesters, a few picks per cycle, round robin.

use super::signal::{self, ports};
use crate::block::{Block, Port, Signals};

/// A requester and what it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Number of the requester.
    pub index: usize,
    /// Row, or row and SM.
    pub payload: u32,
}

/// The picks of one cycle.
#[derive(Debug, Clone, Default)]
pub struct Picks {
    /// Place in the request list of each pick.
    pub picks: Vec<usize>,
    /// For each place in the request list, the pick it is granted with.
    pub grants: Vec<Option<u8>>,
}

/// The pick among the requests told so far, see [`BankArbiter::consider`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnePick {
    /// Place in the request list.
    pub place: usize,
    /// Its requester comes after the last pick; otherwise it is the lowest of all.
    after: bool,
}

/// A bank arbiter.
#[derive(Debug, Clone)]
pub struct BankArbiter {
    picks: usize,
    merge: bool,
    last: usize,
}

impl BankArbiter {
    /// An arbiter over `n` requesters, after reset.
    pub fn new(n: usize, picks: usize, merge: bool) -> Self {
        Self { picks, merge, last: n - 1 }
    }

    /// Picks among `requests`, which ascend by index.
    pub fn arbitrate(&self, requests: &[Request], out: &mut Picks) {
        out.picks.clear();
        out.grants.clear();
        if requests.len() == 1 {
            out.picks.push(0);
            out.grants.push(Some(0));
            return;
        }
        out.grants.resize(requests.len(), None);
        let start = requests.partition_point(|r| r.index <= self.last);
        for number in 0..self.picks {
            let cyclic = (start..requests.len()).chain(0..start);
            let Some(pick) = cyclic.into_iter().find(|&at| out.grants[at].is_none()) else {
                break;
            };
            out.picks.push(pick);
            out.grants[pick] = Some(number as u8);
            if self.merge {
                for (grant, request) in out.grants.iter_mut().zip(requests) {
                    if grant.is_none() && request.payload == requests[pick].payload {
                        *grant = Some(number as u8);
                    }
                }
            }
        }
    }

    /// The only pick of an arbiter that makes one and does not merge, found request by request: tells it of the next one, of requester `index` at
    /// `place` in the list, after all with lower indices.
    pub fn consider(&self, pick: &mut Option<OnePick>, index: usize, place: usize) {
        debug_assert!(self.picks == 1 && !self.merge);
        let after = index > self.last;
        if pick.is_none_or(|pick| after && !pick.after) {
            *pick = Some(OnePick { place, after });
        }
    }

    /// End of a cycle whose last pick was requester `last_pick`.
    pub fn clock(&mut self, last_pick: Option<usize>) {
        self.last = last_pick.unwrap_or(self.last);
    }
}

/// Sizes of a bank arbiter built alone.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub name: &'static str,
    pub n: usize,
    pub payload_bits: usize,
    pub picks: usize,
    pub merge: bool,
}

ports! { mod i(z: Shape) {
    REQ = "req_i", z.n, 1;
    PAYLOAD = "payload_i", z.n, z.payload_bits;
} }
ports! { mod o(z: Shape) {
    GRANT = "grant_o", z.n, 1;
    VALID = "valid_o", z.picks, 1;
    PAYLOAD = "payload_o", z.picks, z.payload_bits;
} }

/// [`BankArbiter`] as a block.
pub struct BankArbiterBlock {
    shape: Shape,
    arbiter: BankArbiter,
    requests: Vec<Request>,
    out: Picks,
}

impl BankArbiterBlock {
    pub fn new(shape: Shape) -> Self {
        let arbiter = BankArbiter::new(shape.n, shape.picks, shape.merge);
        Self { shape, arbiter, requests: Vec::new(), out: Picks::default() }
    }

    fn arbitrate(&mut self, inputs: &Signals) {
        self.requests.clear();
        let asking = (0..self.shape.n).filter(|&n| signal::is(inputs, i::REQ, n));
        self.requests.extend(asking.map(|index| Request { index, payload: inputs.get(i::PAYLOAD, index) as u32 }));
        self.arbiter.arbitrate(&self.requests, &mut self.out);
    }
}

impl Block for BankArbiterBlock {
    fn name(&self) -> &str {
        self.shape.name
    }

    fn inputs(&self) -> Vec<Port> {
        i::list(&self.shape)
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.shape)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        self.arbitrate(inputs);
        for port in [o::GRANT, o::VALID, o::PAYLOAD] {
            outputs.words_mut(port).fill(0);
        }
        for (request, grant) in self.requests.iter().zip(&self.out.grants) {
            outputs.set(o::GRANT, request.index, u64::from(grant.is_some()));
        }
        for (number, &pick) in self.out.picks.iter().enumerate() {
            outputs.set(o::VALID, number, 1);
            outputs.set(o::PAYLOAD, number, u64::from(self.requests[pick].payload));
        }
    }

    fn clock(&mut self, inputs: &Signals) {
        self.arbitrate(inputs);
        self.arbiter.clock(self.out.picks.last().map(|&p| self.requests[p].index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Granted requesters (with pick number) of successive cycles; requests are (index, payload).
    fn run(arbiter: &mut BankArbiter, cycles: &[&[(usize, u32)]]) -> Vec<Vec<(usize, u8)>> {
        let mut out = Picks::default();
        cycles
            .iter()
            .map(|cycle| {
                let requests: Vec<_> = cycle.iter().map(|&(index, payload)| Request { index, payload }).collect();
                arbiter.arbitrate(&requests, &mut out);
                arbiter.clock(out.picks.last().map(|&p| requests[p].index));
                requests.iter().zip(&out.grants).filter_map(|(r, g)| Some((r.index, (*g)?))).collect()
            })
            .collect()
    }

    #[test]
    fn one_pick_round_robin() {
        let all = &[(0, 5), (2, 5), (3, 7)][..];
        let granted = run(&mut BankArbiter::new(4, 1, false), &[all, all, &[], all, all, &[(0, 1), (1, 1)]]);
        assert_eq!(granted, [vec![(0, 0)], vec![(2, 0)], vec![], vec![(3, 0)], vec![(0, 0)], vec![(1, 0)]]);
    }

    #[test]
    fn several_picks_start_after_the_last() {
        let all = &[(0, 0), (1, 1), (2, 2), (3, 3)][..];
        let granted = run(&mut BankArbiter::new(4, 3, false), &[all, all, &[(1, 0)]]);
        assert_eq!(granted, [vec![(0, 0), (1, 1), (2, 2)], vec![(0, 1), (1, 2), (3, 0)], vec![(1, 0)]]);
    }

    #[test]
    fn merge_grants_equal_rows_and_moves_to_the_pick() {
        let all = &[(0, 9), (1, 4), (2, 9), (3, 9)][..];
        let granted = run(&mut BankArbiter::new(4, 1, true), &[all, all, all]);
        assert_eq!(granted, [vec![(0, 0), (2, 0), (3, 0)], vec![(1, 0)], vec![(0, 0), (2, 0), (3, 0)]]);
        // Two picks are two different rows; the last pick, 1, is where the next cycle starts.
        let granted = run(&mut BankArbiter::new(4, 2, true), &[all, all]);
        assert_eq!(granted, [vec![(0, 0), (1, 1), (2, 0), (3, 0)], vec![(0, 0), (1, 1), (2, 0), (3, 0)]]);
        let granted = run(&mut BankArbiter::new(4, 2, true), &[all, &[(1, 0), (2, 1), (3, 2)]]);
        assert_eq!(granted[1], [(2, 0), (3, 1)]);
    }

    #[test]
    fn block_shows_payloads_of_the_picks() {
        let shape = Shape { name: "bank_arbiter", n: 4, payload_bits: 5, picks: 2, merge: true };
        let mut block = BankArbiterBlock::new(shape);
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        inputs.words_mut(i::REQ).copy_from_slice(&[0, 1, 1, 1]);
        inputs.words_mut(i::PAYLOAD).copy_from_slice(&[3, 17, 17, 9]);
        block.eval(&inputs, &mut outputs);
        assert_eq!(outputs.words(o::GRANT), [0, 1, 1, 1]);
        assert_eq!((outputs.words(o::VALID), outputs.words(o::PAYLOAD)), (&[1, 1][..], &[17, 9][..]));
        block.clock(&inputs);
        inputs.words_mut(i::REQ).copy_from_slice(&[0, 1, 0, 0]);
        block.eval(&inputs, &mut outputs);
        assert_eq!((outputs.words(o::VALID), outputs.words(o::PAYLOAD)), (&[1, 0][..], &[17, 0][..]));
    }

    /// The rule of the page, with plain loops: grants, picks and the next `last`.
    fn rule(n: usize, picks: usize, merge: bool, last: usize, wanted: &[Option<u32>]) -> (Vec<bool>, Vec<usize>, usize) {
        let (mut granted, mut made) = (vec![false; n], Vec::new());
        for _ in 0..picks {
            let after = (1..=n).map(|step| (last + step) % n);
            if let Some(pick) = after.clone().find(|r| wanted[*r].is_some() && !granted[*r]) {
                made.push(pick);
                for r in 0..n {
                    granted[r] |= r == pick || (merge && wanted[r] == wanted[pick]);
                }
            }
        }
        let last = made.last().copied().unwrap_or(last);
        (granted, made, last)
    }

    proptest! {
        #[test]
        fn follows_the_rule(
            n in 1..12_usize, picks in 1..4_usize, merge: bool,
            cycles in prop::collection::vec(prop::collection::vec(prop::option::of(0..3_u32), 12), 1..20),
        ) {
            let (mut arbiter, mut out, mut last) = (BankArbiter::new(n, picks, merge), Picks::default(), n - 1);
            for wanted in &cycles {
                let requests: Vec<_> = (0..n).filter_map(|index| Some(Request { index, payload: wanted[index]? })).collect();
                arbiter.arbitrate(&requests, &mut out);
                let made: Vec<_> = out.picks.iter().map(|p| requests[*p].index).collect();
                if picks == 1 && !merge {
                    let mut pick = None;
                    requests.iter().enumerate().for_each(|(place, r)| arbiter.consider(&mut pick, r.index, place));
                    prop_assert_eq!(pick.map(|pick| pick.place), out.picks.first().copied());
                }
                let mut granted = vec![false; n];
                requests.iter().zip(&out.grants).for_each(|(r, g)| granted[r.index] = g.is_some());
                arbiter.clock(made.last().copied());
                let (expected, expected_picks, next) = rule(n, picks, merge, last, &wanted[..n]);
                prop_assert_eq!((granted, made), (expected, expected_picks));
                last = next;
            }
        }

        /// A requester that keeps asking is granted within n cycles, whatever the others do.
        #[test]
        fn nobody_starves(
            n in 1..12_usize, picks in 1..4_usize, merge: bool, patient in 0..12_usize,
            cycles in prop::collection::vec(prop::collection::vec(prop::option::of(0..3_u32), 12), 24),
        ) {
            let patient = patient % n;
            let (mut arbiter, mut out, mut waited) = (BankArbiter::new(n, picks, merge), Picks::default(), 0);
            for wanted in &cycles {
                let payload = |index: usize| if index == patient { Some(9) } else { wanted[index] };
                let requests: Vec<_> = (0..n).filter_map(|index| Some(Request { index, payload: payload(index)? })).collect();
                arbiter.arbitrate(&requests, &mut out);
                arbiter.clock(out.picks.last().map(|p| requests[*p].index));
                let place = requests.iter().position(|r| r.index == patient).unwrap();
                waited = if out.grants[place].is_some() { 0 } else { waited + 1 };
                prop_assert!(waited < n);
            }
        }
    }
}
