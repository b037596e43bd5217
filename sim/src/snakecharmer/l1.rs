//! The L1 of the SM as the prefetcher needs it: prefetch bits with metadata, and MSHRs that know prefetches from demands.

use super::ledger::bits;
use crate::ParameterError;
use crate::cache::{L1, L1Parameters};
use std::collections::BTreeMap;

/// What a prefetched sector carries, as the design gave it at the issue.
pub type Meta = u64;

/// Some sectors of a line with the same metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tagged {
    /// Line address.
    pub line: u64,
    /// Sectors.
    pub sectors: u32,
    /// Their metadata.
    pub meta: Meta,
}

/// What a demand found in the L1 and its MSHRs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Sectors present.
    pub hit: u32,
    /// Sectors on their way.
    pub waiting: u32,
    /// Sectors to ask for.
    pub missing: u32,
    /// Prefetched sectors that this demand is the first to use.
    pub on_time: Vec<Tagged>,
    /// Prefetched sectors on their way that this demand is the first to ask for.
    pub late: Vec<Tagged>,
}

/// The L1 and its MSHRs.
#[derive(Debug, Clone)]
pub struct PrefetchL1 {
    cache: L1,
    /// Prefetched and not used.
    unread: BTreeMap<(u64, u8), Meta>,
    /// On their way; with metadata while no demand has asked.
    outstanding: BTreeMap<(u64, u8), Option<Meta>>,
}

impl PrefetchL1 {
    /// An empty L1.
    ///
    /// # Errors
    /// When a parameter is outside its range.
    pub fn new(parameters: L1Parameters) -> Result<Self, ParameterError> {
        Ok(Self { cache: L1::new(parameters)?, unread: BTreeMap::new(), outstanding: BTreeMap::new() })
    }

    /// What a load would find, without changing anything: sectors present, on their way, neither.
    pub fn peek(&self, line: u64, sectors: u32) -> (u32, u32, u32) {
        let hit = self.cache.sectors_of(line) & sectors;
        let waiting = bits(sectors & !hit).filter(|s| self.outstanding.contains_key(&(line, *s))).fold(0, |m, s| m | 1 << s);
        (hit, waiting, sectors & !hit & !waiting)
    }

    /// A load of sectors.
    pub fn load(&mut self, line: u64, sectors: u32) -> Found {
        let (hit, waiting, missing) = self.peek(line, sectors);
        self.cache.load(line, sectors);
        let mut found = Found { hit, waiting, missing, ..Found::default() };
        for s in bits(hit) {
            if let Some(meta) = self.unread.remove(&(line, s)) {
                add(&mut found.on_time, line, s, meta);
            }
        }
        for s in bits(waiting) {
            if let Some(meta) = self.outstanding.get_mut(&(line, s)).and_then(Option::take) {
                add(&mut found.late, line, s, meta);
            }
        }
        found
    }

    /// Sectors are asked of the L2, by a prefetch with its metadata or by a demand.
    pub fn ask(&mut self, line: u64, sectors: u32, meta: Option<Meta>) {
        for s in bits(sectors) {
            self.outstanding.insert((line, s), meta);
        }
    }

    /// Sectors have arrived. Returns those that are still unread prefetches, with metadata.
    pub fn arrived(&mut self, line: u64, sectors: u32) -> Vec<Tagged> {
        let mut tagged = Vec::new();
        for s in bits(sectors) {
            if let Some(Some(meta)) = self.outstanding.remove(&(line, s)) {
                add(&mut tagged, line, s, meta);
            }
        }
        tagged
    }

    /// Puts sectors into the cache, some of them as unread prefetches. Returns unread prefetches that had to leave.
    pub fn install(&mut self, line: u64, sectors: u32, unread: &[Tagged]) -> Vec<Tagged> {
        let mut lost = Vec::new();
        if let Some(evicted) = self.cache.fill(line, sectors) {
            lost = self.forget(evicted.line, evicted.sectors);
        }
        for t in unread {
            bits(t.sectors).for_each(|s| {
                self.unread.insert((line, s), t.meta);
            });
        }
        lost
    }

    /// A store to a line: it leaves. Returns its unread prefetches.
    pub fn store(&mut self, line: u64) -> Vec<Tagged> {
        self.cache.store(line);
        self.forget(line, u32::MAX)
    }

    /// Everything leaves. Returns the unread prefetches.
    pub fn flush(&mut self) -> Vec<Tagged> {
        self.cache.flush_all();
        let mut lost: Vec<Tagged> = Vec::new();
        for ((line, s), meta) in std::mem::take(&mut self.unread) {
            add(&mut lost, line, s, meta);
        }
        lost
    }

    /// Prefetched sectors on their way that nobody has asked for.
    pub fn outstanding_prefetches(&self) -> usize {
        self.outstanding.values().filter(|m| m.is_some()).count()
    }

    /// Unread prefetched sectors present.
    pub fn unread(&self) -> usize {
        self.unread.len()
    }

    fn forget(&mut self, line: u64, sectors: u32) -> Vec<Tagged> {
        let mut lost = Vec::new();
        for s in bits(sectors) {
            if let Some(meta) = self.unread.remove(&(line, s)) {
                add(&mut lost, line, s, meta);
            }
        }
        lost
    }
}

/// Adds a sector to the group of its line and metadata.
fn add(list: &mut Vec<Tagged>, line: u64, sector: u8, meta: Meta) {
    match list.iter_mut().find(|t| t.line == line && t.meta == meta) {
        Some(t) => t.sectors |= 1 << sector,
        None => list.push(Tagged { line, sectors: 1 << sector, meta }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> PrefetchL1 {
        PrefetchL1::new(L1Parameters { lines: 2, ways: 2, sectors: 4, ..L1Parameters::default() }).unwrap()
    }

    #[test]
    fn a_prefetch_is_late_once_then_not_unread() {
        let mut l1 = small();
        l1.ask(7, 15, Some(3));
        let found = l1.load(7, 0b0011);
        assert_eq!((found.hit, found.waiting, found.missing), (0, 0b0011, 0));
        assert_eq!(found.late, [Tagged { line: 7, sectors: 0b0011, meta: 3 }]);
        assert!(l1.load(7, 0b0011).late.is_empty());
        let unread = l1.arrived(7, 15);
        assert_eq!(unread, [Tagged { line: 7, sectors: 0b1100, meta: 3 }]);
        assert!(l1.install(7, 15, &unread).is_empty());
        assert!(l1.load(7, 0b0001).on_time.is_empty());
        assert_eq!(l1.load(7, 0b1111).on_time, unread);
        assert!(l1.load(7, 0b1111).on_time.is_empty());
    }

    #[test]
    fn what_leaves_unread_is_told() {
        let mut l1 = small();
        for line in 0..2 {
            l1.ask(line, 1, Some(line));
            let unread = l1.arrived(line, 1);
            assert!(l1.install(line, 1, &unread).is_empty());
        }
        l1.load(1, 1);
        assert_eq!(l1.install(2, 1, &[]), [Tagged { line: 0, sectors: 1, meta: 0 }]);
        assert!(l1.install(3, 1, &[]).is_empty(), "line 1 was used");
        l1.ask(4, 2, Some(9));
        let unread = l1.arrived(4, 2);
        l1.install(4, 2, &unread);
        assert_eq!(l1.store(4), [Tagged { line: 4, sectors: 2, meta: 9 }]);
        assert_eq!((l1.unread(), l1.outstanding_prefetches()), (0, 0));
    }
}
