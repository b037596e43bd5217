//! RTL builder ([`rtl`]), primitives ([`prim`]) and the generators of the C2P-Cache ([`c2p`]) and of
//! SnakeCharmer ([`snakecharmer`]).

pub mod c2p;
pub mod package;
pub mod prim;
pub mod rtl;
pub mod snakecharmer;
