//! Any bytes give events or an error, never a panic, here and in whatever consumes the events.

mod common;

use std::io::{Cursor, Write};

use common::sample;
use l1forge_sim::trace::{DealParameters, Dealer, TraceInfo, TraceOptions, TraceReader, TraceWriter};
use proptest::prelude::*;

/// Reads `data` in every way there is. Returns whether it is a valid trace.
fn survive(data: &[u8], partial: bool) -> bool {
    let options = TraceOptions { address_bits: 64, partial };
    let open = || TraceReader::from_reader(Cursor::new(data.to_vec()), "fuzz", options.clone());
    let Ok(reader) = open() else { return false };
    let valid = TraceInfo::of(reader, 32).is_ok();
    let parameters = DealParameters { sms: 2, resident: 1, waiting: 1, ..DealParameters::default() };
    let mut dealer = Dealer::new(open().unwrap(), parameters).unwrap();
    let dealt = (|| {
        while dealer.next_kernel()?.is_some() {
            while !dealer.kernel_done() {
                for sm in 0..2 {
                    dealer.take_any(sm)?;
                }
            }
        }
        Ok::<_, l1forge_sim::trace::TraceError>(())
    })();
    assert_eq!(dealt.is_ok(), valid, "dealer and reader disagree");
    if let Ok(events) = open().unwrap().collect::<Result<Vec<_>, _>>() {
        let [l1forge_sim::trace::Event::KernelBegin(kernel), rest @ ..] = &events[..] else { panic!() };
        let written = TraceWriter::new(Vec::new(), kernel).and_then(|mut writer| {
            rest.iter().try_for_each(|event| writer.event(event))?;
            writer.finish()
        });
        assert!(written.is_ok(), "{:?}", written.err());
    }
    valid
}

/// A change of a file.
#[derive(Debug, Clone)]
enum Change {
    Set(prop::sample::Index, u8),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
    Cut(prop::sample::Index),
    /// Replaces the word at the place.
    Word(prop::sample::Index, &'static str),
}

/// Words that are near the ends of ranges, or belong elsewhere.
const WORDS: [&str; 24] = [
    "0",
    "1",
    "2",
    "3",
    "32",
    "-1",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "ffffffff",
    "100000000",
    "0xffffffffffffffff",
    "0x10000000000000000",
    "LDG.E.128",
    "ATOM.E.ADD",
    "R255",
    "#END_TB",
    "#BEGIN_TB",
    "NoVal",
    "=",
    "\n",
];

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        1 => (at(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        1 => (at(), 1usize..40).prop_map(|(at, count)| Change::Remove(at, count)),
        1 => (at(), 1usize..200).prop_map(|(at, count)| Change::Repeat(at, count)),
        1 => at().prop_map(Change::Cut),
        4 => (at(), prop::sample::select(&WORDS[..])).prop_map(|(at, word)| Change::Word(at, word)),
    ]
}

fn apply(data: &mut Vec<u8>, change: &Change) {
    if data.is_empty() {
        return;
    }
    match change {
        Change::Set(at, byte) => {
            let at = at.index(data.len());
            data[at] = *byte;
        }
        Change::Remove(at, count) => {
            let at = at.index(data.len());
            data.drain(at..(at + count).min(data.len()));
        }
        Change::Repeat(at, count) => {
            let at = at.index(data.len());
            let part = data[at..(at + count).min(data.len())].to_vec();
            data.splice(at..at, part);
        }
        Change::Cut(at) => data.truncate(at.index(data.len())),
        Change::Word(at, word) => {
            let at = at.index(data.len());
            let blank = |b: &u8| b.is_ascii_whitespace();
            let start = data[..at].iter().rposition(blank).map_or(0, |blank| blank + 1);
            let end = data[at..].iter().position(blank).map_or(data.len(), |blank| at + blank);
            data.splice(start..end, word.bytes());
        }
    }
}

fn compressed(data: &[u8], compression: u8) -> Vec<u8> {
    match compression {
        0 => data.to_vec(),
        1 => {
            let mut out = xz2::write::XzEncoder::new(Vec::new(), 0);
            out.write_all(data).unwrap();
            out.finish().unwrap()
        }
        2 => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(data).unwrap();
            out.finish().unwrap()
        }
        _ => zstd::encode_all(data, 1).unwrap(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn changed_text(version in 1u8..=6, partial: bool, changes in prop::collection::vec(change(), 1..6)) {
        let mut data = sample(version).into_bytes();
        changes.iter().for_each(|change| apply(&mut data, change));
        survive(&data, partial);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn changed_compressed_data(compression in 1u8..4, changes in prop::collection::vec(change(), 1..4)) {
        let mut data = compressed(sample(5).as_bytes(), compression);
        // Words make no sense in compressed data.
        changes.iter().filter(|c| !matches!(c, Change::Word(..))).for_each(|change| apply(&mut data, change));
        survive(&data, false);
    }

    #[test]
    fn changed_text_inside_compressed_data(compression in 1u8..4, changes in prop::collection::vec(change(), 1..4)) {
        let mut data = sample(5).into_bytes();
        changes.iter().for_each(|change| apply(&mut data, change));
        prop_assert_eq!(survive(&compressed(&data, compression), true), survive(&data, true));
    }

    #[test]
    fn noise(data in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(!survive(&data, true));
        prop_assert!(!survive(&[b"-kernel name = x\n", &data[..]].concat(), true));
    }
}

#[test]
fn unchanged_samples_are_valid() {
    for version in 1..=6 {
        for compression in 0..4 {
            assert!(survive(&compressed(sample(version).as_bytes(), compression), false), "{version} {compression}");
        }
    }
}
