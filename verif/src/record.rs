//! Recordings of a lockstep run: the inputs and the right outputs of every cycle, streamed to a file.
//!
//! Another simulator can run the same cycles from it, see [`crate::icarus`].
//!
//! # Format
//!
//! Text lines up to and including `end`, then one frame per cycle. A frame is one Verilog vector, most significant byte first, so that
//! `$fread` can take it: the inputs in the order of the port list from the low end, then the outputs, each padded to whole bytes, then one
//! byte that is 1 where the outputs count and 0 in reset cycles.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::ports::{Dir, Interface, Port, PortSpec, Values};

const MAGIC: &str = "l1forge recording 1";

/// Bytes of a port in a frame.
fn frame_bytes(width: u32) -> usize {
    width.div_ceil(8) as usize
}

/// Bytes of a frame.
fn frame_size(interface: &Interface) -> usize {
    interface.input_ports().chain(interface.output_ports()).map(|port| frame_bytes(port.width())).sum::<usize>() + 1
}

/// Writes a recording.
pub struct Recorder {
    path: PathBuf,
    file: BufWriter<File>,
    interface: Arc<Interface>,
    frame: Vec<u8>,
    frames: u64,
}

impl Recorder {
    /// Starts a recording of a design with these ports; a file of that name is overwritten.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: impl Into<PathBuf>, interface: &Arc<Interface>) -> io::Result<Self> {
        let path = path.into();
        let mut file = BufWriter::with_capacity(1 << 18, File::create(&path)?);
        writeln!(file, "{MAGIC}")?;
        if let Some(clock) = interface.clock() {
            writeln!(file, "clock {}", interface.spec(clock).name)?;
        }
        for spec in interface.specs() {
            writeln!(file, "{} {} {} {}", spec.dir, spec.width, spec.elem, spec.name)?;
        }
        writeln!(file, "end")?;
        let frame = Vec::with_capacity(frame_size(interface));
        Ok(Self { path, file, interface: Arc::clone(interface), frame, frames: 0 })
    }

    /// Writes a cycle. With `compare`, the outputs count.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, inputs: &Values, outputs: &Values, compare: bool) -> io::Result<()> {
        self.frame.clear();
        for (values, port) in
            self.interface.input_ports().map(|port| (inputs, port)).chain(self.interface.output_ports().map(|port| (outputs, port)))
        {
            let mut left = frame_bytes(port.width());
            for word in values.words(port) {
                let bytes = word.to_le_bytes();
                let take = left.min(8);
                self.frame.extend_from_slice(&bytes[..take]);
                left -= take;
            }
        }
        self.frame.push(u8::from(compare));
        self.frame.reverse();
        self.frames += 1;
        self.file.write_all(&self.frame)
    }

    /// Writes buffered frames to the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// Completes the file and opens it as a recording.
    ///
    /// # Errors
    /// When the file cannot be written or read.
    pub fn finish(mut self) -> io::Result<Recording> {
        self.flush()?;
        Recording::open(&self.path)
    }

    /// Number of cycles so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }
}

/// A complete recording.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    interface: Arc<Interface>,
    header: u64,
    frames: u64,
}

impl Recording {
    /// Opens a recording.
    ///
    /// # Errors
    /// When the file cannot be read, is no recording, or was cut off.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let bad = |what: String| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()));
        let mut file = BufReader::new(File::open(&path)?);
        let mut line = String::new();
        let mut header = 0;
        let mut next = |line: &mut String| -> io::Result<()> {
            line.clear();
            // A line of a file that is something else may be endless.
            header += (&mut file).take(1 << 16).read_line(line)? as u64;
            Ok(())
        };
        next(&mut line)?;
        if line.trim_end() != MAGIC {
            return Err(bad("not a recording".into()));
        }
        let (mut clock, mut specs) = (None, Vec::new());
        loop {
            next(&mut line)?;
            let text = line.trim_end();
            if text == "end" {
                break;
            }
            if let Some(name) = text.strip_prefix("clock ") {
                clock = Some(name.to_owned());
                continue;
            }
            let spec = parse_port(text).ok_or_else(|| bad(format!("bad line `{text}`")))?;
            specs.push(spec);
        }
        let interface = Interface::new(specs, clock.as_deref()).map_err(|error| bad(error.to_string()))?;
        let size = frame_size(&interface) as u64;
        let bytes = path.metadata()?.len() - header;
        if bytes % size != 0 {
            return Err(bad("the last cycle is not complete".into()));
        }
        Ok(Self { frames: bytes / size, path, interface, header })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The ports.
    pub fn interface(&self) -> &Arc<Interface> {
        &self.interface
    }

    /// Number of cycles, reset included.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Where the frames begin, in bytes.
    pub(crate) fn header(&self) -> u64 {
        self.header
    }

    /// Bytes of a frame.
    pub(crate) fn frame_size(&self) -> usize {
        frame_size(&self.interface)
    }

    /// Place of each port in a frame: port, first bit.
    pub(crate) fn layout(&self) -> Vec<(Port, usize)> {
        let mut bit = 0;
        let ports = self.interface.input_ports().chain(self.interface.output_ports());
        ports
            .map(|port| {
                let place = (port, bit);
                bit += 8 * frame_bytes(port.width());
                place
            })
            .collect()
    }

    /// The cycles, one after the other.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn cycles(&self) -> io::Result<Cycles> {
        let mut file = BufReader::with_capacity(1 << 18, File::open(&self.path)?);
        file.seek_relative(self.header as i64)?;
        Ok(Cycles { file, layout: self.layout(), frame: vec![0; self.frame_size()], left: self.frames })
    }
}

/// Reads the cycles of a recording.
pub struct Cycles {
    file: BufReader<File>,
    layout: Vec<(Port, usize)>,
    frame: Vec<u8>,
    left: u64,
}

impl Cycles {
    /// Reads a cycle; `None` at the end, else whether the outputs count.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next(&mut self, inputs: &mut Values, outputs: &mut Values) -> io::Result<Option<bool>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.file.read_exact(&mut self.frame)?;
        self.frame.reverse();
        let mut words = Vec::new();
        for &(port, bit) in &self.layout {
            let bytes = &self.frame[bit / 8..bit / 8 + frame_bytes(port.width())];
            words.clear();
            for chunk in bytes.chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                words.push(u64::from_le_bytes(word));
            }
            match port.dir() {
                Dir::Input => inputs.set_words(port, &words),
                Dir::Output => outputs.set_words(port, &words),
            }
        }
        Ok(Some(self.frame[self.frame.len() - 1] != 0))
    }
}

fn parse_port(line: &str) -> Option<PortSpec> {
    let fields: Vec<&str> = line.splitn(4, ' ').collect();
    let [dir, width, elem, name] = fields[..] else {
        return None;
    };
    let dir = match dir {
        "input" => Dir::Input,
        "output" => Dir::Output,
        _ => return None,
    };
    Some(PortSpec { name: name.to_owned(), width: width.parse().ok()?, dir, elem: elem.parse().ok()? })
}
