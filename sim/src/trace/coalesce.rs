//! From lanes to lines.

use serde::{Deserialize, Serialize};

use super::{WARP_SIZE, WarpAccess};
use crate::ParameterError;
use crate::parameter::line_shift;

/// Bytes of a sector, the unit of a fill.
pub const SECTOR_BYTES: u32 = 32;

/// One line a warp instruction touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LineTouch {
    /// Line address: byte address divided by the line size. This is the tag of the whole chip.
    pub line: u64,
    /// Sectors of the line that are touched, lowest address in bit 0.
    pub sectors: u32,
}

/// Turns the lanes of a warp instruction into the distinct lines they touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescer {
    shift: u32,
}

impl Coalescer {
    /// A coalescer for lines of `line_bytes` bytes.
    ///
    /// # Errors
    /// When `line_bytes` is not a power of two in 32..=1024.
    pub fn new(line_bytes: u32) -> Result<Self, ParameterError> {
        Ok(Self { shift: line_shift(line_bytes)? })
    }

    /// Bytes of a line.
    pub fn line_bytes(self) -> u32 {
        1 << self.shift
    }

    /// Line of a byte address.
    pub fn line_of(self, address: u64) -> u64 {
        address >> self.shift
    }

    /// Replaces the content of `lines` by the distinct lines of `access`, in the order in which the lanes first touch
    /// them. A lane whose bytes cross the end of a line touches both, the lower one first. Bytes past the top of the
    /// 64-bit address space are left out.
    pub fn lines(self, access: &WarpAccess, lines: &mut Vec<LineTouch>) {
        lines.clear();
        let more = u64::from(access.width.max(1)) - 1;
        if let Some((first, last)) = one_range(access, more + 1) {
            return self.range(first, last, |touch| lines.push(touch));
        }
        // Place of the line touched last: neighbouring lanes mostly share a line.
        let mut at = 0;
        // Sector touched last: most lanes touch nothing else.
        let mut sector = u64::MAX;
        for (_, first) in access.lanes() {
            let last = first.saturating_add(more);
            let [from_sector, to_sector] = [first, last].map(|byte| byte / u64::from(SECTOR_BYTES));
            if from_sector == sector && to_sector == sector {
                continue;
            }
            sector = to_sector;
            self.range(first, last, |new| at = touch(lines, at, new));
        }
    }

    /// Tells `touched` of the lines from byte address `first` to `last`, ascending.
    fn range(self, first: u64, last: u64, mut touched: impl FnMut(LineTouch)) {
        let (mut line, to) = (self.line_of(first), self.line_of(last));
        let mut from = first;
        while line < to {
            touched(self.touched(line, from, ((line + 1) << self.shift) - 1));
            line += 1;
            from = line << self.shift;
        }
        touched(self.touched(line, from, last));
    }

    /// `line`, touched from byte address `first` to `last`.
    fn touched(self, line: u64, first: u64, last: u64) -> LineTouch {
        let offset = u64::from(self.line_bytes()) - 1;
        LineTouch { line, sectors: sector_span(first & offset, last & offset) }
    }
}

/// First and last byte of an access whose lanes are all active and follow each other without a gap, or all touch the same `width` bytes: most do.
fn one_range(access: &WarpAccess, width: u64) -> Option<(u64, u64)> {
    if access.mask != u32::MAX {
        return None;
    }
    let [first, .., last] = access.addresses;
    let stride = if last == first { 0 } else { width };
    let end = first.checked_add(stride * (WARP_SIZE as u64 - 1) + width - 1)?;
    // Without a branch per lane.
    let lanes = access.addresses.iter().zip(0..);
    let different = lanes.fold(0, |different, (address, lane)| different | (address ^ first.wrapping_add(stride * lane)));
    (different == 0).then_some((first, end))
}

/// Sectors from byte offset `first` to byte offset `last` of a line.
fn sector_span(first: u64, last: u64) -> u32 {
    let (first, last) = (first / u64::from(SECTOR_BYTES), last / u64::from(SECTOR_BYTES));
    let count = last - first + 1;
    (((1u64 << count) - 1) << first) as u32
}

/// Adds `new` to `lines`, merging it with the same line, which is looked for at `at` first. Returns its place.
fn touch(lines: &mut Vec<LineTouch>, at: usize, new: LineTouch) -> usize {
    if let Some(old) = lines.get_mut(at)
        && old.line == new.line
    {
        old.sectors |= new.sectors;
        return at;
    }
    match lines.iter().rposition(|old| old.line == new.line) {
        Some(at) => {
            lines[at].sectors |= new.sectors;
            at
        }
        None => {
            lines.push(new);
            lines.len() - 1
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::trace::{AccessKind, Space};

    fn access(width: u8, mask: u32, addresses: [u64; WARP_SIZE]) -> WarpAccess {
        WarpAccess {
            warp: 0,
            pc: 0,
            kind: AccessKind::Load,
            space: Space::Global,
            shareable: true,
            width,
            mask,
            instructions_before: 0,
            addresses,
        }
    }

    fn lines(line_bytes: u32, access: &WarpAccess) -> Vec<LineTouch> {
        let mut lines = vec![LineTouch { line: 99, sectors: 99 }];
        Coalescer::new(line_bytes).unwrap().lines(access, &mut lines);
        lines
    }

    /// Byte by byte, which knows nothing of spans and shifts.
    fn oracle(line_bytes: u64, access: &WarpAccess) -> Vec<LineTouch> {
        let mut lines: Vec<LineTouch> = Vec::new();
        for lane in 0..WARP_SIZE {
            if access.mask & (1 << lane) == 0 {
                continue;
            }
            for byte in 0..u64::from(access.width) {
                let Some(address) = access.addresses[lane].checked_add(byte) else {
                    continue;
                };
                let (line, sector) = (address / line_bytes, address % line_bytes / 32);
                let at = lines.iter().position(|t| t.line == line).unwrap_or_else(|| {
                    lines.push(LineTouch { line, sectors: 0 });
                    lines.len() - 1
                });
                lines[at].sectors |= 1 << sector;
            }
        }
        lines
    }

    #[test]
    fn a_stride_of_four_bytes_fills_one_line() {
        let got = lines(128, &access(4, u32::MAX, std::array::from_fn(|i| 0x1000 + 4 * i as u64)));
        assert_eq!(got, [LineTouch { line: 0x20, sectors: 0b1111 }]);
    }

    #[test]
    fn an_access_across_the_end_of_a_line_touches_both() {
        let got = lines(128, &access(8, 1, [0x107c; WARP_SIZE]));
        assert_eq!(got, [LineTouch { line: 0x20, sectors: 0b1000 }, LineTouch { line: 0x21, sectors: 0b0001 }]);
    }

    #[test]
    fn no_active_lane_touches_nothing() {
        assert_eq!(lines(128, &access(4, 0, [0x1000; WARP_SIZE])), []);
    }

    #[test]
    fn the_top_of_the_address_space_does_not_overflow() {
        for line_bytes in [32, 1024] {
            let got = lines(line_bytes, &access(16, 1, [u64::MAX - 3; WARP_SIZE]));
            assert_eq!(got, oracle(line_bytes.into(), &access(16, 1, [u64::MAX - 3; WARP_SIZE])));
            assert_eq!(got.len(), 1);
        }
    }

    /// Lanes in a row, but for one that is a byte off; the last bytes of the address space, and past them.
    #[test]
    fn almost_ranges_agree_with_bytes() {
        for width in [1_u8, 2, 4, 8, 16, 32] {
            let row = |base: u64| std::array::from_fn(|lane| base.wrapping_add(u64::from(width) * lane as u64));
            for odd in 0..WARP_SIZE {
                let mut addresses = row(0x1000);
                addresses[odd] ^= 1;
                let access = access(width, u32::MAX, addresses);
                assert_eq!(lines(32, &access), oracle(32, &access), "width {width}, lane {odd}");
            }
            for over in 0..=u64::from(width) {
                let access = access(width, u32::MAX, row(0_u64.wrapping_sub(32 * u64::from(width)).wrapping_add(over)));
                assert_eq!(lines(128, &access), oracle(128, &access), "width {width}, {over} bytes over the top");
            }
        }
    }

    proptest! {
        #[test]
        fn lines_agree_with_bytes(
            shift in 5u32..=10,
            width in prop::sample::select(vec![1u8, 2, 4, 8, 16, 32]),
            mask: u32,
            base in 0u64..1 << 47,
            offsets in prop::array::uniform32(0u64..8192),
        ) {
            let access = access(width, mask, offsets.map(|o| base + o));
            prop_assert_eq!(lines(1 << shift, &access), oracle(1 << shift, &access));
        }

        /// All lanes in a row or at one place, and almost so.
        #[test]
        fn ranges_agree_with_bytes(
            shift in 5u32..=10,
            width in prop::sample::select(vec![1u8, 2, 4, 8, 16, 32]),
            stride in prop::option::of(prop::sample::select(vec![0u64, 1, 3, 4, 64])),
            base in prop_oneof![0u64..1 << 47, u64::MAX - 1200..=u64::MAX],
            odd in prop::option::of((0..WARP_SIZE, 0u64..4096)),
            idle in prop::option::of(0..WARP_SIZE),
        ) {
            let stride = stride.unwrap_or(width.into());
            let mut addresses: [u64; WARP_SIZE] = std::array::from_fn(|lane| base.saturating_add(stride * lane as u64));
            if let Some((lane, address)) = odd {
                addresses[lane] = address;
            }
            let mask = idle.map_or(u32::MAX, |lane| !(1 << lane));
            let access = access(width, mask, addresses);
            prop_assert_eq!(lines(1 << shift, &access), oracle(1 << shift, &access));
        }

        #[test]
        fn order_is_that_of_the_first_lane(mask: u32, picks in prop::array::uniform32(0u64..6)) {
            let access = access(4, mask, picks.map(|p| p * 128));
            let mut seen = BTreeSet::new();
            let expected: Vec<u64> =
                (0..32).filter(|l| mask >> l & 1 == 1).map(|l| picks[l]).filter(|p| seen.insert(*p)).collect();
            prop_assert_eq!(lines(128, &access).iter().map(|t| t.line).collect::<Vec<_>>(), expected);
        }
    }
}
