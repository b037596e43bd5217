//! Helpers of the integration tests.
#![allow(dead_code)] // each test file uses some of them

use std::io::{Cursor, Write};
use std::path::PathBuf;

use l1forge_sim::trace::{Event, TraceError, TraceOptions, TraceReader, WarpAccess};

/// The folder `traces/<name>` of the test data, or `None` with a loud message when `L1FORGE_DATA` is not set.
pub fn real_trace(name: &str) -> Option<PathBuf> {
    match std::env::var_os("L1FORGE_DATA") {
        Some(data) => Some(PathBuf::from(data).join("traces").join(name)),
        None => {
            // Not `eprintln!`: the test harness hides what passing tests print.
            let _ = writeln!(std::io::stderr(), "SKIPPED: L1FORGE_DATA is not set, the real trace `{name}` is not tested");
            None
        }
    }
}

/// A trace of one kernel with `body` behind its head. Grid 2, block 64.
pub fn trace(version: u8, body: &str) -> String {
    format!(
        "-kernel name = _Z3fooPi\n-kernel id = 7\n-grid dim = (2,1,1)\n-block dim = (64,1,1)\n-shmem = 0\n\
         -shmem base_addr = 0x00007fc867000000\n-local mem base_addr = 0x00007fc865000000\n\
         -accelsim tracer version = {version}\n\n#traces format = whatever\n\n{body}"
    )
}

/// A trace whose only warp has the instructions `lines`; the first instruction is in line 18.
pub fn with_instructions(version: u8, lines: &[&str]) -> String {
    let instructions = lines.join("\n");
    let body = format!("#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 1\ninsts = {}\n{instructions}\n\n#END_TB\n", lines.len());
    trace(version, &body)
}

/// A valid trace of two thread blocks, four instructions, two of them accesses.
pub fn sample(version: u8) -> String {
    let prefix = |warp: u32| {
        if version < 3 { format!("0 0 0 {warp} ") } else { String::new() }
    };
    let end = match version {
        5 => "0 ",
        6 => "0 -3 NoVal ",
        _ => "",
    };
    let (p0, p1) = (prefix(0), prefix(1));
    trace(
        version,
        &format!(
            "#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = 3\n\
             {p0}0090 ffffffff 1 R1 IMAD.MOV.U32 2 R255 UR4 0 {end}\n\
             {p0}00a0 ffffffff 1 R4 LDG.E 1 R4 4 1 0x7fb000000000 4 {end}\n\
             {p0}00b0 0000000f 0 STG.E.64 2 R4 R6 8 2 0x7fb000001000 8 -16 128 {end}\n\n\
             warp = 1\ninsts = 1\n{p1}0090 00000000 0 EXIT 0 0 {end}\n\n#END_TB\n\n\
             #BEGIN_TB\n\nthread block = 1,0,0\n\n#END_TB\n"
        ),
    )
}

/// The events of the trace `text`.
pub fn try_read(text: impl Into<Vec<u8>>) -> Result<Vec<Event>, TraceError> {
    let input = Cursor::new(text.into());
    TraceReader::from_reader(input, "t.traceg", TraceOptions::default())?.collect()
}

/// The events of the trace `text`, which need not have all thread blocks of its grid.
pub fn try_partial(text: &str) -> Result<Vec<Event>, TraceError> {
    let options = TraceOptions { partial: true, ..TraceOptions::default() };
    TraceReader::from_reader(Cursor::new(text.to_owned()), "t.traceg", options)?.collect()
}

/// The events of the valid trace `text`.
pub fn read(text: &str) -> Vec<Event> {
    try_read(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The message of the error that the trace `text` is.
pub fn error_of(text: &str) -> String {
    match try_read(text) {
        Ok(_) => panic!("no error in\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// The accesses among `events`.
pub fn accesses(events: &[Event]) -> Vec<&WarpAccess> {
    let mut found = Vec::new();
    for event in events {
        if let Event::Access(access) = event {
            found.push(access);
        }
    }
    found
}

/// A word for the kind of an event.
pub fn kind(event: &Event) -> &'static str {
    match event {
        Event::Memcpy { .. } => "memcpy",
        Event::KernelBegin(_) => "kernel",
        Event::BlockBegin { .. } => "block",
        Event::Access(_) => "access",
        Event::BlockEnd { .. } => "end_block",
        Event::KernelEnd => "end_kernel",
    }
}
