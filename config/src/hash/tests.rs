use std::time::{Duration, Instant};

use super::*;

const DEFAULT: HashShape = HashShape { tag_bits: 41, hash_bits: 4096, banks: 64, hashes: 3 };

fn rank(rows: &[u64]) -> u32 {
    let mut rows = rows.to_vec();
    let mut rank = 0;
    for t in 0..64 {
        if let Some(pivot) = (rank..rows.len()).find(|&row| rows[row] >> t & 1 == 1) {
            rows.swap(rank, pivot);
            for row in rank + 1..rows.len() {
                rows[row] ^= if rows[row] >> t & 1 == 1 { rows[rank] } else { 0 };
            }
            rank += 1;
        }
    }
    rank as u32
}

/// Tag bits `first..first + count`.
fn run(first: u32, count: u32) -> u64 {
    ((1 << count) - 1) << first
}

fn within(base: &BaseHash, tag_bits: u64) -> u32 {
    rank(&base.taps.iter().map(|taps| taps & tag_bits).collect::<Vec<_>>())
}

fn stacked(a: &BaseHash, b: &BaseHash) -> u32 {
    rank(&[&a.taps[..], &b.taps].concat())
}

/// FNV-1a over all that a reader of the matrices sees.
fn checksum(hash: &HashMatrices) -> u64 {
    let bases = hash.bases.iter().flat_map(|base| base.taps.iter().copied().chain([base.constant.into()]));
    let coefficients = hash.coefficients.iter().flatten().map(|&factor| factor.into());
    let bytes = bases.chain(coefficients).flat_map(u64::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Every legal width of tag and `g`.
fn sizes() -> impl Iterator<Item = (u32, u32)> {
    TAG_BITS.flat_map(|tag_bits| (0..=MAX_G_BITS).map(move |g_bits| (tag_bits, g_bits)))
}

#[test]
fn matrices_stay_as_they_are() {
    let new = |scheme, shape| HashMatrices::new(scheme, shape).unwrap();
    assert_eq!(checksum(&new(HashScheme::Double, DEFAULT)), 0x479f_83a1_ca18_6202);
    assert_eq!(checksum(&new(HashScheme::Independent, DEFAULT)), 0x1bdc_9e31_c23e_dbf0);
    let large = HashShape { tag_bits: 42, hash_bits: 19_456, hashes: 7, ..DEFAULT };
    assert_eq!(checksum(&new(HashScheme::Double, large)), 0x42de_d22f_1c49_054c);
    assert_eq!(new(HashScheme::Double, large), new(HashScheme::Double, large));
}

#[test]
fn layout_follows_the_rows() {
    // hash_bits, banks, then rows, bank bits, remaining bits.
    let table = [
        (4096, 64, 64, 6, 6),
        (256, 64, 4, 6, 2),
        (64, 64, 1, 6, 0),
        (1536, 64, 24, 6, 5 + EXTRA_BITS),
        (9216, 64, 144, 6, 8 + EXTRA_BITS),
        (19_456, 64, 304, 6, 9 + EXTRA_BITS),
        (20_480, 1024, 20, 10, 5 + EXTRA_BITS),
        (3, 1, 3, 0, 2 + EXTRA_BITS),
        (1, 1, 1, 0, 0),
    ];
    for (hash_bits, banks, rows, bank_bits, remaining_bits) in table {
        let hash = HashMatrices::new(HashScheme::Double, HashShape { hash_bits, banks, ..DEFAULT }).unwrap();
        assert_eq!((hash.hash_rows, hash.bank_bits, hash.remaining_bits), (rows, bank_bits, remaining_bits));
        assert_eq!(hash.g_bits, bank_bits + remaining_bits);
        assert!(hash.bases.iter().all(|base| base.taps.len() == hash.g_bits as usize));
    }
}

#[test]
fn coefficients_follow_the_rule() {
    let coefficients = |scheme, hash_bits, hashes| {
        let hash = HashMatrices::new(scheme, HashShape { hash_bits, hashes, ..DEFAULT }).unwrap();
        assert!(hash.coefficients.iter().all(|factors| factors.len() == hash.bases.len()));
        hash.coefficients
    };
    use HashScheme::{Double, Independent};
    assert!(coefficients(Double, 4096, 0).is_empty());
    assert!(coefficients(Double, 0, 0).is_empty());
    assert_eq!(coefficients(Double, 4096, 1), [[1]]);
    assert_eq!(coefficients(Double, 4096, 3), [[1, 0], [1, 1], [1, 2]]);
    assert_eq!(coefficients(Double, 20_480, 3), [[1, 0], [1, 1], [1, 2]]);
    assert_eq!(coefficients(Double, 8128, 8)[7], [1, 7]);
    assert_eq!(coefficients(Double, 8192, 5), [[1, 0, 0, 0], [1, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]);
    assert_eq!(coefficients(Independent, 4096, 3), [[1, 0, 0], [0, 1, 0], [0, 0, 1]]);
}

#[test]
fn only_the_step_has_a_constant_bit() {
    for hash_bits in [4096, 19_456] {
        let hash = HashMatrices::new(HashScheme::Double, HashShape { hash_bits, hashes: 8, ..DEFAULT }).unwrap();
        for (j, base) in hash.bases.iter().enumerate() {
            assert_eq!(base.constant, u32::from(j == 1));
            assert_eq!(base.taps[0] == 0, j == 1);
        }
    }
    let hash = HashMatrices::new(HashScheme::Independent, HashShape { hashes: 8, ..DEFAULT }).unwrap();
    assert!(hash.bases.iter().all(|base| base.constant == 0 && base.taps[0] != 0));
}

#[test]
fn bases_do_not_depend_on_the_number_of_bases() {
    for (g_bits, low_bits) in [(12, 0), (18, 5)] {
        for odd_base in [Some(1), None] {
            let bases = |count| generate::bases(41, g_bits, low_bits, count, odd_base, 0);
            let all = bases(8);
            for count in 0..8 {
                assert_eq!(bases(count)[..], all[..count]);
            }
        }
    }
}

#[test]
fn seeds_are_those_of_the_size() {
    let bases = |scheme, shape| HashMatrices::new(scheme, shape).unwrap().bases;
    let seeded = |shape, seed| HashMatrices::with_seed(HashScheme::Double, shape, Some(seed)).unwrap().bases;
    assert_eq!(bases(HashScheme::Double, DEFAULT), seeded(DEFAULT, 848));
    // The table has no seed for 20 tag bits, and 480 for 30 and 12 bits of `g` whatever the hashes.
    let other = |tag_bits, hashes| HashShape { tag_bits, hashes, ..DEFAULT };
    assert_eq!(bases(HashScheme::Double, other(20, 3)), seeded(other(20, 3), 0));
    for hashes in [1, 3, 8] {
        assert_eq!(bases(HashScheme::Double, other(30, hashes)), seeded(other(30, hashes), 480));
    }
    let independent = HashMatrices::with_seed(HashScheme::Independent, DEFAULT, Some(0)).unwrap();
    assert_eq!(bases(HashScheme::Independent, DEFAULT), independent.bases);
}

/// With rows that are no power of two, the bits of `g` that tell the rows apart are as good as `g`
/// of a power of two is.
#[test]
fn main_bits_are_good_at_every_tag_width() {
    for tag_bits in TAG_BITS {
        for rows in [3, 20, 24, 40, 144, 320, 1000] {
            let shape = HashShape { tag_bits, hash_bits: 64 * rows, ..DEFAULT };
            let hash = HashMatrices::new(HashScheme::Double, shape).unwrap();
            let low = (hash.g_bits - 6 - rows.ilog2()) as usize;
            assert_eq!(low, EXTRA_BITS as usize + 1);
            for (j, base) in hash.bases.iter().enumerate() {
                let at = format!("{shape:?}, base {j}");
                assert!(base.taps.iter().all(|taps| taps.count_ones() <= MAX_TAPS && taps >> tag_bits == 0), "{at}");
                assert!(base.taps.iter().skip(j).all(|&taps| taps != 0), "{at}: an empty row");
                let main = BaseHash { taps: base.taps[low..].to_vec(), constant: 0 };
                let bits = main.taps.len() as u32;
                let length = bits.min(tag_bits);
                // The step may give up runs where it has hardly more taps than tag bits, for the rank of both.
                if tag_bits <= bits * if j == 0 { MAX_TAPS } else { 4 } {
                    assert!((0..=tag_bits - length).all(|first| within(&main, run(first, length)) == length), "{at}");
                }
            }
        }
    }
}

#[test]
fn step_and_start_are_good_at_every_size() {
    assert_eq!(MAX_TAPS, 6, "one LUT6");
    for (tag_bits, g_bits) in sizes() {
        let at = format!("tag_bits = {tag_bits}, g_bits = {g_bits}");
        let bases = generate::bases(tag_bits, g_bits, 0, 2, Some(1), 0);
        let [start, step] = &bases[..] else { panic!("{at}: {} bases", bases.len()) };
        let fixed = g_bits.min(1);
        assert_eq!((start.constant, step.constant), (0, fixed), "{at}");
        for base in &bases {
            assert!(base.taps.iter().all(|taps| taps.count_ones() <= MAX_TAPS && taps >> tag_bits == 0), "{at}");
        }
        assert!(start.taps.iter().chain(step.taps.iter().skip(1)).all(|&taps| taps != 0), "{at}: an empty row");
        // All tag bits are used, if the taps suffice.
        let used = start.taps.iter().chain(&step.taps).fold(0, |used, taps| used | taps);
        if tag_bits <= (2 * g_bits - fixed) * MAX_TAPS {
            assert_eq!(used, run(0, tag_bits), "{at}");
        }
        // Together the rank is full.
        assert_eq!(stacked(start, step), tag_bits.min(2 * g_bits - fixed), "{at}");
        // And so it is of each in every run of tag bits, if the taps suffice for one per bit.
        for (base, rows) in [(start, g_bits), (step, g_bits - fixed)] {
            let length = rows.min(tag_bits);
            if tag_bits <= rows * MAX_TAPS {
                assert!((0..=tag_bits - length).all(|first| within(base, run(first, length)) == length), "{at}");
            }
        }
    }
}

#[test]
fn tiles_of_low_tag_bits_are_mostly_hashed_without_collision() {
    // Two runs of ten bits together, below bit 24, in h1 and in h1 and h2 stacked.
    let hash = HashMatrices::new(HashScheme::Double, DEFAULT).unwrap();
    let (mut all, mut alone, mut together) = (0, 0, 0);
    for late in 1u32..10 {
        for first in 0..=24 - late {
            for early in 0..(first + late + 1).saturating_sub(10) {
                let bits = run(early, 10 - late) | run(first, late);
                let rows: Vec<u64> = hash.bases.iter().flat_map(|base| &base.taps).map(|taps| taps & bits).collect();
                assert_eq!(bits.count_ones(), 10);
                all += 1;
                alone += u32::from(rank(&rows[..12]) == 10);
                together += u32::from(rank(&rows) == 10);
            }
        }
    }
    assert!(all > 500 && alone * 100 > all * 63, "{alone} of {all}");
    assert_eq!(together, all);
}

#[test]
fn independent_bases_are_good_at_every_size() {
    for (tag_bits, g_bits) in sizes().filter(|&(_, g_bits)| g_bits > 1) {
        let at = format!("tag_bits = {tag_bits}, g_bits = {g_bits}");
        let bases = generate::bases(tag_bits, g_bits, 0, 8, None, 0);
        assert_eq!(bases.len(), 8, "{at}");
        for base in &bases {
            assert!(base.taps.iter().all(|taps| taps.count_ones() <= MAX_TAPS && *taps != 0), "{at}");
        }
        for pair in bases.windows(2) {
            assert_eq!(stacked(&pair[0], &pair[1]), tag_bits.min(2 * g_bits), "{at}");
        }
    }
}

/// Processor time of this thread, or the time of day where the system does not tell.
fn processor_time(start: Instant) -> Duration {
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = nanoseconds.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

#[test]
fn generation_is_fast() {
    let start = Instant::now();
    for (scheme, hashes) in [(HashScheme::Double, 3), (HashScheme::Independent, 8)] {
        for (tag_bits, hash_bits) in [(41, 4096), (59, 2048), (57, 1 << 17), (50, (1 << 18) - 64)] {
            let shape = HashShape { tag_bits, hash_bits, hashes, ..DEFAULT };
            // Over many runs, since the system counts in ticks.
            let before = processor_time(start);
            (0..25).for_each(|_| drop(HashMatrices::new(scheme, shape).unwrap()));
            let mean = (processor_time(start) - before) / 25;
            assert!(mean < Duration::from_millis(20), "{scheme:?}, {shape:?}: {mean:?}");
        }
    }
}

#[test]
fn illegal_sizes_are_named() {
    let error = |shape| HashMatrices::new(HashScheme::Double, shape).unwrap_err();
    let table = [
        (HashShape { tag_bits: 5, ..DEFAULT }, "tag_bits = 5 is not legal: 6 to 59 bits"),
        (HashShape { tag_bits: 60, ..DEFAULT }, "tag_bits = 60 is not legal: 6 to 59 bits"),
        (HashShape { hashes: 9, ..DEFAULT }, "hashes = 9 is not legal: 0 to 8"),
        (HashShape { banks: 0, ..DEFAULT }, "banks = 0 is not legal: a power of two"),
        (HashShape { banks: 48, ..DEFAULT }, "banks = 48 is not legal: a power of two"),
        (HashShape { hash_bits: 4100, ..DEFAULT }, "hash_bits = 4100 is not legal: a multiple of banks = 64"),
        (HashShape { hash_bits: 0, ..DEFAULT }, "hash_bits = 0 is not legal: at least 1 with hashes = 3"),
        (HashShape { hash_bits: 1 << 25, ..DEFAULT }, "g_bits = 25 is not legal: at most 24 bits: lower hash_bits"),
    ];
    for (shape, message) in table {
        assert_eq!(error(shape).to_string(), message);
    }
}

#[test]
fn schemes_have_lower_case_names() {
    for (scheme, name) in [(HashScheme::Double, "\"double\""), (HashScheme::Independent, "\"independent\"")] {
        assert_eq!(serde_json::to_string(&scheme).unwrap(), name);
        assert_eq!(serde_json::from_str::<HashScheme>(name).unwrap(), scheme);
    }
    assert_eq!(HashScheme::default(), HashScheme::Double);
}
