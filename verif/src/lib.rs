//! Co-simulation of generated Verilog.
//!
//! The layers, from the bottom: [`tools`] finds external programs, [`cache`] keeps build products by content, [`ports`] lays port
//! values out, [`mod@build`] turns Verilog into a loadable model, [`dut`] drives it.

pub mod build;
pub mod cache;
pub mod code_coverage;
pub mod dut;
pub mod icarus;
pub mod lockstep;
pub mod ports;
pub mod record;
pub mod tools;
