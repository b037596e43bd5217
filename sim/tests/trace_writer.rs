//! What is written is read back.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::real_trace;
use l1forge_sim::trace::{
    AccessKind, Compression, Dim3, Event, Kernel, Space, TraceError, TraceOptions, TraceReader, TraceWriter, WARP_SIZE, WarpAccess,
    write_file, write_folder,
};
use l1forge_sim::workload::{Workload, WorkloadParameters};
use proptest::prelude::*;

fn options() -> TraceOptions {
    TraceOptions { address_bits: 64, partial: false }
}

/// Tracer version and compression are those of the file that is read.
fn normal(events: impl IntoIterator<Item = Result<Event, TraceError>>) -> Vec<Event> {
    let mut events: Vec<Event> = events.into_iter().collect::<Result<_, _>>().unwrap();
    for event in &mut events {
        if let Event::KernelBegin(kernel) = event {
            let kernel = Arc::make_mut(kernel);
            (kernel.tracer_version, kernel.compression) = (5, Compression::None);
        }
    }
    events
}

fn in_memory(events: &[Event]) -> Vec<Event> {
    let Event::KernelBegin(kernel) = &events[0] else { panic!() };
    let mut writer = TraceWriter::new(Vec::new(), kernel).unwrap();
    for event in &events[1..] {
        writer.event(event).unwrap();
    }
    let text = writer.finish().unwrap();
    let reader = TraceReader::from_reader(std::io::Cursor::new(text.clone()), "written", options());
    let events: Result<_, TraceError> = reader.and_then(Iterator::collect);
    events.unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&text)))
}

/// Addresses as kernels have them, and some as they do not.
fn addresses() -> impl Strategy<Value = [u64; WARP_SIZE]> {
    let stride = (0u64..1 << 40, -300i64..300)
        .prop_map(|(base, step)| std::array::from_fn(|i| (1 << 41) + base.wrapping_add_signed(step * i as i64)));
    let near = prop::array::uniform32(0u64..4096).prop_map(|a| a.map(|a| 0x7f00_0000_0000 + a));
    let far = prop::array::uniform32(0..u64::MAX - 31);
    prop_oneof![stride, near, far]
}

fn access() -> impl Strategy<Value = WarpAccess> {
    let mask = prop_oneof![Just(u32::MAX), Just(0), any::<u32>(), (0u32..32).prop_map(|lane| 1 << lane)];
    let instruction = prop_oneof![
        (prop::sample::select(vec![Space::Global, Space::Shared, Space::Local]), any::<bool>()).prop_map(|(space, shareable)| (
            space,
            AccessKind::Load,
            shareable
        )),
        Just((Space::Constant, AccessKind::Load, true)),
        (prop::sample::select(vec![Space::Global, Space::Shared, Space::Local]), any::<bool>()).prop_map(|(space, shareable)| (
            space,
            AccessKind::Store,
            shareable
        )),
        prop::sample::select(vec![Space::Global, Space::Shared]).prop_map(|space| (space, AccessKind::Atomic, false)),
    ];
    let width = prop::sample::select(vec![1u8, 2, 4, 8, 16, 32]);
    (instruction, width, mask, addresses(), 0u32..5, any::<u32>()).prop_map(
        |((space, kind, shareable), width, mask, addresses, instructions_before, pc)| WarpAccess {
            warp: 0,
            pc: pc.into(),
            kind,
            space,
            shareable,
            width,
            mask,
            instructions_before,
            addresses: std::array::from_fn(|lane| if mask >> lane & 1 == 1 { addresses[lane] } else { 0 }),
        },
    )
}

/// The events of a kernel of `blocks`: accesses by warp, empty warps, instructions behind the last access.
fn kernel() -> impl Strategy<Value = Vec<Event>> {
    let warps = prop::collection::btree_map(0u32..4, prop::collection::vec(access(), 1..5), 0..4);
    let block = (warps, 0u32..3, 0u64..4);
    let base = prop::option::of(any::<u64>());
    (prop::collection::vec(block, 1..5), any::<u64>(), base).prop_map(|(blocks, id, shared_base)| {
        let kernel = Kernel {
            name: "_Z3addPf = x".to_owned(),
            id,
            grid: Dim3::linear(blocks.len() as u32),
            block: Dim3 { x: 32, y: 2, z: 2 },
            shared_base,
            local_base: None,
            tracer_version: 5,
            compression: Compression::None,
        };
        let mut events = vec![Event::KernelBegin(Arc::new(kernel))];
        for (index, (warps, empty, trailing)) in blocks.into_iter().enumerate() {
            let (x, listed) = (index as u32, (warps.len() as u32 + empty).min(4));
            events.push(Event::BlockBegin { index: x.into(), coordinates: Dim3 { x, y: 0, z: 0 } });
            events.extend(block_events(warps, listed, trailing));
        }
        events.push(Event::KernelEnd);
        events
    })
}

fn block_events(warps: BTreeMap<u32, Vec<WarpAccess>>, listed: u32, trailing: u64) -> Vec<Event> {
    let mut instructions = if listed == 0 { 0 } else { trailing };
    let mut events = Vec::new();
    for (warp, accesses) in warps {
        for access in accesses {
            instructions += 1 + u64::from(access.instructions_before);
            events.push(Event::Access(WarpAccess { warp, ..access }));
        }
    }
    events.push(Event::BlockEnd { warps: listed, instructions });
    events
}

proptest! {
    #[test]
    fn any_kernel_survives(events in kernel()) {
        prop_assert_eq!(in_memory(&events), events);
    }
}

#[test]
fn workloads_survive_every_compression() {
    let parameters = WorkloadParameters { sms: 4, scale: 0.1, ..WorkloadParameters::default() };
    for workload in Workload::ALL {
        let expected = normal(workload.events(parameters.clone()).unwrap());
        for compression in [Compression::None, Compression::Xz, Compression::Gzip, Compression::Zstd] {
            let folder = tempfile::tempdir().unwrap();
            let list = write_folder(folder.path(), workload.events(parameters.clone()).unwrap(), compression).unwrap();
            let events: Vec<_> = TraceReader::open(&list, options()).unwrap().collect();
            let Ok(Event::KernelBegin(kernel)) = &events[0] else { panic!() };
            assert_eq!(kernel.compression, compression);
            assert_eq!(normal(events), expected, "{workload} {compression}");
        }
    }
}

#[test]
fn the_end_of_the_name_chooses_the_compression() {
    let parameters = WorkloadParameters { sms: 1, scale: 0.1, ..WorkloadParameters::default() };
    let folder = tempfile::tempdir().unwrap();
    for (name, head) in [("a.traceg", &b"-kern"[..]), ("a.xz", b"\xfd7zXZ"), ("a.gz", b"\x1f\x8b"), ("a.zst", b"\x28\xb5")] {
        let path = folder.path().join(name);
        write_file(&path, Workload::VectorAdd.events(parameters.clone()).unwrap()).unwrap();
        assert!(std::fs::read(&path).unwrap().starts_with(head), "{name}");
    }
    let error = write_file(&folder.path().join("b"), Workload::Contend.events(parameters).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "cannot write a second kernel: a trace file holds one; write a folder");
}

#[test]
fn copies_from_the_host_survive() {
    let copy = Event::Memcpy { address: 0x7f00_1234_0000, bytes: 77 };
    let parameters = WorkloadParameters { sms: 1, scale: 0.1, ..WorkloadParameters::default() };
    let kernel = Workload::VectorAdd.events(parameters.clone()).unwrap();
    let events = || std::iter::once(Ok(copy.clone())).chain(Workload::VectorAdd.events(parameters.clone()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    write_folder(folder.path(), events(), Compression::None).unwrap();
    let read = normal(TraceReader::open(folder.path(), options()).unwrap());
    assert_eq!((&read[0], &read[1..]), (&copy, &normal(kernel)[..]));
}

#[test]
fn real_traces_survive() {
    for name in ["bfs", "vectoradd"] {
        let Some(path) = real_trace(name) else { return };
        let read = |path: &std::path::Path| TraceReader::open(path, options()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        write_folder(folder.path(), read(&path), Compression::Zstd).unwrap();
        assert!(normal(read(folder.path())) == normal(read(&path)), "{name}");
    }
}

#[test]
fn what_the_format_cannot_say_is_an_error() {
    let parameters = WorkloadParameters { sms: 1, scale: 0.01, ..WorkloadParameters::default() };
    let events = normal(Workload::VectorAdd.events(parameters).unwrap());
    let Event::Access(load) = events[2].clone() else { panic!() };
    let write = |access: WarpAccess| {
        let Event::KernelBegin(kernel) = &events[0] else { panic!() };
        let mut writer = TraceWriter::new(Vec::new(), kernel).unwrap();
        writer.event(&events[1]).unwrap();
        writer.event(&Event::Access(access)).unwrap_err().to_string()
    };
    let narrow = write(WarpAccess { width: 3, ..load.clone() });
    assert_eq!(narrow, "cannot write the load from global memory of 3 bytes: legal widths are 1, 2, 4, 8, 16, 32");
    let constant = write(WarpAccess { space: Space::Constant, kind: AccessKind::Store, ..load.clone() });
    assert_eq!(constant, "cannot write the store to constant memory of 4 bytes: there is no such instruction");
    let atomic = write(WarpAccess { kind: AccessKind::Atomic, shareable: true, ..load.clone() });
    assert_eq!(atomic, "cannot write the atomic access to global memory of 4 bytes: atomics are never shareable");
    assert_eq!(write(WarpAccess { warp: 8, ..load }), "cannot write warp 8: a thread block has 8 warps");
}

#[test]
fn kernel_names_survive_or_are_refused() {
    let parameters = WorkloadParameters { sms: 1, scale: 0.01, ..WorkloadParameters::default() };
    let mut events = normal(Workload::VectorAdd.events(parameters).unwrap());
    let mut name = |name: &str| {
        if let Event::KernelBegin(kernel) = &mut events[0] {
            Arc::make_mut(kernel).name = name.to_owned();
        }
        let Event::KernelBegin(kernel) = &events[0] else { panic!() };
        let writable = TraceWriter::new(Vec::new(), kernel).is_ok();
        assert!(!writable || in_memory(&events) == events, "{name:?}");
        writable
    };
    for legal in ["", "_Z3addPf", "a = b", "#x", "-x", "tab\u{b}", "\u{a0}blank\u{a0}", "re\rturn"] {
        assert!(name(legal), "{legal:?}");
    }
    for illegal in ["a\nb", " a", "a\t", "a\r"] {
        assert!(!name(illegal), "{illegal:?}");
    }
}

#[test]
fn events_out_of_order_are_refused() {
    let parameters = WorkloadParameters { sms: 1, scale: 0.01, ..WorkloadParameters::default() };
    let events = normal(Workload::VectorAdd.events(parameters).unwrap());
    let Event::KernelBegin(kernel) = &events[0] else { panic!() };
    let begin = &events[1];
    let access = &events[2];
    let block_end = events.iter().find(|event| matches!(event, Event::BlockEnd { .. })).unwrap();
    let after = |before: &[&Event], event: &Event| {
        let mut writer = TraceWriter::new(Vec::new(), kernel).unwrap();
        before.iter().for_each(|event| writer.event(event).unwrap());
        writer.event(event).is_ok()
    };
    let end = &Event::KernelEnd;
    for (before, legal, illegal) in [
        (&[][..], &[begin, end][..], &[access, block_end, &events[0]][..]),
        (&[begin], &[access, block_end], &[begin, end]),
        (&[end], &[], &[begin, access, block_end, end]),
    ] {
        assert!(legal.iter().all(|event| after(before, event)), "{before:?}");
        assert!(!illegal.iter().any(|event| after(before, event)), "{before:?}");
    }
    let writer = TraceWriter::new(Vec::new(), kernel).unwrap();
    let error = writer.finish().unwrap_err().to_string();
    assert_eq!(error, "cannot write the end of the trace: the kernel did not end");
}

#[test]
fn addresses_take_the_shortest_mode() {
    let parameters = WorkloadParameters {
        sms: 1,
        scale: 0.01,
        ..WorkloadParameters::default()
    };
    let events = normal(Workload::VectorAdd.events(parameters).unwrap());
    let Event::Access(load) = &events[2] else {
        panic!()
    };
    let text = |mask: u32, addresses: [u64; WARP_SIZE]| {
        let Event::KernelBegin(kernel) = &events[0] else {
            panic!()
        };
        let mut writer = TraceWriter::new(Vec::new(), kernel).unwrap();
        let access = Event::Access(WarpAccess {
            mask,
            addresses,
            instructions_before: 0,
            ..load.clone()
        });
        for event in [
            &events[1],
            &access,
            &Event::BlockEnd {
                warps: 1,
                instructions: 1,
            },
            &Event::KernelEnd,
        ] {
            writer.event(event).unwrap();
        }
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let line = text.lines().find(|line| line.starts_with("00a0")).unwrap();
        line.split_once("LDG.E 1 R2 4 ").unwrap().1.to_owned()
    };
    let stride = std::array::from_fn(|lane| 0x1000 + 4 * lane as u64);
    assert_eq!(text(u32::MAX, stride), "1 0x1000 4 0 ");
    assert_eq!(text(0xf0, stride), "1 0x1010 4 0 ");
    assert_eq!(text(0b101, stride), "2 0x1000 8 0 ");
    assert_eq!(text(0b100, stride), "2 0x1008 0 ");
    assert_eq!(text(0, stride), "1 0x0 0 0 ");
    let uneven = std::array::from_fn(|lane| 0x1000 - (lane * lane) as u64);
    assert_eq!(text(0b111, uneven), "2 0x1000 -1 -3 0 ");
    let far = std::array::from_fn(|lane| if lane == 0 { 0 } else { u64::MAX - 4 });
    assert_eq!(
        text(0b11, far),
        "0 0x0000000000000000 0xfffffffffffffffb 0 "
    );
}
