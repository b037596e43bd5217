//! Round robin over n requesters, in the three kinds of docs/blocks/README.md.

use super::signal::{self, ports};
use crate::block::{Block, Port, Signals};

/// When the round robin moves on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whenever there is a pick.
    Free,
    /// When the pick is taken.
    Ready,
    /// Whenever there is a pick; a pick that waits stays the pick while it requests.
    Lock,
}

/// A round-robin arbiter.
#[derive(Debug, Clone)]
pub struct RrArbiter {
    kind: Kind,
    last: usize,
    /// Kind lock: the pick of the cycle before was not taken.
    waiting: bool,
}

impl RrArbiter {
    /// An arbiter over `n` requesters, after reset.
    pub fn new(kind: Kind, n: usize) -> Self {
        Self { kind, last: n - 1, waiting: false }
    }

    /// The pick among `requesters`, which must ascend.
    pub fn pick(&self, requesters: impl IntoIterator<Item = usize>) -> Option<usize> {
        let (mut lowest, mut after) = (None, None);
        for r in requesters {
            if self.waiting && r == self.last {
                return Some(r);
            }
            lowest = lowest.or(Some(r));
            if r > self.last {
                after = Some(r);
                break;
            }
        }
        after.or(lowest)
    }

    /// The same among up to 64 requesters, given as a mask.
    pub fn pick_of(&self, requesters: u64) -> Option<usize> {
        if requesters == 0 {
            return None;
        }
        if self.waiting && requesters >> self.last & 1 == 1 {
            return Some(self.last);
        }
        let after = requesters & (u64::MAX << self.last << 1);
        let first = if after == 0 { requesters } else { after };
        Some(first.trailing_zeros() as usize)
    }

    /// End of a cycle in which `pick` was the pick; `ready`: it was taken, if there was one.
    pub fn clock(&mut self, pick: Option<usize>, ready: bool) {
        if let Some(pick) = pick
            && (ready || self.kind != Kind::Ready)
        {
            self.last = pick;
        }
        self.waiting = self.kind == Kind::Lock && pick.is_some() && !ready;
    }
}

ports! { mod i(n: usize) {
    REQ = "req_i", *n, 1;
    READY = "ready_i", 1, 1;
} }
ports! { mod o(n: usize) {
    VALID = "valid_o", 1, 1;
    GRANT = "grant_o", *n, 1;
} }

/// [`RrArbiter`] as a block.
pub struct RrArbiterBlock {
    n: usize,
    arbiter: RrArbiter,
}

impl RrArbiterBlock {
    pub fn new(kind: Kind, n: usize) -> Self {
        Self { n, arbiter: RrArbiter::new(kind, n) }
    }

    fn pick(&self, inputs: &Signals) -> Option<usize> {
        self.arbiter.pick((0..self.n).filter(|&r| signal::is(inputs, i::REQ, r)))
    }
}

impl Block for RrArbiterBlock {
    fn name(&self) -> &str {
        match self.arbiter.kind {
            Kind::Free => "rr_arbiter_free",
            Kind::Ready => "rr_arbiter_ready",
            Kind::Lock => "rr_arbiter_lock",
        }
    }

    fn inputs(&self) -> Vec<Port> {
        let mut ports = i::list(&self.n);
        if self.arbiter.kind == Kind::Free {
            ports.truncate(i::READY);
        }
        ports
    }

    fn outputs(&self) -> Vec<Port> {
        o::list(&self.n)
    }

    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        let pick = self.pick(inputs);
        signal::set_bit(outputs, o::VALID, pick.is_some());
        for r in 0..self.n {
            outputs.set(o::GRANT, r, u64::from(pick == Some(r)));
        }
    }

    fn clock(&mut self, inputs: &Signals) {
        let ready = self.arbiter.kind == Kind::Free || signal::is(inputs, i::READY, 0);
        let pick = self.pick(inputs);
        self.arbiter.clock(pick, ready);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Picks of successive cycles: (requesters, ready) to pick.
    fn run(kind: Kind, n: usize, cycles: &[(&[usize], bool)]) -> Vec<Option<usize>> {
        let mut arbiter = RrArbiter::new(kind, n);
        cycles
            .iter()
            .map(|(requesters, ready)| {
                let pick = arbiter.pick(requesters.iter().copied());
                arbiter.clock(pick, *ready);
                pick
            })
            .collect()
    }

    const ALL: &[usize] = &[0, 1, 2, 3];

    #[test]
    fn free_moves_whether_taken_or_not() {
        let picks = run(Kind::Free, 4, &[(ALL, false), (ALL, false), (&[0, 1], true), (&[], true), (&[1], true), (&[1, 3], true)]);
        assert_eq!(picks, [Some(0), Some(1), Some(0), None, Some(1), Some(3)]);
    }

    #[test]
    fn ready_moves_when_taken_and_may_change_its_mind() {
        let picks = run(Kind::Ready, 4, &[(&[2], false), (&[1, 2], false), (&[1, 2], true), (&[1, 2], true), (ALL, true)]);
        assert_eq!(picks, [Some(2), Some(1), Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn lock_keeps_a_waiting_pick_while_it_requests() {
        let picks = run(
            Kind::Lock,
            4,
            &[
                (&[2], false),
                (ALL, false),
                (ALL, true),
                (ALL, false),
                (&[0, 1], false),
                (&[0, 1], true),
                (&[0, 1], true),
                (&[], false),
                (&[1], true),
            ],
        );
        assert_eq!(picks, [Some(2), Some(2), Some(2), Some(3), Some(0), Some(0), Some(1), None, Some(1)]);
    }

    #[test]
    fn lock_does_not_stay_after_a_withdrawn_pick() {
        // The pick 2 waits, withdraws while nothing requests, and comes back with others: no claim is left.
        let picks = run(Kind::Lock, 4, &[(&[2], false), (&[], false), (&[2, 3], true)]);
        assert_eq!(picks, [Some(2), None, Some(3)]);
    }

    #[test]
    fn one_requester() {
        for kind in [Kind::Free, Kind::Ready, Kind::Lock] {
            assert_eq!(run(kind, 1, &[(&[0], false), (&[0], true), (&[], true)]), [Some(0), Some(0), None]);
        }
    }

    #[test]
    fn block_shows_the_pick_one_hot() {
        let mut block = RrArbiterBlock::new(Kind::Ready, 3);
        let (mut inputs, mut outputs) = (Signals::new(&block.inputs()), Signals::new(&block.outputs()));
        inputs.words_mut(i::REQ).copy_from_slice(&[1, 0, 1]);
        for (ready, grant) in [(0, [1, 0, 0]), (1, [1, 0, 0]), (1, [0, 0, 1]), (1, [1, 0, 0])] {
            inputs.set(i::READY, 0, ready);
            block.eval(&inputs, &mut outputs);
            assert_eq!((outputs.words(o::VALID), outputs.words(o::GRANT)), (&[1][..], &grant[..]));
            block.clock(&inputs);
        }
        assert_eq!(RrArbiterBlock::new(Kind::Free, 3).inputs().len(), 1);
    }
}
