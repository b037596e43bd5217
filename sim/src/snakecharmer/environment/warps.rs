//! The warps: what they ask for and when they go on.

use super::*;

impl Environment {
    /// The answer to the demand of the cycle before; what it does not have goes to the L1.
    pub(super) fn answer(&mut self, answer: prt::Answer) {
        let Some((warp, step, versions)) = self.asked.take() else { return };
        let hit = answer.hit as u32;
        if hit & !step.sectors != 0 {
            self.faults.push(format!("cycle {}: {:#x} answered with sectors {hit:#x}", self.now, step.line));
        }
        let expected = |s: u8| Datum { line: step.line, sector: s, version: versions[s as usize] };
        if let Err(wrong) = self.registers.read(answer.register, hit, expected) {
            self.faults.push(format!("cycle {}: {wrong}", self.now));
        }
        self.activity.loads += 1;
        self.activity.demanded += u64::from(step.sectors.count_ones());
        self.activity.register_hits += u64::from(hit.count_ones());
        let kind = self.kinds.get(&step.line).copied().unwrap_or(0) as usize;
        self.activity.on_time[kind] += u64::from(answer.on_time.count_ones());
        let rest = step.sectors & !hit;
        let found = self.l1.load(step.line, rest);
        self.activity.l1_hits += u64::from(found.hit.count_ones());
        self.activity.merged += u64::from(found.waiting.count_ones());
        self.activity.missed += u64::from(found.missing.count_ones());
        for t in found.on_time {
            self.activity.on_time[kind] += u64::from(t.sectors.count_ones());
            self.uses.push_back((false, t));
        }
        for t in found.late {
            self.activity.late[kind] += u64::from(t.sectors.count_ones());
            self.uses.push_back((true, t));
        }
        let mut waits = 0;
        for flight in self.memory.flights_mut().filter(|f| f.line == step.line && f.mask & found.waiting != 0) {
            flight.late |= flight.mask & found.waiting;
            flight.waiters.push(warp);
            waits += 1;
        }
        if found.missing != 0 {
            self.l1.ask(step.line, found.missing, None);
            let flight = Flight {
                line: step.line,
                mask: found.missing,
                prefetch: None,
                late: found.missing,
                stale: 0,
                versions: self.memory.versions(step.line),
                waiters: vec![warp],
            };
            self.memory.request(self.now, flight);
            waits += 1;
        }
        let w = &mut self.warps[warp];
        w.waiting = waits;
        w.ready = self.now + if rest == 0 { 1 } else { u64::from(self.profile.l1_latency) };
        self.next_step(warp);
    }

    pub(super) fn next_step(&mut self, warp: usize) {
        let step = if self.stopped { None } else { self.stream.next(warp) };
        let mask = (self.tag_mask, self.pc_mask, self.sector_mask);
        let w = &mut self.warps[warp];
        w.finished = step.is_none();
        w.step = step.map(|s| Step {
            line: s.line & mask.0,
            pc: s.pc & mask.1,
            sectors: if s.sectors & mask.2 == 0 { 1 } else { s.sectors & mask.2 },
            ..s
        });
        w.ready += u64::from(step.map_or(0, |s| s.gap));
        if w.finished {
            self.activity.finished_at = self.activity.finished_at.max(w.ready);
        }
    }

    /// The next demand, from the warps in turn.
    pub(super) fn demand(&mut self, x: &mut Inputs) {
        if self.now == 0 {
            (0..self.warps.len()).for_each(|w| self.next_step(w));
        }
        if !self.chance(self.profile.demand) || self.memory.flights().count() + 1 >= self.profile.mshrs {
            return;
        }
        let n = self.warps.len();
        // Steps that all warps have finished, for streams with barriers.
        let reached = |w: &Warp| if w.finished { u64::MAX } else { w.made - u64::from(w.waiting > 0 || w.step.is_none()) };
        let common = if self.stream.barrier() { self.warps.iter().map(reached).min().unwrap_or(0) } else { u64::MAX };
        for k in 0..n {
            let warp = (self.turn + k) % n;
            let w = &self.warps[warp];
            let free = w.waiting == 0 && w.ready <= self.now && w.made <= common && !self.stopped;
            let Some(step) = w.step.filter(|_| free) else { continue };
            // What was stored to while it was on its way must not serve a later load.
            if self.memory.flights().any(|f| f.line == step.line && f.stale & step.sectors != 0) {
                continue;
            }
            self.turn = warp + 1;
            x.demand = Some(prt::Demand { store: step.kind == Kind::Store, line: step.line, mask: step.sectors.into() });
            x.origin = ((warp % self.warp_limit) as u64, step.pc);
            self.driven = Some((warp, step));
            return;
        }
    }
}
