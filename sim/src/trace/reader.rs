//! Reading a trace event by event.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::error::{Fault, TraceError};
use super::event::{Dim3, Event, Kernel};
use super::header::{Header, triple, unexpected, value_of};
use super::input::Lines;
use super::instruction::{Grammar, decimal};
use super::list::{self, Entry};
use crate::ParameterError;

/// How to read a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceOptions {
    /// Bits of an address, 16..=64. An access beyond is an error.
    pub address_bits: u32,
    /// Accept a trace with fewer thread blocks than its grid. Otherwise it is an error: a file cut off between two thread
    /// blocks shows in no other way.
    pub partial: bool,
}

impl Default for TraceOptions {
    /// 48 address bits, whole grids only.
    fn default() -> Self {
        Self { address_bits: 48, partial: false }
    }
}

impl TraceOptions {
    /// # Errors
    /// When `address_bits` is not in 16..=64.
    pub fn check(&self) -> Result<(), ParameterError> {
        ParameterError::check("address_bits", self.address_bits.into(), 16, 64)
    }
}

/// The events of an Accel-Sim trace, read as they are asked for. After an error, and after the end, it gives `None`.
pub struct TraceReader {
    options: TraceOptions,
    waiting: VecDeque<Entry>,
    current: Option<KernelReader>,
}

impl TraceReader {
    /// Opens a trace file, a list of trace files, or a folder with a `kernelslist.g`.
    ///
    /// What a file is, and how it is compressed, is told by its content, not by its name.
    ///
    /// # Errors
    /// When the file cannot be read, is neither a trace nor a list of traces, or names a trace file that is missing;
    /// also when an option is outside its range.
    pub fn open(path: &Path, options: TraceOptions) -> Result<Self, TraceError> {
        options.check()?;
        let mut path = path.to_path_buf();
        if path.is_dir() {
            path.push("kernelslist.g");
        }
        let mut lines = open(&path)?;
        if is_trace(&mut lines)? {
            return Self::new(lines, options);
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let entries = list::read(&mut lines, folder)?;
        if !entries.iter().any(|entry| matches!(entry, Entry::Trace(_))) {
            return Err(TraceError::NoTrace { file: lines.file().to_owned() });
        }
        Ok(Self { options, waiting: entries.into(), current: None })
    }

    /// Reads a single trace from `input`, called `name` in messages.
    ///
    /// # Errors
    /// When reading fails, the head of the trace is broken or an option is outside its range.
    pub fn from_reader(input: impl Read + Send + 'static, name: &str, options: TraceOptions) -> Result<Self, TraceError> {
        options.check()?;
        let mut lines = Lines::new(Box::new(input), name.to_owned())?;
        if !is_trace(&mut lines)? {
            return Err(TraceError::NoTrace { file: lines.file().to_owned() });
        }
        Self::new(lines, options)
    }

    fn new(lines: Lines, options: TraceOptions) -> Result<Self, TraceError> {
        let current = Some(KernelReader::new(lines, &options)?);
        Ok(Self { options, waiting: VecDeque::new(), current })
    }

    fn step(&mut self) -> Result<Option<Event>, TraceError> {
        loop {
            if let Some(kernel) = &mut self.current {
                if let Some(event) = kernel.step()? {
                    return Ok(Some(event));
                }
                self.current = None;
            }
            match self.waiting.pop_front() {
                None => return Ok(None),
                Some(Entry::Memcpy { address, bytes }) => {
                    return Ok(Some(Event::Memcpy { address, bytes }));
                }
                Some(Entry::Trace(path)) => {
                    self.current = Some(KernelReader::new(open(&path)?, &self.options)?);
                }
            }
        }
    }
}

impl Iterator for TraceReader {
    type Item = Result<Event, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let event = self.step();
        if event.is_err() {
            self.current = None;
            self.waiting.clear();
        }
        event.transpose()
    }
}

fn open(path: &Path) -> Result<Lines, TraceError> {
    let file = path.display().to_string();
    match File::open(path) {
        Ok(input) => Lines::new(Box::new(input), file),
        Err(source) => Err(TraceError::Io { file, source }),
    }
}

/// A trace starts with a `-key` line, or at least with a comment.
fn is_trace(lines: &mut Lines) -> Result<bool, TraceError> {
    Ok(matches!(lines.first_byte()?, Some(b'-' | b'#')))
}

/// Where in the grammar the reader stands.
#[derive(Clone, Copy)]
enum Place {
    /// Nothing given out yet.
    Head { block_begun: bool },
    /// Between thread blocks.
    Outside,
    /// Behind `#BEGIN_TB`.
    BlockBegun,
    /// In a thread block, between warps.
    Block,
    /// Behind `warp = w`.
    WarpBegun,
    /// Among the instructions of a warp.
    Warp,
    /// Behind the last event.
    End,
}

/// One trace file.
struct KernelReader {
    lines: Lines,
    kernel: Arc<Kernel>,
    line_info: bool,
    options: TraceOptions,
    place: Place,
    /// Thread blocks begun.
    blocks: u64,
    block: Block,
}

/// The thread block being read.
struct Block {
    coordinates: Dim3,
    /// Warps seen, warp 0 in bit 0; a thread block has at most 32.
    seen: u32,
    /// Instructions read.
    instructions: u64,
    /// The warp being read, and how many of its instructions are still to come.
    warp: u32,
    left: u64,
    /// Its instructions since its last memory access.
    since_access: u32,
}

/// Where a line leads to, and the event it gives.
type Step = Result<(Place, Option<Event>), Fault>;

impl KernelReader {
    fn new(mut lines: Lines, options: &TraceOptions) -> Result<Self, TraceError> {
        let Header { kernel, line_info, block_begun } = Header::read(&mut lines)?;
        Ok(Self {
            lines,
            kernel: Arc::new(kernel),
            line_info,
            options: options.clone(),
            place: Place::Head { block_begun },
            blocks: 0,
            block: Block::new(Dim3 { x: 0, y: 0, z: 0 }),
        })
    }

    /// The next event, `None` at the end of the file.
    fn step(&mut self) -> Result<Option<Event>, TraceError> {
        if let Place::Head { block_begun } = self.place {
            self.place = if block_begun { Place::BlockBegun } else { Place::Outside };
            return Ok(Some(Event::KernelBegin(self.kernel.clone())));
        }
        loop {
            if matches!(self.place, Place::End) {
                return Ok(None);
            }
            let line = self.lines.next()?;
            let step = match self.place {
                Place::Warp => {
                    let grammar = Grammar {
                        kernel: &self.kernel,
                        line_info: self.line_info,
                        address_bits: self.options.address_bits,
                        block: self.block.coordinates,
                        warp: self.block.warp,
                    };
                    self.block.instruction(line, &grammar)
                }
                Place::WarpBegun => self.block.instruction_count(line),
                Place::Block => self.block.between_warps(line, &self.kernel),
                Place::BlockBegun => Block::begin(line, &self.kernel).map(|begun| match begun {
                    None => (Place::BlockBegun, None),
                    Some(block) => {
                        let (index, coordinates) = (self.blocks, block.coordinates);
                        self.blocks += 1;
                        self.block = block;
                        (Place::Block, Some(Event::BlockBegin { index, coordinates }))
                    }
                }),
                Place::Head { .. } | Place::Outside | Place::End => between_blocks(line, &self.kernel, self.blocks, self.options.partial),
            };
            let (place, event) = step.map_err(|fault| fault.at(self.lines.file(), self.lines.line()))?;
            self.place = place;
            if event.is_some() {
                return Ok(event);
            }
        }
    }
}

/// What stands between two thread blocks, or ends the trace.
fn between_blocks(line: Option<&[u8]>, kernel: &Kernel, blocks: u64, partial: bool) -> Step {
    let (grid, all) = (kernel.grid, kernel.grid.count());
    let Some(line) = line else {
        if blocks == all || partial && blocks > 0 {
            return Ok((Place::End, Some(Event::KernelEnd)));
        }
        let found = format!("the end of the file after {blocks} thread blocks");
        return Err(Fault::new(found, format!("{all} (grid {grid})")));
    };
    match line {
        b"#BEGIN_TB" if blocks == all => Err(Fault::new("one thread block more", format!("{all} (grid {grid})"))),
        b"#BEGIN_TB" => Ok((Place::BlockBegun, None)),
        b"#END_TB" => Err(unexpected(Some(line), "`#BEGIN_TB`")),
        [] | [b'#', ..] => Ok((Place::Outside, None)),
        _ => Err(unexpected(Some(line), "`#BEGIN_TB`")),
    }
}

impl Block {
    fn new(coordinates: Dim3) -> Self {
        Self { coordinates, seen: 0, instructions: 0, warp: 0, left: 0, since_access: 0 }
    }

    /// `thread block = x,y,z`, or a blank line before it.
    fn begin(line: Option<&[u8]>, kernel: &Kernel) -> Result<Option<Self>, Fault> {
        const EXPECTED: &str = "`thread block = x,y,z`";
        if line == Some(b"") {
            return Ok(None);
        }
        let coordinates = line.and_then(|line| value_of(line, b"thread block")).and_then(triple);
        let coordinates = coordinates.ok_or_else(|| unexpected(line, EXPECTED))?;
        let (Dim3 { x, y, z }, grid) = (coordinates, kernel.grid);
        if x >= grid.x || y >= grid.y || z >= grid.z {
            let found = format!("the thread block {coordinates}");
            return Err(Fault::new(found, format!("one inside the grid {grid}")));
        }
        Ok(Some(Self::new(coordinates)))
    }

    /// `warp = w` or `#END_TB`.
    fn between_warps(&mut self, line: Option<&[u8]>, kernel: &Kernel) -> Step {
        const EXPECTED: &str = "`warp = w` or `#END_TB`";
        match line {
            Some([]) => return Ok((Place::Block, None)),
            Some(b"#END_TB") => {
                let (warps, instructions) = (self.seen.count_ones(), self.instructions);
                return Ok((Place::Outside, Some(Event::BlockEnd { warps, instructions })));
            }
            _ => {}
        }
        let warp = line.and_then(|line| value_of(line, b"warp")).and_then(decimal);
        let warp = warp.ok_or_else(|| unexpected(line, EXPECTED))?;
        let warps = kernel.warps_per_block();
        let Some(warp) = u32::try_from(warp).ok().filter(|&warp| warp < warps) else {
            let expected = format!("0..={} (threads of a block: {})", warps - 1, kernel.block.count());
            return Err(Fault::new(format!("the warp {warp}"), expected));
        };
        if self.seen >> warp & 1 == 1 {
            let found = format!("the warp {warp} for the second time");
            return Err(Fault::new(found, "each warp of a thread block once"));
        }
        self.seen |= 1 << warp;
        (self.warp, self.since_access) = (warp, 0);
        Ok((Place::WarpBegun, None))
    }

    /// `insts = n`.
    fn instruction_count(&mut self, line: Option<&[u8]>) -> Step {
        if line == Some(b"") {
            return Ok((Place::WarpBegun, None));
        }
        let count = line.and_then(|line| value_of(line, b"insts")).and_then(decimal);
        self.left = count.ok_or_else(|| unexpected(line, "`insts = n`"))?;
        Ok((if self.left == 0 { Place::Block } else { Place::Warp }, None))
    }

    /// An instruction line.
    fn instruction(&mut self, line: Option<&[u8]>, grammar: &Grammar<'_>) -> Step {
        let structural = |line: &[u8]| line.is_empty() || line[0] == b'#' || line.starts_with(b"warp");
        let Some(line) = line.filter(|line| !structural(line)) else {
            let expected = format!("{} more instructions of warp {}", self.left, self.warp);
            let found = match line {
                Some([]) => "a blank line".to_owned(),
                other => unexpected(other, "").found,
            };
            return Err(Fault::new(found, expected));
        };
        let access = grammar.parse(line)?;
        self.left -= 1;
        self.instructions += 1;
        let place = if self.left == 0 { Place::Block } else { Place::Warp };
        match access {
            None => {
                self.since_access = self.since_access.saturating_add(1);
                Ok((place, None))
            }
            Some(mut access) => {
                access.instructions_before = std::mem::take(&mut self.since_access);
                Ok((place, Some(Event::Access(access))))
            }
        }
    }
}
