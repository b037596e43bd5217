//! Constants of any width: literal values of the builder and the values of its evaluator.

use std::cmp::Ordering;
use std::fmt;

/// An unsigned value with a fixed width in bits (at least 1).
///
/// ```
/// use l1forge_hdl::rtl::Bits;
/// let a = Bits::from_u64(8, 200);
/// let b = Bits::from_u64(8, 100);
/// assert_eq!(a.add(&b), Bits::from_u64(8, 44)); // wraps
/// assert_eq!(a.slice(3, 5).to_u64(), Some(25));
/// assert_eq!(Bits::ones(100).to_string(), "{100{1'b1}}");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bits {
    width: u32,
    words: Vec<u64>,
}

fn words_for(width: u32) -> usize {
    (width as usize).div_ceil(64)
}

impl Bits {
    /// All zeros.
    pub fn zero(width: u32) -> Self {
        assert!(width >= 1, "a value needs at least one bit");
        Self { width, words: vec![0; words_for(width)] }
    }

    /// All ones.
    pub fn ones(width: u32) -> Self {
        let mut b = Self::zero(width);
        b.words.fill(u64::MAX);
        b.trim();
        b
    }

    /// The low `width` bits of `value`.
    pub fn from_u64(width: u32, value: u64) -> Self {
        let mut b = Self::zero(width);
        b.words[0] = value;
        b.trim();
        b
    }

    /// The low `width` bits of `value`.
    pub fn from_u128(width: u32, value: u128) -> Self {
        let mut b = Self::zero(width);
        b.words[0] = value as u64;
        if b.words.len() > 1 {
            b.words[1] = (value >> 64) as u64;
        }
        b.trim();
        b
    }

    /// The low `width` bits of little-endian 64-bit words; missing words are zero.
    pub fn from_words(width: u32, words: &[u64]) -> Self {
        let mut b = Self::zero(width);
        for (d, s) in b.words.iter_mut().zip(words) {
            *d = *s;
        }
        b.trim();
        b
    }

    /// Parses hexadecimal digits (most significant first) into `width` bits; `None` on any other character.
    pub fn from_hex(width: u32, text: &str) -> Option<Self> {
        let mut b = Self::zero(width);
        for (i, c) in text.chars().rev().enumerate() {
            let d = u64::from(c.to_digit(16)?);
            if let Some(w) = b.words.get_mut(i / 16) {
                *w |= d << (4 * (i % 16));
            }
        }
        b.trim();
        Some(b)
    }

    /// Packs equal-width elements, element 0 in the least significant bits.
    ///
    /// ```
    /// use l1forge_hdl::rtl::Bits;
    /// assert_eq!(Bits::pack(4, [1, 2, 3]), Bits::from_u64(12, 0x321));
    /// ```
    pub fn pack(element_width: u32, elements: impl IntoIterator<Item = u64>) -> Self {
        let parts: Vec<Bits> = elements
            .into_iter()
            .map(|v| {
                assert!(element_width >= 64 || v >> element_width == 0, "{v} needs more than {element_width} bits");
                Bits::from_u64(element_width, v)
            })
            .collect();
        Self::concat_lsb_first(&parts)
    }

    fn trim(&mut self) {
        let r = self.width % 64;
        if r != 0 {
            let last = self.words.len() - 1;
            self.words[last] &= (1u64 << r) - 1;
        }
    }

    /// Width in bits.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Little-endian 64-bit words; bits above the width are zero.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Bit `i`; bits outside the width read as false.
    pub fn bit(&self, i: u32) -> bool {
        i < self.width && self.words[(i / 64) as usize] >> (i % 64) & 1 == 1
    }

    /// Sets bit `i`.
    pub fn set(&mut self, i: u32, v: bool) {
        assert!(i < self.width);
        let w = &mut self.words[(i / 64) as usize];
        *w = (*w & !(1 << (i % 64))) | (u64::from(v) << (i % 64));
    }

    /// True if no bit is set.
    pub fn is_zero(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }

    /// True if every bit is set.
    pub fn is_ones(&self) -> bool {
        *self == Self::ones(self.width)
    }

    /// The value, if it fits 64 bits.
    pub fn to_u64(&self) -> Option<u64> {
        self.words[1..].iter().all(|w| *w == 0).then_some(self.words[0])
    }

    /// Number of set bits.
    pub fn count_ones(&self) -> u32 {
        self.words.iter().map(|w| w.count_ones()).sum()
    }

    /// Bits `lo .. lo + width`; positions outside read as zero.
    pub fn slice(&self, lo: u32, width: u32) -> Self {
        let mut r = Self::zero(width);
        let (skip, sh) = ((lo / 64) as usize, lo % 64);
        for (i, d) in r.words.iter_mut().enumerate() {
            let a = self.words.get(i + skip).copied().unwrap_or(0);
            let b = self.words.get(i + skip + 1).copied().unwrap_or(0);
            *d = if sh == 0 { a } else { a >> sh | b << (64 - sh) };
        }
        r.trim();
        r
    }

    /// Zero-extends or truncates to `width`.
    pub fn resize(&self, width: u32) -> Self {
        self.slice(0, width)
    }

    /// Concatenates, element 0 in the least significant bits.
    pub fn concat_lsb_first(parts: &[Bits]) -> Self {
        let width = parts.iter().map(|p| p.width).sum();
        let mut r = Self::zero(width);
        let mut at = 0u32;
        for p in parts {
            let (skip, sh) = ((at / 64) as usize, at % 64);
            for (i, w) in p.words.iter().enumerate() {
                r.words[i + skip] |= w << sh;
                if sh != 0 && w >> (64 - sh) != 0 {
                    r.words[i + skip + 1] |= w >> (64 - sh);
                }
            }
            at += p.width;
        }
        r
    }

    fn zip(&self, o: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
        assert_eq!(self.width, o.width);
        let mut r = self.clone();
        for (a, b) in r.words.iter_mut().zip(&o.words) {
            *a = f(*a, *b);
        }
        r.trim();
        r
    }

    /// Bitwise and.
    pub fn and(&self, o: &Self) -> Self {
        self.zip(o, |a, b| a & b)
    }

    /// Bitwise or.
    pub fn or(&self, o: &Self) -> Self {
        self.zip(o, |a, b| a | b)
    }

    /// Bitwise exclusive or.
    pub fn xor(&self, o: &Self) -> Self {
        self.zip(o, |a, b| a ^ b)
    }

    /// Bitwise complement.
    pub fn not(&self) -> Self {
        self.xor(&Self::ones(self.width))
    }

    /// Sum modulo 2^width.
    pub fn add(&self, o: &Self) -> Self {
        assert_eq!(self.width, o.width);
        let mut r = self.clone();
        let mut carry = false;
        for (a, b) in r.words.iter_mut().zip(&o.words) {
            let (s, c1) = a.overflowing_add(*b);
            let (s, c2) = s.overflowing_add(u64::from(carry));
            *a = s;
            carry = c1 | c2;
        }
        r.trim();
        r
    }

    /// Difference modulo 2^width.
    pub fn sub(&self, o: &Self) -> Self {
        self.add(&o.not()).add(&Self::from_u64(self.width, 1))
    }

    /// Product modulo 2^width (width of `self`).
    pub fn mul(&self, o: &Self) -> Self {
        let mut r = Self::zero(self.width);
        for i in 0..o.width.min(self.width) {
            if o.bit(i) {
                r = r.add(&self.shl(i));
            }
        }
        r
    }

    /// Shift left, zeros in, width kept.
    pub fn shl(&self, n: u32) -> Self {
        if n >= self.width {
            return Self::zero(self.width);
        }
        if n == 0 {
            return self.clone();
        }
        Self::concat_lsb_first(&[Self::zero(n), self.slice(0, self.width - n)])
    }

    /// Shift right, zeros in, width kept.
    pub fn shr(&self, n: u32) -> Self {
        if n >= self.width { Self::zero(self.width) } else { self.slice(n, self.width) }
    }

    /// Unsigned comparison of equal widths.
    pub fn compare(&self, o: &Self) -> Ordering {
        assert_eq!(self.width, o.width);
        self.words.iter().rev().cmp(o.words.iter().rev())
    }

    /// Hexadecimal digits without prefix.
    pub fn to_hex(&self) -> String {
        let digits = self.width.div_ceil(4) as usize;
        let mut s = String::with_capacity(digits);
        for i in (0..digits).rev() {
            let d = (self.words[i / 16] >> (4 * (i % 16))) & 15;
            s.push(char::from_digit(d as u32, 16).unwrap_or('0'));
        }
        s
    }
}

/// Prints a sized Verilog-2005 literal.
impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHUNK: u32 = 128;
        let w = self.width;
        if w == 1 {
            return write!(f, "1'b{}", self.words[0]);
        }
        if w > 32 && self.is_zero() {
            return write!(f, "{{{w}{{1'b0}}}}");
        }
        if w > 8 && self.is_ones() {
            return write!(f, "{{{w}{{1'b1}}}}");
        }
        match self.to_u64() {
            Some(v) if v < 1 << 16 && w <= 32 => write!(f, "{w}'d{v}"),
            _ if w <= CHUNK => write!(f, "{w}'h{}", self.to_hex()),
            _ => {
                let chunks = w.div_ceil(CHUNK);
                f.write_str("{")?;
                for i in (0..chunks).rev() {
                    let lo = i * CHUNK;
                    let part = self.slice(lo, CHUNK.min(w - lo));
                    write!(f, "{}'h{}", part.width, part.to_hex())?;
                    f.write_str(if i == 0 { "}" } else { ", " })?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}'h{}", self.width, self.to_hex())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_agrees_with_u128() {
        let mut x = 0x1234_5678_9abc_def0_u128;
        for w in 1..=128 {
            x = x.wrapping_mul(0x2545_f491_4f6c_dd1d_2545_f491_4f6c_dd1d).wrapping_add(99);
            let y = x.rotate_left(31) ^ 0x5555;
            let m = if w == 128 { u128::MAX } else { (1 << w) - 1 };
            let (a, b) = (Bits::from_u128(w, x), Bits::from_u128(w, y));
            let (x, y) = (x & m, y & m);
            assert_eq!(a.add(&b), Bits::from_u128(w, x.wrapping_add(y)));
            assert_eq!(a.sub(&b), Bits::from_u128(w, x.wrapping_sub(y)));
            assert_eq!(a.mul(&b), Bits::from_u128(w, x.wrapping_mul(y)));
            assert_eq!(a.compare(&b), x.cmp(&y));
            let s = w / 2;
            assert_eq!(a.shl(s), Bits::from_u128(w, x << s));
            assert_eq!(a.shr(s), Bits::from_u128(w, x >> s));
            assert_eq!(a.not(), Bits::from_u128(w, !x));
        }
    }

    #[test]
    fn hex_round_trip_and_slices() {
        let a = Bits::from_hex(100, "f123456789abcdef012345678").unwrap();
        assert_eq!(a.to_hex(), "f123456789abcdef012345678");
        let parts = [a.slice(0, 37), a.slice(37, 40), a.slice(77, 23)];
        assert_eq!(Bits::concat_lsb_first(&parts), a);
    }
}
