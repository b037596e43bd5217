//! RTL builder ([`rtl`]), primitives ([`prim`]) and the generators of the C2P-Cache.

pub mod prim;
pub mod rtl;
