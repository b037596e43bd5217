//! `update_lane`: encoded tags on their way to the matrix.

use super::context::{Built, Context};
use super::round_robin::{Kind, round_robin};
use super::shift_queue::ShiftQueue;
use crate::rtl::{Bits, Expr, Reg};

/// Sources of a lane: SMs whose fill queue it serves, and stream tags.
pub(super) struct Sources {
    /// SMs s with s mod W = lane.
    pub fills: Vec<u32>,
    /// Stream tags l with l mod W = lane.
    pub stream: Vec<u32>,
}

impl Sources {
    pub fn of(c: &Context, lane: u32) -> Self {
        let mine = |n: u32| (0..n).filter(|v| v % c.w == lane).collect();
        Self { fills: mine(c.n), stream: mine(c.st) }
    }

    /// Number of sources; a lane without any has one, tied to 0.
    pub fn count(&self) -> u32 {
        (self.fills.len() + self.stream.len()).max(1) as u32
    }
}

/// A lane on its own, its number built in.
pub(super) fn alone(c: &Context, lane: u32) -> Built {
    build(c, lane, lane)
}

/// The module of a lane. Lanes with as many sources share one module; its parameter `LANE` tells them apart.
pub(super) fn of_lane(c: &Context, lane: u32) -> Built {
    build(c, lane, 0)
}

fn build(c: &Context, lane: u32, default: u32) -> Built {
    let sources = Sources::of(c, lane);
    let shape = |l: u32| (Sources::of(c, l).fills.len(), Sources::of(c, l).stream.len());
    let (fills, stream) = shape(lane);
    let name =
        if (0..c.w).all(|l| shape(l) == (fills, stream)) { "update_lane".to_string() } else { format!("update_lane_{fills}_{stream}") };
    let (k, depth, latency) = (c.k, c.config.update_queue_depth, c.config.engine_latency);
    let n = sources.count();
    let mut m = c.clocked(
        &name,
        &format!("Update lane: sends tags of {fills} fill queue(s) and {stream} stream tag(s) to a BF engine and writes their {k} positions, at most {depth} tags in flight."),
        &format!("first write {latency} cycle(s) after the tag is sent"),
    );
    m.repeated();
    m.note("QUEUE_DEPTH", depth).note("FILL_SOURCES", fills).note("STREAM_SOURCES", stream);
    let lane_number = (fills > 0).then(|| {
        m.param("LANE", Bits::from_u64(c.s, u64::from(default)), "number of the lane; source j of the fill queues is SM LANE + j*LANES")
    });
    let source_valid = m.input("source_valid_i", n, "source z has a tag");
    let source_tag = m.input("source_tag_i", n * c.t, "the tag");
    let sm = m.input("sm_i", c.s, "SM under rebuild");
    let block = m.input("block_i", 1, "send no tag");
    let encode_ready = m.input("encode_ready_i", 1, "an engine takes the tag");
    let encoded = m.input("encoded_i", 1, "indices of the oldest tag sent");
    let index = m.input("index_i", k * c.x, "the indices");
    let write_ready = m.input("write_ready_i", k, "position i is written");
    let source_ready_o = m.output("source_ready_o", n, "the tag of source z is taken");
    let encode_valid_o = m.output("encode_valid_o", 1, "a tag for an engine");
    let encode_tag_o = m.output("encode_tag_o", c.t, "the tag");
    let write_valid_o = m.output("write_valid_o", k, "position i is to be written");
    let write_index_o = m.output("write_index_o", k * c.x, "its index {bank, row}");
    let write_sm_o = m.output("write_sm_o", k * c.s, "its column");
    let match_o = m.output("match_o", 1, "a tag in flight belongs to the SM under rebuild");
    let empty_o = m.output("empty_o", 1, "no tag is in flight");

    // Each position has a queue of its own: one that waits for its bank does not hold up the others.
    let queues: Vec<ShiftQueue> = (0..k).map(|i| ShiftQueue::new(&mut m, &format!("p{i}_entry"), depth, c.x + c.s)).collect();
    let flying: Vec<Reg> = (1..latency).map(|i| m.reg(&format!("flying{i}_q"), 1).doc("a tag was sent this many cycles ago")).collect();
    let flying_sm: Vec<Reg> = (1..latency).map(|i| m.reg(&format!("flying{i}_sm_q"), c.s).no_reset().doc("its SM")).collect();
    // A tag is written when its last position is, so the fullest queue counts.
    let held_more_than = |e: u32| Expr::or_all(queues.iter().map(|q| q.holds(e)).collect::<Vec<_>>());

    m.section("Sources");
    // Tags in the engines have their places.
    let sent =
        m.wire("sent", Expr::concat_lsb_first(flying.iter().map(Expr::from).collect::<Vec<_>>()).popcount()).doc("tags in the engines");
    let full = (0..latency).map(|n| sent.eq(n) & if n < depth { held_more_than(depth - 1 - n) } else { Expr::ones(1) });
    let room = m.wire("room", !Expr::or_all(full.collect::<Vec<_>>()) & !&block);
    let pick = round_robin(&mut m, "source", &source_valid, Kind::Ready(&room & &encode_ready));
    let send = m.wire("send", &pick.any & &room & &encode_ready);
    m.assign(&encode_valid_o, &pick.any & &room);
    m.assign(&encode_tag_o, if n == 1 { source_tag.clone() } else { pick.grant.onehot_mux(&source_tag) });
    m.assign(&source_ready_o, &pick.grant & (&room & &encode_ready).replicate(n));
    let mut columns: Vec<Expr> = Vec::new();
    if let Some(lane) = &lane_number {
        columns.extend(sources.fills.iter().enumerate().map(|(j, _)| if j == 0 { lane.clone() } else { lane + j as u32 * c.w }));
    }
    columns.resize(n as usize, sm.clone());
    let column = if n == 1 { columns.remove(0) } else { pick.grant.onehot_mux(Expr::concat_lsb_first(columns)) };
    let column = m.wire("column", column).doc("SM of the tag that is sent");

    let (mut live, mut of) = (send.clone(), column);
    for (flying, sm) in flying.iter().zip(&flying_sm) {
        flying.next(&live);
        sm.next(&of);
        (live, of) = (flying.into(), sm.into());
    }
    m.assume("latency_M", encoded.eq(&live), "indices come a fixed time after their tag");

    m.section("Positions that wait for their bank");
    let mut matches: Vec<Expr> = flying.iter().zip(&flying_sm).map(|(live, of)| &**live & of.eq(&sm)).collect();
    let (mut valid, mut indices, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    for (i, queue) in queues.iter().enumerate() {
        let waits = m.wire(&format!("p{i}_waits"), queue.holds(0)).doc("position is to be written");
        let entry = Expr::concat_lsb_first([index.elem(i as u32, c.x), of.clone()]);
        let pop = m.wire(&format!("p{i}_pop"), &waits & write_ready.bit(i as u32)).doc("the oldest is written");
        let entries: Vec<Expr> = queue.entries.iter().map(Expr::from).collect();
        queue.advance(&mut m, &format!("p{i}_entry"), &encoded, &entry, &pop, &entries);
        valid.push(waits);
        indices.push(entries[0].bits(0, c.x));
        columns.push(entries[0].bits(c.x, c.s));
        matches.extend(entries.iter().enumerate().map(|(e, entry)| queue.holds(e as u32) & entry.bits(c.x, c.s).eq(&sm)));
    }
    m.assign(&write_valid_o, Expr::concat_lsb_first(valid));
    m.assign(&write_index_o, Expr::concat_lsb_first(indices));
    m.assign(&write_sm_o, Expr::concat_lsb_first(columns));
    m.assign(&match_o, Expr::or_all(matches));
    m.assign(&empty_o, !(Expr::or_all(flying.iter().map(Expr::from).collect::<Vec<_>>()) | held_more_than(0)));
    m.finish()
}
