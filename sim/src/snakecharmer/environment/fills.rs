//! Requests below the L1: prefetches that are issued, fills that come back, stores that overtake them.

use super::*;

impl Environment {
    /// The next fill of a prefetch; fills of demands are made on the way.
    pub(super) fn fill(&mut self) -> Option<Fill> {
        if let Some((_, step)) = self.driven.filter(|d| d.1.kind == Kind::Store) {
            self.spoil(step);
        }
        if !self.chance(self.profile.fill) {
            return None;
        }
        while self.memory.peek(self.now).is_some_and(|f| f.prefetch.is_none()) {
            let Some(flight) = self.memory.take(self.now) else { break };
            self.arrive(&flight, 0, 0);
        }
        let f = self.memory.peek(self.now)?;
        let (pattern, entry) = f.prefetch?;
        let zero = self.stream.zero_sectors(f.line) & f.mask == f.mask;
        let to = prt::Fill { entry: entry.unwrap_or(0), line: f.line, mask: f.mask.into(), bypass: (f.late | f.stale).into() };
        Some(Fill { table: entry.is_some(), to, pattern, zero })
    }

    /// Sectors of a flight come to a register or to the L1; those who wait go on.
    pub(super) fn arrive(&mut self, flight: &Flight, to_register: u32, register: u64) {
        let line = flight.line;
        let tagged = self.l1.arrived(line, flight.mask);
        self.registers.write(register, to_register, |s| Datum { line, sector: s, version: flight.versions[s as usize] });
        let keep = flight.mask & !flight.stale & !to_register;
        let split = |part: u32| -> Vec<Tagged> {
            tagged.iter().map(|t| Tagged { sectors: t.sectors & part, ..*t }).filter(|t| t.sectors != 0).collect()
        };
        self.evictions.extend(split(flight.stale).into_iter().map(|t| (true, t)));
        if keep != 0 {
            let lost = self.l1.install(line, keep, &split(keep));
            self.evictions.extend(lost.into_iter().map(|t| (false, t)));
        }
        for &warp in &flight.waiters {
            let w = &mut self.warps[warp];
            w.waiting -= 1;
            let gap = u64::from(w.step.map_or(0, |s| s.gap));
            w.ready = w.ready.max(self.now + 1 + gap);
            if w.finished {
                self.activity.finished_at = self.activity.finished_at.max(self.now);
            }
        }
    }

    pub(super) fn issue(&mut self, line: u64, mask: u32, pattern: u64, entry: Option<u64>, handle: Meta) {
        if mask == 0 {
            return;
        }
        self.activity.prefetched += u64::from(mask.count_ones());
        self.activity.prefetches.0 += 1;
        self.activity.prefetches.1 += u64::from(entry.is_none());
        self.l1.ask(line, mask, Some(handle));
        let versions = self.memory.versions(line);
        let flight = Flight { line, mask, prefetch: Some((pattern, entry)), late: 0, stale: 0, versions, waiters: Vec::new() };
        self.memory.request(self.now, flight);
    }

    pub(super) fn store(&mut self, step: Step) {
        // The whole line leaves the L1, but only some sectors leave the PRT: the others stay what they are.
        self.memory.store(step.line, step.sectors);
        let lost = self.l1.store(step.line);
        self.evictions.extend(lost.into_iter().map(|t| (true, t)));
        self.spoil(step);
    }

    /// What is on its way is older than the store.
    pub(super) fn spoil(&mut self, step: Step) {
        for flight in self.memory.flights_mut().filter(|f| f.line == step.line) {
            flight.stale |= flight.mask & step.sectors;
        }
    }
}
