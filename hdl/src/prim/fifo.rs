//! First-in first-out queue with valid/ready on both sides.

use crate::rtl::{Module, ModuleBuilder, RtlError, RtlOptions, Source, index_width, value_width};
use std::rc::Rc;

/// Shape of a [`fifo`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fifo {
    /// Bits of an entry.
    pub width: u32,
    /// Entries; any number from 1. A depth of 1 takes one entry every second cycle, larger ones run without pause.
    pub depth: u32,
    /// Input `flush_i`: drops all entries, also one that arrives in the same cycle.
    pub flush: bool,
    /// Output `level_o`: number of entries.
    pub level: bool,
}

impl Fifo {
    /// A queue of `depth` entries of `width` bits without flush and level.
    pub fn new(width: u32, depth: u32) -> Self {
        Fifo { width, depth, flush: false, level: false }
    }

    /// Adds the input `flush_i`.
    pub fn with_flush(self) -> Self {
        Fifo { flush: true, ..self }
    }

    /// Adds the output `level_o`.
    pub fn with_level(self) -> Self {
        Fifo { level: true, ..self }
    }

    /// Name of the module.
    pub fn name(&self) -> String {
        let mut s = format!("fifo_{}x{}", self.depth, self.width);
        if self.flush {
            s.push_str("_flush");
        }
        if self.level {
            s.push_str("_level");
        }
        s
    }
}

/// Puts a queue behind a channel: an instance `name` of [`fifo`] that carries all fields side by side.
///
/// ```
/// use l1forge_hdl::prim::queue;
/// use l1forge_hdl::rtl::{ModuleBuilder, Payload};
/// let request = Payload::new().field("addr", 32).field("id", 4);
/// let mut m = ModuleBuilder::new("waiting_room");
/// m.clock_reset();
/// let from = m.channel_in("req", &request, "request");
/// let to = m.channel_out("out", &request, "request, later");
/// let waiting = queue(&mut m, "u_queue", from, 4)?;
/// m.join(waiting, to);
/// m.finish()?;
/// # Ok::<(), l1forge_hdl::rtl::RtlError>(())
/// ```
///
/// # Errors
/// Those of [`fifo`].
#[track_caller]
pub fn queue(m: &mut ModuleBuilder, name: &str, from: Source, depth: u32) -> Result<Source, RtlError> {
    let payload = from.payload().clone();
    let module = fifo(m.options(), Fifo::new(payload.width(), depth))?;
    let short = name.strip_prefix("u_").unwrap_or(name);
    let (to, out) = m.channel(short, &payload);
    let data_in = from.packed();
    let (valid_in, ready_in, _) = from.into_signals();
    let (valid_out, ready_out, fields) = to.into_signals();
    let u = m.instance(name, &module, |i| {
        i.connect("valid_i", valid_in).connect("ready_o", ready_in).connect("data_i", data_in);
        i.connect("valid_o", valid_out).connect("ready_i", ready_out);
    });
    let (data, mut lo) = (u.get("data_o"), 0);
    for f in fields {
        m.assign(&f, data.bits(lo, f.width()));
        lo += f.width();
    }
    Ok(out)
}

/// First-in first-out queue.
///
/// Ports: `valid_i`, `data_i`, `ready_o` on the input side, `valid_o`, `data_o`, `ready_i` on the output side, `flush_i` and `level_o` as the [`Fifo`] says.
/// Both `ready_o` and `valid_o` come from registers: there is no path from `ready_i` to `ready_o` or from `valid_i` to `valid_o`.
///
/// # Errors
/// None for sizes from 1; the signature is that of every generator.
pub fn fifo(opts: RtlOptions, shape: Fifo) -> Result<Rc<Module>, RtlError> {
    let Fifo { width, depth, flush, level } = shape;
    assert!(width >= 1 && depth >= 1, "a queue of {depth} entries of {width} bits");
    let mut m = opts.module(&shape.name());
    m.purpose(
        "First-in first-out queue. Both handshakes come from registers: ready_o does not depend on ready_i and valid_o \
         does not depend on valid_i, so queues cut combinational paths.",
    );
    m.note("WIDTH", format!("{width} bits per entry"));
    m.note("DEPTH", format!("{depth} entries"));
    m.latency("an entry can be taken in the cycle after it was given");
    m.clock_reset();
    let flush_i = flush.then(|| m.input("flush_i", 1, "drop all entries and the one at the input"));
    let valid_i = m.input("valid_i", 1, "an entry is offered");
    let ready_o = m.output("ready_o", 1, "there is room for it");
    let data_i = m.input("data_i", width, "the entry");
    let valid_o = m.output("valid_o", 1, "there is an entry");
    let ready_i = m.input("ready_i", 1, "it is taken");
    let data_o = m.output("data_o", width, "the oldest entry");

    let wc = value_width(u64::from(depth));
    let count = m.reg("count_q", wc).doc("entries held");
    let mem = m.reg("mem_q", depth * width).no_reset().doc("entries, slot 0 in the low bits");
    let room = m.wire("room", count.ne(depth));
    let some = m.wire("some", count.ne(0));
    let push = m.wire("push", &valid_i & &room);
    let pop = m.wire("pop", &ready_i & &some);
    m.assign(&ready_o, &room);
    m.assign(&valid_o, &some);

    if let Some(f) = &flush_i {
        count.next_when(f, 0);
    }
    count.next_when(&push & !&pop, &count + 1);
    count.next_when(&pop & !&push, &count - 1);

    if depth == 1 {
        mem.next_when(&push, &data_i);
        m.assign(&data_o, &mem);
    } else {
        let wp = index_width(depth);
        let write = m.reg("write_q", wp).doc("slot written next");
        let read = m.reg("read_q", wp).doc("slot of the oldest entry");
        for (pointer, step) in [(&write, &push), (&read, &pop)] {
            if let Some(f) = &flush_i {
                pointer.next_when(f, 0);
            }
            if depth.is_power_of_two() {
                pointer.next_when(step, pointer + 1);
            } else {
                pointer.next_when(step, pointer.eq(depth - 1).mux(0, pointer + 1));
            }
        }
        mem.at(&write, width).next_when(&push, &data_i);
        m.assign(&data_o, mem.elem(&read, width));
        m.assert("write_in_range_A", write.le(depth - 1), "the write pointer names a slot that exists");
        m.assert("read_in_range_A", read.le(depth - 1), "the read pointer names a slot that exists");
    }
    if level {
        let level_o = m.output("level_o", wc, "entries held");
        m.assign(&level_o, &count);
    }
    m.assert("no_overflow_A", count.le(depth), "never more entries than slots");
    m.finish()
}
