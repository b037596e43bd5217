//! Things that happen at a known later cycle.

use std::collections::BTreeMap;

/// Cycles ahead that have a bucket of their own; what comes later is kept in a map.
const WINDOW: usize = 256;

/// Events by cycle; those of one cycle keep the order in which they were added.
#[derive(Debug, Clone)]
pub struct Timeline<T> {
    /// First cycle that is not over.
    base: u64,
    /// Bucket of cycle `c` at `c % WINDOW`, for `base <= c < base + WINDOW`.
    near: Vec<Vec<T>>,
    /// Which buckets hold something.
    filled: [u64; WINDOW / 64],
    far: BTreeMap<u64, Vec<T>>,
    count: usize,
}

impl<T> Default for Timeline<T> {
    fn default() -> Self {
        let near = (0..WINDOW).map(|_| Vec::new()).collect();
        Self { base: 0, near, filled: [0; WINDOW / 64], far: BTreeMap::new(), count: 0 }
    }
}

impl<T> Timeline<T> {
    /// Adds an event; one of a cycle that is over happens as soon as possible.
    pub fn push(&mut self, cycle: u64, event: T) {
        let cycle = cycle.max(self.base);
        self.count += 1;
        if cycle - self.base < WINDOW as u64 {
            self.near(cycle).push(event);
        } else {
            self.far.entry(cycle).or_default().push(event);
        }
    }

    fn near(&mut self, cycle: u64) -> &mut Vec<T> {
        let place = cycle as usize % WINDOW;
        self.filled[place / 64] |= 1 << (place % 64);
        &mut self.near[place]
    }

    /// Cycle of the next event.
    pub fn next(&self) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let start = self.base as usize % WINDOW;
        // The words of the ring from that of `base` on; the first one twice, for its bits from `base` on and those before.
        for i in 0..=WINDOW / 64 {
            let word = (start / 64 + i) % (WINDOW / 64);
            let from = u64::MAX << (start % 64);
            let bits = self.filled[word]
                & if i == 0 {
                    from
                } else if i == WINDOW / 64 {
                    !from
                } else {
                    u64::MAX
                };
            if bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                return Some(self.base + ((place + WINDOW - start) % WINDOW) as u64);
            }
        }
        self.far.first_key_value().map(|(cycle, _)| *cycle)
    }

    /// Moves the events of up to `now` to `due`.
    pub fn pop(&mut self, now: u64, due: &mut Vec<T>) {
        while let Some(cycle) = self.next().filter(|cycle| *cycle <= now) {
            self.advance(cycle);
            let place = cycle as usize % WINDOW;
            self.count -= self.near[place].len();
            due.append(&mut self.near[place]);
            self.filled[place / 64] &= !(1 << (place % 64));
        }
        if now >= self.base {
            self.advance(now + 1);
        }
    }

    /// The window now starts at `base`; nothing before it is left.
    fn advance(&mut self, base: u64) {
        self.base = base;
        while let Some(entry) = self.far.first_entry()
            && *entry.key() - base < WINDOW as u64
        {
            let (cycle, mut events) = entry.remove_entry();
            self.near(cycle).append(&mut events);
        }
    }

    /// Nothing is to come.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn events_come_by_cycle_then_by_order() {
        let mut t = Timeline::default();
        for (cycle, name) in [(5, "a"), (3, "b"), (5, "c"), (9, "d")] {
            t.push(cycle, name);
        }
        let mut due = Vec::new();
        assert_eq!(t.next(), Some(3));
        t.pop(5, &mut due);
        assert_eq!(due, ["b", "a", "c"]);
        assert_eq!((t.next(), t.is_empty()), (Some(9), false));
    }

    proptest! {
        /// Against a plain list, with events near and far and cycles left out.
        #[test]
        fn as_a_list(steps in prop::collection::vec((1_u64..40, prop::collection::vec(0_u64..3000, 0..4)), 1..200)) {
            let (mut t, mut list, mut now, mut number) = (Timeline::default(), Vec::new(), 0, 0);
            for (skip, delays) in steps {
                for delay in delays {
                    t.push(now + delay, number);
                    list.push((now + delay, number));
                    number += 1;
                }
                prop_assert_eq!(t.next(), list.iter().map(|e| e.0).min());
                let mut due = Vec::new();
                t.pop(now, &mut due);
                list.sort();
                let left = list.split_off(list.iter().position(|e| e.0 > now).unwrap_or(list.len()));
                prop_assert_eq!(due, list.iter().map(|e| e.1).collect::<Vec<_>>());
                list = left;
                prop_assert_eq!(t.is_empty(), list.is_empty());
                now += skip;
            }
        }
    }
}
