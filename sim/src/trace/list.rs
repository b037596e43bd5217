//! `kernelslist.g`: which traces to run, in which order.

use std::path::{Path, PathBuf};

use super::error::{Fault, TraceError};
use super::input::Lines;
use super::instruction::{decimal, hex};

/// One line of a list that means something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    Memcpy { address: u64, bytes: u64 },
    Trace(PathBuf),
}

/// Most entries a list may have: a guard for memory, far above real lists.
const MOST_ENTRIES: usize = 1 << 20;

/// Reads a list. Trace files are taken relative to `folder` and must exist.
pub(super) fn read(lines: &mut Lines, folder: &Path) -> Result<Vec<Entry>, TraceError> {
    let mut entries = Vec::new();
    while let Some(line) = lines.next()? {
        let entry = match classify(line.trim_ascii()) {
            Ok(entry) => entry,
            Err(fault) => return Err(fault.at(lines.file(), lines.line())),
        };
        let Some(entry) = entry else { continue };
        let entry = match entry {
            Entry::Trace(name) => {
                let path = folder.join(name);
                if !path.is_file() {
                    let name = path.display().to_string().escape_debug().to_string();
                    return Err(TraceError::Missing { file: lines.file().to_owned(), line: lines.line(), name });
                }
                Entry::Trace(path)
            }
            copy => copy,
        };
        if entries.len() == MOST_ENTRIES {
            let fault = Fault::new("one entry more", format!("at most {MOST_ENTRIES} entries"));
            return Err(fault.at(lines.file(), lines.line()));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// `None` for lines that mean nothing here.
fn classify(line: &[u8]) -> Result<Option<Entry>, Fault> {
    if let Some(copy) = line.strip_prefix(b"MemcpyHtoD") {
        let fault = || Fault::token(Some(line), "`MemcpyHtoD,0xADDRESS,BYTES`");
        let mut fields = copy.split(|&b| b == b',').map(<[u8]>::trim_ascii);
        let fields = (fields.next(), fields.next().and_then(hex), fields.next().and_then(decimal), fields.next());
        return match fields {
            (Some([]), Some(address), Some(bytes), None) => Ok(Some(Entry::Memcpy { address, bytes })),
            _ => Err(fault()),
        };
    }
    let Ok(name) = std::str::from_utf8(line) else {
        return Ok(None);
    };
    let file = name.rsplit('/').next().unwrap_or(name);
    Ok((file.starts_with("kernel") || file.contains(".trace")).then(|| Entry::Trace(name.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_traces_and_copies_count() {
        let copy = classify(b"MemcpyHtoD,0x7fc841527000,1").unwrap();
        assert_eq!(copy, Some(Entry::Memcpy { address: 0x7fc8_4152_7000, bytes: 1 }));
        for (line, is_trace) in [
            ("kernel-1.traceg", true),
            ("kernel-12-ctx_0x5.traceg.xz", true),
            ("sub/my.traceg", true),
            ("", false),
            ("# comment", false),
            ("MemcpyDtoH,0x7f,4", false),
            ("sub.traces/readme", false),
        ] {
            let expected = is_trace.then(|| Entry::Trace(line.into()));
            assert_eq!(classify(line.as_bytes()).unwrap(), expected, "{line}");
        }
        for line in ["MemcpyHtoD,0x7g,1", "MemcpyHtoD,0x7f", "MemcpyHtoD,0x7f,1,2", "MemcpyHtoDx,0x7f,1"] {
            assert!(classify(line.as_bytes()).is_err(), "{line}");
        }
    }
}
