//! Bytes of a trace file: decompressed by content, cut into lines, in bounded memory.

use std::fmt;
use std::io::{self, BufReader, Read};

use serde::{Deserialize, Serialize};

use super::TraceError;
use super::error::Fault;

/// How a trace file is compressed, told by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// Plain text.
    None,
    /// xz.
    Xz,
    /// gzip, also several members one after the other.
    Gzip,
    /// Zstandard, also several frames one after the other.
    Zstd,
}

impl Compression {
    /// The compression that data starting with `head` (6 bytes are enough) is in.
    pub fn of(head: &[u8]) -> Self {
        const MAGIC: [(&[u8], Compression); 3] = [
            (&[0xfd, b'7', b'z', b'X', b'Z', 0], Compression::Xz),
            (&[0x1f, 0x8b], Compression::Gzip),
            (&[0x28, 0xb5, 0x2f, 0xfd], Compression::Zstd),
        ];
        let found = MAGIC.iter().find(|(magic, _)| head.starts_with(magic));
        found.map_or(Self::None, |&(_, compression)| compression)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "uncompressed",
            Self::Xz => "xz",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// Memory an xz stream may ask for; `xz -9` needs 65 MiB.
const XZ_MEMORY: u64 = 128 << 20;
/// log2 of the window a zstd frame may ask for; `zstd -19` needs 2^23.
const ZSTD_WINDOW_LOG: u32 = 27;
/// Size of the read buffers, bytes.
const BUFFER: usize = 64 << 10;
/// Longest line, bytes. Mangled kernel names are the longest lines of real traces, a few KB.
const LONGEST_LINE: usize = 1 << 20;

type Input = Box<dyn Read + Send>;

/// `input`, decompressed as its first bytes say.
fn decompress(input: Input) -> io::Result<(Input, Compression)> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    // A pipe may give fewer than six bytes at first, so read them for good and put them back in front.
    let mut head = Vec::with_capacity(6);
    input.by_ref().take(6).read_to_end(&mut head)?;
    let compression = Compression::of(&head);
    let input = BufReader::with_capacity(BUFFER, io::Cursor::new(head).chain(input));
    let input: Input = match compression {
        Compression::None => Box::new(input),
        Compression::Xz => {
            let stream = xz2::stream::Stream::new_stream_decoder(XZ_MEMORY, xz2::stream::CONCATENATED)?;
            Box::new(xz2::bufread::XzDecoder::new_stream(input, stream))
        }
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(input)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
    };
    Ok((input, compression))
}

/// The lines of a file, with their numbers.
pub(super) struct Lines {
    file: String,
    input: Input,
    compression: Compression,
    buffer: Vec<u8>,
    /// Bytes of `buffer` not yet given out.
    start: usize,
    end: usize,
    /// Number of the line given out last.
    line: u64,
    finished: bool,
}

impl Lines {
    pub fn new(input: Input, file: String) -> Result<Self, TraceError> {
        match decompress(input) {
            Ok((input, compression)) => {
                Ok(Self { file, input, compression, buffer: vec![0; BUFFER], start: 0, end: 0, line: 0, finished: false })
            }
            Err(source) => Err(TraceError::Io { file, source }),
        }
    }

    pub fn compression(&self) -> Compression {
        self.compression
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    /// The first byte that is not blank, without taking it; `None` when the first 64 KiB have none.
    pub fn first_byte(&mut self) -> Result<Option<u8>, TraceError> {
        loop {
            let held = &self.buffer[self.start..self.end];
            let found = held.iter().copied().find(|b| !b.is_ascii_whitespace());
            if found.is_some() || self.finished || held.len() >= BUFFER {
                return Ok(found);
            }
            self.refill()?;
        }
    }

    /// Number of the line given out last, counted from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The next line without its end and trailing blanks, or `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<&[u8]>, TraceError> {
        let mut searched = 0;
        let (length, skip) = loop {
            let held = &self.buffer[self.start..self.end];
            if let Some(at) = held[searched..].iter().position(|&b| b == b'\n') {
                break (searched + at, searched + at + 1);
            }
            searched = held.len();
            if self.finished {
                if searched == 0 {
                    return Ok(None);
                }
                break (searched, searched);
            }
            if searched > LONGEST_LINE {
                let fault = Fault::new(format!("a line of over {LONGEST_LINE} bytes"), "a line of a trace");
                return Err(fault.at(&self.file, self.line + 1));
            }
            self.refill()?;
        };
        let line = self.start..self.start + length;
        self.start += skip;
        self.line += 1;
        Ok(Some(self.buffer[line].trim_ascii_end()))
    }

    /// Reads more behind the bytes held, growing the buffer only when one line fills it.
    fn refill(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let read = loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        match read {
            Ok(0) => self.finished = true,
            Ok(read) => self.end += read,
            Err(source) => return Err(self.failed(source)),
        }
        Ok(())
    }

    fn failed(&self, source: io::Error) -> TraceError {
        let (file, line, compression) = (self.file.clone(), self.line + 1, self.compression);
        match compression {
            Compression::None => TraceError::Io { file, source },
            _ => TraceError::Damaged { file, line, compression, source },
        }
    }
}
