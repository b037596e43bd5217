//! What became of every prefetched sector: the balance equation, kept apart from all counters.

use super::rules::EvictionBuffer;
use std::collections::BTreeMap;

/// Where a prefetched sector is that no demand has asked for yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// On its way.
    Outstanding,
    /// In an idle register.
    Prt,
    /// In the L1.
    L1,
}

/// How a prefetched sector ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// A demand found it.
    OnTime,
    /// A demand found its address in the PEB.
    Early,
    /// A demand came while it was on its way.
    Late,
    /// Nobody ever asked.
    Unused,
    /// A store or a flush made it void.
    Invalidated,
}

/// Sectors in each place, sectors ended in each way, and sectors issued in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Prefetched sectors.
    pub issued: u64,
    /// On their way, in the PRT, in the L1.
    pub places: [u64; 3],
    /// Evicted, their addresses kept in the PEB.
    pub peb: u64,
    /// On time, early, late, unused, invalidated.
    pub ends: [u64; 5],
}

impl Totals {
    /// issued = on time + early + late + unused + invalidated + still somewhere.
    pub fn balanced(&self) -> bool {
        self.issued == self.ends.iter().sum::<u64>() + self.places.iter().sum::<u64>() + self.peb
    }
}

/// One entry for each prefetched sector that is somewhere. Every movement is judged.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    sectors: BTreeMap<(u64, u8), Place>,
    peb: EvictionBuffer,
    totals: Totals,
    violations: Vec<String>,
}

impl Ledger {
    /// Nothing was prefetched yet; the PEB has so many entries.
    pub fn new(peb: usize) -> Self {
        Self { peb: EvictionBuffer::new(peb), ..Self::default() }
    }

    /// Sectors of a line are prefetched. They must not be on their way or in the PRT already.
    pub fn issue(&mut self, line: u64, sectors: u32) {
        for s in bits(sectors) {
            if let Some(place) = self.sectors.get(&(line, s)) {
                self.violations.push(format!("{line:#x}.{s} is prefetched again while {place:?}"));
            }
            self.sectors.insert((line, s), Place::Outstanding);
            self.totals.issued += 1;
            self.totals.places[Place::Outstanding as usize] += 1;
        }
    }

    /// Sectors of a line go from one place to another.
    pub fn go(&mut self, line: u64, sectors: u32, from: Place, to: Place) {
        for s in bits(sectors) {
            if self.sectors.get(&(line, s)) == Some(&from) {
                self.sectors.insert((line, s), to);
                self.totals.places[from as usize] -= 1;
                self.totals.places[to as usize] += 1;
            } else {
                let is = self.sectors.get(&(line, s));
                self.violations.push(format!("{line:#x}.{s} goes from {from:?} to {to:?}, but is {is:?}"));
            }
        }
    }

    /// Sectors of a line end; each must be somewhere, and a class of feedback needs the place that belongs to it.
    pub fn end(&mut self, line: u64, sectors: u32, end: End) {
        for s in bits(sectors) {
            let place = self.sectors.remove(&(line, s));
            let legal = match end {
                End::OnTime => matches!(place, Some(Place::Prt | Place::L1)),
                End::Late => place == Some(Place::Outstanding),
                End::Invalidated => place.is_some(),
                End::Early | End::Unused => false, // only from the PEB
            };
            if !legal {
                self.violations.push(format!("{line:#x}.{s} ends {end:?}, but is {place:?}"));
            }
            if let Some(place) = place {
                self.totals.places[place as usize] -= 1;
                self.totals.ends[end as usize] += 1;
            }
        }
    }

    /// Unread sectors of a line leave the PRT or the L1 for the PEB.
    pub fn leave(&mut self, line: u64, sectors: u32, from: Place) {
        for s in bits(sectors) {
            let place = self.sectors.remove(&(line, s));
            if place == Some(from) {
                self.totals.places[from as usize] -= 1;
                self.totals.peb += 1;
            } else {
                self.violations.push(format!("{line:#x}.{s} leaves {from:?}, but is {place:?}"));
            }
        }
        let unused = self.peb.evict(line, sectors);
        self.settle(0, unused);
    }

    /// A load looks into the PEB.
    pub fn demand(&mut self, line: u64, sectors: u32) {
        let (early, unused) = self.peb.demand(line, sectors);
        self.settle(early.count_ones().into(), unused);
    }

    fn settle(&mut self, early: u64, unused: u64) {
        self.totals.peb -= early + unused;
        self.totals.ends[End::Early as usize] += early;
        self.totals.ends[End::Unused as usize] += unused;
    }

    /// Those of the sectors of a line that are in a place.
    pub fn at(&self, line: u64, sectors: u32, place: Place) -> u32 {
        bits(sectors).filter(|s| self.sectors.get(&(line, *s)) == Some(&place)).fold(0, |mask, s| mask | 1 << s)
    }

    /// All sectors in a place, by line.
    pub fn all(&self, place: Place) -> BTreeMap<u64, u32> {
        let mut lines = BTreeMap::new();
        for (&(line, s), _) in self.sectors.iter().filter(|e| *e.1 == place) {
            *lines.entry(line).or_insert(0) |= 1 << s;
        }
        lines
    }

    /// The sums.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// What was wrong.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }
}

/// Numbers of the sectors of a mask.
pub fn bits(sectors: u32) -> impl Iterator<Item = u8> {
    (0..32).filter(move |s| sectors >> s & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life() {
        let mut l = Ledger::new(64);
        l.issue(5, 0b1111);
        l.end(5, 0b0001, End::Late);
        l.go(5, 0b1110, Place::Outstanding, Place::Prt);
        l.end(5, 0b0010, End::OnTime);
        l.leave(5, 0b1100, Place::Prt);
        assert_eq!((l.totals().places, l.totals().peb), ([0; 3], 2));
        l.demand(5, 0b0100);
        assert!(l.violations().is_empty() && l.totals().balanced());
        assert_eq!((l.totals().peb, l.totals().ends), (0, [1, 1, 1, 1, 0]));
    }

    #[test]
    fn wrong_movements_are_noticed() {
        let mut l = Ledger::new(64);
        l.issue(5, 1);
        l.issue(5, 1);
        assert_eq!(l.violations().len(), 1);
        l.end(5, 1, End::OnTime); // still on its way
        assert_eq!(l.violations().len(), 2);
        l.end(5, 1, End::OnTime); // twice
        assert_eq!(l.violations().len(), 3);
    }
}
