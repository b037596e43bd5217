//! Base hashes of the Bloom-filter engine: GF(2)-linear functions of the tag, as plain data.
//!
//! The RTL generator and the golden model both start from a [`HashMatrices`] value and know
//! nothing of each other. This page defines exactly how the positions follow from the data.
//!
//! # Sizes
//!
//! * `T = tag_bits`: the tag is the byte address without the offset in the line.
//! * `H = hash_bits` positions in `B = banks` banks (`B` a power of two that divides `H`) of
//!   `R = hash_rows = H / B` rows each, mask rows not counted. `R` is any integer from 1.
//! * `h = hashes` hash positions per tag.
//! * `g_bits = bank_bits + remaining_bits`, where `bank_bits = log2(B)`, and `remaining_bits` is
//!   `log2(R)` when `R` is a power of two, otherwise `ceil(log2(R)) +` [`EXTRA_BITS`].
//!
//! # Positions
//!
//! 1. Base hash `j` of a tag is a number of `g_bits` bits. Its bit `b` (0 = least significant) is
//!    the parity of `tag & bases[j].taps[b]`, inverted when bit `b` of `bases[j].constant` is set.
//!    Bit `t` of a tap mask stands for bit `t` of the tag. A row without taps has parity 0.
//! 2. Hash position `i` (`0 <= i < hashes`) starts from
//!    `g_i = (sum over j of coefficients[i][j] * base_j) mod 2^g_bits`.
//! 3. `bank = g_i >> remaining_bits` and
//!    `row = ((g_i mod 2^remaining_bits) * hash_rows) >> remaining_bits`.
//!    When `hash_rows` is a power of two, `row` is simply the low `remaining_bits` bits.
//!
//! The default (`T = 41`, `H = 4096`, `B = 64`, `h = 3`, scheme `double`) has `g_bits = 12`,
//! `bank = g[11:6]`, `row = g[5:0]`, bases `[h1, h2]` with bit 0 of `h2` constant 1, and the
//! coefficients `[[1, 0], [1, 1], [1, 2]]`: `g_i = h1 + i * h2`.
//!
//! # Schemes
//!
//! | scheme | bases | positions |
//! |---|---|---|
//! | `double`, `h <= 3` or `H <` [`DOUBLE_LIMIT`] | `h1`, `h2` | `g_i = h1 + i * h2` |
//! | `double`, otherwise | `h1`, `h2`, one per position from the fourth on | `g_i = h1 + i * h2` for `i <= 2`, then base `i - 1` itself |
//! | `independent` | one per position | base `i` itself |
//!
//! A reader needs no table: the [`coefficients`](HashMatrices::coefficients) say it all. They are
//! at most 7. Coefficients `[.., 0, 1, 0, ..]` mean a base hash without any adder. With `double`,
//! `g_i = g_(i-1) + h2` is one adder per position where `g_i = h1 + i * h2`.
//!
//! ```
//! use l1forge_config::hash::{HashMatrices, HashScheme, HashShape};
//!
//! let shape = HashShape { tag_bits: 41, hash_bits: 4096, banks: 64, hashes: 3 };
//! let hash = HashMatrices::new(HashScheme::Double, shape)?;
//! assert_eq!((hash.g_bits, hash.bank_bits, hash.remaining_bits), (12, 6, 6));
//! assert_eq!(hash.coefficients, [[1, 0], [1, 1], [1, 2]]);
//! assert_eq!(hash.bases[1].constant, 1);
//! # Ok::<(), l1forge_config::hash::HashError>(())
//! ```

mod generate;

use serde::{Deserialize, Serialize};

/// Most taps of one output bit of a base hash: one 6-input look-up table.
pub const MAX_TAPS: u32 = 6;

/// From this many `hash_bits` on, more than three hashes of the scheme `double` need base hashes of
/// their own: the progressions `h1 + i * h2` of different tags overlap more often than independent
/// positions would, which shows once the filter is large. See `docs/decisions/hash.md`.
pub const DOUBLE_LIMIT: u32 = 8192;

/// Bits that `g` has beyond `ceil(log2(hash_rows))` in each bank when `hash_rows` is not a power
/// of two, so that the multiply-high range reduction loads all rows almost equally.
pub const EXTRA_BITS: u32 = 4;

/// Legal tag widths in bits.
pub const TAG_BITS: std::ops::RangeInclusive<u32> = 6..=59;

/// Widest `g` in bits, which bounds `hash_bits`.
pub const MAX_G_BITS: u32 = 24;

/// Most hash positions per tag.
pub const MAX_HASHES: u32 = 8;

/// How the hash positions of a tag are made (configuration key `hash`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HashScheme {
    /// `"double"`, the paper's scheme: two base hashes and adders, `g_i = h1 + i * h2`, `h2` odd.
    /// Large filters with more than three hashes get further base hashes, see [`DOUBLE_LIMIT`].
    #[default]
    Double,
    /// `"independent"`: a base hash of its own for every position, no adders. Worse than `double`
    /// on regular access patterns, since everything is linear.
    Independent,
}

/// What the hashes are generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HashShape {
    /// Width of the tag in bits, see [`TAG_BITS`].
    pub tag_bits: u32,
    /// Positions the hashes address, over all banks, without the tag-mask positions. At least 1
    /// when `hashes > 0`.
    pub hash_bits: u32,
    /// Number of banks, a power of two that divides `hash_bits`.
    pub banks: u32,
    /// Hash positions per tag, at most [`MAX_HASHES`]. With 0 there are no bases at all.
    pub hashes: u32,
}

/// One base hash: a GF(2)-linear function of the tag plus a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BaseHash {
    /// Tap mask of every output bit, least significant output bit first: bit `t` of `taps[b]` is
    /// set when tag bit `t` is XORed into output bit `b`. `g_bits` entries, each of at most
    /// [`MAX_TAPS`] taps.
    pub taps: Vec<u64>,
    /// Output bits that are inverted. Used for the forced bit of the odd step: `taps[0] == 0`
    /// and `constant == 1` make bit 0 the constant 1.
    pub constant: u32,
}

/// The base hashes of one configuration and how positions are made of them. The
/// [module page](self) defines the positions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HashMatrices {
    /// The scheme asked for.
    pub scheme: HashScheme,
    /// The sizes asked for.
    pub shape: HashShape,
    /// Hash rows of each bank, `hash_bits / banks`.
    pub hash_rows: u32,
    /// Bits of `g` that name the bank: the top ones, `log2(banks)`.
    pub bank_bits: u32,
    /// Bits of `g` below the bank, which the range reduction turns into the row.
    pub remaining_bits: u32,
    /// Width of `g` and of every base hash, `bank_bits + remaining_bits`.
    pub g_bits: u32,
    /// The base hashes.
    pub bases: Vec<BaseHash>,
    /// `coefficients[i][j]` is the factor of base hash `j` in `g_i`: `hashes` lists of
    /// `bases.len()` numbers, each at most 7.
    pub coefficients: Vec<Vec<u32>>,
}

/// A size for which no hashes exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value} is not legal: {legal}")]
pub struct HashError {
    /// The configuration key at fault, or `tag_bits` or `g_bits`, which follow from others.
    pub key: &'static str,
    /// Its value.
    pub value: u32,
    /// What is legal.
    pub legal: String,
}

impl HashMatrices {
    /// Generates the hashes of a configuration. The same arguments give the same matrices on
    /// every platform and in every build.
    ///
    /// # Errors
    ///
    /// Names the first size that is out of range; see [`HashShape`].
    pub fn new(scheme: HashScheme, shape: HashShape) -> Result<Self, HashError> {
        Self::with_seed(scheme, shape, None)
    }

    /// The same from another seed than that of the table.
    fn with_seed(scheme: HashScheme, shape: HashShape, seed: Option<u64>) -> Result<Self, HashError> {
        let layout = Layout::new(shape)?;
        let coefficients = coefficients(scheme, shape);
        let count = coefficients.first().map_or(0, Vec::len);
        let odd_base = (scheme == HashScheme::Double && count > 1).then_some(1);
        let seed = seed.unwrap_or_else(|| generate::seed(scheme, shape.tag_bits, layout.g_bits - layout.low_bits(), shape.hashes));
        let bases = generate::bases(shape.tag_bits, layout.g_bits, layout.low_bits(), count, odd_base, seed);
        Ok(Self {
            scheme,
            shape,
            hash_rows: layout.hash_rows,
            bank_bits: layout.bank_bits,
            remaining_bits: layout.remaining_bits,
            g_bits: layout.g_bits,
            bases,
            coefficients,
        })
    }
}

/// Widths that follow from a [`HashShape`].
struct Layout {
    hash_rows: u32,
    bank_bits: u32,
    remaining_bits: u32,
    g_bits: u32,
}

impl Layout {
    /// Bits of `g` that no longer tell one row from another.
    fn low_bits(&self) -> u32 {
        self.remaining_bits - self.hash_rows.checked_ilog2().unwrap_or(0)
    }

    fn new(shape: HashShape) -> Result<Self, HashError> {
        let HashShape { tag_bits, hash_bits, banks, hashes } = shape;
        let fail = |key, value, legal: String| Err(HashError { key, value, legal });
        if !TAG_BITS.contains(&tag_bits) {
            let legal = format!("{} to {} bits", TAG_BITS.start(), TAG_BITS.end());
            return fail("tag_bits", tag_bits, legal);
        }
        if hashes > MAX_HASHES {
            return fail("hashes", hashes, format!("0 to {MAX_HASHES}"));
        }
        if !banks.is_power_of_two() {
            return fail("banks", banks, "a power of two".into());
        }
        if !hash_bits.is_multiple_of(banks) {
            return fail("hash_bits", hash_bits, format!("a multiple of banks = {banks}"));
        }
        if hashes > 0 && hash_bits == 0 {
            return fail("hash_bits", 0, format!("at least 1 with hashes = {hashes}"));
        }
        let hash_rows = hash_bits / banks;
        let bank_bits = banks.ilog2();
        let remaining_bits = match hash_rows {
            0 => 0,
            rows if rows.is_power_of_two() => rows.ilog2(),
            rows => rows.ilog2() + 1 + EXTRA_BITS,
        };
        let g_bits = bank_bits + remaining_bits;
        if g_bits > MAX_G_BITS {
            return fail("g_bits", g_bits, format!("at most {MAX_G_BITS} bits: lower hash_bits"));
        }
        Ok(Self { hash_rows, bank_bits, remaining_bits, g_bits })
    }
}

/// The factors of the base hashes in every position.
fn coefficients(scheme: HashScheme, shape: HashShape) -> Vec<Vec<u32>> {
    let hashes = shape.hashes as usize;
    let unit = |j: usize, count: usize| (0..count).map(|base| u32::from(base == j)).collect::<Vec<_>>();
    match scheme {
        HashScheme::Independent => (0..hashes).map(|i| unit(i, hashes)).collect(),
        HashScheme::Double if hashes <= 3 || shape.hash_bits < DOUBLE_LIMIT => {
            (0..shape.hashes).map(|i| [1, i][..hashes.min(2)].to_vec()).collect()
        }
        HashScheme::Double => {
            let bases = hashes - 1;
            let progression = (0..3).map(|i| [&[1, i], &vec![0; bases - 2][..]].concat());
            progression.chain((3..hashes).map(|i| unit(i - 1, bases))).collect()
        }
    }
}

#[cfg(test)]
mod study;
#[cfg(test)]
mod tests;
