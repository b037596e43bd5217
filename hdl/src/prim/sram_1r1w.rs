//! Memory macro with one read and one write port.

use crate::rtl::{Dir, External, Module, index_width};
use std::rc::Rc;

/// Widest word: beyond it linters refuse the replications in the model.
const MAX_BITS: u32 = 8192;

/// The memory macro `sram_1r1w` with `rows` words of `bits` bits and a write mask per bit.
///
/// Reads are registered (`rdata_o` follows `re_i` by one cycle and holds); reading the row that is written in the same cycle returns the old word; rows that
/// do not exist read as zero. Behavioural in simulation, a black box where `SYNTHESIS` is defined. All sizes share one file; instances set its parameters.
///
/// ```
/// use l1forge_hdl::prim::sram_1r1w;
/// use l1forge_hdl::rtl::{Design, Memory, ModuleBuilder};
/// let mut m = ModuleBuilder::new("row_table");
/// m.clock_reset();
/// let row = m.input("row_i", 7, "row to read");
/// let word = m.output("word_o", 24, "its word, one cycle later");
/// let write = m.input("write_i", 1, "write zeros to the row instead");
/// m.instance("u_mem", &sram_1r1w(100, 24), |i| {
///     i.connect("re_i", !&write).connect("raddr_i", &row).connect("rdata_o", &word);
///     i.connect("we_i", &write).connect("waddr_i", &row).connect("wdata_i", 0).connect("wmask_i", !l1forge_hdl::rtl::Expr::zeros(24));
/// });
/// let design = Design::new(m.finish()?)?;
/// assert_eq!(design.memories()[&("sram_1r1w".to_owned(), Memory { rows: 100, bits: 24 })], 1);
/// # Ok::<(), l1forge_hdl::rtl::RtlError>(())
/// ```
#[track_caller]
pub fn sram_1r1w(rows: u32, bits: u32) -> Rc<Module> {
    assert!(rows >= 1 && bits >= 1, "a memory of {rows} rows of {bits} bits");
    assert!(bits <= MAX_BITS, "words of {bits} bits, at most {MAX_BITS} are possible");
    let addr = index_width(rows);
    External::new("sram_1r1w", include_str!("sram_1r1w.v"))
        .port("clk_i", Dir::Clock, 1, "clock, rising edge")
        .port("re_i", Dir::Input, 1, "read this cycle")
        .port("raddr_i", Dir::Input, addr, "row to read")
        .port("rdata_o", Dir::Output, bits, "word read last")
        .port("we_i", Dir::Input, 1, "write this cycle")
        .port("waddr_i", Dir::Input, addr, "row to write")
        .port("wdata_i", Dir::Input, bits, "new bits")
        .port("wmask_i", Dir::Input, bits, "which bits to write")
        .fixed_param("ROWS", rows)
        .fixed_param("BITS", bits)
        .fixed_param("ADDR", addr)
        .memory(rows, bits)
        .finish()
}
