//! The simplest prefetcher there is, to test the accounting with.

use super::{Action, Observation, Prefetcher, Tag, View};
use crate::system::l1s::LineSet;
use crate::system::measures::PrefetchCounts;

/// Fetches the next line after every miss into the L1, and remembers for ever which of its lines left unused.
#[derive(Debug, Clone, Default)]
pub struct NextLine {
    wanted: Option<u64>,
    wasted: LineSet,
    counts: PrefetchCounts,
}

impl Prefetcher for NextLine {
    fn load(&mut self, load: &Observation) {
        if !load.hit {
            self.wanted = Some(load.line + 1);
        }
        self.counts.early += u64::from(self.wasted.remove(&load.line));
    }

    fn left(&mut self, line: u64, _: u64, void: bool) {
        if !void {
            // Wasted twice and loaded later: one of the two is early.
            self.counts.unused += u64::from(!self.wasted.insert(line));
        }
    }

    fn step(&mut self, _: u64, view: &dyn View) -> Action {
        let line = self.wanted.take().filter(|line| view.room() && !view.has(*line));
        Action { prefetch: line.map(|line| (line, Tag::default())), ..Action::default() }
    }

    fn is_resting(&self) -> bool {
        self.wanted.is_none()
    }

    fn flush(&mut self) {
        self.counts.unused += self.wasted.len() as u64;
        self.wasted.clear();
    }

    fn counts(&self) -> PrefetchCounts {
        self.counts
    }
}
