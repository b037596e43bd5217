//! The reader: grammar, errors, compression.

mod common;

use std::io::Write;

use common::{accesses, read, sample, try_partial, try_read, with_instructions};
use l1forge_sim::trace::{AccessKind, Event, Space, TraceOptions, TraceReader, WarpAccess};

#[test]
fn a_small_trace_gives_its_events() {
    let events = read(&sample(5));
    let names: Vec<_> = events.iter().map(common::kind).collect();
    assert_eq!(names, ["kernel", "block", "access", "access", "end_block", "block", "end_block", "end_kernel"]);
    let Event::KernelBegin(kernel) = &events[0] else { panic!() };
    assert_eq!((kernel.name.as_str(), kernel.id, kernel.tracer_version), ("_Z3fooPi", 7, 5));
    assert_eq!((kernel.grid.to_string(), kernel.block.to_string()), ("(2,1,1)".into(), "(64,1,1)".into()));
    let Event::Access(load) = &events[2] else { panic!() };
    assert_eq!((load.warp, load.pc, load.kind, load.space), (0, 0xa0, AccessKind::Load, Space::Global));
    assert_eq!((load.mask, load.width, load.shareable, load.instructions_before), (u32::MAX, 4, true, 1));
    assert_eq!((load.addresses[0], load.addresses[31]), (0x7fb0_0000_0000, 0x7fb0_0000_007c));
    assert_eq!(events[4], Event::BlockEnd { warps: 2, instructions: 4 });
    assert_eq!(events[6], Event::BlockEnd { warps: 0, instructions: 0 });
}

#[test]
fn every_version_gives_the_same_accesses() {
    let expected = read(&sample(5));
    for version in 1..=6 {
        let events = read(&sample(version));
        assert_eq!(events[1..], expected[1..], "version {version}");
    }
}

fn compressed(text: &str, compression: &str) -> Vec<u8> {
    match compression {
        "xz" => {
            let mut out = xz2::write::XzEncoder::new(Vec::new(), 6);
            out.write_all(text.as_bytes()).unwrap();
            out.finish().unwrap()
        }
        "gzip" => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            out.write_all(text.as_bytes()).unwrap();
            out.finish().unwrap()
        }
        "zstd" => zstd::encode_all(text.as_bytes(), 3).unwrap(),
        _ => text.as_bytes().to_vec(),
    }
}

#[test]
fn compression_is_told_by_content_and_truncation_is_an_error() {
    let text = sample(5);
    let expected = read(&text);
    for compression in ["none", "xz", "gzip", "zstd"] {
        let data = compressed(&text, compression);
        let events = try_read(data.clone()).unwrap();
        assert_eq!(events[1..], expected[1..], "{compression}");
        // Up to the last byte but the newline of the plain text, everything cut off is missed.
        for cut in 0..data.len() - 1 {
            let error = try_read(&data[..cut]).expect_err(compression).to_string();
            assert!(error.starts_with("t.traceg:"), "{error}");
        }
        if compression != "none" {
            let error = try_read(&data[..data.len() - 9]).unwrap_err().to_string();
            assert!(error.contains(&format!("the {compression} data is truncated or damaged")), "{error}");
            let twice = [data.clone(), data].concat();
            // Two members one after the other are one text: a second head inside a trace.
            assert!(try_read(twice).unwrap_err().to_string().contains("expected `#BEGIN_TB`"));
        }
    }
}

/// The only access of a trace of one instruction.
fn only(version: u8, line: &str) -> WarpAccess {
    let events = try_partial(&with_instructions(version, &[line])).unwrap_or_else(|error| panic!("{line}: {error}"));
    let accesses = accesses(&events);
    assert_eq!(accesses.len(), 1, "{line}");
    accesses[0].clone()
}

#[test]
fn the_three_address_modes() {
    let list = only(3, "00a0 00000105 1 R4 LDG.E 1 R4 4 0 0x7f0000000010 7f0000000020 0x7f0000000030 ");
    assert_eq!((list.addresses[0], list.addresses[2], list.addresses[8]), (0x7f0000000010, 0x7f0000000020, 0x7f0000000030));
    assert_eq!((list.addresses[1], list.mask), (0, 0x105));
    let stride = only(3, "00a0 000000f0 1 R4 LDG.E 1 R4 4 1 0x7f0000000100 -4");
    assert_eq!(stride.addresses[4..8], [0x7f0000000100, 0x7f00000000fc, 0x7f00000000f8, 0x7f00000000f4]);
    assert_eq!((stride.addresses[3], stride.addresses[8]), (0, 0));
    let deltas = only(3, "00a0 80000003 1 R4 LDG.E 1 R4 4 2 0x7f0000000100 -16 4096");
    assert_eq!((deltas.addresses[0], deltas.addresses[1], deltas.addresses[31]), (0x7f0000000100, 0x7f00000000f0, 0x7f00000010f0));
}

#[test]
fn no_active_lane_is_legal_in_every_mode() {
    for mode in ["0", "1 0x0 0", "2 0x0", "1 0xffffffffffffffff 9"] {
        let access = only(3, &format!("00a0 00000000 1 R4 LDG.E 1 R4 4 {mode} "));
        assert_eq!((access.mask, access.addresses), (0, [0; 32]), "{mode}");
    }
}

#[test]
fn the_opcode_says_width_space_kind_and_shareability() {
    use AccessKind::{Atomic, Load, Store};
    use Space::{Constant, Global, Local, Shared};
    for (opcode, expected) in [
        ("LDG.E", (Load, Global, 4, true)),
        ("LDG.E.U8", (Load, Global, 1, true)),
        ("LDG.E.S8.CONSTANT", (Load, Global, 1, true)),
        ("LDG.E.U16.SYS", (Load, Global, 2, true)),
        ("LDG.E.S16", (Load, Global, 2, true)),
        ("LDG.E.64", (Load, Global, 8, true)),
        ("LDG.E.LTC128B.128.CONSTANT", (Load, Global, 16, true)),
        ("LDG.E.256", (Load, Global, 32, true)),
        ("LDG.E.STRONG.GPU", (Load, Global, 4, false)),
        ("LDG.E.64.VOLATILE", (Load, Global, 8, false)),
        ("LDGSTS.E.128", (Load, Global, 16, true)),
        ("LDGSTS.E.BYPASS.128", (Load, Global, 16, false)),
        ("STG.E.U8", (Store, Global, 1, true)),
        ("STG.E.STRONG.SYS", (Store, Global, 4, false)),
        ("LD.E", (Load, Global, 4, true)),
        ("ST.E.64", (Store, Global, 8, true)),
        ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU", (Atomic, Global, 4, false)),
        ("RED.E.ADD.F64.RN", (Atomic, Global, 8, false)),
        ("REDG.E.ADD", (Atomic, Global, 4, false)),
        ("ATOM.E.CAS.64", (Atomic, Global, 8, false)),
        ("ATOMG.E.ADD", (Atomic, Global, 4, false)),
        ("ATOMS.ADD", (Atomic, Shared, 4, false)),
        ("LDS.U.64", (Load, Shared, 8, true)),
        ("STS.128", (Store, Shared, 16, true)),
        ("LDL.64", (Load, Local, 8, true)),
        ("STL", (Store, Local, 4, true)),
        ("LDC.64", (Load, Constant, 8, true)),
    ] {
        let a = only(3, &format!("00a0 00000001 0 {opcode} 1 R4 4 2 0x7f0000000000"));
        assert_eq!((a.kind, a.space, a.width, a.shareable), expected, "{opcode}");
    }
}

#[test]
fn other_instructions_with_addresses_are_no_accesses() {
    for opcode in ["CCTL.IVALL", "TEX.SCR.LL", "QSPC.E.G", "LDGX", "REDUX.SUM", "LDGDEPBAR"] {
        // Their addresses may be anything, but must be there.
        for end in ["1 0xffffffffffffffff -9223372036854775808", "2 0xffffffffffffffff 1", "0 0 0xffffffffffffffff"] {
            let line = format!("00a0 00000003 0 {opcode} 1 R4 4 {end}");
            let events = try_partial(&with_instructions(3, &[&line])).unwrap();
            assert_eq!(accesses(&events), [] as [&WarpAccess; 0], "{opcode}");
            assert!(events.contains(&Event::BlockEnd { warps: 1, instructions: 1 }));
            let short = line.rsplit_once(' ').unwrap().0;
            assert!(try_partial(&with_instructions(3, &[short])).is_err(), "{short}");
        }
    }
}

#[test]
fn generic_accesses_go_where_their_first_lane_points() {
    // Windows of 16 MiB from 0x7fc867000000 (shared) and 0x7fc865000000 (local); see `common::trace`.
    for (address, space) in [
        ("0x7fc867000000", Space::Shared),
        ("0x7fc867ffffff", Space::Shared),
        ("0x7fc868000000", Space::Global),
        ("0x7fc866ffffff", Space::Global),
        ("0x7fc865000000", Space::Local),
        ("0x7fc864ffffff", Space::Global),
    ] {
        for opcode in ["LD.E.U8", "ST.E.U8", "ATOM.E.ADD.U8"] {
            let a = only(3, &format!("00a0 00000002 0 {opcode} 1 R4 1 2 {address}"));
            assert_eq!(a.space, space, "{opcode} {address}");
        }
        // Not generic: the address does not matter.
        assert_eq!(only(3, &format!("00a0 00000002 0 LDG.E.U8 1 R4 1 2 {address}")).space, Space::Global);
    }
}

#[test]
fn source_lines_are_skipped_when_lineinfo_is_on() {
    let text = with_instructions(5, &["123 00a0 00000001 1 R4 LDG.E 1 R4 4 2 0x7f0000000000 0"]);
    let on = text.replace("\n#traces", "\n-enable lineinfo = 1\n#traces");
    assert_eq!(accesses(&try_partial(&on).unwrap())[0].pc, 0xa0);
    let off = text.replace("\n#traces", "\n-enable lineinfo = 0\n#traces");
    assert!(try_partial(&off).is_err());
    let without = off.replace("123 00a0", "00a0");
    assert_eq!(accesses(&try_partial(&without).unwrap())[0].pc, 0xa0);
}

#[test]
fn blanks_carriage_returns_and_a_missing_last_newline_do_not_matter() {
    let text = sample(5);
    let expected = read(&text);
    assert_eq!(read(&text.replace('\n', "\r\n")), expected);
    assert_eq!(read(&text.replace('\n', "  \t\n")), expected);
    assert_eq!(read(&text.replace(" 1 R4 ", " \t 1  R4 ").replace(" = ", "  =   ")), expected);
    assert_eq!(read(text.trim_end()), expected);
}

/// Gives one byte at a time, and an interruption before each.
struct Dripping(std::vec::IntoIter<u8>, bool);

impl std::io::Read for Dripping {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let count = out.len().min(1);
        Ok(out.iter_mut().take(count).zip(&mut self.0).map(|(to, from)| *to = from).count())
    }
}

#[test]
fn slow_and_interrupted_input_gives_the_same() {
    let text = sample(5);
    for compression in ["none", "xz", "gzip", "zstd"] {
        let input = Dripping(compressed(&text, compression).into_iter(), false);
        let reader = TraceReader::from_reader(input, "drip", TraceOptions::default()).unwrap();
        let events: Vec<Event> = reader.collect::<Result<_, _>>().unwrap();
        assert_eq!(events[1..], read(&text)[1..], "{compression}");
    }
}
