//! One SM's L1: set associative, true LRU, with or without sectors.
//!
//! Every operation takes constant time, whatever the associativity: a line is looked for among the ways of its set or, when these are
//! many, in a hash table, and the ways of a set are linked in the order of their last use.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};

use super::index::{IndexHash, mix};
use crate::ParameterError;

/// Size and behaviour of an [`L1`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct L1Parameters {
    /// Lines in all, 1..=1048576.
    pub lines: usize,
    /// Lines of a set, a divisor of `lines`; equal to `lines` for a fully associative cache.
    pub ways: usize,
    /// Sectors of a line, each filled apart, 1..=32; 1 for a cache without sectors.
    pub sectors: u32,
    /// How the set is chosen.
    pub index: IndexHash,
    /// What a store does.
    pub store: StorePolicy,
}

impl Default for L1Parameters {
    /// 64 KiB of 128-byte lines, 4 ways, no sectors, mixed index, stores invalidate.
    fn default() -> Self {
        Self { lines: 512, ways: 4, sectors: 1, index: IndexHash::Mixed, store: StorePolicy::Invalidate }
    }
}

/// What a store does to a line that is present. Stores always write through and never allocate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StorePolicy {
    /// The line is dropped, so that no SM can be served data older than the store.
    #[default]
    Invalidate,
    /// The line stays, with the new data, and becomes the most recently used.
    Update,
}

/// What a load finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// The line and all sectors asked for are present.
    Hit,
    /// The line is present, but these of the sectors asked for are missing.
    SectorMiss(u32),
    /// The line is absent.
    Miss,
}

/// A line that had to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Evicted {
    /// Its line address.
    pub line: u64,
    /// Its sectors that were present.
    pub sectors: u32,
}

/// Number of a line frame. `NONE` ends a list.
type Frame = u32;
const NONE: Frame = Frame::MAX;

/// Most ways of a set that are compared one after the other; with more, a hash table is faster.
const COMPARED: usize = 16;

#[derive(Debug, Clone, Copy)]
struct Way {
    /// Sectors present; 0 marks an empty frame.
    sectors: u32,
    /// Neighbours in the use order of the set.
    newer: Frame,
    older: Frame,
}

/// Ends of a set's use order. Empty frames are kept at the old end.
#[derive(Debug, Clone, Copy)]
struct Set {
    newest: Frame,
    oldest: Frame,
}

/// An L1 cache: tags and sector masks only, no data.
#[derive(Debug, Clone)]
pub struct L1 {
    parameters: L1Parameters,
    /// By frame: the line, if there is one.
    lines: Vec<u64>,
    /// By frame.
    ways: Vec<Way>,
    sets: Vec<Set>,
    /// Frames of the lines present, with more than [`COMPARED`] ways.
    frames: HashMap<u64, Frame, BuildHasherDefault<LineHasher>>,
    valid: usize,
}

impl L1 {
    /// An empty cache.
    ///
    /// # Errors
    /// When a parameter is outside its range.
    pub fn new(parameters: L1Parameters) -> Result<Self, ParameterError> {
        let L1Parameters { lines, ways, sectors, .. } = parameters;
        ParameterError::check("lines", lines as u64, 1, 1 << 20)?;
        ParameterError::check("ways", ways as u64, 1, lines as u64)?;
        ParameterError::check("sectors", sectors.into(), 1, 32)?;
        if lines % ways != 0 {
            return Err(ParameterError::new("ways", ways, format!("a divisor of lines = {lines}")));
        }
        let (lines, ways, sets) = (Vec::new(), Vec::new(), Vec::new());
        let mut cache = Self { parameters, lines, ways, sets, frames: HashMap::default(), valid: 0 };
        cache.flush_all();
        Ok(cache)
    }

    /// The parameters the cache was made with.
    pub fn parameters(&self) -> &L1Parameters {
        &self.parameters
    }

    /// A load of `sectors` (lowest address in bit 0) of `line`. The line, when present, becomes the most recently used,
    /// also on a sector miss. Without sectors pass 1.
    pub fn load(&mut self, line: u64, sectors: u32) -> Lookup {
        let Some(frame) = self.find(line) else {
            return Lookup::Miss;
        };
        self.touch(frame);
        match self.clip(sectors) & !self.ways[frame as usize].sectors {
            0 => Lookup::Hit,
            missing => Lookup::SectorMiss(missing),
        }
    }

    /// `sectors` of `line` arrive. The line becomes the most recently used; when its set is full the least recently used
    /// line leaves and is returned. Without sectors pass 1; no sector at all changes nothing.
    pub fn fill(&mut self, line: u64, sectors: u32) -> Option<Evicted> {
        let sectors = self.clip(sectors);
        if sectors == 0 {
            return None;
        }
        if let Some(frame) = self.find(line) {
            self.ways[frame as usize].sectors |= sectors;
            self.touch(frame);
            return None;
        }
        let frame = self.sets[self.set_of(line)].oldest;
        let place = (&mut self.lines[frame as usize], &mut self.ways[frame as usize].sectors);
        let old = Evicted { line: std::mem::replace(place.0, line), sectors: std::mem::replace(place.1, sectors) };
        let evicted = (old.sectors != 0).then_some(old);
        self.valid += usize::from(evicted.is_none());
        if self.hashed() {
            if let Some(evicted) = evicted {
                self.frames.remove(&evicted.line);
            }
            self.frames.insert(line, frame);
        }
        self.touch(frame);
        evicted
    }

    /// A store to `line`. Returns whether the line was present. The store itself goes to the L2 in any case.
    pub fn store(&mut self, line: u64) -> bool {
        match self.parameters.store {
            StorePolicy::Invalidate => self.invalidate(line),
            StorePolicy::Update => match self.find(line) {
                Some(frame) => {
                    self.touch(frame);
                    true
                }
                None => false,
            },
        }
    }

    /// Drops `line`. Returns whether it was present.
    pub fn invalidate(&mut self, line: u64) -> bool {
        let Some(frame) = self.find(line) else {
            return false;
        };
        if self.hashed() {
            self.frames.remove(&line);
        }
        self.valid -= 1;
        let set = frame as usize / self.parameters.ways;
        self.ways[frame as usize].sectors = 0;
        self.unlink(set, frame);
        self.link_oldest(set, frame);
        true
    }

    /// Drops every line.
    pub fn flush_all(&mut self) {
        let L1Parameters { lines, ways, .. } = self.parameters;
        (self.valid, self.lines) = (0, vec![0; lines]);
        self.frames.clear();
        self.ways.clear();
        // The lowest frame of a set is the oldest: it is filled first.
        self.ways.extend((0..lines).map(|frame| Way {
            sectors: 0,
            newer: if frame % ways == ways - 1 { NONE } else { frame as Frame + 1 },
            older: if frame % ways == 0 { NONE } else { frame as Frame - 1 },
        }));
        self.sets.clear();
        self.sets.extend((0..lines / ways).map(|set| Set { newest: (set * ways + ways - 1) as Frame, oldest: (set * ways) as Frame }));
    }

    /// The line is present, at least one sector of it. Changes nothing: this is what a probe of another SM sees.
    pub fn contains(&self, line: u64) -> bool {
        self.find(line).is_some()
    }

    /// The sectors of `line` that are present.
    pub fn sectors_of(&self, line: u64) -> u32 {
        self.find(line).map_or(0, |frame| self.ways[frame as usize].sectors)
    }

    /// Line addresses of all valid lines, in the order of their frames (set by set).
    pub fn valid_tags(&self) -> impl Iterator<Item = u64> + '_ {
        self.lines.iter().zip(&self.ways).filter(|(_, way)| way.sectors != 0).map(|(line, _)| *line)
    }

    /// Number of valid lines.
    pub fn len(&self) -> usize {
        self.valid
    }

    /// No line is valid.
    pub fn is_empty(&self) -> bool {
        self.valid == 0
    }

    fn set_of(&self, line: u64) -> usize {
        self.parameters.index.set_of(line, self.sets.len())
    }

    /// Lines are found by the hash table.
    fn hashed(&self) -> bool {
        self.parameters.ways > COMPARED
    }

    /// The frame that holds `line`.
    fn find(&self, line: u64) -> Option<Frame> {
        if self.hashed() {
            return self.frames.get(&line).copied();
        }
        let ways = self.parameters.ways;
        let first = self.set_of(line) * ways;
        let mut set = first..first + ways;
        set.find(|&frame| self.lines[frame] == line && self.ways[frame].sectors != 0).map(|frame| frame as Frame)
    }

    /// Only the sectors that exist; without sectors anything means the line.
    fn clip(&self, sectors: u32) -> u32 {
        match self.parameters.sectors {
            1 => u32::from(sectors != 0),
            count => sectors & (u32::MAX >> (32 - count)),
        }
    }

    /// Makes `frame`, which holds a line, the most recently used of its set.
    fn touch(&mut self, frame: Frame) {
        let set = frame as usize / self.parameters.ways;
        if self.sets[set].newest == frame {
            return;
        }
        self.unlink(set, frame);
        let newest = self.sets[set].newest;
        (self.ways[frame as usize].newer, self.ways[frame as usize].older) = (NONE, newest);
        match newest {
            NONE => self.sets[set].oldest = frame,
            newest => self.ways[newest as usize].newer = frame,
        }
        self.sets[set].newest = frame;
    }

    fn link_oldest(&mut self, set: usize, frame: Frame) {
        let oldest = self.sets[set].oldest;
        (self.ways[frame as usize].newer, self.ways[frame as usize].older) = (oldest, NONE);
        match oldest {
            NONE => self.sets[set].newest = frame,
            oldest => self.ways[oldest as usize].older = frame,
        }
        self.sets[set].oldest = frame;
    }

    fn unlink(&mut self, set: usize, frame: Frame) {
        let Way { newer, older, .. } = self.ways[frame as usize];
        match newer {
            NONE => self.sets[set].newest = older,
            newer => self.ways[newer as usize].older = older,
        }
        match older {
            NONE => self.sets[set].oldest = newer,
            older => self.ways[older as usize].newer = newer,
        }
    }
}

/// Hashes line addresses: the same in every run, and cheaper than the standard hasher.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineHasher(u64);

impl Hasher for LineHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value);
    }
}
