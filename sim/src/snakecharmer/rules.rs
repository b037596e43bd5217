//! The rules of the specification as plain functions and small records, without time: what blocks and the whole are judged by.
//!
//! Nothing here knows how the models work.

use std::collections::VecDeque;

/// What became of a prefetched block, as the prefetcher is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// A demand found it in the PRT or in the L1.
    OnTime,
    /// A demand came after it had been evicted unread.
    Early,
    /// A demand came while it was on its way.
    Late,
}

/// Part of a score for the distance: 3, 2, 1, 0 for a deviation from the best distance of 0, 1..2, 3..5, more.
pub fn distance_score(distance: u32, best: u32) -> u32 {
    match distance.abs_diff(best) {
        0 => 3,
        1..=2 => 2,
        3..=5 => 1,
        _ => 0,
    }
}

/// A candidate is issued.
pub fn issues(confidence: u32, distance: u32, best: u32, threshold: u32) -> bool {
    confidence + distance_score(distance, best) >= threshold
}

/// Distances to propose, nearest to the best first: best, best + 1, best − 1, best + 2, …, within `window` of it and within 1..=`max`.
pub fn proposals(best: u32, max: u32, window: u32) -> Vec<u32> {
    let mut list = vec![best];
    for deviation in 1..=window {
        list.push(best + deviation);
        list.extend(best.checked_sub(deviation));
    }
    list.retain(|d| (1..=max).contains(d));
    list
}

/// Which way the distance of a window of events goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Move {
    /// It stays.
    Keep,
    /// More late blocks than others.
    Farther,
    /// More early blocks than others.
    Nearer,
}

/// The move at the end of a window with so many events of each class: `enough` late or early ones suffice, with 0 they must be the most.
pub fn verdict(on_time: u32, early: u32, late: u32, enough: u32) -> Move {
    let least = if enough == 0 { on_time + 1 } else { enough.min(on_time + 1) };
    if late > early && late >= least {
        Move::Farther
    } else if early > late && early >= least {
        Move::Nearer
    } else {
        Move::Keep
    }
}

/// An entry of an accuracy and timeliness table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracker {
    /// The distance.
    pub value: u32,
    /// Events since it was made.
    pub samples: u32,
    counts: [u32; 3],
    max: u32,
    window: u32,
    step: u32,
    enough: u32,
    doubling: bool,
    streak: Option<(Move, u32)>,
}

impl Tracker {
    /// An entry that starts at distance `value`, for windows of `window` events and moves of `step` within 1..=`max`, for which
    /// `enough` events of a class suffice. With `doubling` the step doubles with every further move in the same direction.
    pub fn new(value: u32, max: u32, window: u32, step: u32, enough: u32, doubling: bool) -> Self {
        Self { value, samples: 0, counts: [0; 3], max, window, step, enough, doubling, streak: None }
    }

    /// One event. Returns the move when it ended a window.
    pub fn event(&mut self, class: Class) -> Option<Move> {
        self.samples += 1;
        self.counts[class as usize] += 1;
        if self.counts.iter().sum::<u32>() < self.window {
            return None;
        }
        let [on_time, early, late] = std::mem::take(&mut self.counts);
        let way = verdict(on_time, early, late, self.enough);
        let step = match self.streak {
            Some((last, step)) if self.doubling && last == way => (2 * step).min(self.max),
            _ => self.step,
        };
        self.streak = (way != Move::Keep).then_some((way, step));
        self.value = match way {
            Move::Keep => self.value,
            Move::Farther => (self.value + step).min(self.max),
            Move::Nearer => self.value.saturating_sub(step).max(1),
        };
        Some(way)
    }
}

/// The zero confidence of one pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ZeroCounter {
    /// 0..=3; at 3 the pattern's candidates are suppressed.
    pub count: u32,
    since: u64,
}

impl ZeroCounter {
    /// Candidates are suppressed at time `now`, when the timer runs for `timer` cycles.
    pub fn suppressed(&mut self, now: u64, timer: u64) -> bool {
        if self.count == 3 && now >= self.since + timer {
            self.count = 0;
        }
        self.count == 3
    }

    /// A prefetch of the pattern was filled at time `now`; the counter is as seen from then on.
    pub fn fill(&mut self, zero: bool, now: u64, timer: u64) {
        let before = u32::from(self.suppressed(now, timer)) * 3;
        self.count = if zero { (self.count + 1).min(3) } else { self.count.saturating_sub(1) };
        if self.count == 3 && before < 3 {
            self.since = now;
        }
    }
}

/// Lines that left unread: the last so many that were pushed, without those that a demand or a newer push of the line took out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvictionBuffer {
    /// Line and sectors of the last pushes; no sectors: taken out.
    pushes: VecDeque<(u64, u32)>,
    size: usize,
}

impl EvictionBuffer {
    /// An empty buffer of `size` lines.
    pub fn new(size: usize) -> Self {
        Self { pushes: VecDeque::new(), size }
    }

    /// Unread sectors of a line leave. Returns the number of sectors that are now known to be unused.
    pub fn evict(&mut self, line: u64, sectors: u32) -> u64 {
        let older = self.take(line).unwrap_or(0);
        let mut unused = older.count_ones();
        if self.pushes.len() == self.size {
            unused += self.pushes.pop_front().map_or(0, |e| e.1.count_ones());
        }
        self.pushes.push_back((line, sectors));
        unused.into()
    }

    /// A load of sectors of a line. Returns the sectors that came too early, and the number of sectors now known to be unused.
    pub fn demand(&mut self, line: u64, sectors: u32) -> (u32, u64) {
        match self.pushes.iter().find(|e| e.0 == line && e.1 & sectors != 0) {
            None => (0, 0),
            Some(&(_, held)) => {
                self.take(line);
                (held & sectors, (held & !sectors).count_ones().into())
            }
        }
    }

    fn take(&mut self, line: u64) -> Option<u32> {
        self.pushes.iter_mut().find(|e| e.0 == line && e.1 != 0).map(|e| std::mem::take(&mut e.1))
    }

    /// Sectors held.
    pub fn sectors(&self) -> u64 {
        self.pushes.iter().map(|e| u64::from(e.1.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_hit_exactly() {
        let scores: Vec<u32> = (0..8).map(|d| distance_score(10 + d, 10)).collect();
        assert_eq!(scores, [3, 2, 2, 1, 1, 1, 0, 0]);
        // Confidence 3 anywhere in the window, 2 within 2 of the best, 1 only at it, 0 never.
        for deviation in 0..8 {
            assert_eq!(issues(3, 10 + deviation, 10, 4), deviation <= 5);
            assert_eq!(issues(2, 10 - deviation, 10, 4), deviation <= 2);
            assert_eq!(issues(1, 10 + deviation, 10, 4), deviation == 0);
            assert!(!issues(0, 10 + deviation, 10, 4));
        }
    }

    #[test]
    fn proposals_deviate_more_and_more() {
        assert_eq!(proposals(3, 8, 5), [3, 4, 2, 5, 1, 6, 7, 8]);
        assert_eq!(proposals(1, 3, 5), [1, 2, 3]);
        assert_eq!(proposals(63, 63, 2), [63, 62, 61]);
    }

    #[test]
    fn windows_of_15() {
        let mut t = Tracker::new(4, 8, 15, 1, 0, false);
        for _ in 0..14 {
            assert_eq!(t.event(Class::Late), None);
        }
        assert_eq!((t.event(Class::Late), t.value, t.samples), (Some(Move::Farther), 5, 15));
        // A tie keeps.
        assert_eq!(
            [
                verdict(7, 1, 7, 0),
                verdict(5, 5, 5, 4),
                verdict(0, 8, 7, 4),
                verdict(7, 8, 0, 0),
                verdict(12, 0, 3, 4),
                verdict(11, 4, 0, 4)
            ]
            .map(|m| m == Move::Keep),
            [true, true, false, false, true, false]
        );
    }

    #[test]
    fn steps_double_in_one_direction() {
        let mut t = Tracker::new(1, 63, 1, 1, 0, true);
        let values: Vec<u32> = [Class::Late, Class::Late, Class::Late, Class::Early, Class::Late, Class::OnTime, Class::Late]
            .map(|c| {
                t.event(c);
                t.value
            })
            .to_vec();
        assert_eq!(values, [2, 4, 8, 7, 8, 8, 9]);
    }

    #[test]
    fn three_zeros_suppress_for_128_cycles() {
        let mut z = ZeroCounter::default();
        z.fill(true, 10, 128);
        z.fill(true, 20, 128);
        assert!(!z.suppressed(21, 128));
        z.fill(true, 30, 128);
        assert!(z.suppressed(30, 128) && z.suppressed(157, 128) && !z.suppressed(158, 128));
        assert_eq!(z.count, 0);
    }

    #[test]
    fn the_65th_eviction_overwrites() {
        let mut b = EvictionBuffer::new(64);
        for line in 0..64 {
            assert_eq!(b.evict(line, 1), 0);
        }
        assert_eq!((b.sectors(), b.clone().demand(0, 3)), (64, (1, 0)));
        assert_eq!((b.evict(64, 15), b.sectors(), b.demand(0, 1)), (1, 67, (0, 0)));
        assert_eq!((b.demand(64, 1), b.sectors(), b.demand(64, 2)), ((1, 3), 63, (0, 0)));
        assert_eq!((b.evict(7, 2), b.sectors()), (2, 62), "the older place of the line, and the oldest line");
    }
}
