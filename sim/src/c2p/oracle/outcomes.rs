//! Answers, L2 requests and outcomes of misses.

use super::*;

impl Oracle {
    /// An answer of SM `sm`'s L1 belongs to the oldest probe it took.
    pub(super) fn check_answer(&mut self, sm: usize, inputs: &Signals) {
        if inputs.get(input::ANSWER_VALID, sm) == 0 {
            return;
        }
        let Some(probe) = self.outstanding[sm].pop_front() else { return };
        self.answers += 1;
        let hit = inputs.get(input::ANSWER_HIT, sm) != 0;
        self.hits += u64::from(hit);
        let age = self.copies.get(&(sm, probe.tag)).copied();
        if hit && age.is_none() {
            self.report(Rule::Coherence, sm, None, Some(probe.tag), "the L1 answers hit for a line it does not hold");
        }
        let cycle = self.cycle;
        let made = self.misses[probe.requester].values_mut().find(|miss| miss.serial == probe.serial);
        if let Some(made) = made.and_then(|miss| miss.probes.iter_mut().find(|p| p.target == sm)) {
            made.answer = Some((cycle, hit, age.unwrap_or(0)));
        }
    }

    pub(super) fn check_l2(&mut self, sm: usize, inputs: &Signals, outputs: &Signals) {
        if outputs.get(output::L2_VALID, sm) == 0 {
            return;
        }
        let (id, tag) = (outputs.get(output::L2_ID, sm), outputs.get(output::L2_TAG, sm));
        let problem = match self.misses[sm].get(&id) {
            None => Some("an L2 request without a miss"),
            Some(miss) if miss.tag != tag => Some("the L2 request has another tag than its miss"),
            Some(miss) if miss.l2_taken.is_some() => Some("a second L2 request"),
            Some(_) => None,
        };
        if let Some(what) = problem {
            self.report(Rule::OneOutcome, sm, Some(id), Some(tag), what);
        }
        if inputs.get(input::L2_READY, sm) != 0 {
            if let Some(miss) = self.misses[sm].get_mut(&id) {
                miss.l2_taken = Some(self.cycle);
            }
            let age = self.memory.get(&tag).copied().unwrap_or(0);
            self.arriving.insert((sm, tag), age);
        }
    }

    pub(super) fn check_outcome(&mut self, sm: usize, inputs: &Signals, outputs: &Signals) {
        if outputs.get(output::OUTCOME_VALID, sm) == 0 || inputs.get(input::OUTCOME_READY, sm) == 0 {
            return;
        }
        let [id, remote, source, reason] =
            [output::OUTCOME_ID, output::OUTCOME_REMOTE, output::OUTCOME_SOURCE, output::OUTCOME_REASON].map(|p| outputs.get(p, sm));
        let Some(miss) = self.misses[sm].remove(&id) else {
            return self.report(Rule::OneOutcome, sm, Some(id), None, "an outcome without a miss");
        };
        let tag = Some(miss.tag);
        self.outcomes[sm] += 1;
        if remote != 0 {
            if reason != 0 || source as usize >= self.misses.len() {
                self.report(Rule::Protocol, sm, Some(id), tag, format!("remote({source}) with reason {reason}"));
            }
            self.count("remote_hits", 1);
            self.live_hits += 1;
            self.check_remote(sm, id, source as usize, &miss);
        } else {
            if source != 0 {
                self.report(Rule::Protocol, sm, Some(id), tag, "an L2 outcome with a source");
            }
            match Reason::from_number(reason) {
                None => self.report(Rule::Protocol, sm, Some(id), tag, format!("reason {reason}")),
                Some(reason) => self.check_l2_outcome(sm, id, reason, &miss),
            }
        }
    }

    pub(super) fn check_remote(&mut self, sm: usize, id: u64, source: usize, miss: &Miss) {
        let tag = Some(miss.tag);
        if miss.l2_taken.is_some() {
            self.report(Rule::OneOutcome, sm, Some(id), tag, "a remote outcome after an L2 request");
        }
        if !miss.query {
            self.report(Rule::Disabled, sm, Some(id), tag, "a remote outcome of a miss that is not to be shared");
        }
        let answer = miss.probes.iter().find(|p| p.target == source).and_then(|p| p.answer);
        match answer {
            Some((cycle, true, age)) if cycle < self.cycle => {
                if age < miss.own_store {
                    self.report(Rule::Coherence, sm, Some(id), tag, format!("data of SM {source} is older than the SM's own store"));
                }
                self.arriving.insert((sm, miss.tag), age);
            }
            _ => self.report(Rule::RemoteAnswered, sm, Some(id), tag, format!("remote({source}), which did not answer hit")),
        }
    }

    pub(super) fn check_l2_outcome(&mut self, sm: usize, id: u64, reason: Reason, miss: &Miss) {
        let tag = Some(miss.tag);
        self.count(COUNTERS[7 + reason as usize], 1);
        if miss.l2_taken.is_none_or(|cycle| cycle >= self.cycle) {
            self.report(Rule::OneOutcome, sm, Some(id), tag, "an L2 outcome before its L2 request was taken");
        }
        if (reason == Reason::Disabled) == miss.query {
            self.report(Rule::Disabled, sm, Some(id), tag, format!("{reason:?}, but query = {}", miss.query));
        }
        // The attempt that was given up began after all earlier probes were answered. The last probe seen may be it (its own
        // answer then came too late), or may precede one that was never shown.
        let answered = |probes: &[MadeProbe]| probes.iter().filter_map(|p| p.answer).map(|a| a.0).max().unwrap_or(miss.accepted);
        let before_last = answered(&miss.probes[..miss.probes.len().saturating_sub(1)]);
        let waited = self.cycle - if reason == Reason::Busy { before_last } else { answered(&miss.probes) };
        let (probe_timeout, answer_timeout) = (u64::from(self.config.probe_timeout), u64::from(self.config.answer_timeout));
        // The last answer, when it cannot have come too late.
        let in_time = miss.probes.last().and_then(|last| {
            let ((answer, hit, _), taken) = (last.answer?, last.taken?);
            (answer <= taken + 1 + answer_timeout && taken <= before_last + 1 + probe_timeout).then_some(hit)
        });
        let missed = miss.probes.iter().all(|p| p.answer.is_some_and(|a| !a.1));
        let left = self.candidates(sm, miss).map(|all| all.len() - miss.probes.len().min(all.len()));
        let at_limit = self.config.probe_limit > 0 && miss.probes.len() as u64 >= u64::from(self.config.probe_limit);
        let problem = match reason {
            Reason::NoCandidate if !miss.probes.is_empty() => Some((Rule::ProbeOrder, "no candidate after a probe")),
            Reason::NoCandidate if left.is_some_and(|left| left > 0) => Some((Rule::Filter, "no candidate, but there is one")),
            Reason::AllMissed if miss.probes.is_empty() => Some((Rule::ProbeOrder, "all missed without a probe")),
            Reason::AllMissed if !missed => Some((Rule::ProbeOrder, "all missed without an answer, or with a hit")),
            Reason::AllMissed if left.is_some_and(|left| left > 0) && !at_limit => {
                Some((Rule::ProbeOrder, "all missed, but candidates are left"))
            }
            Reason::Busy | Reason::QueueFull if waited <= probe_timeout.min(answer_timeout) => {
                Some((Rule::ProbeOrder, "given up before the timeout"))
            }
            Reason::QueueFull if !missed => Some((Rule::ProbeOrder, "queue full, but the last probe was shown to its L1")),
            Reason::Busy if in_time == Some(true) => Some((Rule::ProbeOrder, "busy, but the L1 answered hit in time")),
            Reason::Busy | Reason::QueueFull if left == Some(0) && miss.probes.is_empty() => {
                Some((Rule::Filter, "given up, but there is no candidate"))
            }
            Reason::QueueFull if left == Some(0) || at_limit => Some((Rule::ProbeOrder, "queue full, but no candidate is left")),
            Reason::Busy if in_time == Some(false) && (left == Some(0) || at_limit) => {
                Some((Rule::ProbeOrder, "busy, but every candidate answered in time"))
            }
            _ => None,
        };
        if let Some((rule, what)) = problem {
            self.report(rule, sm, Some(id), tag, what);
        }
    }
}
