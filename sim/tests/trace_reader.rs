//! The reader: grammar, errors, compression.

mod common;

use std::io::Write;

use common::{read, sample, try_read};
use l1forge_sim::trace::{AccessKind, Event, Space};

#[test]
fn a_small_trace_gives_its_events() {
    let events = read(&sample(5));
    let names: Vec<_> = events.iter().map(common::kind).collect();
    assert_eq!(
        names,
        [
            "kernel",
            "block",
            "access",
            "access",
            "end_block",
            "block",
            "end_block",
            "end_kernel"
        ]
    );
    let Event::KernelBegin(kernel) = &events[0] else {
        panic!()
    };
    assert_eq!(
        (kernel.name.as_str(), kernel.id, kernel.tracer_version),
        ("_Z3fooPi", 7, 5)
    );
    assert_eq!(
        (kernel.grid.to_string(), kernel.block.to_string()),
        ("(2,1,1)".into(), "(64,1,1)".into())
    );
    let Event::Access(load) = &events[2] else {
        panic!()
    };
    assert_eq!(
        (load.warp, load.pc, load.kind, load.space),
        (0, 0xa0, AccessKind::Load, Space::Global)
    );
    assert_eq!(
        (
            load.mask,
            load.width,
            load.shareable,
            load.instructions_before
        ),
        (u32::MAX, 4, true, 1)
    );
    assert_eq!(
        (load.addresses[0], load.addresses[31]),
        (0x7fb0_0000_0000, 0x7fb0_0000_007c)
    );
    assert_eq!(
        events[4],
        Event::BlockEnd {
            warps: 2,
            instructions: 4
        }
    );
    assert_eq!(
        events[6],
        Event::BlockEnd {
            warps: 0,
            instructions: 0
        }
    );
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
            assert!(
                error.contains(&format!("the {compression} data is truncated or damaged")),
                "{error}"
            );
            let twice = [data.clone(), data].concat();
            // Two members one after the other are one text: a second head inside a trace.
            assert!(
                try_read(twice)
                    .unwrap_err()
                    .to_string()
                    .contains("expected `#BEGIN_TB`")
            );
        }
    }
}
