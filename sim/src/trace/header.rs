//! The `-key = value` lines at the head of a trace.

use super::error::{Fault, TraceError, quote};
use super::event::{Dim3, Kernel};
use super::input::Lines;
use super::instruction::{decimal, hex};

/// Tracer versions whose grammar is known.
const VERSIONS: std::ops::RangeInclusive<u64> = 1..=6;
/// Most threads a thread block can have.
const BLOCK_THREADS: u64 = 1024;

/// The head of a trace.
pub(super) struct Header {
    pub kernel: Kernel,
    pub line_info: bool,
    /// The line that ended the head was `#BEGIN_TB`.
    pub block_begun: bool,
}

/// Values seen so far.
#[derive(Default)]
struct Seen {
    name: Option<String>,
    id: Option<u64>,
    grid: Option<Dim3>,
    block: Option<Dim3>,
    version: Option<u8>,
    shared_base: Option<u64>,
    local_base: Option<u64>,
    line_info: bool,
}

impl Header {
    /// Reads up to and including the first line that starts with `#`.
    pub fn read(lines: &mut Lines) -> Result<Self, TraceError> {
        let mut seen = Seen::default();
        let compression = lines.compression();
        loop {
            let expected = "`-key = value` lines and a line that starts with `#`";
            let result = match lines.next()? {
                None => Err(Fault::new("the end of the file", expected)),
                Some(line) if line.starts_with(b"#") => {
                    let block_begun = line == b"#BEGIN_TB";
                    seen.kernel(compression).map(|(kernel, line_info)| Some(Self { kernel, line_info, block_begun }))
                }
                Some([]) => Ok(None),
                Some(line @ [b'-', setting @ ..]) => match setting.iter().position(|&b| b == b'=') {
                    Some(at) => seen.set(setting[..at].trim_ascii(), setting[at + 1..].trim_ascii()).map(|()| None),
                    None => Err(Fault::token(Some(line), "`-key = value`")),
                },
                Some(line) => Err(Fault::token(Some(line), expected)),
            };
            match result {
                Ok(None) => {}
                Ok(Some(header)) => return Ok(header),
                Err(fault) => return Err(fault.at(lines.file(), lines.line())),
            }
        }
    }
}

impl Seen {
    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let fault = |expected: &'static str| Fault::token(Some(value), expected);
        match key {
            b"kernel name" => self.name = Some(String::from_utf8_lossy(value).into_owned()),
            b"kernel id" => self.id = Some(decimal(value).ok_or_else(|| fault("a decimal kernel id"))?),
            b"grid dim" => self.grid = Some(size(value).ok_or_else(|| fault("a grid size (x,y,z), each at least 1"))?),
            b"block dim" => {
                let legal = size(value).filter(|size| size.count() <= BLOCK_THREADS);
                self.block = Some(legal.ok_or_else(|| fault("a block size (x,y,z) of 1 to 1024 threads"))?);
            }
            b"accelsim tracer version" => {
                let version = decimal(value).filter(|version| VERSIONS.contains(version));
                self.version = Some(version.ok_or_else(|| fault("an accelsim tracer version, 1 to 6"))? as u8);
            }
            b"shmem base_addr" => self.shared_base = Some(hex(value).ok_or_else(|| fault("a hexadecimal address"))?),
            b"local mem base_addr" => {
                self.local_base = Some(hex(value).ok_or_else(|| fault("a hexadecimal address"))?);
            }
            b"enable lineinfo" => {
                self.line_info = match value {
                    b"0" => false,
                    b"1" => true,
                    _ => return Err(fault("0 or 1")),
                };
            }
            _ => {}
        }
        Ok(())
    }

    fn kernel(&mut self, compression: super::Compression) -> Result<(Kernel, bool), Fault> {
        fn need<T>(value: Option<T>, key: &'static str) -> Result<T, Fault> {
            value.ok_or_else(|| Fault::new("the end of the head of the trace", format!("`-{key} = …` before it")))
        }
        let kernel = Kernel {
            name: need(self.name.take(), "kernel name")?,
            id: need(self.id, "kernel id")?,
            grid: need(self.grid, "grid dim")?,
            block: need(self.block, "block dim")?,
            shared_base: self.shared_base,
            local_base: self.local_base,
            tracer_version: need(self.version, "accelsim tracer version")?,
            compression,
        };
        Ok((kernel, self.line_info))
    }
}

/// `x,y,z`, decimal.
pub(super) fn triple(text: &[u8]) -> Option<Dim3> {
    let mut parts = text.split(|&b| b == b',').map(|part| decimal(part.trim_ascii())?.try_into().ok());
    let found = Dim3 { x: parts.next()??, y: parts.next()??, z: parts.next()?? };
    parts.next().is_none().then_some(found)
}

/// `(x,y,z)`, each at least 1.
fn size(text: &[u8]) -> Option<Dim3> {
    let inner = text.strip_prefix(b"(")?.strip_suffix(b")")?;
    triple(inner).filter(|size| size.count() > 0)
}

/// The value of a line `key = value`.
pub(super) fn value_of<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let rest = line.strip_prefix(key)?.trim_ascii_start();
    rest.strip_prefix(b"=").map(<[u8]>::trim_ascii)
}

/// `line` stands where `expected` should.
pub(super) fn unexpected(line: Option<&[u8]>, expected: &'static str) -> Fault {
    Fault::new(line.map_or_else(|| "the end of the file".to_owned(), quote), expected)
}
