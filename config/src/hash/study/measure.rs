//! Encoders, columns and false positives of random tags.

use super::*;

/// SplitMix64.
#[derive(Clone)]
pub(super) struct Random(pub(super) u64);

pub(super) fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(super) fn scale(value: u64, bound: u64) -> u64 {
    ((u128::from(value) * u128::from(bound)) >> 64) as u64
}

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        scale(self.next(), bound)
    }

    pub(super) fn tag(&mut self, bits: u32) -> u64 {
        self.next() >> (64 - bits)
    }
}

/// Makes the hash positions of tags, from the data alone.
pub(super) enum Encoder {
    Matrices {
        /// Value of every base hash for every value of every byte of the tag.
        tables: Vec<[[u32; 256]; 8]>,
        /// Bytes of the tag.
        bytes: usize,
        hash: HashMatrices,
    },
    /// A strong hash of its own for every position.
    Ideal { hash_bits: u64, hashes: usize },
}

impl Encoder {
    pub(super) fn new(hash: HashMatrices) -> Self {
        let table = |base: &BaseHash| {
            let mut table = [[0; 256]; 8];
            for (byte, values) in table.iter_mut().enumerate() {
                for (value, out) in values.iter_mut().enumerate() {
                    let tag = (value as u64) << (8 * byte);
                    let parity = |&taps: &u64| (tag & taps).count_ones() & 1;
                    *out = base.taps.iter().map(parity).enumerate().fold(0, |all, (b, one)| all | one << b);
                    if byte == 0 {
                        *out ^= base.constant;
                    }
                }
            }
            table
        };
        Self::Matrices { tables: hash.bases.iter().map(table).collect(), bytes: hash.shape.tag_bits.div_ceil(8) as usize, hash }
    }

    pub(super) fn ideal(shape: HashShape) -> Self {
        Self::Ideal { hash_bits: shape.hash_bits.into(), hashes: shape.hashes as usize }
    }

    /// Whether `visit` is true of each position of the tag, as bank * rows + row. Stops at the
    /// first for which it is not.
    #[inline]
    pub(super) fn all(&self, tag: u64, mut visit: impl FnMut(usize) -> bool) -> bool {
        match self {
            Self::Matrices { tables, bytes, hash } => {
                let mut known = [None; 8];
                for coefficients in &hash.coefficients {
                    let mut g = 0u32;
                    for (j, &factor) in coefficients.iter().enumerate() {
                        if factor != 0 {
                            let value = *known[j].get_or_insert_with(|| {
                                (0..*bytes).fold(0, |all, byte| all ^ tables[j][byte][(tag >> (8 * byte)) as usize & 255])
                            });
                            g = g.wrapping_add(factor.wrapping_mul(value));
                        }
                    }
                    let g = u64::from(g) & ((1 << hash.g_bits) - 1);
                    let rest = g & ((1 << hash.remaining_bits) - 1);
                    let rows = u64::from(hash.hash_rows);
                    let position = (g >> hash.remaining_bits) * rows + ((rest * rows) >> hash.remaining_bits);
                    if !visit(position as usize) {
                        return false;
                    }
                }
                true
            }
            Self::Ideal { hash_bits, hashes } => (0..*hashes).all(|i| visit(scale(mix(tag ^ mix(i as u64 + 1)), *hash_bits) as usize)),
        }
    }
}

/// One column of the filter.
pub(super) struct Column {
    pub(super) mask: Option<[bool; MASK_BITS]>,
    pub(super) hash: Vec<u64>,
}

impl Column {
    pub(super) fn new(encoder: &Encoder, case: Case, tags: &[u64]) -> Self {
        let mut hash = vec![0u64; case.hash_bits.div_ceil(64) as usize];
        let mut mask = case.mask.then_some([false; MASK_BITS]);
        for &tag in tags {
            if let Some(mask) = &mut mask {
                mask[tag as usize % MASK_BITS] = true;
            }
            encoder.all(tag, |position| {
                hash[position / 64] |= 1 << (position % 64);
                true
            });
        }
        Self { mask, hash }
    }

    #[inline]
    pub(super) fn mask_has(&self, tag: u64) -> bool {
        self.mask.as_ref().is_none_or(|mask| mask[tag as usize % MASK_BITS])
    }

    #[inline]
    pub(super) fn hash_has(&self, encoder: &Encoder, tag: u64) -> bool {
        encoder.all(tag, |position| self.hash[position / 64] >> (position % 64) & 1 == 1)
    }
}

/// A filter of the study.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) tag_bits: u32,
    pub(super) mask: bool,
    pub(super) hash_bits: u32,
    pub(super) hashes: u32,
    /// Tags in a column.
    pub(super) lines: usize,
}

impl Case {
    /// `m` positions in all and `k` per tag.
    pub(super) fn new(mask: bool, m: u32, k: u32) -> Self {
        let mask_bits = if mask { MASK_BITS as u32 } else { 0 };
        let hashes = k - u32::from(mask);
        Self { tag_bits: STUDY_TAG_BITS, mask, hash_bits: if hashes == 0 { 0 } else { m - mask_bits }, hashes, lines: LINES }
    }

    pub(super) fn shape(self) -> HashShape {
        HashShape { tag_bits: self.tag_bits, hash_bits: self.hash_bits, banks: 64, hashes: self.hashes }
    }

    /// The formula of the hybrid filter, of the hash positions alone.
    pub(super) fn hash_formula(self) -> f64 {
        let (n, bits) = (self.lines as f64, f64::from(self.hash_bits));
        if self.hashes == 0 {
            return 1.0;
        }
        (1.0 - (1.0 - 1.0 / bits).powf(n * f64::from(self.hashes))).powi(self.hashes as i32)
    }

    pub(super) fn formula(self) -> f64 {
        let mask = 1.0 - (1.0 - 1.0 / MASK_BITS as f64).powi(self.lines as i32);
        self.hash_formula() * if self.mask { mask } else { 1.0 }
    }

    /// Rate measured on random tags with about `expected` false positives over `columns` columns,
    /// and its standard error. Of the queries only those are made whose mask bit is set; the rate
    /// of each column is weighted with the share of such tags, which is known exactly.
    pub(super) fn measure(self, encoder: &Encoder, columns: u64, expected: f64) -> (f64, f64) {
        let queries = (expected / self.hash_formula() / columns as f64).ceil() as u64;
        let rate = |column: u64| {
            let mut random = Random(mix(column + 1) ^ u64::from(self.hash_bits) << 8 ^ u64::from(self.hashes));
            let tags: Vec<u64> = (0..self.lines).map(|_| random.tag(self.tag_bits)).collect();
            let column = Column::new(encoder, self, &tags);
            let set: Vec<u64> = (0..MASK_BITS as u64).filter(|&low| column.mask_has(low)).collect();
            let mut hits = 0u64;
            for _ in 0..queries {
                let mut tag = random.tag(self.tag_bits);
                if self.mask {
                    tag = tag & !(MASK_BITS as u64 - 1) | set[random.below(set.len() as u64) as usize];
                }
                hits += u64::from(column.hash_has(encoder, tag));
            }
            hits as f64 / queries as f64 * set.len() as f64 / MASK_BITS as f64
        };
        let threads = thread::available_parallelism().map_or(1, |n| n.get() as u64);
        let rates: Vec<f64> = thread::scope(|scope| {
            let part = |first| (first..columns).step_by(threads as usize).map(rate).collect::<Vec<_>>();
            let parts: Vec<_> = (0..threads).map(|first| scope.spawn(move || part(first))).collect();
            parts.into_iter().flat_map(|part| part.join().expect("a measuring thread")).collect()
        });
        mean_and_error(&rates)
    }
}

pub(super) fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// All filters that the paper's sizes give. The tag mask alone (k = 1) is the same in all sizes.
pub(super) fn cases() -> Vec<Case> {
    let sizes = [1280, 2560, 5120, 10240, 20480];
    let with_mask = sizes.iter().flat_map(|&m| [2, 4, 8].map(|k| Case::new(true, m, k)));
    let without = sizes.iter().flat_map(|&m| (1..=8).map(move |k| Case::new(false, m, k)));
    [Case::new(true, 1024, 1)].into_iter().chain(with_mask).chain(without).collect()
}

pub(super) fn encoder(scheme: HashScheme, case: Case) -> Encoder {
    let shape = case.shape();
    Encoder::new(HashMatrices::new(scheme, shape).expect("a legal size"))
}

/// Double hashing without the exception for large filters.
pub(super) fn plain_double(case: Case) -> Encoder {
    let shape = HashShape { hashes: case.hashes.min(2), ..case.shape() };
    let mut hash = HashMatrices::new(HashScheme::Double, shape).expect("a legal size");
    hash.coefficients = (0..case.hashes).map(|i| [1, i][..hash.bases.len()].to_vec()).collect();
    Encoder::new(hash)
}
