//! One instruction line of a trace.

use super::error::{Fault, quote};
use super::event::{AccessKind, Dim3, Kernel, Space, WARP_SIZE, WarpAccess};

/// Bytes of the windows through which generic accesses reach shared and local memory.
const WINDOW_BYTES: u64 = 16 << 20;

/// Blank-separated words of a line.
pub(super) struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    fn word(&mut self, expected: &'static str) -> Result<&'a [u8], Fault> {
        self.next().ok_or_else(|| Fault::token(None, expected))
    }

    fn decimal(&mut self, expected: &'static str) -> Result<u64, Fault> {
        let word = self.word(expected)?;
        decimal(word).ok_or_else(|| Fault::token(Some(word), expected))
    }

    fn hex(&mut self, expected: &'static str) -> Result<u64, Fault> {
        let word = self.word(expected)?;
        hex(word).ok_or_else(|| Fault::token(Some(word), expected))
    }

    fn signed(&mut self, expected: &'static str) -> Result<i64, Fault> {
        let word = self.word(expected)?;
        signed(word).ok_or_else(|| Fault::token(Some(word), expected))
    }

    fn registers(&mut self, count: &'static str, register: &'static str) -> Result<(), Fault> {
        for _ in 0..self.decimal(count)? {
            let word = self.word(register)?;
            if !is_register(word) {
                return Err(Fault::token(Some(word), register));
            }
        }
        Ok(())
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let blank = |b: &u8| *b == b' ' || *b == b'\t';
        let start = self.rest.iter().position(|b| !blank(b))?;
        let rest = &self.rest[start..];
        let end = rest.iter().position(blank).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        Some(word)
    }
}

/// Unsigned decimal.
pub(super) fn decimal(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |value, &b| {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(digit.into()) }
    })
}

/// Hexadecimal, with or without `0x`.
pub(super) fn hex(word: &[u8]) -> Option<u64> {
    let digits = word.strip_prefix(b"0x").or_else(|| word.strip_prefix(b"0X")).unwrap_or(word);
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &b| {
        let digit = char::from(b).to_digit(16)?;
        if value >> 60 != 0 { None } else { Some(value << 4 | u64::from(digit)) }
    })
}

/// Signed decimal.
fn signed(word: &[u8]) -> Option<i64> {
    match word.strip_prefix(b"-") {
        Some(digits) => 0i64.checked_sub_unsigned(decimal(digits)?),
        None => decimal(word)?.try_into().ok(),
    }
}

/// An immediate: decimal or hexadecimal, maybe signed. Its value is of no use here.
fn is_immediate(word: &[u8]) -> bool {
    hex(word.strip_prefix(b"-").unwrap_or(word)).is_some()
}

/// `R255`, `UR4`, `P0`, `RZ`.
fn is_register(word: &[u8]) -> bool {
    let letters = word.iter().take_while(|b| b.is_ascii_uppercase()).count();
    (1..=3).contains(&letters) && word[letters..].iter().all(u8::is_ascii_digit)
}

fn is_opcode(word: &[u8]) -> bool {
    let named = word.first().is_some_and(u8::is_ascii_uppercase);
    named && word.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'))
}

/// What the name of an opcode says about its memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Opcode {
    kind: AccessKind,
    space: Space,
    /// The address decides between global, shared and local memory.
    generic: bool,
    shareable: bool,
    width: u8,
}

impl Opcode {
    /// `None` for opcodes that are neither a load, a store nor an atomic (cache control, textures, bulk copies).
    fn of(opcode: &[u8]) -> Option<Self> {
        use AccessKind::{Atomic, Load, Store};
        use Space::{Constant, Global, Local, Shared};
        let mut parts = opcode.split(|&b| b == b'.');
        let (kind, space, generic) = match parts.next()? {
            b"LDG" | b"LDGSTS" => (Load, Global, false),
            b"STG" => (Store, Global, false),
            b"LD" => (Load, Global, true),
            b"ST" => (Store, Global, true),
            b"ATOM" => (Atomic, Global, true),
            b"ATOMG" | b"RED" | b"REDG" => (Atomic, Global, false),
            b"LDS" | b"LDSM" => (Load, Shared, false),
            b"STS" | b"STSM" => (Store, Shared, false),
            b"ATOMS" => (Atomic, Shared, false),
            b"LDL" => (Load, Local, false),
            b"STL" => (Store, Local, false),
            b"LDC" | b"LDCU" | b"ULDC" => (Load, Constant, false),
            _ => return None,
        };
        let mut found = Self { kind, space, generic, shareable: kind != Atomic, width: 4 };
        for part in parts {
            match part {
                b"U8" | b"S8" => found.width = 1,
                b"U16" | b"S16" => found.width = 2,
                b"64" | b"U64" | b"S64" | b"F64" => found.width = 8,
                b"128" => found.width = 16,
                b"256" => found.width = 32,
                b"STRONG" | b"VOLATILE" | b"MMIO" | b"BYPASS" => found.shareable = false,
                _ => {}
            }
        }
        Some(found)
    }
}

/// What has to be known to read an instruction line.
pub(super) struct Grammar<'a> {
    pub kernel: &'a Kernel,
    pub line_info: bool,
    pub address_bits: u32,
    /// Thread block and warp the line stands in, to check the prefix of old versions.
    pub block: Dim3,
    pub warp: u32,
}

impl Grammar<'_> {
    /// Reads one line. `None` for an instruction that does not access memory, or not by a load, store or atomic.
    pub fn parse(&self, line: &[u8]) -> Result<Option<WarpAccess>, Fault> {
        let mut words = Words::new(line);
        let version = self.kernel.tracer_version;
        if version < 3 {
            self.prefix(&mut words)?;
        }
        if self.line_info {
            words.decimal("a source line number (lineinfo is on)")?;
        }
        let pc = words.hex("a hexadecimal PC")?;
        let mask = words.hex("a hexadecimal active mask of 32 bits")?;
        let mask =
            u32::try_from(mask).map_err(|_| Fault::new(format!("the active mask {mask:#x}"), "a hexadecimal active mask of 32 bits"))?;
        words.registers("the number of destination registers", "a destination register")?;
        let name = words.word("an opcode")?;
        if !is_opcode(name) {
            return Err(Fault::token(Some(name), "an opcode"));
        }
        words.registers("the number of source registers", "a source register")?;
        let accesses = words.decimal("the access width in bytes, 0 for none")? > 0;
        let mut access = None;
        if accesses {
            let opcode = Opcode::of(name);
            // What is no load, store or atomic may have anything for an address, such as a texture handle.
            let width = opcode.map(|opcode| opcode.width);
            let addresses = self.addresses(&mut words, mask, width)?;
            access = opcode.map(|opcode| WarpAccess {
                warp: self.warp,
                pc,
                kind: opcode.kind,
                space: if opcode.generic { self.resolve(mask, &addresses) } else { opcode.space },
                shareable: opcode.shareable,
                width: opcode.width,
                mask,
                instructions_before: 0,
                addresses,
            });
        }
        finish(&mut words, version)?;
        Ok(access)
    }

    /// Thread block and warp in front of every line, tracer versions 1 and 2.
    fn prefix(&self, words: &mut Words<'_>) -> Result<(), Fault> {
        let Dim3 { x, y, z } = self.block;
        for expected in [x, y, z, self.warp] {
            let word = words.word("thread block and warp (tracer version below 3)")?;
            if decimal(word) != Some(expected.into()) {
                let warp = self.warp;
                let expected = format!("`{x} {y} {z} {warp}`, the thread block and warp (tracer version below 3)");
                return Err(Fault::token(Some(word), expected));
            }
        }
        Ok(())
    }

    /// The address of each active lane. They are only checked when the access has a `width`.
    fn addresses(&self, words: &mut Words<'_>, mask: u32, width: Option<u8>) -> Result<[u64; WARP_SIZE], Fault> {
        let mut addresses = [0; WARP_SIZE];
        let mode = words.word("an address mode, 0 to 2")?;
        let mut lanes = (0..WARP_SIZE).filter(|lane| mask >> lane & 1 == 1);
        match mode {
            b"0" => {
                for lane in lanes {
                    let address = words.hex("the hexadecimal address of each active lane")?;
                    addresses[lane] = self.legal(address, 0, lane, width)?;
                }
            }
            b"1" => {
                let base = words.hex("a hexadecimal base address")?;
                let stride = words.signed("a decimal stride")?;
                if !is_one_run(mask) {
                    let found = format!("base and stride for the active mask {mask:08x}");
                    return Err(Fault::new(found, "neighbouring active lanes, or address mode 0 or 2"));
                }
                for (step, lane) in lanes.enumerate() {
                    addresses[lane] = self.legal(base, i128::from(stride) * step as i128, lane, width)?;
                }
            }
            b"2" => {
                let mut address = words.hex("a hexadecimal base address")?;
                if let Some(lane) = lanes.next() {
                    address = self.legal(address, 0, lane, width)?;
                    addresses[lane] = address;
                }
                for lane in lanes {
                    let delta = words.signed("a decimal delta for each active lane but the first")?;
                    address = self.legal(address, delta.into(), lane, width)?;
                    addresses[lane] = address;
                }
            }
            other => return Err(Fault::token(Some(other), "an address mode, 0 to 2")),
        }
        Ok(addresses)
    }

    /// `base + offset`, when all bytes of the access lie in the address space.
    fn legal(&self, base: u64, offset: i128, lane: usize, width: Option<u8>) -> Result<u64, Fault> {
        let address = i128::from(base) + offset;
        let Some(width) = width else {
            return Ok(address as u64);
        };
        let last = address + i128::from(width) - 1;
        if address >= 0 && last <= top(self.address_bits).into() {
            Ok(address as u64)
        } else {
            Err(self.outside(base, offset, lane, width))
        }
    }

    #[cold]
    fn outside(&self, base: u64, offset: i128, lane: usize, width: u8) -> Fault {
        let (bits, top) = (self.address_bits, top(self.address_bits));
        let address = match u64::try_from(i128::from(base) + offset) {
            Ok(address) => format!("{address:#x}"),
            Err(_) => format!("{base:#x} + {offset}"),
        };
        Fault::new(
            format!("the address {address} ({width} bytes) in lane {lane}"),
            format!("an access within 0x0..={top:#x} (address_bits = {bits})"),
        )
    }

    /// The memory a generic access goes to, by the first active lane.
    fn resolve(&self, mask: u32, addresses: &[u64; WARP_SIZE]) -> Space {
        let address = addresses.get(mask.trailing_zeros() as usize);
        let within = |base: Option<u64>| match (base, address) {
            (Some(base), Some(&address)) => base != 0 && address >= base && address - base < WINDOW_BYTES,
            _ => false,
        };
        if within(self.kernel.shared_base) {
            Space::Shared
        } else if within(self.kernel.local_base) {
            Space::Local
        } else {
            Space::Global
        }
    }
}

/// Highest address of `bits` bits.
pub(super) fn top(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// The active lanes are neighbours (or there is at most one).
fn is_one_run(mask: u32) -> bool {
    let low = mask >> mask.trailing_zeros().min(31);
    low & low.wrapping_add(1) == 0
}

/// What follows the addresses.
fn finish(words: &mut Words<'_>, version: u8) -> Result<(), Fault> {
    let immediates = match version {
        5 => 1,
        6.. => 2,
        _ => 0,
    };
    for _ in 0..immediates {
        let word = words.word("an immediate")?;
        if !is_immediate(word) {
            return Err(Fault::token(Some(word), "an immediate"));
        }
    }
    if version >= 6 {
        match words.word("`NoVal` or `Val`")? {
            b"NoVal" => {}
            b"Val" => return Ok(()),
            other => return Err(Fault::token(Some(other), "`NoVal` or `Val`")),
        }
    }
    match words.next() {
        None => Ok(()),
        Some(word) => Err(Fault::new(quote(word), format!("the end of the line (tracer version {version})"))),
    }
}
