//! `snapshot_matrix`: the banked matrix.

use super::context::{Built, Context};
use crate::prim::sram_1r1w;

pub(super) fn module(c: &Context) -> Built {
    let (n, b, copies) = (c.n, c.b, c.c);
    let mut m = c.clocked(
        "snapshot_matrix",
        &format!("Snapshot Matrix: {copies} copies of {b} banks of {} rows of {n} bits, one bit per SM.", c.r),
        "read data in the next cycle; a read of a row that is written in the same cycle returns the old bits",
    );
    m.note("ROWS", c.r).note("BANKS", b).note("COPIES", copies);
    let read_valid = m.input("read_valid_i", copies * b, "a bank is read, by copy*BANKS + bank");
    let read_row = m.input("read_row_i", copies * b * c.rw, "the row read");
    let write_valid = m.input("write_valid_i", b, "bank b is written, in every copy");
    let write_row = m.input("write_row_i", b * c.rw, "the row written");
    let write_mask = m.input("write_mask_i", b * n, "SMs whose bit is written");
    let write_value = m.input("write_value_i", b, "value of the bits written");
    let read_data_o = m.output("read_data_o", copies * b * n, "row read in the cycle before, by copy*BANKS + bank");

    let data = m.net("write_data", b * n).doc("every written bit of a row gets the same value");
    m.comb_for("j", b, |block, j| block.set(data.elem(j, n), write_value.bit(j).replicate(n)));
    let sram = sram_1r1w(c.r, n);
    for copy in 0..copies {
        let name = if copies == 1 { "u_bank".to_string() } else { format!("u_copy{copy}_bank") };
        m.instance_array(&name, &sram, b, |i, g| {
            i.connect("re_i", read_valid.bit(g + copy * b)).connect("raddr_i", read_row.elem(g + copy * b, c.rw));
            i.connect("we_i", write_valid.bit(g)).connect("waddr_i", write_row.elem(g, c.rw));
            i.connect("wmask_i", write_mask.elem(g, n)).connect("wdata_i", data.elem(g, n));
            i.connect("rdata_o", read_data_o.elem(g + copy * b, n));
        });
    }
    m.finish()
}
