//! Port lists and the flat containers in which models, stimuli and the simulated design exchange port values.
//!
//! A [`PortSpec`] says what a port is; an [`Interface`] lays all ports of a design out in two flat arrays of 64-bit words (one for the
//! inputs, one for the outputs, the clock left out); a [`Values`] is one such array; a [`Port`] is a copyable handle, resolved once by
//! name. Wide packed buses (`N` elements of `w` bits) are read and written element by element with [`Values::get_elem`] and
//! [`Values::set_elem`], which touch at most two words and allocate nothing.
//!
//! ```
//! use l1forge_verif::ports::{Interface, PortSpec, Values};
//!
//! let interface = Interface::new(
//!     vec![PortSpec::input("clk", 1), PortSpec::input("tag_i", 4 * 21).elements(21), PortSpec::output("hit_o", 4)],
//!     Some("clk"),
//! )?;
//! let tag = interface.input("tag_i")?;
//! let mut inputs = Values::inputs(&interface);
//! inputs.set_elem(tag, 3, 21, 0x1f_0001);
//! assert_eq!(inputs.get_elem(tag, 3, 21), 0x1f_0001);
//! assert_eq!(inputs.get_elem(tag, 2, 21), 0);
//! # Ok::<(), l1forge_verif::ports::PortError>(())
//! ```

use std::collections::HashMap;
use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

/// Direction of a port, seen from the design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dir {
    /// Driven by the bench.
    Input,
    /// Driven by the design.
    Output,
}

impl fmt::Display for Dir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dir::Input => "input",
            Dir::Output => "output",
        })
    }
}

/// Name, width and direction of one port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PortSpec {
    /// Verilog name.
    pub name: String,
    /// Width in bits, at least 1.
    pub width: u32,
    /// Direction, seen from the design.
    pub dir: Dir,
    /// Width in bits of one element of a packed bus; equal to `width` for a plain port. Only reports use it.
    pub elem: u32,
}

impl PortSpec {
    /// An input of `width` bits.
    pub fn input(name: impl Into<String>, width: u32) -> Self {
        Self { name: name.into(), width, dir: Dir::Input, elem: width }
    }

    /// An output of `width` bits.
    pub fn output(name: impl Into<String>, width: u32) -> Self {
        Self { name: name.into(), width, dir: Dir::Output, elem: width }
    }

    /// Says that the port is a packed bus of elements of `elem` bits, so that a mismatch names the element.
    #[must_use]
    pub fn elements(mut self, elem: u32) -> Self {
        self.elem = elem;
        self
    }
}

/// A port list or a port name that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// No port of that name and direction.
    #[error("no {dir} port `{name}`; the {dir} ports are: {known}")]
    Unknown {
        /// Name that was asked for.
        name: String,
        /// Direction that was asked for.
        dir: Dir,
        /// The names there are, comma separated.
        known: String,
    },
    /// Two ports have the same name.
    #[error("port `{0}` is declared twice")]
    Duplicate(String),
    /// A width of zero, or an element width that does not divide the width.
    #[error("port `{name}`: {width} bits do not hold a whole number of elements of {elem} bits")]
    Width {
        /// Port name.
        name: String,
        /// Port width in bits.
        width: u32,
        /// Element width in bits.
        elem: u32,
    },
    /// The clock is not a one-bit input.
    #[error("clock `{0}` is not a 1-bit input of the design")]
    Clock(String),
}

/// Handle of one port of one [`Interface`]: which port it is, and where its bits lie in a [`Values`].
///
/// A handle is resolved once by name and copied from there on. It is meant for the interface it came from; with another one it may
/// name another port, or panic, but it never reads outside the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Port {
    pub(crate) index: u32,
    pub(crate) offset: u32,
    pub(crate) width: u32,
    pub(crate) dir: Dir,
}

impl Port {
    /// Width in bits.
    pub fn width(self) -> u32 {
        self.width
    }

    /// Direction, seen from the design.
    pub fn dir(self) -> Dir {
        self.dir
    }

    /// Number of 64-bit words that hold the port in a [`Values`].
    pub fn words(self) -> usize {
        words_of(self.width)
    }
}

/// All ports of a design with their place in the flat containers.
///
/// Every port starts at a word boundary of its container. The clock belongs to neither container: only
/// [`crate::dut::Dut`] drives it.
#[derive(Debug, PartialEq, Eq)]
pub struct Interface {
    specs: Vec<PortSpec>,
    ports: Vec<Port>,
    by_name: HashMap<String, u32>,
    clock: Option<u32>,
    input_words: usize,
    output_words: usize,
}

impl Interface {
    /// Lays out `specs` in the order given; `clock` names the input that the bench toggles, if there is one.
    pub fn new(specs: Vec<PortSpec>, clock: Option<&str>) -> Result<Arc<Self>, PortError> {
        let mut ports = Vec::with_capacity(specs.len());
        let mut by_name = HashMap::with_capacity(specs.len());
        let mut clock_index = None;
        let (mut input_words, mut output_words) = (0usize, 0usize);
        for (index, spec) in specs.iter().enumerate() {
            let index = index as u32;
            if spec.width == 0 || spec.elem == 0 || spec.width % spec.elem != 0 {
                return Err(PortError::Width { name: spec.name.clone(), width: spec.width, elem: spec.elem });
            }
            if by_name.insert(spec.name.clone(), index).is_some() {
                return Err(PortError::Duplicate(spec.name.clone()));
            }
            let is_clock = clock == Some(spec.name.as_str());
            if is_clock {
                if spec.width != 1 || spec.dir != Dir::Input {
                    return Err(PortError::Clock(spec.name.clone()));
                }
                clock_index = Some(index);
            }
            let total = match spec.dir {
                Dir::Input => &mut input_words,
                Dir::Output => &mut output_words,
            };
            ports.push(Port { index, offset: *total as u32, width: spec.width, dir: spec.dir });
            if !is_clock {
                *total += words_of(spec.width);
            }
        }
        if let (Some(name), None) = (clock, clock_index) {
            return Err(PortError::Clock(name.to_owned()));
        }
        Ok(Arc::new(Self { specs, ports, by_name, clock: clock_index, input_words, output_words }))
    }

    /// The port list, in the order given.
    pub fn specs(&self) -> &[PortSpec] {
        &self.specs
    }

    /// Name, width and direction of a port.
    pub fn spec(&self, port: Port) -> &PortSpec {
        &self.specs[port.index as usize]
    }

    /// Handle of the input `name`.
    pub fn input(&self, name: &str) -> Result<Port, PortError> {
        self.find(name, Dir::Input)
    }

    /// Handle of the output `name`.
    pub fn output(&self, name: &str) -> Result<Port, PortError> {
        self.find(name, Dir::Output)
    }

    /// The clock, if the design has one.
    pub fn clock(&self) -> Option<Port> {
        self.clock.map(|index| self.ports[index as usize])
    }

    /// The inputs without the clock, in the order of the port list.
    pub fn input_ports(&self) -> impl Iterator<Item = Port> + '_ {
        self.ports.iter().copied().filter(|port| port.dir == Dir::Input && Some(port.index) != self.clock)
    }

    /// The outputs, in the order of the port list.
    pub fn output_ports(&self) -> impl Iterator<Item = Port> + '_ {
        self.ports.iter().copied().filter(|port| port.dir == Dir::Output)
    }

    fn find(&self, name: &str, dir: Dir) -> Result<Port, PortError> {
        self.by_name.get(name).map(|&index| self.ports[index as usize]).filter(|port| port.dir == dir).ok_or_else(|| {
            let known: Vec<_> = self.specs.iter().filter(|spec| spec.dir == dir).map(|spec| spec.name.as_str()).collect();
            PortError::Unknown { name: name.to_owned(), dir, known: known.join(", ") }
        })
    }

    fn word_count(&self, dir: Dir) -> usize {
        match dir {
            Dir::Input => self.input_words,
            Dir::Output => self.output_words,
        }
    }
}

/// The values of all inputs, or of all outputs, of one design in one cycle.
///
/// Bits above the width of a port are always zero, so that two containers of one interface can be compared as plain words. The
/// setters panic when a value does not fit, because a model that produces such a value is wrong.
#[derive(Clone, PartialEq, Eq)]
pub struct Values {
    interface: Arc<Interface>,
    dir: Dir,
    words: Box<[u64]>,
}

impl Values {
    /// All inputs of `interface`, set to zero.
    pub fn inputs(interface: &Arc<Interface>) -> Self {
        Self::new(interface, Dir::Input)
    }

    /// All outputs of `interface`, set to zero.
    pub fn outputs(interface: &Arc<Interface>) -> Self {
        Self::new(interface, Dir::Output)
    }

    fn new(interface: &Arc<Interface>, dir: Dir) -> Self {
        let words = vec![0; interface.word_count(dir)].into_boxed_slice();
        Self { interface: Arc::clone(interface), dir, words }
    }

    /// The interface that lays this container out.
    pub fn interface(&self) -> &Arc<Interface> {
        &self.interface
    }

    /// Whether these are the inputs or the outputs.
    pub fn dir(&self) -> Dir {
        self.dir
    }

    /// Sets every port to zero.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Copies all values of a container of the same interface and direction.
    ///
    /// # Panics
    /// When the two containers have different sizes.
    pub fn copy_from(&mut self, other: &Self) {
        self.words.copy_from_slice(&other.words);
    }

    /// All words, in the layout of the interface.
    pub fn raw(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn raw_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Value of a port of at most 64 bits.
    ///
    /// # Panics
    /// When the port is wider, or belongs to the other direction.
    #[inline]
    pub fn get(&self, port: Port) -> u64 {
        self.check(port);
        assert!(port.width <= 64, "a port of {} bits does not fit in 64 bits", port.width);
        self.words[port.offset as usize]
    }

    /// Sets a port of at most 64 bits.
    ///
    /// # Panics
    /// When the port is wider, belongs to the other direction, or the value does not fit.
    #[inline]
    pub fn set(&mut self, port: Port, value: u64) {
        self.check(port);
        assert!(port.width <= 64, "a port of {} bits needs set_elem or set_words", port.width);
        check_fits(value, port.width);
        self.words[port.offset as usize] = value;
    }

    /// Bit `index` of a port.
    ///
    /// # Panics
    /// When the port has no such bit.
    #[inline]
    pub fn get_bit(&self, port: Port, index: u32) -> bool {
        self.check(port);
        assert!(index < port.width, "bit {index} of a port of {} bits", port.width);
        (self.words[port.offset as usize + (index / 64) as usize] >> (index % 64)) & 1 != 0
    }

    /// Sets bit `index` of a port.
    ///
    /// # Panics
    /// When the port has no such bit.
    #[inline]
    pub fn set_bit(&mut self, port: Port, index: u32, value: bool) {
        self.check(port);
        assert!(index < port.width, "bit {index} of a port of {} bits", port.width);
        let word = &mut self.words[port.offset as usize + (index / 64) as usize];
        *word = (*word & !(1 << (index % 64))) | (u64::from(value) << (index % 64));
    }

    /// Element `index` of a packed bus of elements of `width` bits (1 to 64); element 0 is in the low bits.
    ///
    /// # Panics
    /// When the element does not lie inside the port.
    #[inline]
    pub fn get_elem(&self, port: Port, index: u32, width: u32) -> u64 {
        self.get_bits(port, index * width, width)
    }

    /// Sets element `index` of a packed bus of elements of `width` bits (1 to 64).
    ///
    /// # Panics
    /// When the element does not lie inside the port, or the value does not fit.
    #[inline]
    pub fn set_elem(&mut self, port: Port, index: u32, width: u32, value: u64) {
        self.set_bits(port, index * width, width, value);
    }

    /// The `width` bits (1 to 64) of a port from bit `low` up.
    ///
    /// # Panics
    /// When the bits do not lie inside the port.
    #[inline]
    pub fn get_bits(&self, port: Port, low: u32, width: u32) -> u64 {
        self.check(port);
        check_range(port.width, low, width);
        let word = port.offset as usize + (low / 64) as usize;
        let shift = low % 64;
        let mut value = self.words[word] >> shift;
        if shift + width > 64 {
            value |= self.words[word + 1] << (64 - shift);
        }
        value & mask(width)
    }

    /// Sets the `width` bits (1 to 64) of a port from bit `low` up.
    ///
    /// # Panics
    /// When the bits do not lie inside the port, or the value does not fit.
    #[inline]
    pub fn set_bits(&mut self, port: Port, low: u32, width: u32, value: u64) {
        self.check(port);
        check_range(port.width, low, width);
        check_fits(value, width);
        let word = port.offset as usize + (low / 64) as usize;
        let shift = low % 64;
        self.words[word] = (self.words[word] & !(mask(width) << shift)) | (value << shift);
        if shift + width > 64 {
            let spilled = shift + width - 64;
            self.words[word + 1] = (self.words[word + 1] & !mask(spilled)) | (value >> (64 - shift));
        }
    }

    /// The words of a port, low word first; bits above the width are zero.
    #[inline]
    pub fn words(&self, port: Port) -> &[u64] {
        self.check(port);
        &self.words[port.offset as usize..port.offset as usize + port.words()]
    }

    /// Sets a port from words, low word first.
    ///
    /// # Panics
    /// When the number of words is not that of the port, or bits above the width are set.
    pub fn set_words(&mut self, port: Port, words: &[u64]) {
        self.check(port);
        assert_eq!(words.len(), port.words(), "a port of {} bits", port.width);
        if let Some(&last) = words.last() {
            check_fits(last, top_bits(port.width));
        }
        self.words[port.offset as usize..port.offset as usize + port.words()].copy_from_slice(words);
    }

    /// A port as hexadecimal digits, `ceil(width / 4)` of them.
    pub fn hex(&self, port: Port) -> String {
        hex_of(self.words(port), port.width)
    }

    /// The ports of this container that hold another value in `other`.
    ///
    /// # Panics
    /// When the two containers have different sizes.
    pub fn differences<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = Port> + 'a {
        assert_eq!(self.words.len(), other.words.len(), "containers of two interfaces");
        self.ports().filter(|&port| self.words(port) != other.words(port))
    }

    /// The ports of this container, in the order of the port list.
    pub fn ports(&self) -> impl Iterator<Item = Port> + '_ {
        let clock = self.interface.clock;
        self.interface.ports.iter().copied().filter(move |port| port.dir == self.dir && Some(port.index) != clock)
    }

    #[inline]
    fn check(&self, port: Port) {
        assert!(port.dir == self.dir, "an {} port used on the {} values", port.dir, self.dir);
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for port in self.ports() {
            map.entry(&self.interface.spec(port).name, &format_args!("{}'h{}", port.width, self.hex(port)));
        }
        map.finish()
    }
}

/// Number of 64-bit words that hold `width` bits.
pub(crate) fn words_of(width: u32) -> usize {
    width.div_ceil(64) as usize
}

/// Number of bits used in the last 64-bit word of a value of `width` bits, 1 to 64.
pub(crate) fn top_bits(width: u32) -> u32 {
    (width - 1) % 64 + 1
}

/// The low `width` bits set, for a width of 0 to 64.
#[inline]
pub(crate) fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

#[inline]
pub(crate) fn check_range(port_width: u32, low: u32, width: u32) {
    assert!(
        (1..=64).contains(&width) && low.checked_add(width).is_some_and(|end| end <= port_width),
        "bits {low}+:{width} of a port of {port_width} bits"
    );
}

#[inline]
pub(crate) fn check_fits(value: u64, width: u32) {
    assert!(value & !mask(width) == 0, "value {value:#x} does not fit in {width} bits");
}

/// `width` bits in hexadecimal, `ceil(width / 4)` digits.
pub(crate) fn hex_of(words: &[u64], width: u32) -> String {
    let digits = width.div_ceil(4) as usize;
    let mut text = String::with_capacity(digits + 16);
    for word in words.iter().rev() {
        let _ = write!(text, "{word:016x}");
    }
    text.split_off(text.len() - digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one_output(width: u32) -> (Arc<Interface>, Port) {
        let interface =
            Interface::new(vec![PortSpec::output("a", 64), PortSpec::output("x", width), PortSpec::output("b", 64)], None).unwrap();
        let port = interface.output("x").unwrap();
        (interface, port)
    }

    /// The plain description of a packed bus: one bool per bit.
    fn bits_of(values: &Values, port: Port) -> Vec<bool> {
        (0..port.width()).map(|index| values.get_bit(port, index)).collect()
    }

    proptest! {
        #[test]
        fn bit_fields_match_plain_bits(
            width in 1u32..400,
            writes in prop::collection::vec((0u32..400, 1u32..=64, any::<u64>()), 1..20),
        ) {
            let (interface, port) = one_output(width);
            let mut values = Values::outputs(&interface);
            let mut plain = vec![false; width as usize];
            for (low, len, value) in writes {
                let low = low % width;
                let len = len.min(width - low);
                let value = value & mask(len);
                values.set_bits(port, low, len, value);
                for bit in 0..len {
                    plain[(low + bit) as usize] = (value >> bit) & 1 == 1;
                }
                prop_assert_eq!(&bits_of(&values, port), &plain);
                prop_assert_eq!(values.get_bits(port, low, len), value);
            }
            // The neighbours in the container are untouched.
            prop_assert_eq!(values.get(interface.output("a").unwrap()), 0);
            prop_assert_eq!(values.get(interface.output("b").unwrap()), 0);
            // The hexadecimal form is that of the plain bits.
            let hex: String = (0..width.div_ceil(4)).rev().map(|digit| {
                let nibble = (0..4).filter(|bit| plain.get((digit * 4 + bit) as usize) == Some(&true)).fold(0, |n, bit| n | 1 << bit);
                char::from_digit(nibble, 16).unwrap()
            }).collect();
            prop_assert_eq!(values.hex(port), hex);
        }
    }

    #[test]
    fn set_bit_clears_and_sets() {
        let (interface, port) = one_output(130);
        let mut values = Values::outputs(&interface);
        values.set_bit(port, 129, true);
        values.set_bit(port, 64, true);
        values.set_bit(port, 64, false);
        assert_eq!(values.words(port), [0, 0, 2]);
    }

    #[test]
    fn differences_name_the_ports() {
        let (interface, port) = one_output(70);
        let mut left = Values::outputs(&interface);
        let right = left.clone();
        assert_eq!(left.differences(&right).count(), 0);
        left.set_bit(port, 69, true);
        assert_eq!(left.differences(&right).collect::<Vec<_>>(), [port]);
    }

    #[test]
    fn clock_is_in_no_container() {
        let specs = vec![PortSpec::input("a", 65), PortSpec::input("clk", 1), PortSpec::input("b", 1)];
        let interface = Interface::new(specs, Some("clk")).unwrap();
        assert_eq!(Values::inputs(&interface).raw().len(), 3);
        assert_eq!(interface.input_ports().map(|port| interface.spec(port).name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let mut inputs = Values::inputs(&interface);
        inputs.set(interface.input("b").unwrap(), 1);
        assert_eq!(inputs.raw(), [0, 0, 1]);
    }

    #[test]
    fn bad_port_lists_are_refused() {
        let twice = vec![PortSpec::input("a", 1), PortSpec::output("a", 1)];
        assert_eq!(Interface::new(twice, None), Err(PortError::Duplicate("a".into())));
        assert!(matches!(Interface::new(vec![PortSpec::input("a", 0)], None), Err(PortError::Width { .. })));
        assert!(matches!(Interface::new(vec![PortSpec::input("a", 10).elements(3)], None), Err(PortError::Width { .. })));
        assert_eq!(Interface::new(vec![PortSpec::input("clk", 2)], Some("clk")), Err(PortError::Clock("clk".into())));
        assert_eq!(Interface::new(vec![PortSpec::input("a", 1)], Some("clk")), Err(PortError::Clock("clk".into())));
        let interface = Interface::new(vec![PortSpec::input("a", 1), PortSpec::output("b", 1)], None).unwrap();
        let error = interface.input("b").unwrap_err();
        assert_eq!(error.to_string(), "no input port `b`; the input ports are: a");
    }

    #[test]
    #[should_panic(expected = "does not fit in 3 bits")]
    fn a_value_that_does_not_fit_is_refused() {
        let (interface, port) = one_output(9);
        Values::outputs(&interface).set_elem(port, 1, 3, 8);
    }

    #[test]
    #[should_panic(expected = "bits 9+:3 of a port of 9 bits")]
    fn an_element_outside_the_port_is_refused() {
        let (interface, port) = one_output(9);
        Values::outputs(&interface).get_elem(port, 3, 3);
    }
}
