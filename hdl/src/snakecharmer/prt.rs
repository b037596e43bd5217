//! `prt`: prefetch register table.

use super::context::{Built, Context, first_after, search, some, spread, unique};
use crate::rtl::{Expr, ModuleBuilder, Reg, index_width, value_width};

/// Slots of all entries by state: one bit per slot.
struct Slots {
    waiting: Expr,
    ready: Expr,
    consumed: Expr,
}

/// Entries by state: one bit per entry.
struct Entries {
    held: Expr,
    has_ready: Expr,
    has_consumed: Expr,
    unread: Expr,
    enabled: Expr,
}

/// What the table does with the prefetch offered.
struct Issue {
    /// A prefetch finds no place.
    need: Expr,
    /// The entry of this cycle's demand.
    matches: Expr,
    /// The entry given out last.
    last: Expr,
}

pub(super) fn module(c: &Context) -> Built {
    let (r, s) = (c.r, c.s);
    let all = r * s;
    let cw = value_width(u64::from(all));
    let mut m = c.clocked(
        "prt",
        "Prefetch register table: which idle register holds which prefetched sectors. Slots go INVALID, WAITING, READY, CONSUMED, INVALID; data never passes through.",
        "a demand is answered in the next cycle; fills and prefetches in their own",
    );
    m.note("ENTRIES", r).note("SECTORS", s).note("AGE", c.config.sc_prt_age).note("REPLACE", c.config.sc_prt_replace);
    let idle = m.input("idle_registers_i", c.ec, "entries below this number are enabled");
    let base = m.input("register_base_i", c.rb, "register of entry 0");
    let flush = m.input("flush_i", 1, "empty the table");
    let demand_valid = m.input("demand_valid_i", 1, "a demand");
    let demand_store = m.input("demand_store_i", 1, "it makes prefetched data stale");
    let demand_line = m.input("demand_line_i", c.t, "its line");
    let demand_mask = m.input("demand_mask_i", s, "its sectors");
    let prefetch_valid = m.input("prefetch_valid_i", 1, "a prefetch that wants to be issued");
    let prefetch_line = m.input("prefetch_line_i", c.t, "its line");
    let prefetch_mask = m.input("prefetch_mask_i", s, "its sectors");
    let prefetch_handle = m.input("prefetch_handle_i", c.h, "its handle");
    let take = m.input("prefetch_take_i", 1, "it is issued now");
    let have = m.input("prefetch_have_i", s, "without these sectors");
    let fill_valid = m.input("fill_valid_i", 1, "sectors of a prefetch issued into the table arrive");
    let fill_entry = m.input("fill_entry_i", c.e, "its entry");
    let fill_line = m.input("fill_line_i", c.t, "its line");
    let fill_mask = m.input("fill_mask_i", s, "those sectors");
    let fill_bypass = m.input("fill_bypass_i", s, "sectors that must go to the L1");
    let refill_ready = m.input("refill_ready_i", 1, "the L1 takes the sectors");
    let drop_ready = m.input("drop_ready_i", 1, "the PEB takes the sectors");
    let drained_o = m.output("drained_o", 1, "nothing is held beyond the enabled entries");
    let answer_valid_o = m.output("answer_valid_o", 1, "there was a load in the cycle before");
    let answer_hit_o = m.output("answer_hit_o", s, "its sectors that are read from the register");
    let answer_waiting_o = m.output("answer_waiting_o", s, "its sectors that are on their way");
    let answer_register_o = m.output("answer_register_o", c.rb, "the register");
    let on_time_o = m.output("on_time_o", s, "sectors used for the first time");
    let on_time_handle_o = m.output("on_time_handle_o", c.h, "their handle");
    let wait_o = m.output("prefetch_wait_o", 1, "a place is being made");
    let mask_o = m.output("prefetch_mask_o", s, "sectors of the prefetch that are not here");
    let table_o = m.output("prefetch_table_o", 1, "the prefetch comes into the table");
    let entry_o = m.output("prefetch_entry_o", c.e, "at this entry");
    let register_mask_o = m.output("fill_register_mask_o", s, "sectors of the fill that are written to the register");
    let register_o = m.output("fill_register_o", c.rb, "that register");
    let refill_valid_o = m.output("refill_valid_o", 1, "consumed sectors move to the L1");
    let refill_line_o = m.output("refill_line_o", c.t, "their line");
    let refill_mask_o = m.output("refill_mask_o", s, "those sectors");
    let refill_register_o = m.output("refill_register_o", c.rb, "their register");
    let drop_valid_o = m.output("drop_valid_o", 1, "unread sectors leave");
    let drop_line_o = m.output("drop_line_o", c.t, "their line");
    let drop_mask_o = m.output("drop_mask_o", s, "those sectors");
    let drop_handle_o = m.output("drop_handle_o", c.h, "their handle");
    let invalidated_o = m.output("invalidated_o", cw, "READY sectors lost to stores and flush in this cycle");

    m.section("Entries: 0 INVALID, 1 WAITING, 2 READY, 3 CONSUMED, as two bits kept apart");
    let lines = m.reg("lines_q", r * c.t).doc("line of each entry");
    let handles = m.reg("handles_q", r * c.h).doc("handle of each entry");
    let low = m.reg("low_q", all).doc("low bit of each slot");
    let high = m.reg("high_q", all).doc("high bit of each slot");
    let slots = Slots {
        waiting: m.wire("waiting", &low & !&*high),
        ready: m.wire("ready", &high & !&*low),
        consumed: m.wire("consumed", &low & &high),
    };
    let busy = m.wire("busy", &low | &high).doc("slots that are not INVALID");
    let held = some(&mut m, "held", &busy, s);
    let has_waiting = some(&mut m, "has_waiting", &slots.waiting, s);
    let has_ready = some(&mut m, "has_ready", &slots.ready, s);
    let has_consumed = some(&mut m, "has_consumed", &slots.consumed, s);
    let enabled = m.net("enabled", r);
    m.comb_for("e", r, |b, e| b.set(enabled.bit(e), idle.gt(e.value(c.ec))));
    let unread = m.wire("unread", &has_ready & !has_waiting & !&has_consumed);
    let entries = Entries { held, has_ready, has_consumed, unread, enabled };
    m.assign(&drained_o, (&entries.held & !&entries.enabled).is_zero());
    let register = |m: &mut ModuleBuilder, name: &str, e: &Expr| m.wire(name, &base + e.zext(c.rb));

    m.section("1. Fill");
    let fill_at = m.wire("fill_at", fill_valid.replicate(r) & fill_entry.bin_to_onehot(r));
    let fill_match = m.wire("fill_match", lines.elem(&fill_entry, c.t).eq(&fill_line));
    let fills = spread(&mut m, "fills", &fill_at, &(fill_match.replicate(s) & &fill_mask));
    let arrive = m.wire("arrive", &slots.waiting & fills);
    let stays = spread(&mut m, "stays", &entries.enabled, &!&fill_bypass);
    let filled = m.wire("filled", &arrive & stays).doc("become READY");
    m.assign(&register_mask_o, filled.or_elems(s));
    let fill_register = register(&mut m, "fill_register", &fill_entry);
    m.assign(&register_o, fill_register);
    let waiting = m.wire("waiting_1", &slots.waiting & !arrive);
    let ready = m.wire("ready_1", &slots.ready | filled);

    m.section("2. Demand");
    let asked = search(&mut m, "asked", &entries.held, &lines, &demand_line);
    let asked = m.wire("asked_now", asked & demand_valid.replicate(r)).doc("entry of the demand");
    let wanted = spread(&mut m, "wanted", &asked, &demand_mask);
    let stale = m.wire("stale", &wanted & demand_store.replicate(all)).doc("lost to a store");
    let loads = m.wire("loads", &wanted & !&stale);
    let first = m.wire("first", &loads & &ready).doc("used for the first time");
    let hit = m.wire("hit", (&loads & (&ready | &slots.consumed)).or_elems(s));
    let coming = m.wire("coming", (&loads & &waiting).or_elems(s));
    let ready_2 = m.wire("ready_2", &ready & !&wanted);
    let consumed = m.wire("consumed_2", (&slots.consumed & !&stale) | &first);
    let waiting = m.wire("waiting_2", waiting & !&stale);
    let lost = m.wire("lost", (&stale & &ready) | (&ready_2 & flush.replicate(all)));
    m.assign(&invalidated_o, lost.popcount());

    let load = m.wire("load", &demand_valid & !&demand_store);
    let asked_entry = m.wire("asked_entry", asked.onehot_to_bin());
    let asked_register = register(&mut m, "asked_register", &asked_entry);
    let any_hit = m.wire("any_hit", hit.reduce_or());
    let answers = [
        (&answer_valid_o, "answer_valid_q", load),
        (&answer_hit_o, "answer_hit_q", hit),
        (&answer_waiting_o, "answer_waiting_q", coming),
        (&answer_register_o, "answer_register_q", any_hit.replicate(c.rb) & asked_register),
        (&on_time_o, "on_time_q", first.or_elems(s)),
        (&on_time_handle_o, "on_time_handle_q", asked.onehot_mux(&handles)),
    ];
    for (port, name, value) in answers {
        let kept = m.reg(name, port.width());
        kept.next(value);
        m.assign(port, &kept);
    }

    m.section("4. Refill");
    let refilled = refill(c, &mut m, &slots, &entries, &refill_ready, |m, entry, valid, mask| {
        m.assign(&refill_valid_o, valid);
        m.assign(&refill_mask_o, mask);
        m.assign(&refill_line_o, lines.elem(entry, c.t));
        let register = register(m, "refill_register", entry);
        m.assign(&refill_register_o, register);
    });

    m.section("6. Issue");
    let known = search(&mut m, "known", &entries.held, &lines, &prefetch_line);
    let known_any = m.wire("known_any", known.reduce_or());
    let last = if r == 1 { None } else { Some(m.reg("last_q", c.e).reset(r - 1).doc("entry given out last")) };
    let last_value = last.as_ref().map_or_else(|| Expr::zeros(1), Expr::from);
    let free = m.wire("free", &entries.enabled & !&entries.held);
    let free_any = m.wire("free_any", free.reduce_or());
    let place = first_after(&mut m, "place", &free, &last_value);
    let known_mask = m.wire("known_mask", known.onehot_mux(&busy));
    let left = m.wire("left", &prefetch_mask & !known_mask);
    let into = m.wire("into", known_any.mux((&known & &entries.enabled).reduce_or(), &free_any));
    let at = m.wire("at", known_any.mux(&known, &place));
    let at_entry = m.wire("at_entry", at.onehot_to_bin());
    m.assign(&mask_o, &left);
    m.assign(&table_o, &into);
    m.assign(&entry_o, &at_entry);
    let need = &prefetch_valid & !&known_any & !&free_any;
    let issue = Issue { need: m.wire("need", need), matches: asked.clone(), last: last_value };
    let fresh = m.net("fresh", r).doc("entry given out in this cycle");
    let victims = victims(c, &mut m, &entries, &fresh);
    let waits = if c.config.sc_prt_replace {
        &issue.need & victims.reduce_or()
    } else {
        m.mark_unused(&issue.need);
        Expr::zeros(1)
    };
    let waits = m.wire("waits", waits).doc("a place is being made");
    m.assign(&wait_o, &waits);
    let wants = m.wire("wants", take.replicate(s) & into.replicate(s) & &left & !&have);
    let issued = spread(&mut m, "issued", &at, &wants);
    let new = m.wire("new_entry", wants.reduce_or() & !&known_any);
    if let Some(last) = &last {
        last.next_when(&new, &at_entry);
    }

    m.section("5. Drop");
    m.assign(&fresh, &at & new.replicate(r));
    m.write_rows(&lines, c.t, [(&fresh, &prefetch_line)]);
    m.write_rows(&handles, c.h, [(&fresh, &prefetch_handle)]);
    let dropping = drop_pick(c, &mut m, &entries, &issue, &victims);
    let drop_valid = m.wire("drop_valid", dropping.reduce_or() & (&dropping & &issue.matches).is_zero() & !&flush);
    let drop_mask = m.wire("drop_mask", dropping.onehot_mux(&slots.ready));
    m.assign(&drop_valid_o, &drop_valid);
    m.assign(&drop_mask_o, &drop_mask);
    m.assign(&drop_line_o, dropping.onehot_mux(&lines));
    m.assign(&drop_handle_o, dropping.onehot_mux(&handles));
    let drops = m.wire("drops", dropping & (&drop_valid & &drop_ready).replicate(r));
    let dropped = spread(&mut m, "dropped", &drops, &drop_mask);

    m.section("All changes, in order");
    let keep = m.wire("keep", (!&flush).replicate(all));
    let waiting_d = m.wire("waiting_d", (waiting & &keep) | &issued);
    let ready_d = m.wire("ready_d", ready_2 & &keep & !dropped & !&issued);
    let consumed_d = m.wire("consumed_d", consumed & keep & !refilled & !issued);
    low.next(&waiting_d | &consumed_d);
    high.next(&ready_d | &consumed_d);
    unique(&mut m, "one_entry_per_line_A", &entries.held, &lines, "a line has one entry");
    m.assume("take_M", !&take | (&prefetch_valid & !&waits), "a prefetch is issued only when it is offered and no place is being made");
    let from = |d: &Expr, s: Expr| (d & !s).is_zero();
    m.assert("waiting_A", from(&waiting_d, &slots.waiting | !&busy), "WAITING comes from INVALID");
    m.assert("ready_A", from(&ready_d, &slots.waiting | &slots.ready), "READY comes from WAITING");
    // A sector may arrive and be used in one cycle.
    m.assert("consumed_A", from(&consumed_d, &busy | &slots.consumed), "CONSUMED comes from READY");
    let two = (&waiting_d & &ready_d) | (&waiting_d & &consumed_d) | (&ready_d & &consumed_d);
    m.assert("one_state_A", two.is_zero(), "a slot has one state");
    m.assert("disabled_A", (&fresh & !&entries.enabled).is_zero(), "only enabled entries are given out");
    m.finish()
}

/// The refill in turn; the slots whose refill is taken.
fn refill(
    c: &Context,
    m: &mut ModuleBuilder,
    slots: &Slots,
    entries: &Entries,
    ready: &Expr,
    show: impl FnOnce(&mut ModuleBuilder, &Expr, &Expr, &Expr),
) -> Expr {
    let (r, s) = (c.r, c.s);
    let busy = m.reg("refill_busy_q", 1).doc("a refill is offered");
    let mask = m.reg("refill_mask_q", s).doc("its sectors");
    let entry_reg: Option<Reg> = (r > 1).then(|| m.reg("refill_entry_q", c.e).doc("its entry"));
    let entry = entry_reg.as_ref().map_or_else(|| Expr::zeros(1), Expr::from);
    let offered = m.wire("refill_mask", &mask & slots.consumed.elem(&entry, s));
    let valid = m.wire("refill_valid", &busy & offered.reduce_or());
    show(m, &entry, &valid, &(busy.replicate(s) & &offered));
    let next = first_after(m, "refill_next", &entries.has_consumed, &entry);
    let starts = m.wire("refill_starts", !&*busy & entries.has_consumed.reduce_or());
    busy.next_when(&starts, 1u32);
    busy.next_when(&busy & (ready | !&valid), 0u32);
    mask.next_when(&starts, next.onehot_mux(&slots.consumed));
    if let Some(reg) = entry_reg {
        reg.next_when(&starts, next.onehot_to_bin());
    }
    let row = m.wire("refill_row", entry.bin_to_onehot(r) & (valid & ready).replicate(r));
    spread(m, "refilled", &row, &offered)
}

/// Entries that may leave unread: with ageing only old ones. `fresh` is the entry given out in this cycle.
fn victims(c: &Context, m: &mut ModuleBuilder, entries: &Entries, fresh: &Expr) -> Expr {
    let (r, period) = (c.r, c.config.sc_prt_age);
    if period == 0 {
        m.mark_unused(fresh);
        return m.wire("victims", &entries.unread & &entries.enabled);
    }
    let tick = m.reg("tick_q", index_width(period)).doc("cycles of this period");
    let over = m.wire("period_over", tick.eq(period - 1));
    tick.next(over.mux(0u32, &tick + 1u32));
    let age = m.reg("age_q", r * 2).doc("ends of periods at which the entry was unread, at most 2");
    m.seq(|b| {
        b.for_loop("e", r, |b, e| {
            let age = age.elem(e, 2);
            b.if_(fresh.bit(e), |b| b.set(&age, 0u32)).elif(&over, |b| {
                b.if_(entries.unread.bit(e), |b| b.set(&age, age.bit(1).mux(2u32, &age + 1u32))).otherwise(|b| b.set(&age, 0u32));
            });
        });
    });
    let victims = m.net("victims", r).doc("entries that are unread and old");
    m.comb_for("e", r, |b, e| b.set(victims.bit(e), entries.unread.bit(e) & entries.enabled.bit(e) & age.elem(e, 2).bit(1)));
    victims
}

/// The entry whose READY sectors leave, one-hot.
fn drop_pick(c: &Context, m: &mut ModuleBuilder, entries: &Entries, issue: &Issue, victims: &Expr) -> Expr {
    let r = c.r;
    let draining = m.wire("draining", &entries.has_ready & !&entries.enabled);
    let mut picks = vec![draining.lowest_one()];
    if c.config.sc_prt_replace {
        let oldest = first_after(m, "oldest", victims, &issue.last);
        picks.push(oldest & issue.need.replicate(r));
    } else if c.config.sc_prt_age > 0 {
        picks.push(victims.lowest_one());
    } else {
        m.mark_unused(victims);
    }
    let mut chosen = picks.pop().unwrap_or_else(|| unreachable!("there is a pick"));
    for (i, pick) in picks.into_iter().enumerate().rev() {
        let pick = m.wire(&format!("drop_choice{i}"), pick);
        chosen = pick.reduce_or().mux(&pick, chosen);
    }
    m.wire("dropping", chosen)
}
