//! A judge of the whole that knows the specification only.
//!
//! It watches the ports, follows every prefetched sector in a [`Ledger`] and compares all counters with it in every cycle; it checks each
//! decision with the plain [`super::rules`]. Two things it takes from the model, because they do not show on the ports: which sectors
//! the PRT gives to the PEB, and the candidates with their decisions.

use super::ledger::{End, Ledger, Place};
use super::prefetch_statistics::COUNTERS;
use super::rules;
use super::sizes::{Limits, ones};
use super::top::{Decision, Inputs, Outputs};
use l1forge_config::Config;

/// The judge.
pub struct Oracle {
    ledger: Ledger,
    limits: Limits,
    threshold: u32,
    controller: bool,
    zero_filter: bool,
    mask: u64,
    entries: u64,
    cycle: u64,
    before: Option<(Inputs, Outputs)>,
    /// Sums since the counters were cleared are those of the ledger minus these.
    cleared: [u64; SUMS],
    sums: [u64; SUMS],
    violations: Vec<String>,
}

/// issued, on time, early, late, unused, invalidated, and what the counters of the registers and of the PEB add up.
const SUMS: usize = 11;

impl Oracle {
    /// A judge before the first cycle.
    pub fn new(c: &Config) -> Self {
        Self {
            ledger: Ledger::new(c.sc_peb_entries as usize),
            limits: Limits::new(c),
            threshold: c.sc_sgu_threshold,
            controller: c.sc_controller,
            zero_filter: c.sc_zero_filter,
            mask: ones(c.counter_bits),
            entries: c.sc_prt_entries.into(),
            cycle: 0,
            before: None,
            cleared: [0; SUMS],
            sums: [0; SUMS],
            violations: Vec::new(),
        }
    }

    /// What was wrong so far.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Every prefetched sector.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn wrong(&mut self, what: String) {
        if self.violations.len() < 20 {
            self.violations.push(format!("cycle {}: {what}", self.cycle));
        }
    }

    /// A cycle: its inputs and outputs, the counters in it, and what the environment says is outstanding or unused in the L1.
    pub fn check(&mut self, x: &Inputs, o: &Outputs, counters: &[u64; COUNTERS.len()], resident: Option<u64>) {
        let seen = self.ledger.violations().len();
        let pending = self.settle(o);
        if let Some(v) = self.ledger.violations().get(seen..).and_then(<[String]>::first).cloned() {
            self.wrong(v);
        }
        self.compare(counters, pending);
        if let Some(resident) = resident {
            let [outstanding, _, l1] = self.ledger.totals().places;
            if outstanding + l1 != resident {
                self.wrong(format!("{} sectors outstanding or unused in the L1, the environment has {resident}", outstanding + l1));
            }
        }
        if !self.ledger.totals().balanced() {
            self.wrong(format!("no balance: {:?}", self.ledger.totals()));
        }
        self.ports(x, o);
        self.before = Some((*x, *o));
        self.cycle += 1;
    }

    /// Events of the cycle before, whose answer is seen now. Returns the sectors used on time that the counters have not seen yet.
    fn settle(&mut self, now: &Outputs) -> u64 {
        let Some((x, o)) = self.before.take() else { return 0 };
        let l = &mut self.ledger;
        let mut registered = 0;
        if let Some(f) = x.fill {
            let to_register = if f.table { o.prt.fill_mask as u32 } else { 0 };
            l.go(f.to.line, to_register, Place::Outstanding, Place::Prt);
            registered = to_register.count_ones().into();
            let to_l1 = f.to.mask as u32 & !to_register & !(f.to.bypass as u32);
            l.go(f.to.line, l.at(f.to.line, to_l1, Place::Outstanding), Place::Outstanding, Place::L1);
        }
        let mut pending = 0;
        let (mut stored, mut dropped) = (0, 0);
        if let Some(d) = x.demand {
            let mask = d.mask as u32;
            if d.store {
                let lost = l.at(d.line, mask, Place::Prt);
                stored = lost.count_ones().into();
                l.end(d.line, lost, End::Invalidated);
            } else {
                let first = l.at(d.line, now.prt.answer.hit as u32, Place::Prt);
                l.end(d.line, first, End::OnTime);
                pending = first.count_ones().into();
                l.demand(d.line, mask);
            }
        }
        if x.flush {
            for (line, sectors) in l.all(Place::Prt) {
                stored += u64::from(sectors.count_ones());
                l.end(line, sectors, End::Invalidated);
            }
        }
        if let Some((late, mask, _)) = x.used
            && let Some(line) = x.used_line
        {
            l.end(line, mask as u32, if late { End::Late } else { End::OnTime });
        }
        let mut evicted = 0;
        if let Some(e) = x.evict {
            if x.evict_invalid {
                l.end(e.line, e.mask as u32, End::Invalidated);
            } else {
                evicted = e.mask.count_ones().into();
                let sectors = e.mask as u32;
                l.leave(e.line, sectors, Place::L1);
            }
        }
        if (x.evict.is_none() || x.evict_invalid)
            && let Some(d) = o.prt.drop
        {
            dropped = d.mask.count_ones().into();
            l.leave(d.line, d.mask as u32, Place::Prt);
        }
        if let Some(offer) = o.offer.filter(|_| x.prefetch_ready) {
            l.issue(offer.line, (offer.mask & !x.have) as u32);
        }
        // The counters of on-time uses in registers come a cycle later.
        let t = l.totals();
        let before = self.sums;
        self.sums = [
            t.issued,
            t.ends[End::OnTime as usize],
            t.ends[End::Early as usize],
            t.ends[End::Late as usize],
            t.ends[End::Unused as usize],
            t.ends[End::Invalidated as usize],
            before[6] + registered,
            before[7] + pending,
            before[8] + stored,
            before[9] + dropped,
            before[10] + evicted,
        ];
        if x.clear_statistics {
            self.cleared = self.sums;
            self.cleared[1] -= pending;
            self.cleared[7] -= pending;
        }
        pending
    }

    /// The counters are the sums of the ledger.
    fn compare(&mut self, counters: &[u64; COUNTERS.len()], pending: u64) {
        for n in 0..SUMS {
            let late = if n == 1 || n == 7 { pending } else { 0 };
            let must = self.sums[n].wrapping_sub(late).wrapping_sub(self.cleared[n]) & self.mask;
            if counters[n] != must {
                self.wrong(format!("counter {} is {}, {must} sectors were", COUNTERS[n], counters[n]));
            }
        }
    }

    fn ports(&mut self, x: &Inputs, o: &Outputs) {
        if let Some(offer) = o.offer {
            if !x.enable {
                self.wrong("a prefetch is offered while prefetching is off".into());
            }
            if offer.mask == 0 {
                self.wrong("a prefetch of nothing".into());
            }
            if offer.entry.is_some_and(|e| e >= x.idle.min(self.entries)) {
                self.wrong(format!("a prefetch for entry {:?} with {} idle registers", offer.entry, x.idle));
            }
            let held = self.ledger.at(offer.line, offer.mask as u32, Place::Prt);
            if held != 0 {
                self.wrong(format!("sectors {held:#x} of {:#x} are offered, but are in the PRT", offer.line));
            }
        }
        if o.prt.answer.hit & o.prt.answer.waiting != 0 {
            self.wrong("sectors both hit and waiting".into());
        }
    }

    /// A decision.
    pub fn decide(&mut self, d: &Decision, enabled: bool) {
        let c = &d.candidate;
        let max = self.limits.of(c.kind);
        let score = if self.controller {
            rules::issues(c.confidence as u32, c.distance as u32, d.best as u32, self.threshold)
        } else {
            c.confidence > 0
        };
        let must = score && (1..=max).contains(&c.distance);
        if d.issue != must {
            self.wrong(format!("decision {d:?}, the rules say {must}"));
        }
        if d.suppressed && !self.zero_filter {
            self.wrong("suppressed without a zero filter".into());
        }
        if d.pushed != (must && !d.suppressed && enabled) {
            self.wrong(format!("decision {d:?} with enable {enabled}"));
        }
        if d.best == 0 || d.best > max {
            self.wrong(format!("best distance {} of kind {}", d.best, c.kind));
        }
    }
}
