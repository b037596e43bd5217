//! Things that happen at a known later cycle.

use std::collections::BTreeMap;

/// Events by cycle; those of one cycle keep the order in which they were added.
#[derive(Debug)]
pub struct Timeline<T> {
    at: BTreeMap<u64, Vec<T>>,
    spare: Vec<Vec<T>>,
}

impl<T> Default for Timeline<T> {
    fn default() -> Self {
        Self { at: BTreeMap::new(), spare: Vec::new() }
    }
}

impl<T> Timeline<T> {
    /// Adds an event.
    pub fn push(&mut self, cycle: u64, event: T) {
        self.at.entry(cycle).or_insert_with(|| self.spare.pop().unwrap_or_default()).push(event);
    }

    /// Cycle of the next event.
    pub fn next(&self) -> Option<u64> {
        self.at.first_key_value().map(|(cycle, _)| *cycle)
    }

    /// Moves the events of up to `now` to `due`.
    pub fn pop(&mut self, now: u64, due: &mut Vec<T>) {
        while let Some(entry) = self.at.first_entry()
            && *entry.key() <= now
        {
            let mut events = entry.remove();
            due.append(&mut events);
            self.spare.push(events);
        }
    }

    /// Nothing is to come.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
