//! Broken traces: one message with file, line, what was found and what was expected.

mod common;

use std::fs;

use common::{error_of, sample, trace, try_partial, with_instructions};
use l1forge_sim::trace::{TraceError, TraceOptions, TraceReader};

/// The message for a trace whose only instruction, in line 18, is `line`.
fn error_of_instruction(version: u8, line: &str) -> String {
    try_partial(&with_instructions(version, &[line])).expect_err(line).to_string()
}

#[test]
fn broken_instructions() {
    for (version, line, message) in [
        (
            3,
            "zz ffffffff 0 EXIT 0 0",
            "found `zz`, expected a hexadecimal PC",
        ),
        (
            3,
            "00a0 1ffffffff 0 EXIT 0 0",
            "found the active mask 0x1ffffffff, expected a hexadecimal active mask of 32 bits",
        ),
        (
            3,
            "00a0 ffffffff x EXIT 0 0",
            "found `x`, expected the number of destination registers",
        ),
        (
            3,
            "00a0 ffffffff 2 R1 EXIT 0 0",
            "found `EXIT`, expected a destination register",
        ),
        (
            3,
            "00a0 ffffffff 1 7 EXIT 0 0",
            "found `7`, expected a destination register",
        ),
        (
            3,
            "00a0 ffffffff 0 exit 0 0",
            "found `exit`, expected an opcode",
        ),
        (
            3,
            "00a0 ffffffff 0 EXIT 1 0",
            "found `0`, expected a source register",
        ),
        (
            3,
            "00a0 ffffffff 0 EXIT 0",
            "found the end of the line, expected the access width in bytes, 0 for none",
        ),
        (
            3,
            "00a0 ffffffff 0 EXIT 0 0 0",
            "found `0`, expected the end of the line (tracer version 3)",
        ),
        (
            5,
            "00a0 ffffffff 0 EXIT 0 0",
            "found the end of the line, expected an immediate",
        ),
        (
            5,
            "00a0 ffffffff 0 EXIT 0 0 0xyz",
            "found `0xyz`, expected an immediate",
        ),
        (
            6,
            "00a0 ffffffff 0 EXIT 0 0 1 --2 NoVal",
            "found `--2`, expected an immediate",
        ),
        (
            5,
            "00a0 ffffffff 0 EXIT 0 0 1 2",
            "found `2`, expected the end of the line (tracer version 5)",
        ),
        (
            6,
            "00a0 ffffffff 0 EXIT 0 0 1 2 Nova",
            "found `Nova`, expected `NoVal` or `Val`",
        ),
        (
            3,
            "00a0 00000001 0 LDG 0 4 3 0x10",
            "found `3`, expected an address mode, 0 to 2",
        ),
        (
            3,
            "00a0 00000003 0 LDG 0 4 0 0x10",
            "found the end of the line, expected the hexadecimal address of each active lane",
        ),
        (
            3,
            "00a0 00000003 0 LDG 0 4 2 0x10 0x4",
            "found `0x4`, expected a decimal delta for each active lane but the first",
        ),
        (
            3,
            "00a0 00000005 0 LDG 0 4 1 0x10 4",
            "found base and stride for the active mask 00000005, expected neighbouring active lanes, or address mode 0 or 2",
        ),
        (3, "00a0 00000001 0 LDG 0 4 2 0x10 4", "found `4`, expected the end of the line (tracer version 3)"),
        (2, "1 0 0 1 00a0 ffffffff 0 EXIT 0 0", "found `1`, expected `0 0 0 1`, the thread block and warp (tracer version below 3)"),
        (2, "0 0 0 2 00a0 ffffffff 0 EXIT 0 0", "found `2`, expected `0 0 0 1`, the thread block and warp (tracer version below 3)"),
    ] {
        assert_eq!(error_of_instruction(version, line), format!("t.traceg:18: {message}"), "{line}");
    }
}

#[test]
fn addresses_outside_the_address_space() {
    let range = "expected an access within 0x0..=0xffffffffffff (address_bits = 48)";
    for (line, found) in [
        ("00a0 00000002 0 LDG 0 4 2 0x1000000000000", "the address 0x1000000000000 (4 bytes) in lane 1"),
        ("00a0 00000001 0 LDG 0 4 2 0xfffffffffffd", "the address 0xfffffffffffd (4 bytes) in lane 0"),
        ("00a0 00000001 0 LDG 0 4 0 0xffffffffffffffff", "the address 0xffffffffffffffff (4 bytes) in lane 0"),
        ("00a0 00000003 0 LDG 0 4 2 0x10 -17", "the address 0x10 + -17 (4 bytes) in lane 1"),
        ("00a0 00000003 0 LDG 0 4 1 0x0 -4", "the address 0x0 + -4 (4 bytes) in lane 1"),
        ("00a0 00000007 0 LDG 0 4 1 0x0 9223372036854775807", "the address 0x7fffffffffffffff (4 bytes) in lane 1"),
    ] {
        assert_eq!(error_of_instruction(3, line), format!("t.traceg:18: found {found}, {range}"), "{line}");
    }
    // The last four bytes are legal.
    assert!(try_partial(&with_instructions(3, &["00a0 00000001 0 LDG 0 4 2 0xfffffffffffc"])).is_ok());
}

#[test]
fn the_number_of_address_bits_is_an_option() {
    let text = with_instructions(3, &["00a0 00000001 0 LDG 0 4 2 0x10000"]);
    for (address_bits, legal) in [(16, false), (17, true), (64, true)] {
        let options = TraceOptions { address_bits, partial: true };
        let reader = TraceReader::from_reader(std::io::Cursor::new(text.clone()), "t", options).unwrap();
        assert_eq!(reader.collect::<Result<Vec<_>, _>>().is_ok(), legal, "{address_bits}");
    }
    for address_bits in [15, 65] {
        let options = TraceOptions { address_bits, partial: true };
        let error = TraceReader::from_reader(std::io::Cursor::new(text.clone()), "t", options).err().unwrap();
        assert_eq!(error.to_string(), format!("address_bits = {address_bits}: legal is 16..=64"));
    }
}

#[test]
fn broken_structure() {
    let whole = sample(3);
    let at = |from: &str, to: &str| error_of(&whole.replacen(from, to, 1));
    for (from, to, message) in [
        ("#END_TB", "#END_TB\n#END_TB", "27: found `#END_TB`, expected `#BEGIN_TB`"),
        ("insts = 3", "insts = 4", "21: found a blank line, expected 1 more instructions of warp 0"),
        (
            "insts = 3",
            "insts = 2",
            "20: found `00b0 0000000f 0 STG.E.64 2 R4 R6 8 2 0x7fb000001000 8 -16 12…`, expected `warp = w` or `#END_TB`",
        ),
        ("insts = 3", "insts = x", "17: found `insts = x`, expected `insts = n`"),
        ("warp = 1", "warp = 0", "22: found the warp 0 for the second time, expected each warp of a thread block once"),
        ("warp = 1", "warp = 2", "22: found the warp 2, expected 0..=1 (threads of a block: 64)"),
        ("warp = 1", "wrap = 1", "22: found `wrap = 1`, expected `warp = w` or `#END_TB`"),
        ("#END_TB", "", "28: found `#BEGIN_TB`, expected `warp = w` or `#END_TB`"),
        ("#BEGIN_TB", "", "14: found `thread block = 0,0,0`, expected `#BEGIN_TB`"),
        ("thread block = 0,0,0", "", "16: found `warp = 0`, expected `thread block = x,y,z`"),
        ("thread block = 0,0,0", "thread block = 0,1,0", "14: found the thread block (0,1,0), expected one inside the grid (2,1,1)"),
        ("thread block = 0,0,0", "thread block = 0,0", "14: found `thread block = 0,0`, expected `thread block = x,y,z`"),
        ("thread block = 0,0,0", "thread block = 0,0,0,0", "14: found `thread block = 0,0,0,0`, expected `thread block = x,y,z`"),
        ("grid dim = (2,1,1)", "grid dim = (3,1,1)", "32: found the end of the file after 2 thread blocks, expected 3 (grid (3,1,1))"),
        ("grid dim = (2,1,1)", "grid dim = (1,1,1)", "28: found one thread block more, expected 1 (grid (1,1,1))"),
    ] {
        assert_eq!(at(from, to), format!("t.traceg:{message}"), "{from} -> {to}");
    }
}

#[test]
fn broken_heads() {
    let whole = sample(3);
    let at = |from: &str, to: &str| error_of(&whole.replacen(from, to, 1));
    for (from, to, message) in [
        ("-kernel id = 7", "kernel id = 7", "2: found `kernel id = 7`, expected `-key = value` lines and a line that starts with `#`"),
        ("-kernel id = 7", "-kernel id = seven", "2: found `seven`, expected a decimal kernel id"),
        ("-kernel id = 7", "-kernel id 7", "2: found `-kernel id 7`, expected `-key = value`"),
        ("-kernel id = 7", "", "10: found the end of the head of the trace, expected `-kernel id = …` before it"),
        ("-kernel name = _Z3fooPi\n", "", "9: found the end of the head of the trace, expected `-kernel name = …` before it"),
        ("(2,1,1)", "(0,1,1)", "3: found `(0,1,1)`, expected a grid size (x,y,z), each at least 1"),
        ("(2,1,1)", "2,1,1", "3: found `2,1,1`, expected a grid size (x,y,z), each at least 1"),
        ("(64,1,1)", "(64,17,1)", "4: found `(64,17,1)`, expected a block size (x,y,z) of 1 to 1024 threads"),
        ("version = 3", "version = 7", "8: found `7`, expected an accelsim tracer version, 1 to 6"),
        ("version = 3", "version = 0", "8: found `0`, expected an accelsim tracer version, 1 to 6"),
        ("-shmem = 0", "-enable lineinfo = 2", "5: found `2`, expected 0 or 1"),
        ("0x00007fc867000000", "up", "6: found `up`, expected a hexadecimal address"),
    ] {
        assert_eq!(at(from, to), format!("t.traceg:{message}"), "{from} -> {to}");
    }
    let head = whole.split('#').next().unwrap();
    let end = "found the end of the file, expected `-key = value` lines and a line that starts with `#`";
    assert_eq!(error_of(head), format!("t.traceg:9: {end}"));
    let empty = trace(3, "");
    assert_eq!(error_of(&empty), "t.traceg:11: found the end of the file after 0 thread blocks, expected 2 (grid (2,1,1))");
    assert!(try_partial(&empty).is_err(), "not even a partial trace may be empty");
}

#[test]
fn messages_stay_short_and_printable() {
    for (length, shown) in [(60, "x".repeat(60)), (61, format!("{}…", "x".repeat(60)))] {
        let message = error_of_instruction(3, &"x".repeat(length));
        assert_eq!(
            message,
            format!("t.traceg:18: found `{shown}`, expected a hexadecimal PC")
        );
    }
    let line = format!("00a0 ffffffff 0 \u{1b}[2J{} 0 0", "é".repeat(10_000));
    let message = error_of_instruction(3, &line);
    assert!(message.len() < 250, "{message}");
    assert!(message.starts_with("t.traceg:18: found `\\u{1b}[2Jéé"), "{message}");
    assert!(message.chars().all(|c| !c.is_control()), "{message}");
}

#[test]
fn endless_lines_are_refused() {
    let text = format!("{}{}", trace(3, ""), "x".repeat(3 << 20));
    assert_eq!(error_of(&text), "t.traceg:12: found a line of over 1048576 bytes, expected a line of a trace");
}

#[test]
fn after_an_error_there_is_nothing() {
    let text = sample(3).replace("LDG.E", "ldg");
    let mut reader = TraceReader::from_reader(std::io::Cursor::new(text), "t", TraceOptions::default()).unwrap();
    assert_eq!(reader.by_ref().filter(Result::is_err).count(), 1);
    assert!(reader.next().is_none());
}

#[test]
fn lists_and_folders() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let open = |name: &str| TraceReader::open(&path(name), TraceOptions::default());
    let message = |name: &str| open(name).err().unwrap().to_string();
    let shown = folder.path().display();

    assert!(matches!(open("nothing"), Err(TraceError::Io { .. })));
    assert!(message("").starts_with(&format!("{shown}/kernelslist.g: ")), "{}", message(""));

    fs::create_dir(path("sub")).unwrap();
    fs::write(path("sub/kernel-1.traceg"), sample(5)).unwrap();
    // Compressed data under a plain name.
    fs::write(path("sub/kernel-2.traceg"), zstd::encode_all(sample(3).as_bytes(), 1).unwrap()).unwrap();
    let list = "\nMemcpyHtoD,0x7f0000000000,64\nsub/kernel-1.traceg\nhello\nsub/kernel-2.traceg\n";
    fs::write(path("kernelslist.g"), list).unwrap();
    let kinds = |name: &str| open(name).unwrap().map(|event| common::kind(&event.unwrap())).collect::<Vec<_>>();
    let one = kinds("sub/kernel-1.traceg");
    assert_eq!(kinds("kernelslist.g"), [&["memcpy"][..], &one, &one].concat());
    assert_eq!(kinds(""), kinds("kernelslist.g"));

    fs::write(path("kernelslist.g"), format!("{list}kernel-3.traceg\n")).unwrap();
    assert_eq!(
        message(""),
        format!(
            "{shown}/kernelslist.g:6: found the name of a missing file `{shown}/kernel-3.traceg`, expected a trace file in \
             the folder of the list"
        )
    );
    fs::write(path("kernelslist.g"), "MemcpyHtoD,12,x\n").unwrap();
    assert_eq!(message(""), format!("{shown}/kernelslist.g:1: found `MemcpyHtoD,12,x`, expected `MemcpyHtoD,0xADDRESS,BYTES`"));
    fs::write(path("junk"), "hello\nMemcpyHtoD,0x7f0000000000,64\n").unwrap();
    assert!(message("junk").starts_with(&format!("{shown}/junk: found no trace, expected ")), "{}", message("junk"));

    // An error in the second trace of a list names that file.
    fs::write(path("sub/kernel-2.traceg"), sample(3).replace("LDG.E", "ldg")).unwrap();
    fs::write(path("kernelslist.g"), list).unwrap();
    let error = open("").unwrap().find_map(Result::err).unwrap().to_string();
    assert_eq!(error, format!("{shown}/sub/kernel-2.traceg:19: found `ldg`, expected an opcode"));
}
