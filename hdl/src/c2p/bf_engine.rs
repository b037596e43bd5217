//! `bf_engine`: encodes one tag into k indices.

use super::context::{Built, Context};
use crate::rtl::{Expr, ModuleBuilder, value_width};
use l1forge_config::hash::HashMatrices;

/// The engine with a payload of `users` bits.
pub(super) fn module(c: &Context, users: u32) -> Built {
    let (latency, pipelined) = (c.config.engine_latency, c.config.engine_pipelined);
    let rate = if pipelined { "one tag per cycle".to_string() } else { format!("one tag every {latency} cycles") };
    let mut m = c.clocked(
        "bf_engine",
        &format!("Bloom-filter engine: encodes a tag into {} indices {{bank, row}} of the Snapshot Matrix, tag mask first.", c.k),
        &format!("result {} cycle(s) after the tag, {rate}", latency - 1),
    );
    let hash = c.config.hash_matrices();
    m.repeated();
    m.note("TAG_BITS", c.t).note("INDEX_BITS", c.x).note("G_BITS", hash.g_bits);
    let valid = m.input("valid_i", 1, "a tag is given");
    let tag = m.input("tag_i", c.t, "the tag (line address)");
    let user = m.input("user_i", users, "payload of the caller, returned with the result");
    let ready_o = m.output("ready_o", 1, "the engine takes a tag");
    let valid_o = m.output("valid_o", 1, "a result is shown");
    let index_o = m.output("index_o", c.k * c.x, "the indices, position 0 in the low bits");
    let user_o = m.output("user_o", users, "payload of the caller");

    let masked = c.config.mask_bits > 0;
    let bases = base_hashes(&mut m, &tag, &hash, masked);
    let count = bases.len();
    let mut fields: Vec<Expr> = bases;
    if masked {
        fields.push(m.wire("mask", tag.resize(10)).doc("tag-mask bits"));
    }
    fields.push(user);
    let widths: Vec<u32> = fields.iter().map(Expr::width).collect();
    let mut stage = Expr::concat_lsb_first(fields);
    let width = stage.width();

    if pipelined {
        m.assign(&ready_o, 1u32);
        let mut live = valid;
        for i in 1..latency {
            let data = m.reg(&format!("stage{i}_q"), width).no_reset().doc("base hashes, mask bits, payload");
            let full = m.reg(&format!("valid{i}_q"), 1).doc("the stage holds a tag");
            data.next_when(&live, &stage);
            full.next(&live);
            (stage, live) = (data.into(), full.into());
        }
        m.assign(&valid_o, &live);
    } else {
        let data = m.reg("stage_q", width).no_reset().doc("base hashes, mask bits, payload");
        let left = m.reg("left_q", value_width(u64::from(latency - 1))).doc("cycles until the engine is free");
        let idle = m.wire("idle", left.is_zero());
        m.assign(&ready_o, &idle);
        let take = m.wire("take", &idle & &valid);
        data.next_when(&take, &stage);
        left.next_when(&take, latency - 1);
        left.next_when(!&idle, &*left - 1u32);
        m.assign(&valid_o, left.eq(1u32));
        stage = data.into();
    }

    let mut at = 0;
    let mut take = |width: u32| {
        at += width;
        stage.bits(at - width, width)
    };
    let bases: Vec<Expr> = widths[..count].iter().map(|w| take(*w)).collect();
    let mask = masked.then(|| take(10));
    m.assign(&user_o, take(users));

    let mut indices = Vec::new();
    if let Some(mask) = mask {
        indices.push(mask_index(c, &mut m, &mask));
    }
    indices.extend(hash_indices(c, &mut m, &bases, &hash));
    m.assign(&index_o, Expr::concat_lsb_first(indices));
    m.finish()
}

/// The base hashes of a tag: each bit the parity of its taps.
fn base_hashes(m: &mut ModuleBuilder, tag: &Expr, hash: &HashMatrices, masked: bool) -> Vec<Expr> {
    // The hashes of a very small filter, or the tag mask alone, do not read the whole tag.
    let read = hash.bases.iter().flat_map(|base| &base.taps).fold(if masked { 0x3ff } else { 0 }, |all, taps| all | taps);
    let unread: Vec<Expr> = (0..tag.width()).filter(|t| read >> t & 1 == 0).map(|t| tag.bit(t)).collect();
    if !unread.is_empty() {
        m.mark_unused(Expr::concat_lsb_first(unread));
    }
    if hash.bases.is_empty() || hash.g_bits == 0 {
        return Vec::new();
    }
    let mut list = Vec::new();
    for (j, base) in hash.bases.iter().enumerate() {
        let rows = base.taps.iter().enumerate().map(|(bit, &taps)| {
            let inverted = base.constant >> bit & 1 == 1;
            let taps: Vec<Expr> = (0..tag.width()).filter(|t| taps >> t & 1 == 1).map(|t| tag.bit(t)).collect();
            match (taps.is_empty(), inverted) {
                (true, inverted) => Expr::lit(1, inverted),
                (false, false) => Expr::xor_all(taps),
                (false, true) => !Expr::xor_all(taps),
            }
        });
        let rows = Expr::concat_lsb_first(rows.collect::<Vec<_>>());
        list.push(m.wire(&format!("h{}", j + 1), rows).doc(&format!("base hash {}", j + 1)));
    }
    list
}

/// `{bank, row}` of the tag mask: the ten bits reversed, rows after the hash rows.
fn mask_index(c: &Context, m: &mut ModuleBuilder, mask: &Expr) -> Expr {
    let reversed = m.wire("reversed", Expr::concat_msb_first((0..10).map(|i| mask.bit(i)))).doc("tag-mask bits, reversed");
    let bank_bits = c.x - c.rw;
    let row = match 10 - bank_bits {
        0 => Expr::lit(c.rw, c.config.hash_rows()),
        rest => reversed.bits(0, rest).resize(c.rw) + c.config.hash_rows(),
    };
    if bank_bits == 0 { row } else { Expr::concat_lsb_first([row, reversed.bits(10 - bank_bits, bank_bits)]) }
}

/// `{bank, row}` of each hash position.
fn hash_indices(c: &Context, m: &mut ModuleBuilder, bases: &[Expr], hash: &HashMatrices) -> Vec<Expr> {
    let mut list: Vec<Expr> = Vec::new();
    for (i, factors) in hash.coefficients.iter().enumerate() {
        if hash.g_bits == 0 {
            list.push(Expr::zeros(c.x)); // a single position
            continue;
        }
        let terms = factors.iter().zip(bases).filter(|(f, _)| **f > 0);
        let terms: Vec<Expr> =
            terms.map(|(f, base)| if *f == 1 { base.clone() } else { base.mul_const(u64::from(*f)).trunc(hash.g_bits) }).collect();
        let g = m.wire(&format!("g{i}"), Expr::add_all(terms)).doc(&format!("hash {i}"));
        let rest = hash.remaining_bits;
        let row = if rest == 0 {
            Expr::zeros(c.rw)
        } else if hash.hash_rows.is_power_of_two() {
            g.bits(0, rest).resize(c.rw)
        } else {
            let scaled = m
                .wire(
                    &format!("scaled{i}"),
                    g.bits(0, rest).zext(rest + value_width(u64::from(hash.hash_rows - 1))).mul_const(u64::from(hash.hash_rows)),
                )
                .doc("range reduction: the row is the upper part");
            m.mark_unused(scaled.bits(0, rest));
            scaled.bits(rest, scaled.width() - rest).resize(c.rw)
        };
        list.push(if hash.bank_bits == 0 { row } else { Expr::concat_lsb_first([row, g.bits(rest, hash.bank_bits)]) });
    }
    list
}
