//! What lies below the L1 (L2 and DRAM as one latency), the data of lines, and the idle registers.

use super::ledger::bits;
use crate::cache::mix;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::HashMap;

/// The content of a sector: which sector of which line, and how often it had been stored to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Datum {
    /// Line address.
    pub line: u64,
    /// Sector of the line.
    pub sector: u8,
    /// Stores to it before it was read.
    pub version: u32,
}

/// How often each sector of a line had been stored to.
pub type Versions = [u32; 32];

/// Time from a request to its fill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// Least, in cycles.
    pub least: u32,
    /// Most, in cycles.
    pub most: u32,
    /// A later request may overtake an earlier one.
    pub reorder: bool,
}

/// Requests on their way, with something the requester wants to see again.
#[derive(Debug, Clone)]
pub struct Memory<T> {
    latency: Latency,
    flights: Vec<(u64, u64, T)>,
    number: u64,
    last_due: u64,
    versions: HashMap<u64, Versions>,
    rng: ChaCha8Rng,
}

impl<T> Memory<T> {
    /// A memory nobody has asked for anything yet.
    pub fn new(latency: Latency, seed: u64) -> Self {
        let rng = ChaCha8Rng::seed_from_u64(seed ^ 0x3e30);
        Self { latency, flights: Vec::new(), number: 0, last_due: 0, versions: HashMap::new(), rng }
    }

    /// A request leaves at time `now`.
    pub fn request(&mut self, now: u64, what: T) {
        let mut due = now + u64::from(self.rng.random_range(self.latency.least..=self.latency.most));
        if !self.latency.reorder {
            due = due.max(self.last_due);
        }
        self.last_due = due;
        self.flights.push((due, self.number, what));
        self.number += 1;
    }

    /// The next fill that is due, without taking it.
    pub fn peek(&self, now: u64) -> Option<&T> {
        self.next(now).map(|i| &self.flights[i].2)
    }

    /// Takes the fill that [`Memory::peek`] shows.
    pub fn take(&mut self, now: u64) -> Option<T> {
        self.next(now).map(|i| self.flights.remove(i).2)
    }

    fn next(&self, now: u64) -> Option<usize> {
        (0..self.flights.len()).filter(|&i| self.flights[i].0 <= now).min_by_key(|&i| (self.flights[i].0, self.flights[i].1))
    }

    /// Requests on their way.
    pub fn flights_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.flights.iter_mut().map(|f| &mut f.2)
    }

    /// Requests on their way.
    pub fn flights(&self) -> impl Iterator<Item = &T> {
        self.flights.iter().map(|f| &f.2)
    }

    /// A store to sectors of a line reaches the memory.
    pub fn store(&mut self, line: u64, sectors: u32) {
        let versions = self.versions.entry(line).or_default();
        bits(sectors).for_each(|s| versions[s as usize] += 1);
    }

    /// The content of a line now.
    pub fn versions(&self, line: u64) -> Versions {
        self.versions.get(&line).copied().unwrap_or_default()
    }

    /// The content of a sector now.
    pub fn read(&self, line: u64, sector: u8) -> Datum {
        Datum { line, sector, version: self.versions(line)[sector as usize] }
    }
}

/// The idle registers: what was written where.
#[derive(Debug, Clone, Default)]
pub struct Registers {
    slots: HashMap<(u64, u8), Datum>,
}

impl Registers {
    /// Writes sectors of a fill.
    pub fn write(&mut self, register: u64, sectors: u32, mut datum: impl FnMut(u8) -> Datum) {
        for s in bits(sectors) {
            self.slots.insert((register, s), datum(s));
        }
    }

    /// The owner of the register takes it back: anything may be in it.
    pub fn reclaim(&mut self, register: u64) {
        if !self.slots.is_empty() {
            (0..32).for_each(|s| {
                self.slots.remove(&(register, s));
            });
        }
    }

    /// Reads sectors for a demand; says what is wrong with them.
    ///
    /// # Errors
    /// A sector is not the line's, or is older than the last store to the line.
    pub fn read(&self, register: u64, sectors: u32, expected: impl Fn(u8) -> Datum) -> Result<(), String> {
        for s in bits(sectors) {
            let (is, must) = (self.slots.get(&(register, s)).copied(), expected(s));
            if is != Some(must) {
                return Err(format!("register {register} slot {s} holds {is:?}, the demand is for {must:?}"));
            }
        }
        Ok(())
    }
}

/// A value for the data of a sector, for pictures and waves.
pub fn pattern(datum: Datum) -> u64 {
    mix(datum.line << 8 ^ u64::from(datum.sector) ^ u64::from(datum.version) << 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(reorder: bool) -> Vec<u64> {
        let mut m = Memory::new(Latency { least: 10, most: 60, reorder }, 1);
        (0..50).for_each(|n| m.request(n, n));
        let mut seen = Vec::new();
        for now in 0..200 {
            assert!(now >= 10 || m.peek(now).is_none());
            seen.extend(m.take(now));
        }
        seen
    }

    #[test]
    fn fills_come_in_order_or_not() {
        assert!(order(false).is_sorted());
        let mut some = order(true);
        assert!(!some.is_sorted());
        some.sort_unstable();
        assert_eq!(some, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn wrong_and_stale_data_are_seen() {
        let mut memory = Memory::<()>::new(Latency { least: 1, most: 1, reorder: false }, 1);
        let mut r = Registers::default();
        r.write(1, 0b0011, |s| memory.read(9, s));
        assert!(r.read(1, 0b0011, |s| memory.read(9, s)).is_ok());
        assert!(r.read(1, 0b0100, |s| memory.read(9, s)).is_err());
        assert!(r.read(1, 0b0001, |s| memory.read(8, s)).is_err());
        memory.store(9, 0b0001);
        assert!(r.read(1, 0b0001, |s| memory.read(9, s)).is_err());
        assert!(r.read(1, 0b0010, |s| memory.read(9, s)).is_ok());
        r.reclaim(1);
        assert!(r.read(1, 0b0010, |s| memory.read(9, s)).is_err());
    }
}
