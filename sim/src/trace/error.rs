//! What can be wrong with a trace.

use std::borrow::Cow;
use std::io;

use super::Compression;
use crate::ParameterError;

/// Why a trace could not be read. Every message names the file and, where there is one, the line.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The text breaks the grammar, or a value lies outside its legal range.
    #[error("{file}:{line}: found {found}, expected {expected}")]
    Syntax {
        /// File as it was named.
        file: String,
        /// Line, counted from 1.
        line: u64,
        /// What stands there.
        found: String,
        /// What should stand there.
        expected: String,
    },
    /// The compressed data ends early or is damaged.
    #[error("{file}:{line}: the {compression} data is truncated or damaged: {source}")]
    Damaged {
        /// File as it was named.
        file: String,
        /// Line (of the decompressed text) in which reading failed, counted from 1.
        line: u64,
        /// How the file is compressed.
        compression: Compression,
        /// What the decompressor said.
        source: io::Error,
    },
    /// A list names a trace file that is not there.
    #[error("{file}:{line}: found the name of a missing file `{name}`, expected a trace file in the folder of the list")]
    Missing {
        /// The list file.
        file: String,
        /// Line of the list, counted from 1.
        line: u64,
        /// The file that is missing, with its folder.
        name: String,
    },
    /// Neither a trace nor a list that names one.
    #[error(
        "{file}: found no trace, expected a trace (first line `-key = value`), a list that names trace files, or a folder with a kernelslist.g"
    )]
    NoTrace {
        /// File as it was named.
        file: String,
    },
    /// An option is outside its legal range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The operating system refused.
    #[error("{file}: {source}")]
    Io {
        /// File as it was named.
        file: String,
        /// What it said.
        source: io::Error,
    },
}

/// A broken line, before file and line number are known.
#[derive(Debug)]
pub(super) struct Fault {
    pub found: String,
    pub expected: Cow<'static, str>,
}

impl Fault {
    pub fn new(found: impl Into<String>, expected: impl Into<Cow<'static, str>>) -> Self {
        Self { found: found.into(), expected: expected.into() }
    }

    /// `token` stands where `expected` should; `None` is the end of the line.
    pub fn token(token: Option<&[u8]>, expected: impl Into<Cow<'static, str>>) -> Self {
        Self::new(token.map_or_else(|| "the end of the line".to_owned(), quote), expected)
    }

    pub fn at(self, file: &str, line: u64) -> TraceError {
        TraceError::Syntax { file: file.to_owned(), line, found: self.found, expected: self.expected.into_owned() }
    }
}

/// Untrusted text for a message: quoted, escaped and at most 60 characters.
pub(super) fn quote(text: &[u8]) -> String {
    const LONGEST: usize = 60;
    let mut quoted = String::from("`");
    let shown = &text[..text.len().min(LONGEST)];
    for c in String::from_utf8_lossy(shown).chars() {
        if c.is_control() { quoted.extend(c.escape_default()) } else { quoted.push(c) }
    }
    quoted.push_str(if text.len() > LONGEST { "…`" } else { "`" });
    quoted
}
