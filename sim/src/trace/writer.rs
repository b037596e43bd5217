//! Writing traces (tracer version 5).

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

use super::event::{Event, Kernel, Space, WARP_SIZE, WarpAccess};
use super::{AccessKind, Compression, TraceError};

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The operating system refused.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// What it said.
        source: io::Error,
    },
    /// The events to write could not be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The format has no way to say this, or the events come in an impossible order.
    #[error("cannot write {what}: {why}")]
    Event {
        /// What was to be written.
        what: String,
        /// Why not.
        why: String,
    },
}

fn io_error(path: &Path, source: io::Error) -> WriteError {
    WriteError::Io { file: path.display().to_string(), source }
}

fn impossible(what: impl Into<String>, why: impl Into<String>) -> WriteError {
    WriteError::Event { what: what.into(), why: why.into() }
}

/// Writes one kernel as text to `out`.
///
/// Reading it back gives the same events, but for the tracer version, which is 5, and the compression. Instructions other
/// than accesses become placeholders; those behind the last access of a warp are written in the last warp of the block.
pub struct TraceWriter<W> {
    out: W,
    warps_per_block: u32,
    /// Line 1 of the current block was written.
    in_block: bool,
    /// Finished warps of the block: number, instructions, text.
    warps: Vec<(u32, u64, String)>,
    done: bool,
}

impl<W: Write> TraceWriter<W> {
    /// Writes the head of `kernel`.
    ///
    /// # Errors
    /// When `out` refuses or the name has a line break.
    pub fn new(mut out: W, kernel: &Kernel) -> Result<Self, WriteError> {
        // The reader cuts the blanks of ASCII off either end, and no others.
        let name = kernel.name.as_bytes();
        if name.contains(&b'\n') || name.trim_ascii() != name {
            return Err(impossible(format!("the kernel name {:?}", kernel.name), "it has a line break or outer blanks"));
        }
        let mut head = format!(
            "-kernel name = {}\n-kernel id = {}\n-grid dim = {}\n-block dim = {}\n-shmem = 0\n-nregs = 32\n\
             -binary version = 80\n-cuda stream id = 0\n",
            kernel.name, kernel.id, kernel.grid, kernel.block
        );
        for (key, base) in [("shmem", kernel.shared_base), ("local mem", kernel.local_base)] {
            if let Some(base) = base {
                let _ = writeln!(head, "-{key} base_addr = {base:#018x}");
            }
        }
        head.push_str(
            "-accelsim tracer version = 5\n-enable lineinfo = 0\n\n#traces format = [line_num] PC mask dest_num \
             [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] [mem_addresses] immediate\n\n",
        );
        out.write_all(head.as_bytes()).map_err(text_error)?;
        let warps_per_block = kernel.warps_per_block();
        Ok(Self { out, warps_per_block, in_block: false, warps: Vec::new(), done: false })
    }

    /// Writes an event of the kernel, from its first `BlockBegin` to its `KernelEnd`.
    ///
    /// # Errors
    /// When `out` refuses, the format cannot express the event, or it comes out of order.
    pub fn event(&mut self, event: &Event) -> Result<(), WriteError> {
        match event {
            Event::BlockBegin { coordinates, .. } if !self.in_block && !self.done => {
                self.in_block = true;
                let (x, y, z) = (coordinates.x, coordinates.y, coordinates.z);
                let text = format!("#BEGIN_TB\n\nthread block = {x},{y},{z}\n\n");
                self.out.write_all(text.as_bytes()).map_err(text_error)
            }
            Event::Access(access) if self.in_block => self.access(access),
            Event::BlockEnd { warps, instructions } if self.in_block => self.block_end(*warps, *instructions),
            Event::KernelEnd if !self.in_block && !self.done => {
                self.done = true;
                Ok(())
            }
            other => Err(impossible(format!("{other:?}"), "it comes out of order")),
        }
    }

    /// The writer's `out`, after the last event.
    ///
    /// # Errors
    /// When the kernel did not end.
    pub fn finish(self) -> Result<W, WriteError> {
        if self.done { Ok(self.out) } else { Err(impossible("the end of the trace", "the kernel did not end")) }
    }

    fn access(&mut self, access: &WarpAccess) -> Result<(), WriteError> {
        let number = access.warp;
        if number >= self.warps_per_block {
            let why = format!("a thread block has {} warps", self.warps_per_block);
            return Err(impossible(format!("warp {number}"), why));
        }
        if self.warps.last().is_none_or(|(last, ..)| *last != number) {
            if self.warps.iter().any(|(other, ..)| *other == number) {
                return Err(impossible(format!("warp {number}"), "its accesses are not together"));
            }
            self.warps.push((number, 0, String::new()));
        }
        if let Some((_, count, text)) = self.warps.last_mut() {
            placeholders(text, access.instructions_before.into());
            instruction(text, access)?;
            *count += u64::from(access.instructions_before) + 1;
        }
        Ok(())
    }

    fn block_end(&mut self, warps: u32, instructions: u64) -> Result<(), WriteError> {
        let missing = u64::from(warps).checked_sub(self.warps.len() as u64);
        let Some(missing) = missing.filter(|_| warps <= self.warps_per_block) else {
            let why = format!("its accesses are of {} warps, of {}", self.warps.len(), self.warps_per_block);
            return Err(impossible(format!("a thread block of {warps} warps"), why));
        };
        for _ in 0..missing {
            let unused = (0..self.warps_per_block).find(|n| self.warps.iter().all(|(other, ..)| other != n));
            self.warps.extend(unused.map(|number| (number, 0, String::new())));
        }
        let written: u64 = self.warps.iter().map(|(_, count, _)| count).sum();
        match (self.warps.last_mut(), instructions.checked_sub(written)) {
            (_, Some(0)) => {}
            (Some((_, count, text)), Some(rest)) => {
                placeholders(text, rest);
                *count += rest;
            }
            _ => {
                let why = format!("its warps have {written}");
                return Err(impossible(format!("a thread block of {instructions} instructions"), why));
            }
        }
        for (number, count, text) in self.warps.drain(..) {
            let head = format!("warp = {number}\ninsts = {count}\n");
            for part in [head.as_str(), text.as_str(), "\n"] {
                self.out.write_all(part.as_bytes()).map_err(text_error)?;
            }
        }
        self.in_block = false;
        self.out.write_all(b"#END_TB\n\n").map_err(text_error)
    }
}

fn text_error(source: io::Error) -> WriteError {
    WriteError::Io { file: "trace".to_owned(), source }
}

/// Instructions of which nothing is known but that they do not access memory.
fn placeholders(text: &mut String, count: u64) {
    for _ in 0..count {
        text.push_str("0000 ffffffff 1 R1 MOV 0 0 0 \n");
    }
}

fn instruction(text: &mut String, access: &WarpAccess) -> Result<(), WriteError> {
    let describe = || {
        let (kind, space) = match (access.kind, access.space) {
            (AccessKind::Load, space) => ("load from", space),
            (AccessKind::Store, space) => ("store to", space),
            (AccessKind::Atomic, space) => ("atomic access to", space),
        };
        let space = format!("{space:?}").to_lowercase();
        format!("the {kind} {space} memory of {} bytes", access.width)
    };
    let (name, registers) = match (access.space, access.kind) {
        (Space::Global, AccessKind::Load) => ("LDG.E", ("1 R4", "1 R2")),
        (Space::Global, AccessKind::Store) => ("STG.E", ("0", "2 R2 R4")),
        (Space::Global, AccessKind::Atomic) => ("ATOMG.E.ADD", ("1 R4", "2 R2 R6")),
        (Space::Shared, AccessKind::Load) => ("LDS", ("1 R4", "1 R2")),
        (Space::Shared, AccessKind::Store) => ("STS", ("0", "2 R2 R4")),
        (Space::Shared, AccessKind::Atomic) => ("ATOMS.ADD", ("1 R4", "2 R2 R6")),
        (Space::Local, AccessKind::Load) => ("LDL", ("1 R4", "1 R2")),
        (Space::Local, AccessKind::Store) => ("STL", ("0", "2 R2 R4")),
        (Space::Constant, AccessKind::Load) => ("LDC", ("1 R4", "1 R2")),
        _ => return Err(impossible(describe(), "there is no such instruction")),
    };
    let width = match access.width {
        1 => ".U8",
        2 => ".U16",
        4 => "",
        8 => ".64",
        16 => ".128",
        32 => ".256",
        _ => {
            return Err(impossible(describe(), "legal widths are 1, 2, 4, 8, 16, 32"));
        }
    };
    let strong = match (access.kind, access.shareable) {
        (AccessKind::Atomic, true) => {
            return Err(impossible(describe(), "atomics are never shareable"));
        }
        (AccessKind::Atomic, false) | (_, true) => "",
        (_, false) => ".STRONG.GPU",
    };
    let WarpAccess { pc, mask, .. } = *access;
    let (destinations, sources) = registers;
    let bytes = access.width;
    let _ = write!(text, "{pc:04x} {mask:08x} {destinations} {name}{width}{strong} {sources} {bytes} ");
    addresses(text, access);
    text.push_str("0 \n");
    Ok(())
}

/// The shortest of the address modes, as the tracer chooses: base and stride, else base and deltas, else a list.
fn addresses(text: &mut String, access: &WarpAccess) {
    let lanes: Vec<(usize, u64)> = access.lanes().collect();
    let [(first, base), rest @ ..] = lanes.as_slice() else {
        text.push_str("1 0x0 0 ");
        return;
    };
    let differences = lanes.windows(2).map(|pair| i64::try_from(i128::from(pair[1].1) - i128::from(pair[0].1)));
    let Ok(differences) = differences.collect::<Result<Vec<i64>, _>>() else {
        text.push_str("0 ");
        lanes.iter().for_each(|(_, address)| {
            let _ = write!(text, "{address:#018x} ");
        });
        return;
    };
    let together = lanes.last().is_some_and(|(last, _)| last - first == rest.len());
    match differences.first() {
        Some(stride) if together && differences.iter().all(|d| d == stride) && !overflows(*stride) => {
            let _ = write!(text, "1 {base:#x} {stride} ");
        }
        _ => {
            let _ = write!(text, "2 {base:#x} ");
            for difference in differences {
                let _ = write!(text, "{difference} ");
            }
        }
    }
}

/// The stride times the number of lanes does not fit 64 bits.
fn overflows(stride: i64) -> bool {
    stride.checked_mul(WARP_SIZE as i64).is_none()
}

/// A file to write to, compressed as the end of its name says: `.xz`, `.gz`, `.zst` or plain.
enum Output {
    Plain(BufWriter<File>),
    Xz(xz2::write::XzEncoder<BufWriter<File>>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

impl Output {
    fn create(path: &Path) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        Ok(match path.extension().and_then(|extension| extension.to_str()) {
            Some("xz") => Self::Xz(xz2::write::XzEncoder::new(file, 2)),
            Some("gz") => Self::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            Some("zst") => Self::Zstd(zstd::Encoder::new(file, 3)?),
            _ => Self::Plain(file),
        })
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(file) => Ok(file),
            Self::Xz(encoder) => encoder.finish(),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }?
        .flush()
    }
}

impl Write for Output {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(data),
            Self::Xz(out) => out.write(data),
            Self::Gzip(out) => out.write(data),
            Self::Zstd(out) => out.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Xz(out) => out.flush(),
            Self::Gzip(out) => out.flush(),
            Self::Zstd(out) => out.flush(),
        }
    }
}

/// Writes one kernel to the file `path`, compressed as the end of its name says: `.xz`, `.gz`, `.zst`, anything else
/// plain. Copies from the host are left out.
///
/// # Errors
/// When there is not exactly one kernel, an event cannot be written or read, or the file system refuses.
pub fn write_file(path: &Path, events: impl IntoIterator<Item = Result<Event, TraceError>>) -> Result<(), WriteError> {
    let mut events = events.into_iter();
    let mut written = false;
    while let Some(event) = events.next().transpose()? {
        match event {
            Event::KernelBegin(_) if written => {
                return Err(impossible("a second kernel", "a trace file holds one; write a folder"));
            }
            Event::KernelBegin(kernel) => {
                write_kernel(path, &kernel, &mut events)?;
                written = true;
            }
            Event::Memcpy { .. } => {}
            other => return Err(impossible(format!("{other:?}"), "it comes out of order")),
        }
    }
    if written { Ok(()) } else { Err(impossible("a trace", "there is no kernel")) }
}

/// Writes a trace of any number of kernels to `folder`, which is made when it is not there: a `kernelslist.g`, and a file
/// `kernel-N.traceg` for the N-th kernel, with `.xz`, `.gz` or `.zst` behind when compressed. Returns the path of the list.
///
/// # Errors
/// When there is no kernel, an event cannot be written or read, or the file system refuses.
pub fn write_folder(
    folder: &Path,
    events: impl IntoIterator<Item = Result<Event, TraceError>>,
    compression: Compression,
) -> Result<PathBuf, WriteError> {
    fs::create_dir_all(folder).map_err(|source| io_error(folder, source))?;
    // The files appear when all are complete.
    let staging = folder.join(format!(".writing-{}", std::process::id()));
    let written = write_files(folder, &staging, events, compression);
    let _ = fs::remove_dir_all(&staging);
    written
}

/// Writes the files to `staging` first.
fn write_files(
    folder: &Path,
    staging: &Path,
    events: impl IntoIterator<Item = Result<Event, TraceError>>,
    compression: Compression,
) -> Result<PathBuf, WriteError> {
    fs::create_dir_all(staging).map_err(|source| io_error(staging, source))?;
    let extension = match compression {
        Compression::None => "",
        Compression::Xz => ".xz",
        Compression::Gzip => ".gz",
        Compression::Zstd => ".zst",
    };
    let (mut list, mut names) = (String::new(), Vec::new());
    let mut kernels = 0;
    let mut events = events.into_iter();
    while let Some(event) = events.next().transpose()? {
        match event {
            Event::Memcpy { address, bytes } => {
                let _ = writeln!(list, "MemcpyHtoD,{address:#018x},{bytes}");
            }
            Event::KernelBegin(kernel) => {
                kernels += 1;
                let name = format!("kernel-{kernels}.traceg{extension}");
                write_kernel(&staging.join(&name), &kernel, &mut events)?;
                let _ = writeln!(list, "{name}");
                names.push(name);
            }
            other => return Err(impossible(format!("{other:?}"), "it comes out of order")),
        }
    }
    if kernels == 0 {
        return Err(impossible("a trace", "there is no kernel"));
    }
    let name = "kernelslist.g".to_string();
    let path = staging.join(&name);
    fs::write(&path, list).map_err(|source| io_error(&path, source))?;
    names.push(name.clone());
    for name in &names {
        let path = folder.join(name);
        fs::rename(staging.join(name), &path).map_err(|source| io_error(&path, source))?;
    }
    Ok(folder.join(name))
}

/// Writes the rest of a kernel's events, up to and including its end.
fn write_kernel(path: &Path, kernel: &Kernel, events: &mut impl Iterator<Item = Result<Event, TraceError>>) -> Result<(), WriteError> {
    let named = |error| match error {
        WriteError::Io { source, .. } => io_error(path, source),
        other => other,
    };
    let out = Output::create(path).map_err(text_error).map_err(named)?;
    // The encoders are slow when fed in small pieces.
    let mut writer = TraceWriter::new(BufWriter::with_capacity(64 << 10, out), kernel).map_err(named)?;
    while let Some(event) = events.next().transpose()? {
        writer.event(&event).map_err(named)?;
        if event == Event::KernelEnd {
            break;
        }
    }
    let out = writer.finish().map_err(named)?.into_inner().map_err(IntoInnerError::into_error);
    out.and_then(Output::finish).map_err(text_error).map_err(named)
}
