//! The RTL builder: describe a module in Rust, get checked, readable Verilog-2005.
//!
//! | to describe | use |
//! |---|---|
//! | a module | [`ModuleBuilder`], finished into a [`Module`]; modules are assembled by a [`Design`] |
//! | values | [`Expr`], constants [`Bits`], evaluation in Rust with [`Env`] |
//! | state | [`Reg`], [`Fsm`] |
//! | always blocks, loops | [`Block`], [`LoopVar`], [`Index`] |
//! | instances | [`ModuleBuilder::instance`], [`ModuleBuilder::instance_array`], [`Connect`]; hand-written modules are [`External`] |
//! | ready/valid channels | [`Payload`], [`Source`], [`Sink`] |
//!
//! The parts are small: expressions and statements are built and checked by width at once, [`ModuleBuilder::finish`] checks the whole module (names, drivers, uses,
//! combinational loops) and prints it. The tutorial is `docs/guide/rtl-builder.md`.
//!
//! ```
//! use l1forge_hdl::rtl::{Design, ModuleBuilder};
//!
//! let mut m = ModuleBuilder::new("saturating_counter");
//! m.purpose("Counts events and stops at the largest value.").latency("count_o follows inc_i by one cycle");
//! m.clock_reset();
//! let inc = m.input("inc_i", 1, "count this cycle");
//! let clear = m.input("clear_i", 1, "start again at zero");
//! let count = m.output("count_o", 8, "events so far");
//! let count_q = m.reg("count_q", 8).doc("events so far");
//! let full = m.wire("full", count_q.reduce_and());
//! count_q.next_when(&clear, 0);
//! count_q.next_when(&inc & !&full, &count_q + 1);
//! m.assign(&count, &count_q);
//!
//! let design = Design::new(m.finish()?)?;
//! let (name, text) = &design.files()[0];
//! assert_eq!(name, "saturating_counter.v");
//! assert!(text.contains("end else if (inc_i & ~full) begin"));
//! # Ok::<(), l1forge_hdl::rtl::RtlError>(())
//! ```

mod bits;
mod channel;
mod check;
mod design;
mod error;
mod eval;
mod expr;
mod external;
mod fold;
mod fsm;
mod helpers;
mod index;
mod instance;
mod keywords;
mod module;
mod operand;
mod options;
mod print;
mod process;
mod reg;
mod signal;

pub use bits::Bits;
pub use channel::{Payload, Sink, Source};
pub use design::{Design, Dir, Memory, Module, Param, Port};
pub use error::RtlError;
pub use eval::Env;
pub use expr::{Expr, index_width, value_width};
pub use external::External;
pub use fsm::{Fsm, StateMoves, Transitions};
pub use index::{Index, LoopVar};
pub use instance::{Connect, Outputs};
pub use module::ModuleBuilder;
pub use operand::Operand;
pub use options::{ResetStyle, RtlOptions};
pub use process::{Block, CaseArms, IfChain};
pub use reg::{Reg, RegPart};

/// The examples of the tutorial, so that they are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/rtl-builder.md")]
struct Guide;
