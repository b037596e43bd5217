//! RTL builder ([`rtl`]), primitives and the generators of the C2P-Cache.

pub mod rtl;
