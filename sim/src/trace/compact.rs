//! Accesses of one warp in a few bytes each.
//!
//! Neighbouring accesses of a warp are alike, so program counters and lines are kept as differences, in groups of seven
//! bits. A coalesced load takes 6 to 10 bytes instead of over 300.

use std::iter;

use super::{AccessKind, LineTouch};

/// What a record says, without the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub pc: u64,
    pub kind: AccessKind,
    pub shareable: bool,
    pub instructions_before: u32,
}

/// The accesses of a warp, first in first out.
#[derive(Debug, Default)]
pub(super) struct Records {
    bytes: Vec<u8>,
    /// Next byte to read.
    at: usize,
    written: Base,
    read: Base,
}

/// What the next record is a difference to.
#[derive(Debug, Default, Clone, Copy)]
struct Base {
    pc: u64,
    line: u64,
}

impl Records {
    /// Adds an access.
    pub fn push(&mut self, record: Record, lines: &[LineTouch]) {
        let kind = match record.kind {
            AccessKind::Load => 0,
            AccessKind::Store => 1,
            AccessKind::Atomic => 2,
        };
        let head = (lines.len() as u64) << 3 | kind << 1 | u64::from(record.shareable);
        put(&mut self.bytes, head);
        put(&mut self.bytes, record.instructions_before.into());
        put(&mut self.bytes, fold(record.pc.wrapping_sub(self.written.pc)));
        self.written.pc = record.pc;
        for touch in lines {
            put(&mut self.bytes, fold(touch.line.wrapping_sub(self.written.line)));
            put(&mut self.bytes, touch.sectors.into());
            self.written.line = touch.line;
        }
    }

    /// Forgets all accesses, but keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        (self.at, self.written, self.read) = (0, Base::default(), Base::default());
    }

    /// The same accesses in as little memory as they need.
    pub fn seal(&self) -> Self {
        Self { bytes: self.bytes.to_vec(), ..*self }
    }

    /// Bytes held.
    pub fn size(&self) -> usize {
        self.bytes.capacity()
    }

    /// All accesses were taken.
    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The next access, without taking it.
    pub fn peek(&self) -> Option<(Record, Vec<LineTouch>)> {
        let mut lines = Vec::new();
        self.decode(&mut lines).map(|(record, ..)| (record, lines))
    }

    /// Takes the next access; its lines are appended to `lines`.
    pub fn pop(&mut self, lines: &mut Vec<LineTouch>) -> Option<Record> {
        let (record, at, base) = self.decode(lines)?;
        (self.at, self.read) = (at, base);
        Some(record)
    }

    fn decode(&self, lines: &mut Vec<LineTouch>) -> Option<(Record, usize, Base)> {
        if self.is_empty() {
            return None;
        }
        let (mut at, mut base) = (self.at, self.read);
        let mut next = || get(&self.bytes, &mut at);
        let head = next();
        let kind = match head >> 1 & 3 {
            0 => AccessKind::Load,
            1 => AccessKind::Store,
            _ => AccessKind::Atomic,
        };
        let instructions_before = next() as u32;
        base.pc = base.pc.wrapping_add(unfold(next()));
        let touches = iter::repeat_with(|| {
            base.line = base.line.wrapping_add(unfold(next()));
            LineTouch { line: base.line, sectors: next() as u32 }
        });
        lines.extend(touches.take((head >> 3) as usize));
        Some((Record { pc: base.pc, kind, shareable: head & 1 == 1, instructions_before }, at, base))
    }
}

/// Small negative differences become small numbers: 0, -1, 1, -2 … give 0, 1, 2, 3 ….
fn fold(difference: u64) -> u64 {
    difference << 1 ^ ((difference as i64) >> 63) as u64
}

fn unfold(folded: u64) -> u64 {
    folded >> 1 ^ (folded & 1).wrapping_neg()
}

/// Seven bits a byte, low ones first; the top bit says that more follow.
fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn get(bytes: &[u8], at: &mut usize) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_differences_of_either_sign_are_small() {
        let folded: Vec<u64> = [0i64, -1, 1, -2, 2].iter().map(|&d| fold(d as u64)).collect();
        assert_eq!(folded, [0, 1, 2, 3, 4]);
        let mut records = Records::default();
        let load = |pc| Record { pc, kind: AccessKind::Load, shareable: true, instructions_before: 3 };
        records.push(load(0xa0), &[LineTouch { line: 0x7f_0000_0000, sectors: 15 }]);
        let before = records.bytes.len();
        records.push(load(0xb0), &[LineTouch { line: 0x7f_0000_0001, sectors: 15 }]);
        assert_eq!(records.bytes.len() - before, 5);
        assert_eq!(records.seal().size(), before + 5);
        records.clear();
        records.push(load(0xa0), &[LineTouch { line: 0x7f_0000_0000, sectors: 15 }]);
        assert_eq!(records.bytes.len(), before);
        for (value, length) in [(0, 1), (0x7f, 1), (0x80, 2), (u64::MAX, 10)] {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            assert_eq!((bytes.len(), get(&bytes, &mut 0)), (length, value));
        }
    }

    fn entry() -> impl Strategy<Value = (Record, Vec<LineTouch>)> {
        let kind = prop::sample::select(vec![AccessKind::Load, AccessKind::Store, AccessKind::Atomic]);
        let lines = (any::<u64>(), any::<u32>()).prop_map(|(line, sectors)| LineTouch { line, sectors });
        let record = (any::<u64>(), kind, any::<bool>(), any::<u32>());
        let record = record.prop_map(|(pc, kind, shareable, instructions_before)| Record { pc, kind, shareable, instructions_before });
        (record, prop::collection::vec(lines, 0..64))
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(entries in prop::collection::vec(entry(), 0..20)) {
            let mut records = Records::default();
            for (i, (record, lines)) in entries.iter().enumerate() {
                records.push(*record, lines);
                if i == entries.len() / 2 {
                    records = records.seal();
                }
            }
            for entry in &entries {
                prop_assert!(!records.is_empty());
                prop_assert_eq!(records.peek(), Some(entry.clone()));
                let mut lines = Vec::new();
                let record = records.pop(&mut lines);
                prop_assert_eq!(record.map(|record| (record, lines)), Some(entry.clone()));
            }
            prop_assert!(records.is_empty() && records.peek().is_none() && records.pop(&mut Vec::new()).is_none());
        }
    }
}
