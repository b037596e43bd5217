//! DRAM: a fixed latency and a finite bandwidth.

use super::timeline::Timeline;
use std::collections::VecDeque;

/// Lines from memory, first come first served.
#[derive(Debug)]
pub struct Dram {
    latency: u64,
    line_bytes: u64,
    bytes_per_cycle: u64,
    /// Bytes that may be moved now; at most one cycle's worth is saved up, or one line if that is more.
    credit: u64,
    waiting: VecDeque<u64>,
    arriving: Timeline<u64>,
    last: Option<u64>,
    /// Lines fetched.
    pub fetched: u64,
}

impl Dram {
    pub fn new(latency: u32, line_bytes: u32, bytes_per_cycle: u32) -> Self {
        Self {
            latency: latency.into(),
            line_bytes: line_bytes.into(),
            bytes_per_cycle: bytes_per_cycle.into(),
            credit: 0,
            waiting: VecDeque::new(),
            arriving: Timeline::default(),
            last: None,
            fetched: 0,
        }
    }

    /// Asks for a line.
    pub fn fetch(&mut self, line: u64) {
        self.waiting.push_back(line);
        self.fetched += 1;
    }

    /// A line is written back: it takes bandwidth only.
    pub fn write_back(&mut self) {
        self.waiting.push_back(u64::MAX);
    }

    /// One cycle; the lines that arrive go to `due`. Cycles may be skipped while nothing waits.
    pub fn step(&mut self, now: u64, due: &mut Vec<u64>) {
        let cycles = self.last.map_or(1, |last| now - last);
        self.last = Some(now);
        self.credit = (self.credit + cycles * self.bytes_per_cycle).min(self.bytes_per_cycle.max(self.line_bytes));
        while self.credit >= self.line_bytes
            && let Some(line) = self.waiting.pop_front()
        {
            self.credit -= self.line_bytes;
            if line != u64::MAX {
                self.arriving.push(now + self.latency, line);
            }
        }
        self.arriving.pop(now, due);
    }

    /// The next cycle in which something happens.
    pub fn next(&self, now: u64) -> Option<u64> {
        if self.waiting.is_empty() { self.arriving.next() } else { Some(now + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_and_latency() {
        // 64 bytes a cycle: a line every two cycles.
        let mut d = Dram::new(10, 128, 64);
        (0..3).for_each(|line| d.fetch(line));
        let mut arrived = Vec::new();
        for now in 0..40 {
            let mut due = Vec::new();
            d.step(now, &mut due);
            arrived.extend(due.into_iter().map(|line| (now, line)));
        }
        assert_eq!(arrived, [(11, 0), (13, 1), (15, 2)]);
        assert_eq!((d.fetched, d.next(40)), (3, None));
    }
}
