//! Co-simulation of generated Verilog.
//!
//! The layers, from the bottom: [`tools`] finds external programs, [`cache`] keeps build products by content, [`ports`] lays port
//! values out, [`mod@build`] turns Verilog into a loadable model, [`dut`] drives it, [`lockstep`] runs it against a golden model,
//! [`record`] writes the cycles of a run down and [`icarus`] runs them in a second simulator. [`scoreboard`], [`coverage`] and
//! [`code_coverage`] say what a run has proven; [`lint`] asks four linters, [`doctor`] tells which tools are there.

pub mod block;
pub mod build;
pub mod cache;
pub mod code_coverage;
pub mod coverage;
pub mod doctor;
pub mod dut;
pub mod icarus;
pub mod lint;
pub mod lockstep;
pub mod ports;
pub mod prefetch_top;
pub mod record;
pub mod rtl_block;
pub mod scoreboard;
pub mod stimulus;
pub mod tools;
pub mod top;
