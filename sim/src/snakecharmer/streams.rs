//! Streams of demands: what the warps of one SM load and store, and which sectors hold nothing but zeros.
//!
//! ```
//! use l1forge_sim::snakecharmer::streams::{Shape, Stream};
//!
//! let mut stream = Stream::new(Shape::Intra, 8, 100, 1);
//! let first = stream.next(3).unwrap();
//! let second = stream.next(3).unwrap();
//! let third = stream.next(3).unwrap();
//! assert_eq!(first.line.wrapping_sub(second.line), second.line.wrapping_sub(third.line));
//! ```

use crate::cache::mix;
use crate::trace::{AccessKind, DealParameters, Dealer, Event, TraceError};
use std::collections::VecDeque;

/// What a demand does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Reads.
    Load,
    /// Writes; atomics and fences to a line are the same to the prefetcher.
    Store,
}

/// One demand of a warp: some sectors of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// Hash of the program counter.
    pub pc: u64,
    /// Line address.
    pub line: u64,
    /// Sectors of the line, sector 0 in bit 0; never 0.
    pub sectors: u32,
    /// Load or store.
    pub kind: Kind,
    /// Cycles the warp computes before it.
    pub gap: u32,
}

/// The built-in streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// Every warp walks an array of its own with a constant stride: one load PC in a loop.
    Intra,
    /// A grid-stride loop: neighbouring warps load neighbouring lines, all warps go on by the number of warps.
    Inter,
    /// As [`Shape::Inter`], but in every step the lines are given out from another warp on, as a swizzled mapping does: the lines of one warp
    /// are at no constant distance from each other, those of neighbours are. A barrier in every step; the work between them varies.
    Swizzled,
    /// A five-point stencil in a loop: each warp has a row, three lines per step, of three PCs, and one store.
    Stencil,
    /// A walk over records linked by constant offsets: four PCs, each at another offset from the last, over and over.
    Chain,
    /// A walk over a linked list in an arena: half of the nodes follow their predecessor at the same distance, the others are anywhere.
    Pointer,
    /// Loads of places that depend on nothing.
    Random,
    /// Every warp walks its part of feature maps, all warps the same map at the same time; maps are all zero or not, as after a ReLU.
    Zeros,
    /// As [`Shape::Intra`], on arrays with stretches of zeros, in which each warp is at another time.
    Sparse,
    /// Half of the loads strided, half at random.
    Mixed,
}

impl Shape {
    /// All, in the order of the tables.
    pub const ALL: [Self; 10] = [
        Self::Intra,
        Self::Inter,
        Self::Swizzled,
        Self::Stencil,
        Self::Chain,
        Self::Pointer,
        Self::Random,
        Self::Zeros,
        Self::Sparse,
        Self::Mixed,
    ];

    /// Name in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Intra => "intra",
            Self::Inter => "inter",
            Self::Swizzled => "swizzled",
            Self::Stencil => "stencil",
            Self::Chain => "chain",
            Self::Pointer => "pointer",
            Self::Random => "random",
            Self::Zeros => "zeros",
            Self::Sparse => "sparse",
            Self::Mixed => "mixed",
        }
    }
}

/// Lines of a stretch that is zero or not as a whole, see [`Shape::Sparse`]; those of a map that one warp loads, see [`Shape::Zeros`].
const STRETCH: u64 = 96;

/// Lines from one warp's part of a map to the next, and from map to map, see [`Shape::Zeros`].
const PART: u64 = 1 << 10;
const MAP: u64 = 1 << 17;

enum Source {
    Shape(Shape),
    /// What each warp still has to do.
    Listed(Vec<VecDeque<Step>>),
}

/// The demands of all warps of an SM.
pub struct Stream {
    source: Source,
    warps: usize,
    /// Demands each warp makes.
    length: u64,
    made: Vec<u64>,
    /// Where each warp's walk is, see [`Shape::Pointer`].
    node: Vec<u64>,
    seed: u64,
    gap: u32,
    /// Random zero sectors per 256, for shapes without stretches of zeros.
    zeros: u64,
}

impl Stream {
    /// A stream of `warps` warps with `length` demands each.
    pub fn new(shape: Shape, warps: usize, length: u64, seed: u64) -> Self {
        Self { warps, length, made: vec![0; warps], seed, gap: GAP, ..Self::of(Source::Shape(shape), warps) }
    }

    fn of(source: Source, warps: usize) -> Self {
        Self { source, warps, length: u64::MAX, made: vec![0; warps], node: vec![0; warps], seed: 0, gap: 0, zeros: 0 }
    }

    /// Each warp makes the demands of its list.
    pub fn listed(lists: Vec<VecDeque<Step>>) -> Self {
        let warps = lists.len();
        Self::of(Source::Listed(lists), warps)
    }

    /// The demands that one SM of several makes in a trace or workload; thread blocks that are done make place for the next. At most
    /// `limit` demands.
    ///
    /// # Errors
    /// When the trace is broken.
    pub fn traced<I: Iterator<Item = Result<Event, TraceError>>>(
        events: I,
        parameters: DealParameters,
        warps: usize,
        limit: usize,
    ) -> Result<Self, TraceError> {
        let sms = parameters.sms;
        let mut dealer = Dealer::new(events, parameters)?;
        let mut lists = vec![VecDeque::new(); warps];
        let mut taken = 0;
        while let Some(_kernel) = dealer.next_kernel()? {
            while !dealer.kernel_done() && taken < limit {
                for sm in 0..sms {
                    let Some((slot, access)) = dealer.take_any(sm)? else { continue };
                    if sm != 0 {
                        continue;
                    }
                    let kind = if access.kind == AccessKind::Load { Kind::Load } else { Kind::Store };
                    for (n, touch) in access.lines.iter().enumerate() {
                        let gap = if n == 0 { access.instructions_before } else { 0 };
                        let step = Step { pc: access.pc >> 4, line: touch.line, sectors: touch.sectors, kind, gap };
                        lists[slot as usize % warps].push_back(step);
                        taken += 1;
                    }
                }
            }
            if taken >= limit {
                break;
            }
        }
        Ok(Self::listed(lists))
    }

    /// The same stream with so many cycles of computation before each demand of a built-in shape.
    #[must_use]
    pub fn gap(mut self, cycles: u32) -> Self {
        self.gap = cycles;
        self
    }

    /// The same stream where `zeros` of 256 sectors, chosen at random, are all zero.
    #[must_use]
    pub fn zeros(mut self, zeros: u64) -> Self {
        self.zeros = zeros;
        self
    }

    /// Warps.
    pub fn warps(&self) -> usize {
        self.warps
    }

    /// No warp begins a step before all have finished the one before.
    pub fn barrier(&self) -> bool {
        matches!(self.source, Source::Shape(Shape::Swizzled))
    }

    /// Demands made so far, by all warps.
    pub fn made(&self) -> u64 {
        self.made.iter().sum()
    }

    /// The next demand of a warp; `None` when it has finished.
    pub fn next(&mut self, warp: usize) -> Option<Step> {
        let n = self.made[warp];
        let step = match &mut self.source {
            Source::Listed(lists) => lists[warp].pop_front()?,
            Source::Shape(_) if n >= self.length => return None,
            Source::Shape(Shape::Pointer) => self.follow(warp, n),
            Source::Shape(shape) => place(*shape, self.warps as u64, warp as u64, n, self.seed, self.gap),
        };
        self.made[warp] += 1;
        Some(step)
    }

    /// The next node of a warp's list.
    fn follow(&mut self, warp: usize, n: u64) -> Step {
        let random = mix(self.seed ^ (warp as u64) << 40 ^ n ^ 0x9013);
        let node = &mut self.node[warp];
        *node = if n > 0 && random.is_multiple_of(2) { *node + 3 } else { (random >> 8) % 1_000_000 };
        Step { pc: 0x51, line: base(self.seed) + *node, sectors: 15, kind: Kind::Load, gap: self.gap }
    }

    /// Bits of the sectors of a line that are all zero, sector 0 in bit 0.
    pub fn zero_sectors(&self, line: u64) -> u32 {
        let stretch = match self.source {
            Source::Shape(Shape::Zeros) => line.wrapping_sub(base(self.seed)) / MAP,
            Source::Shape(Shape::Sparse) => line / STRETCH,
            _ => return (0..4).fold(0, |mask, s| mask | u32::from(mix(self.seed ^ (line * 4 + s) ^ 0x5ec7) % 256 < self.zeros) << s),
        };
        // Stretches of zeros, with some data among them, and the other way round.
        let zero = mix(self.seed ^ stretch ^ 0x2e05).is_multiple_of(2);
        let odd = mix(self.seed ^ line ^ 0x0dd).is_multiple_of(16);
        if zero != odd { 15 } else { 0 }
    }
}

/// Cycles between the loads of a loop: about 20 instructions, each dependent on the last, at the 4 cycles from one to the next of an A100.
pub const GAP: u32 = 80;

fn base(seed: u64) -> u64 {
    0x10_0000 + (mix(seed) & 0xff) * 0x1000
}

/// Demand number `n` of a warp.
fn place(shape: Shape, warps: u64, warp: u64, n: u64, seed: u64, gap: u32) -> Step {
    let base = base(seed);
    // Distances between arrays that are no power of two, so that the sets of a cache are used evenly.
    let array = |a: u64| base + a * 100_003;
    let load = |pc: u64, line: u64| Step { pc, line, sectors: 15, kind: Kind::Load, gap };
    match shape {
        Shape::Intra => load(0x11, array(warp) + n * 3),
        Shape::Sparse => load(0x12, array(warp) + n),
        Shape::Zeros => load(0x13, base + n / STRETCH * MAP + warp * PART + n % STRETCH),
        Shape::Swizzled => Step {
            // From a half to one and a half of the usual work.
            gap: gap / 2 + (mix(seed ^ warp << 40 ^ n) % (u64::from(gap) + 1)) as u32,
            ..load(0x22, base + (n * warps + (warp + mix(seed ^ n)) % warps) * 2)
        },
        Shape::Inter => load(0x21, base + (n * warps + warp) * 2),
        Shape::Stencil => {
            let (row, column) = (warp, n / 4);
            let at = |dy: u64| base + (row + dy) * 2_003 + column;
            match n % 4 {
                0 => load(0x31, at(0)),
                1 => Step { gap: 2, ..load(0x32, at(1)) },
                2 => Step { gap: 2, ..load(0x33, at(2)) },
                _ => Step { kind: Kind::Store, ..load(0x34, array(40 + warp) + column) },
            }
        }
        Shape::Chain => {
            let (record, hop) = (n / 4, n % 4);
            load(0x41 + hop, array(warp) + record * 29 + [0, 5, 7, 18][hop as usize])
        }
        Shape::Random => load(0x52 + n % 3, base + mix(seed ^ warp << 40 ^ n) % 200_000),
        Shape::Pointer => unreachable!("it depends on the node before"),
        Shape::Mixed if n.is_multiple_of(2) => load(0x61, array(warp) + n * 2),
        Shape::Mixed => load(0x62, base + 5_000_000 + mix(seed ^ warp << 40 ^ n) % 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Workload, WorkloadParameters};

    #[test]
    fn streams_repeat_and_end() {
        for shape in Shape::ALL {
            let all = |seed| {
                let mut s = Stream::new(shape, 4, 40, seed);
                (0..4).flat_map(|w| std::iter::from_fn(|| s.next(w)).collect::<Vec<_>>()).collect::<Vec<_>>()
            };
            assert_eq!(all(1), all(1), "{}", shape.name());
            assert_eq!(all(1).len(), 160);
            assert_ne!(all(1), all(2));
        }
    }

    #[test]
    fn inter_warp_neighbours() {
        let mut s = Stream::new(Shape::Inter, 8, 4, 1);
        let lines: Vec<u64> = (0..8).map(|w| s.next(w).unwrap().line).collect();
        assert!(lines.windows(2).all(|w| w[1] == w[0] + 2));
        assert_eq!(s.next(0).unwrap().line, lines[7] + 2);
    }

    #[test]
    fn zeros_come_in_stretches() {
        let s = Stream::new(Shape::Sparse, 1, 1, 3);
        let lines: Vec<bool> = (0..20_000).map(|l| s.zero_sectors(l) == 15).collect();
        let zero = lines.iter().filter(|z| **z).count();
        let changes = lines.windows(2).filter(|w| w[0] != w[1]).count();
        assert!((6_000..14_000).contains(&zero), "{zero}");
        assert!(changes < 4_000, "{changes}");
        assert_eq!(Stream::new(Shape::Intra, 1, 1, 3).zero_sectors(77), 0);
    }

    #[test]
    fn workloads_become_streams() {
        let events = Workload::Stencil2d.events(WorkloadParameters { sms: 4, ..Default::default() }).unwrap();
        let mut s = Stream::traced(events, DealParameters { sms: 4, resident: 2, ..Default::default() }, 16, 1000).unwrap();
        let steps: Vec<Step> = (0..16).flat_map(|w| std::iter::from_fn(|| s.next(w)).collect::<Vec<_>>()).collect();
        assert!(steps.len() >= 1000 && steps.iter().any(|s| s.kind == Kind::Store) && steps.iter().all(|s| s.sectors != 0));
    }
}
