//! Probes: to whom, in which order.

use super::*;

impl Oracle {
    /// A probe shown to SM `target`'s L1.
    pub(super) fn check_probe(&mut self, target: usize, inputs: &Signals, outputs: &Signals) {
        if outputs.get(output::PROBE_VALID, target) == 0 {
            self.shown[target] = None;
            return;
        }
        let (requester, tag) = (outputs.get(output::PROBE_REQUESTER, target) as usize, outputs.get(output::PROBE_TAG, target));
        if self.shown[target].is_none() {
            self.new_probe(target, requester, tag);
        }
        if inputs.get(input::PROBE_READY, target) != 0 {
            self.count("probes", 1);
            if let Some(probe) = self.shown[target].take() {
                self.outstanding[target].push_back(probe);
                let cycle = self.cycle;
                let miss = self.misses[probe.requester].values_mut().find(|miss| miss.serial == probe.serial);
                if let Some(made) = miss.and_then(|miss| miss.probes.iter_mut().find(|p| p.target == target)) {
                    made.taken = Some(cycle);
                }
            }
        }
    }

    /// A probe is shown for the first time: it belongs to a miss that waits for it.
    pub(super) fn new_probe(&mut self, target: usize, requester: usize, tag: u64) {
        self.shown[target] = Some(ShownProbe { requester: requester.min(self.misses.len() - 1), serial: u64::MAX, tag });
        if requester >= self.misses.len() {
            return self.report(Rule::Protocol, target, None, Some(tag), format!("a probe of SM {requester}"));
        }
        if requester == target {
            self.report(Rule::ProbeOrder, requester, None, Some(tag), "the requester is probed");
        }
        // Several misses of one SM may want the same line: it is the first one that could make this probe.
        let wanting: Vec<_> = self.misses[requester].iter().filter(|(_, miss)| miss.tag == tag).map(|(id, _)| *id).collect();
        if wanting.is_empty() {
            return self.report(Rule::ProbeOrder, requester, None, Some(tag), format!("SM {target} is probed for no miss"));
        }
        let problems: Vec<_> = wanting.iter().map(|id| (*id, self.probe_problem(requester, *id, target))).collect();
        if let Some((id, _)) = problems.iter().find(|(_, problem)| problem.is_none()) {
            let miss = self.misses[requester].get_mut(id).expect("it was found");
            miss.probes.push(MadeProbe { target, taken: None, answer: None });
            self.shown[target] = Some(ShownProbe { requester, serial: miss.serial, tag });
            return;
        }
        for (id, problem) in problems {
            if let Some((rule, what)) = problem {
                self.report(rule, requester, Some(id), Some(tag), format!("SM {target} is probed {what}"));
            }
        }
    }

    /// Why the miss cannot make this probe now.
    pub(super) fn probe_problem(&self, requester: usize, id: u64, target: usize) -> Option<(Rule, String)> {
        let miss = &self.misses[requester][&id];
        let order = |what: &str| Some((Rule::ProbeOrder, what.to_string()));
        if !miss.query {
            return Some((Rule::Disabled, "for a miss that is not to be shared".into()));
        }
        if miss.l2_taken.is_some() {
            return order("after the L2 request");
        }
        if miss.probes.iter().any(|p| p.target == target) {
            return order("a second time");
        }
        if let Some(last) = miss.probes.last() {
            match last.answer {
                None => return order("while another probe is not answered"),
                Some((_, true, _)) => return order("after a hit"),
                Some(_) => {}
            }
            if self.distance(requester, target) < self.distance(requester, last.target) {
                return order("after one that is farther away");
            }
        }
        if self.config.probe_limit > 0 && miss.probes.len() as u64 >= u64::from(self.config.probe_limit) {
            return order("beyond the limit");
        }
        if !self.tapped {
            return None;
        }
        let Some(candidates) = self.candidates(requester, miss) else {
            return Some((Rule::Filter, "before all rows were read".into()));
        };
        if !candidates.contains(&target) {
            return Some((Rule::Filter, "and is no candidate".into()));
        }
        if candidates.get(miss.probes.len()) != Some(&target) {
            return order("and is not the nearest candidate left");
        }
        None
    }

    pub(super) fn distance(&self, a: usize, b: usize) -> u32 {
        let ((ax, ay), (bx, by)) = (self.config.place(a as u32), self.config.place(b as u32));
        ax.abs_diff(bx) + ay.abs_diff(by)
    }

    /// The candidates in the order in which they are to be probed, once all rows were read.
    pub(super) fn candidates(&self, requester: usize, miss: &Miss) -> Option<Vec<usize>> {
        if !self.tapped {
            return None;
        }
        let rows: Option<Vec<SmSet>> = miss.rows.iter().copied().collect();
        let rows = rows?;
        let is_candidate = |sm: &usize| *sm != requester && rows.iter().all(|row| row.contains(*sm));
        let mut candidates: Vec<usize> = (0..self.misses.len()).filter(is_candidate).collect();
        candidates.sort_by_key(|sm| (self.distance(requester, *sm), *sm));
        Some(candidates)
    }
}
