//! Port lists, and elements wider than a word.

use super::sizes::{Indices, MAX_K};
use super::sm_set::SmSet;
use crate::block::Signals;

/// Declares the ports of one direction: a module with the position of each port and a function that lists them.
///
/// Each line is `NAME = "port", elements, bits` and, for an output that means something only sometimes, `, when "valid"`.
macro_rules! ports {
    ($(#[$meta:meta])* $vis:vis mod $module:ident($sizes:ident: $type:ty) {
        $($name:ident = $port:literal, $count:expr, $bits:expr $(, when $valid:literal)?;)*
    }) => {
        $(#[$meta])*
        $vis mod $module {
            #[allow(unused_imports)]
            use super::*;
            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            enum Order { $($name),* }
            $(
                #[doc = concat!("Position of port `", $port, "`.")]
                #[allow(dead_code)]
                pub const $name: usize = Order::$name as usize;
            )*
            /// The ports, in order.
            pub(crate) fn list($sizes: &$type) -> Vec<$crate::block::Port> {
                vec![$($crate::block::Port::new($port, ($bits) as u32, ($count) as u32)$(.when($valid))?),*]
            }
        }
    };
}
pub(crate) use ports;

/// Element `element`, at most 64 bits, of a one-bit or wider port, as a truth value.
pub fn is(signals: &Signals, port: usize, element: usize) -> bool {
    signals.get(port, element) != 0
}

/// A one-bit port of one element per SM, as a set.
pub fn sms(signals: &Signals, port: usize) -> SmSet {
    let mut masks = [0; 4];
    for (mask, words) in masks.iter_mut().zip(signals.words(port).chunks(64)) {
        // By eight, so that one word does not wait for the other.
        for (eight, words) in words.chunks(8).enumerate() {
            let bits = words.iter().enumerate().fold(0, |bits, (i, word)| bits | (word & 1) << i);
            *mask |= bits << (8 * eight);
        }
    }
    SmSet::from_words(&masks)
}

/// Drives a one-bit port of one element per SM.
pub fn set_sms(signals: &mut Signals, port: usize, set: SmSet) {
    for (sm, word) in signals.words_mut(port).iter_mut().enumerate() {
        *word = u64::from(set.contains(sm));
    }
}

/// An element of one bit per SM.
pub fn row(signals: &Signals, port: usize, element: usize) -> SmSet {
    let words = signals.ports()[port].words();
    SmSet::from_words(&signals.words(port)[element * words..][..words])
}

/// Drives an element of one bit per SM.
pub fn set_row(signals: &mut Signals, port: usize, element: usize, set: SmSet) {
    let words = signals.ports()[port].words();
    set.to_words(&mut signals.words_mut(port)[element * words..][..words]);
}

/// An element of k indices of `x` bits.
pub fn indices(signals: &Signals, port: usize, element: usize, k: usize, x: usize) -> Indices {
    let words = signals.ports()[port].words();
    let words = &signals.words(port)[element * words..][..words];
    let mut indices = [0; MAX_K];
    for (i, index) in indices.iter_mut().enumerate().take(k) {
        for bit in 0..x {
            let at = i * x + bit;
            *index |= ((words[at / 64] >> (at % 64) & 1) as u32) << bit;
        }
    }
    indices
}

/// Drives an element of k indices of `x` bits.
pub fn set_indices(signals: &mut Signals, port: usize, element: usize, k: usize, x: usize, indices: &Indices) {
    let words = signals.ports()[port].words();
    let words = &mut signals.words_mut(port)[element * words..][..words];
    words.fill(0);
    for (i, index) in indices.iter().enumerate().take(k) {
        for bit in 0..x {
            let at = i * x + bit;
            words[at / 64] |= u64::from(index >> bit & 1) << (at % 64);
        }
    }
}

/// A one-bit port of up to 64 elements, as a mask.
pub fn mask(signals: &Signals, port: usize) -> u64 {
    signals.words(port).iter().enumerate().fold(0, |mask, (i, &word)| mask | word << i)
}

/// Drives a one-bit port of up to 64 elements from a mask.
pub fn set_mask(signals: &mut Signals, port: usize, mask: u64) {
    for (i, word) in signals.words_mut(port).iter_mut().enumerate() {
        *word = mask >> i & 1;
    }
}

/// Drives a one-bit port of one element.
pub fn set_bit(signals: &mut Signals, port: usize, value: bool) {
    signals.set(port, 0, u64::from(value));
}
