//! Summaries of traces, counted by hand.

mod common;

use std::io::Cursor;

use common::{sample, with_instructions};
use l1forge_sim::trace::{Compression, TraceInfo, TraceOptions, TraceReader};

fn info(text: &str, line_bytes: u32) -> TraceInfo {
    let options = TraceOptions { partial: true, ..TraceOptions::default() };
    let reader = TraceReader::from_reader(Cursor::new(text.to_owned()), "t", options).unwrap();
    TraceInfo::of(reader, line_bytes).unwrap()
}

#[test]
fn every_count_is_that_of_the_text() {
    let text = with_instructions(
        3,
        &[
            "0000 ffffffff 1 R1 MOV 0 0",
            "0010 ffffffff 1 R4 LDG.E 1 R4 4 1 0x7f0000000000 4",
            "0020 ffffffff 1 R4 LDG.E.128 1 R4 16 1 0x7f0000000000 16",
            "0030 00000003 1 R4 LDG.E.STRONG.GPU 1 R4 4 2 0x7f0000000000 4096",
            "0040 00000001 0 STG.E.64 2 R4 R6 8 2 0x7f000000007c",
            "0050 00000001 0 RED.E.ADD 2 R4 R6 4 2 0x7f0000000000",
            "0060 00000000 1 R4 LDG.E 1 R4 4 1 0x0 0",
            "0070 00000001 1 R4 LDS 1 R4 4 2 0x10",
        ],
    );
    let kernel = &info(&text, 128).kernels[0];
    assert_eq!((kernel.thread_blocks, kernel.warps, kernel.instructions), (1, 1, 8));
    assert_eq!((kernel.loads, kernel.stores, kernel.atomics), (4, 1, 1));
    assert_eq!((kernel.unshareable_loads, kernel.other_accesses), (1, 1));
    assert_eq!(kernel.bytes, 32 * 4 + 32 * 16 + 2 * 4 + 8 + 4);
    // 1 + 4 + 2 + 2 + 1 + 0 line accesses; lines 0, 1, 2, 3 and 32.
    assert_eq!((kernel.line_accesses, kernel.lines, kernel.shared_lines), (10, 5, 0));
    // Lines of 1024 bytes: 1 + 1 + 2 + 1 + 1; lines 0 and 4.
    let kernel = &info(&text, 1024).kernels[0];
    assert_eq!((kernel.line_accesses, kernel.lines), (6, 2));
}

#[test]
fn lines_are_shared_when_two_thread_blocks_touch_them() {
    let block = |x: u32, lines: &[u32]| {
        let loads: String = lines.iter().map(|l| format!("0010 00000001 1 R4 LDG.E 1 R4 4 2 {:#x}\n", l * 128)).collect();
        format!("#BEGIN_TB\nthread block = {x},0,0\nwarp = 0\ninsts = {}\n{loads}#END_TB\n", lines.len())
    };
    let kernel = |blocks: &[&[u32]]| {
        let body: String = blocks.iter().enumerate().map(|(x, lines)| block(x as u32, lines)).collect();
        let text = common::trace(3, &body).replace("(2,1,1)", &format!("({},1,1)", blocks.len()));
        let kernel = info(&text, 128).kernels.remove(0);
        (kernel.lines, kernel.shared_lines)
    };
    assert_eq!(kernel(&[&[1, 2, 1], &[3]]), (3, 0));
    assert_eq!(kernel(&[&[1, 2], &[2, 2, 3]]), (3, 1));
    assert_eq!(kernel(&[&[1, 2], &[2, 1], &[1, 2, 3], &[1]]), (3, 2));
}

#[test]
fn copies_kernels_and_progress() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernel-1.traceg"), sample(2)).unwrap();
    std::fs::write(folder.path().join("kernel-2.traceg"), zstd::encode_all(sample(5).as_bytes(), 1).unwrap()).unwrap();
    let list = "MemcpyHtoD,0x7f0000000000,64\nkernel-1.traceg\nMemcpyHtoD,0x7f0000000000,36\nkernel-2.traceg\n";
    std::fs::write(folder.path().join("kernelslist.g"), list).unwrap();
    let reader = TraceReader::open(folder.path(), TraceOptions::default()).unwrap();
    let mut seen = Vec::new();
    let info = TraceInfo::with_progress(reader, 128, |instructions| seen.push(instructions)).unwrap();
    assert_eq!((info.line_bytes, info.memcpys, info.memcpy_bytes), (128, 2, 100));
    assert_eq!(seen, [4, 4, 8, 8]);
    // The same lines in two kernels are not shared by that.
    assert_eq!(info.kernels.iter().map(|k| (k.lines, k.shared_lines)).collect::<Vec<_>>(), [(3, 0), (3, 0)]);
    let about = |k: usize| (info.kernels[k].kernel.tracer_version, info.kernels[k].kernel.compression);
    assert_eq!((about(0), about(1)), ((2, Compression::None), (5, Compression::Zstd)));

    let json = serde_json::to_value(&info).unwrap();
    assert_eq!(json["kernels"][1]["name"], "_Z3fooPi");
    assert_eq!(json["kernels"][1]["compression"], "zstd");
    assert_eq!(json["kernels"][1]["grid"], serde_json::json!({"x": 2, "y": 1, "z": 1}));
    assert_eq!(json["kernels"][1]["thread_blocks"], 2);
    assert_eq!(serde_json::from_value::<TraceInfo>(json).unwrap(), info);
}

#[test]
fn illegal_line_sizes_and_broken_traces_are_errors() {
    let reader = |text: String| TraceReader::from_reader(Cursor::new(text), "t", TraceOptions::default()).unwrap();
    let error = TraceInfo::of(reader(sample(5)), 100).unwrap_err().to_string();
    assert_eq!(error, "line_bytes = 100: legal is a power of two in 32..=1024");
    let error = TraceInfo::of(reader(sample(5).replace("LDG.E", "ldg")), 128).unwrap_err().to_string();
    assert_eq!(error, "t:19: found `ldg`, expected an opcode");
}
