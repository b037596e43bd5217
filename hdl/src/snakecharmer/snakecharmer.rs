//! `snakecharmer`: the top.

use super::context::{Built, Context};
use super::prefetch_statistics::counters;
use crate::prim::{Fifo, fifo};
use crate::rtl::{Expr, ModuleBuilder, Outputs, RtlError, value_width};
use l1forge_config::Frontend;

/// A candidate on its way to the decision.
struct Candidate {
    valid: Expr,
    line: Expr,
    mask: Expr,
    pattern: Expr,
    kind: Expr,
    distance: Expr,
    confidence: Expr,
    warp: Expr,
    pc: Expr,
}

/// What the front end reads back, and what it gives.
struct Front {
    candidate: Candidate,
    best_kind: Expr,
    best_warp: Expr,
    best_pc: Expr,
    /// A pattern has a new owner.
    replaced: Expr,
    pattern: Expr,
    lost_trigger: Expr,
}

/// Nets into the front end.
struct Into {
    candidate_ready: Expr,
    best_distance: Expr,
}

/// A load as the SM shows it.
struct Load {
    valid: Expr,
    warp: Expr,
    pc: Expr,
    line: Expr,
    mask: Expr,
}

pub(super) fn module(c: &Context) -> Built {
    let s = c.s;
    let external = c.config.frontend == Frontend::External;
    let mut m = c.clocked(
        "snakecharmer",
        "SnakeCharmer, the prefetcher of one SM: a front end proposes, the controller decides at which distance and whether, and the data wait in idle registers or in the L1.",
        "a demand is answered in the next cycle; everything else is off its path",
    );
    m.note("FRONTEND", c.config.frontend.word()).note("PRT_ENTRIES", c.r).note("SGU_THRESHOLD", c.config.sc_sgu_threshold);
    let enable = m.input("enable_i", 1, "new prefetches are issued");
    let flush = m.input("flush_i", 1, "empty PRT and prefetch queue");
    let clear = m.input("clear_statistics_i", 1, "set every counter to 0");
    let idle = m.input("idle_registers_i", c.ec, "idle registers that may be used");
    let base = m.input("register_base_i", c.rb, "number of the first of them");
    let demand_valid = m.input("demand_valid_i", 1, "a demand");
    let demand_store = m.input("demand_store_i", 1, "it is a store, an atomic or a fence");
    let (demand_warp, demand_pc) = if external {
        (Expr::zeros(c.w), Expr::zeros(c.pc))
    } else {
        (m.input("demand_warp_i", c.w, "its warp"), m.input("demand_pc_i", c.pc, "its load PC, hashed"))
    };
    let demand_line = m.input("demand_line_i", c.t, "its line");
    let demand_mask = m.input("demand_mask_i", s, "its sectors");
    let prefetch_ready = m.input("prefetch_ready_i", 1, "the prefetch is taken");
    let prefetch_have = m.input("prefetch_have_i", s, "without these sectors: L1 or MSHRs have them");
    let fill_valid = m.input("fill_valid_i", 1, "sectors of a prefetch arrive");
    let fill_table = m.input("fill_table_i", 1, "it was issued into the PRT");
    let fill_entry = m.input("fill_entry_i", c.e, "at this entry");
    let fill_line = m.input("fill_line_i", c.t, "its line");
    let fill_mask = m.input("fill_mask_i", s, "the sectors");
    let fill_bypass = m.input("fill_bypass_i", s, "those that must go to the L1: demanded or stale");
    let fill_pattern = m.input("fill_pattern_i", c.p, "pattern of the prefetch");
    let fill_zero = m.input("fill_zero_i", 1, "all its data are zero");
    let refill_ready = m.input("refill_ready_i", 1, "the L1 takes the consumed sectors");
    let use_valid = m.input("use_valid_i", 1, "a prefetched block of L1 or MSHR is demanded");
    let use_late = m.input("use_late_i", 1, "it is still outstanding");
    let use_mask = m.input("use_mask_i", s, "its sectors");
    let use_handle = m.input("use_handle_i", c.h, "its handle");
    let evict_valid = m.input("evict_valid_i", 1, "unused prefetched sectors leave the L1");
    let evict_invalid = m.input("evict_invalid_i", 1, "because their data are stale");
    let evict_line = m.input("evict_line_i", c.t, "their line");
    let evict_mask = m.input("evict_mask_i", s, "the sectors");
    let evict_handle = m.input("evict_handle_i", c.h, "their handle");
    let drained_o = m.output("registers_drained_o", 1, "registers beyond idle_registers_i are free");
    let answer_valid_o = m.output("answer_valid_o", 1, "there was a load in the cycle before");
    let answer_hit_o = m.output("answer_hit_o", s, "its sectors that are read from a register");
    let answer_waiting_o = m.output("answer_waiting_o", s, "its sectors that a prefetch brings");
    let answer_register_o = m.output("answer_register_o", c.rb, "that register");
    let prefetch_valid_o = m.output("prefetch_valid_o", 1, "a prefetch");
    let prefetch_line_o = m.output("prefetch_line_o", c.t, "its line");
    let prefetch_mask_o = m.output("prefetch_mask_o", s, "its sectors");
    let prefetch_table_o = m.output("prefetch_table_o", 1, "its data go to the PRT");
    let prefetch_entry_o = m.output("prefetch_entry_o", c.e, "at this entry");
    let prefetch_pattern_o = m.output("prefetch_pattern_o", c.p, "its pattern, for the fill");
    let prefetch_handle_o = m.output("prefetch_handle_o", c.h, "its handle, for use and evict");
    let register_mask_o = m.output("fill_register_mask_o", s, "sectors of the fill that are written to a register");
    let register_o = m.output("fill_register_o", c.rb, "that register");
    let refill_valid_o = m.output("refill_valid_o", 1, "consumed sectors move to the L1");
    let refill_line_o = m.output("refill_line_o", c.t, "their line");
    let refill_mask_o = m.output("refill_mask_o", s, "the sectors");
    let refill_register_o = m.output("refill_register_o", c.rb, "their register");

    m.section("Front end");
    let load_now = m.wire("load_now", &demand_valid & !&demand_store);
    let into = Into { candidate_ready: m.net("candidate_ready", 1), best_distance: m.net("best_distance", c.d) };
    let front = if external {
        external_front(c, &mut m, &into)
    } else {
        let kept = |m: &mut ModuleBuilder, name: &str, value: &Expr, doc: &str| {
            let r = m.reg(name, value.width()).doc(doc);
            r.next(value);
            Expr::from(&r)
        };
        let load = Load {
            valid: kept(&mut m, "load_valid_q", &load_now, "the load of the cycle before"),
            warp: kept(&mut m, "load_warp_q", &demand_warp, "its warp"),
            pc: kept(&mut m, "load_pc_q", &demand_pc, "its load PC"),
            line: kept(&mut m, "load_line_q", &demand_line, "its line"),
            mask: kept(&mut m, "load_mask_q", &demand_mask, "its sectors"),
        };
        internal_front(c, &mut m, &into, &load)?
    };
    let candidate = &front.candidate;

    m.section("Decision");
    let allocate = m.net("allocate", 1).doc("a candidate goes into the prefetch queue");
    let event = Event { valid: m.net("event_valid", 1), class: m.net("event_class", 2), handle: m.net("event_handle", c.h) };
    let best = m.net("candidate_best", c.d).doc("best distance for the candidate");
    let handle = if c.config.sc_controller {
        controller(c, &mut m, &front, &into, [&allocate, &best], &event)?
    } else {
        m.assign(&into.best_distance, c.config.sc_reset_distance);
        m.assign(&best, c.config.sc_reset_distance);
        for unused in [&front.best_kind, &front.best_warp, &front.best_pc, &candidate.warp, &candidate.pc, &allocate] {
            m.mark_unused(unused);
        }
        Expr::zeros(c.h)
    };
    let sgu = super::sgu::module(c)?;
    let sgu = m.instance("u_sgu", &sgu, |i| {
        i.connect("kind_i", &candidate.kind).connect("distance_i", &candidate.distance).connect("confidence_i", &candidate.confidence);
        i.connect("best_i", &best).open("score_o");
    });
    let suppressed = if c.config.sc_zero_filter {
        let filter = super::zero_filter::module(c)?;
        let filter = m.instance("u_zero_filter", &filter, |i| {
            i.connect("fill_valid_i", &fill_valid).connect("fill_pattern_i", &fill_pattern).connect("fill_zero_i", &fill_zero);
            i.connect("clear_valid_i", &front.replaced).connect("clear_pattern_i", &front.pattern);
            i.connect("query_pattern_i", &candidate.pattern);
        });
        filter.get("suppressed_o")
    } else {
        for unused in [&fill_pattern, &fill_zero, &front.replaced, &front.pattern] {
            m.mark_unused(unused);
        }
        Expr::zeros(1)
    };
    let pass = m.wire("pass", sgu.get("issue_o") & !&suppressed & &enable);
    let queue = super::prefetch_queue::module(c)?;
    let pop = m.net("pop", 1).doc("the oldest prefetch leaves the queue");
    let queue = m.instance("u_prefetch_queue", &queue, |i| {
        i.connect("flush_i", &flush).connect("push_valid_i", &candidate.valid & &pass).connect("push_line_i", &candidate.line);
        i.connect("push_mask_i", &candidate.mask).connect("push_pattern_i", &candidate.pattern).connect("push_handle_i", handle);
        i.connect("pop_ready_i", &pop);
    });
    m.assign(&into.candidate_ready, !&pass | queue.get("push_ready_o"));
    let taken = m.wire("candidate_taken", &candidate.valid & &into.candidate_ready);
    let duplicate = queue.get("duplicate_o");
    m.assign(&allocate, &taken & &pass & !&duplicate);

    m.section("Issue");
    let (line, mask) = (queue.get("pop_line_o"), queue.get("pop_mask_o"));
    let wants = m.wire("wants", queue.get("pop_valid_o") & &enable).doc("a prefetch may be issued");
    let take = m.net("take", 1).doc("the L1 takes it");
    let drop_ready = m.net("drop_ready", 1);
    let prt = super::prt::module(c)?;
    let prt = m.instance("u_prt", &prt, |i| {
        i.connect("idle_registers_i", &idle).connect("register_base_i", &base).connect("flush_i", &flush);
        i.connect("demand_valid_i", &demand_valid).connect("demand_store_i", &demand_store);
        i.connect("demand_line_i", &demand_line).connect("demand_mask_i", &demand_mask);
        i.connect("prefetch_valid_i", &wants).connect("prefetch_line_i", &line).connect("prefetch_mask_i", &mask);
        i.connect("prefetch_handle_i", queue.get("pop_handle_o"))
            .connect("prefetch_take_i", &take)
            .connect("prefetch_have_i", &prefetch_have);
        i.connect("fill_valid_i", &fill_valid & &fill_table).connect("fill_entry_i", &fill_entry).connect("fill_line_i", &fill_line);
        i.connect("fill_mask_i", &fill_mask).connect("fill_bypass_i", &fill_bypass);
        i.connect("refill_ready_i", &refill_ready).connect("drop_ready_i", &drop_ready);
        i.connect("drained_o", &drained_o).connect("answer_valid_o", &answer_valid_o).connect("answer_hit_o", &answer_hit_o);
        i.connect("answer_waiting_o", &answer_waiting_o).connect("answer_register_o", &answer_register_o);
    });
    let left = prt.get("prefetch_mask_o");
    let goes = m.wire("goes", &wants & !prt.get("prefetch_wait_o"));
    let offered = m.wire("offered", &goes & left.reduce_or());
    m.assign(&take, &offered & &prefetch_ready);
    m.assign(&pop, &take | (&goes & left.is_zero()));
    m.assign(&prefetch_valid_o, &offered);
    gated(&mut m, &prefetch_line_o, &offered, &line);
    gated(&mut m, &prefetch_mask_o, &offered, &left);
    gated(&mut m, &prefetch_table_o, &offered, &prt.get("prefetch_table_o"));
    let in_table = m.wire("in_table", &offered & prt.get("prefetch_table_o"));
    gated(&mut m, &prefetch_entry_o, &in_table, &prt.get("prefetch_entry_o"));
    gated(&mut m, &prefetch_pattern_o, &offered, &queue.get("pop_pattern_o"));
    gated(&mut m, &prefetch_handle_o, &offered, &queue.get("pop_handle_o"));
    let issued = m.wire("issued", take.replicate(s) & &left & !&prefetch_have).doc("sectors issued in this cycle");
    let registered = prt.get("fill_register_mask_o");
    m.assign(&register_mask_o, &registered);
    let any_registered = m.wire("any_registered", registered.reduce_or());
    gated(&mut m, &register_o, &any_registered, &prt.get("fill_register_o"));
    let refill_valid = prt.get("refill_valid_o");
    m.assign(&refill_valid_o, &refill_valid);
    gated(&mut m, &refill_line_o, &refill_valid, &prt.get("refill_line_o"));
    gated(&mut m, &refill_mask_o, &refill_valid, &prt.get("refill_mask_o"));
    gated(&mut m, &refill_register_o, &refill_valid, &prt.get("refill_register_o"));

    m.section("Blocks that left unused");
    let evicts = m.wire("evicts", &evict_valid & !&evict_invalid);
    let peb = super::peb::module(c)?;
    let drop_valid = prt.get("drop_valid_o");
    let peb = m.instance("u_peb", &peb, |i| {
        i.connect("demand_valid_i", &load_now).connect("demand_line_i", &demand_line).connect("demand_mask_i", &demand_mask);
        i.connect("evict_valid_i", &evicts).connect("evict_line_i", &evict_line).connect("evict_mask_i", &evict_mask);
        i.connect("evict_handle_i", &evict_handle).connect("drop_valid_i", &drop_valid).connect("drop_line_i", prt.get("drop_line_o"));
        i.connect("drop_mask_i", prt.get("drop_mask_o")).connect("drop_handle_i", prt.get("drop_handle_o"));
        i.connect("drop_ready_o", &drop_ready);
    });
    let (early, on_time) = (peb.get("early_o"), prt.get("on_time_o"));

    m.section("Feedback");
    let lost_events = if c.config.sc_controller {
        let feedback = super::feedback::module(c)?;
        let feedback = m.instance("u_feedback", &feedback, |i| {
            i.connect("early_valid_i", early.reduce_or()).connect("early_handle_i", peb.get("early_handle_o"));
            i.connect("use_valid_i", &use_valid).connect("use_late_i", &use_late).connect("use_handle_i", &use_handle);
            i.connect("on_time_valid_i", on_time.reduce_or()).connect("on_time_handle_i", prt.get("on_time_handle_o"));
            i.connect("event_valid_o", &event.valid).connect("event_class_o", &event.class).connect("event_handle_o", &event.handle);
        });
        feedback.get("dropped_o")
    } else {
        m.assign(&event.valid, 0u32);
        m.assign(&event.class, 0u32);
        m.assign(&event.handle, 0u32);
        let handles = [&use_handle, &peb.get("early_handle_o"), &prt.get("on_time_handle_o"), &event.valid, &event.class, &event.handle];
        for unused in handles {
            m.mark_unused(unused);
        }
        Expr::zeros(2)
    };

    m.section("Statistics");
    let statistics = super::prefetch_statistics::module(c)?;
    let ports: Vec<(&str, Expr)> = counters(c.config)
        .iter()
        .map(|(name, _, text)| (*name, m.output(&format!("count_{name}_o"), c.config.counter_bits, text)))
        .collect();
    let number = |mask: &Expr, when: &Expr| (when.replicate(s) & mask).popcount();
    let one = Expr::ones(1);
    let w2 = value_width(u64::from(2 * s));
    let used = number(&use_mask, &m.wire("used_on_time", &use_valid & !&use_late));
    let lost = number(&evict_mask, &m.wire("lost_invalid", &evict_valid & &evict_invalid));
    let wi = value_width(u64::from(c.r * s + s));
    let drops = m.wire("drops", &drop_valid & &drop_ready);
    let any_issued = issued.reduce_or();
    let amounts = [
        number(&issued, &one),
        number(&on_time, &one).zext(w2) + used.zext(w2),
        number(&early, &one),
        number(&use_mask, &m.wire("used_late", &use_valid & &use_late)),
        peb.get("unused_o"),
        prt.get("invalidated_o").zext(wi) + lost.zext(wi),
        number(&registered, &one),
        number(&on_time, &one),
        prt.get("invalidated_o"),
        number(&prt.get("drop_mask_o"), &drops),
        number(&evict_mask, &evicts),
        taken.clone(),
        &taken & &suppressed,
        &taken & !&suppressed & !sgu.get("issue_o"),
        duplicate,
        &pop & !&any_issued,
        &any_issued & !prt.get("prefetch_table_o"),
        front.lost_trigger,
        lost_events,
    ];
    m.instance("u_statistics", &statistics, |i| {
        i.connect("clear_i", &clear);
        for ((name, port), amount) in ports.iter().zip(&amounts) {
            i.connect(&format!("{name}_i"), amount).connect(&format!("count_{name}_o"), port);
        }
    });
    m.finish()
}

/// An event for the AWTs.
struct Event {
    valid: Expr,
    class: Expr,
    handle: Expr,
}

/// Drives an output that is 0 without its valid.
fn gated(m: &mut ModuleBuilder, port: &Expr, valid: &Expr, value: &Expr) {
    m.assign(port, valid.replicate(value.width()) & value);
}

/// The candidate port of a predictor of the user's.
fn external_front(c: &Context, m: &mut ModuleBuilder, into: &Into) -> Front {
    let candidate = Candidate {
        valid: m.input("candidate_valid_i", 1, "a candidate"),
        line: m.input("candidate_line_i", c.t, "its line"),
        mask: m.input("candidate_mask_i", c.s, "its sectors"),
        pattern: m.input("candidate_pattern_i", c.p, "its pattern"),
        kind: m.input("candidate_kind_i", 2, "0 intra-warp, 1 inter-PC, 2 inter-warp"),
        distance: m.input("candidate_distance_i", c.d, "its distance"),
        confidence: m.input("candidate_confidence_i", 2, "confidence, 0 to 3"),
        warp: m.input("candidate_warp_i", c.w, "warp that it belongs to"),
        pc: m.input("candidate_pc_i", c.pc, "load PC that it belongs to"),
    };
    let best_kind = m.input("best_kind_i", 2, "whose best distance: kind");
    let best_warp = m.input("best_warp_i", c.w, "warp");
    let best_pc = m.input("best_pc_i", c.pc, "load PC");
    let ready_o = m.output("candidate_ready_o", 1, "the candidate is taken");
    let best_o = m.output("best_distance_o", c.d, "best distance for that");
    m.assign(&ready_o, &into.candidate_ready);
    m.assign(&best_o, &into.best_distance);
    Front { candidate, best_kind, best_warp, best_pc, replaced: Expr::zeros(1), pattern: Expr::zeros(c.p), lost_trigger: Expr::zeros(1) }
}

/// Snake+ or APOGEE.
fn internal_front(c: &Context, m: &mut ModuleBuilder, into: &Into, load: &Load) -> Result<Front, RtlError> {
    let read = m.net("read_pattern", c.p);
    let low = m.wire("load_low", load.line.trunc(c.a)).doc("bits of the line that train");
    let snake = c.config.frontend == Frontend::Snake;
    let table = if snake {
        let (pattern, replaced) = (m.net("load_pattern", c.p), m.net("replaced", 1));
        let head = super::head_table::module(c)?;
        let head = m.instance("u_head_table", &head, |i| {
            i.connect("load_valid_i", &load.valid).connect("load_warp_i", &load.warp).connect("load_pattern_i", &pattern);
            i.connect("load_line_i", &low).connect("replaced_i", &replaced);
        });
        let tail = super::tail_table::module(c)?;
        let tail = m.instance("u_tail_table", &tail, |i| {
            i.connect("load_valid_i", &load.valid).connect("load_warp_i", &load.warp).connect("load_pc_i", &load.pc);
            i.connect("load_line_i", &low).connect("read_pattern_i", &read);
            for port in ["previous_valid", "previous_pattern", "previous_line"] {
                i.connect(&format!("{port}_i"), head.get(&format!("{port}_o")));
            }
            i.connect("load_pattern_o", &pattern).connect("replaced_o", &replaced);
        });
        (tail, pattern, replaced)
    } else {
        let table = super::apogee::module(c)?;
        let table = m.instance("u_apogee", &table, |i| {
            i.connect("load_valid_i", &load.valid).connect("load_warp_i", &load.warp).connect("load_pc_i", &load.pc);
            i.connect("load_line_i", &low).connect("read_pattern_i", &read);
        });
        let (pattern, replaced) = (table.get("load_pattern_o"), table.get("replaced_o"));
        (table, pattern, replaced)
    };
    let (table, pattern, replaced): (Outputs, Expr, Expr) = table;

    m.section("Triggers");
    let trigger = m.wire("trigger", Expr::concat_lsb_first([&load.warp, &pattern, &load.line, &load.mask]));
    let waiting = fifo(m.options(), Fifo::new(trigger.width(), c.config.sc_trigger_depth))?;
    let take = m.net("trigger_ready", 1);
    let queue = m.instance("u_triggers", &waiting, |i| {
        i.connect("valid_i", &load.valid).connect("data_i", &trigger).connect("ready_i", &take);
    });
    let data = queue.get("data_o");
    let lost_trigger = &load.valid & !queue.get("ready_o");
    let generator = super::candidate_generator::module(c)?;
    let g = m.instance("u_candidate_generator", &generator, |i| {
        i.connect("trigger_valid_i", queue.get("valid_o")).connect("trigger_ready_o", &take).connect("read_pattern_o", &read);
        let mut at = 0;
        for (port, width) in [("trigger_warp_i", c.w), ("trigger_pattern_i", c.p), ("trigger_line_i", c.t), ("trigger_mask_i", c.s)] {
            i.connect(port, data.bits(at, width));
            at += width;
        }
        for port in ["read_pc", "read_intra_stride", "read_intra_confidence", "read_warp_stride", "read_warp_confidence"] {
            i.connect(&format!("{port}_i"), table.get(&format!("{port}_o")));
        }
        for port in ["read_link_pattern", "read_link_stride", "read_link_confidence"] {
            let input = format!("{port}_i");
            if snake {
                i.connect(&input, table.get(&format!("{port}_o")))
            } else {
                i.connect(&input, 0u32)
            };
        }
        i.connect("best_distance_i", &into.best_distance).connect("candidate_ready_i", &into.candidate_ready);
    });
    let candidate = Candidate {
        valid: g.get("candidate_valid_o"),
        line: g.get("candidate_line_o"),
        mask: g.get("candidate_mask_o"),
        pattern: g.get("candidate_pattern_o"),
        kind: g.get("candidate_kind_o"),
        distance: g.get("candidate_distance_o"),
        confidence: g.get("candidate_confidence_o"),
        warp: g.get("candidate_warp_o"),
        pc: g.get("candidate_pc_o"),
    };
    let (best_kind, best_warp, best_pc) = (g.get("best_kind_o"), g.get("best_warp_o"), g.get("best_pc_o"));
    Ok(Front { candidate, best_kind, best_warp, best_pc, replaced, pattern, lost_trigger })
}

/// Both AWTs; the handle of the candidate.
fn controller(
    c: &Context,
    m: &mut ModuleBuilder,
    front: &Front,
    into: &Into,
    [allocate, best]: [&Expr; 2],
    event: &Event,
) -> Result<Expr, RtlError> {
    let candidate = &front.candidate;
    let handle = &event.handle;
    let (g2, l1) = (c.gi, c.gi + c.g);
    let l2_awt = super::l2_awt::module(c)?;
    let l2 = m.instance("u_l2_awt", &l2_awt, |i| {
        i.connect("best_kind_i", &front.best_kind).connect("best_pc_i", &front.best_pc);
        i.connect("lookup_kind_i", &candidate.kind).connect("lookup_pc_i", &candidate.pc).connect("lookup_allocate_i", allocate);
        i.connect("feedback_valid_i", &event.valid).connect("feedback_class_i", &event.class);
        i.connect("feedback_index_i", handle.bits(0, c.gi)).connect("feedback_generation_i", handle.bits(g2, c.g));
    });
    let l1_awt = super::l1_awt::module(c)?;
    let l1 = m.instance("u_l1_awt", &l1_awt, |i| {
        i.connect("best_kind_i", &front.best_kind).connect("best_warp_i", &front.best_warp).connect("best_pc_i", &front.best_pc);
        i.connect("lookup_kind_i", &candidate.kind).connect("lookup_warp_i", &candidate.warp).connect("lookup_pc_i", &candidate.pc);
        i.connect("lookup_allocate_i", allocate).connect("lookup_global_i", l2.get("lookup_distance_o"));
        i.connect("feedback_valid_i", &event.valid & handle.bit(c.h - 1)).connect("feedback_class_i", &event.class);
        i.connect("feedback_index_i", handle.bits(l1, c.li)).connect("feedback_generation_i", handle.bits(l1 + c.li, c.g));
        i.connect("feedback_global_valid_i", l2.get("feedback_live_o")).connect("feedback_global_i", l2.get("feedback_distance_o"));
    });
    let pick = |hit: &str, local: &str, global: &str| l1.get(hit).mux(l1.get(local).zext(c.d), l2.get(global));
    m.assign(&into.best_distance, pick("best_hit_o", "best_distance_o", "best_distance_o"));
    m.assign(best, pick("lookup_hit_o", "lookup_distance_o", "lookup_distance_o"));
    let local = l1.get("lookup_local_o");
    let own = Expr::concat_lsb_first([l1.get("lookup_index_o"), l1.get("lookup_generation_o")]);
    let own = local.replicate(own.width()) & own;
    Ok(m.wire("handle", Expr::concat_lsb_first([l2.get("lookup_index_o"), l2.get("lookup_generation_o"), own, local])))
}
