//! One driver per kind of block.

mod probes;
mod queries;
mod updates;

use probes::{ProbeEngine, ProbeQueue, ProbeReturn};
use queries::{LookupNetwork, QuerySlot, QueryStore};
use updates::{RefreshController, SnapshotMatrix, StreamBuffer, UpdateBankArbiter, UpdateLane};

use super::{Driver, Io};
use l1forge_config::Config;
use l1forge_sim::c2p::environment::{Environment, Profile, random};
use rand::Rng;
use std::collections::VecDeque;

/// Cycles at the start of `and_reduction` without a start.
const BEFORE_START: u64 = 50;

/// The driver of a block.
pub(super) fn driver(name: &str, c: &Config, seed: u64) -> Box<dyn Driver> {
    let (sms, slots, rows) = (u64::from(c.sms), u64::from(c.queries_per_sm), u64::from(c.rows()));
    let free = |fills: &[(&'static str, Fill)]| -> Box<dyn Driver> { Box::new(Free(fills.to_vec())) };
    match name {
        "rr_arbiter_free" => free(&[("req_i", Fill::Bits(0))]),
        "rr_arbiter_ready" | "rr_arbiter_lock" => free(&[("req_i", Fill::Bits(0)), ("ready_i", Fill::Bits(1))]),
        "bf_engine" => free(&[("valid_i", Fill::Bits(0)), ("tag_i", Fill::Tag), ("user_i", Fill::Below(256))]),
        "engine_pool" => free(&[
            ("miss_valid_i", Fill::Bits(0)),
            ("miss_tag_i", Fill::Tag),
            ("miss_slot_i", Fill::Below(slots)),
            ("update_valid_i", Fill::Bits(1)),
            ("update_tag_i", Fill::Tag),
        ]),
        "and_reduction" => Box::new(AndReduction),
        "probe_engine" => Box::new(ProbeEngine { time: Time::new(c), sms, idle: true, waiting: false }),
        "query_slot" => Box::new(QuerySlot {
            time: Time::new(c),
            sms,
            latency: c.engine_latency,
            encoded_in: 0,
            granted: vec![false; c.k() as usize],
            waiting: false,
        }),
        "query_store" => Box::new(QueryStore {
            time: Time::new(c),
            sms,
            slots: c.queries_per_sm as usize,
            latency: c.engine_latency,
            miss: false,
            encoding: VecDeque::new(),
            granted: vec![None; c.k() as usize],
            waiting: vec![false; c.queries_per_sm as usize],
        }),
        "bank_arbiter" => free(&[("req_i", Fill::Bits(0)), ("payload_i", Fill::Below(rows))]),
        "update_bank_arbiter" => Box::new(UpdateBankArbiter { sms, row_bits: c.row_bits() }),
        "lookup_network" => Box::new(LookupNetwork {
            slots,
            debug: c.debug_port,
            banks: c.banks as usize,
            reads: vec![None; (c.copies * c.banks) as usize],
        }),
        "snapshot_matrix" => Box::new(SnapshotMatrix { rows }),
        "probe_order" => free(&[("candidates_i", Fill::Bits(0))]),
        "probe_network" => {
            let time = 1 << Time::new(c).bits;
            free(&[
                ("offer_valid_i", Fill::Bits(0)),
                ("offer_target_i", Fill::Below(sms)),
                ("offer_tag_i", Fill::Tag),
                ("offer_slot_i", Fill::Below(slots)),
                ("offer_deadline_i", Fill::Below(time)),
                ("push_ready_i", Fill::Bits(1)),
            ])
        }
        "probe_queue" => Box::new(ProbeQueue { time: Time::new(c), sms, slots, timeout: u64::from(c.probe_timeout) }),
        "probe_return" => Box::new(ProbeReturn { sms: c.sms as usize, slots: c.queries_per_sm as usize }),
        "fill_queue" => free(&[
            ("fill_valid_i", Fill::Bits(0)),
            ("fill_tag_i", Fill::Tag),
            ("hold_i", Fill::Seldom(1, 0.5)),
            ("tag_ready_i", Fill::Bits(2)),
            ("flush_i", Fill::Seldom(3, 0.1)),
        ]),
        "stream_buffer" => Box::new(StreamBuffer { sms, beat: false }),
        "update_lane" => Box::new(UpdateLane { sms, latency: c.engine_latency, encoding: VecDeque::new() }),
        "update_network" => free(&[
            ("write_valid_i", Fill::Bits(0)),
            ("write_index_i", Fill::Indices),
            ("write_sm_i", Fill::Below(sms)),
            ("clear_valid_i", Fill::Seldom(1, 0.5)),
            ("clear_all_i", Fill::Bits(2)),
            ("clear_row_i", Fill::Below(rows)),
            ("clear_sm_i", Fill::Below(sms)),
        ]),
        "refresh_controller" => Box::new(RefreshController {
            last_row: rows - 1,
            period: u64::from(c.refresh_period),
            elapsed: 0,
            timeout: u64::from(c.stream_timeout),
            since_hold: 0,
            before: (0, false, false),
        }),
        "statistics" => Box::new(Statistics { sms: c.sms as usize }),
        "c2p_cache" => {
            let profile = match seed % 4 {
                0 => Profile::slow(),
                1 => Profile { flush: 0.002, ..Profile::random() },
                2 => Profile { miss: 1.0, outcome_ready: 1.0, l2_ready: 1.0, ..Profile::random() },
                _ => Profile::random(),
            };
            let lines = c.l1_bytes / c.line_bytes;
            let pool = (0..u64::from(lines).min(400) + 40).map(|x| (x * 7919 % 100_003) & (u64::MAX >> (64 - c.tag_bits()))).collect();
            Box::new(Top(Environment::new(c, profile, Box::new(random(pool, 0.1, 0.02, seed)), seed)))
        }
        _ => unreachable!("a golden model of {name} exists, its stimulus does not"),
    }
}

/// Random values of one input.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fill {
    /// Every bit 1 with the probability of a knob.
    Bits(usize),
    /// Every bit 1 with the probability of a knob times a number.
    Seldom(usize, f64),
    /// Every element below a number.
    Below(u64),
    /// Every element a tag.
    Tag,
    /// Every element one or several indices in range.
    Indices,
}

impl Fill {
    pub(super) fn fill(self, port: &str, io: &mut Io) {
        for element in 0..io.count(port) {
            match self {
                Self::Bits(knob) => io.random_bits(port, element, knob),
                Self::Seldom(knob, p) => {
                    let value = io.rarely(p) && io.chance(knob);
                    io.flag(port, element, value);
                }
                Self::Below(limit) => {
                    let value = io.below(limit);
                    io.set(port, element, value);
                }
                Self::Tag => {
                    let tag = io.tag();
                    io.set(port, element, tag);
                }
                Self::Indices => io.random_indices(port, element),
            }
        }
    }
}

/// Every input random for itself.
pub(super) struct Free(pub(super) Vec<(&'static str, Fill)>);

impl Driver for Free {
    fn drive(&mut self, io: &mut Io) {
        for (port, fill) in &self.0 {
            fill.fill(port, io);
        }
    }
}

/// The time base.
struct Time {
    now: u64,
    bits: u32,
}

impl Time {
    fn new(c: &Config) -> Self {
        Self { now: 0, bits: u32::BITS - (c.probe_timeout.max(c.answer_timeout) + 1).leading_zeros() }
    }

    fn wrap(&self, time: u64) -> u64 {
        time & ((1 << self.bits) - 1)
    }

    fn drive(&mut self, io: &mut Io) {
        io.set("now_i", 0, self.now);
        self.now = self.wrap(self.now + 1);
    }
}

struct AndReduction;

impl Driver for AndReduction {
    fn drive(&mut self, io: &mut Io) {
        let start = match io.cycle {
            0..BEFORE_START => false,
            BEFORE_START => true,
            _ => io.chance(0) && io.rarely(0.5),
        };
        io.flag("start_i", 0, start);
        Fill::Bits(1).fill("row_valid_i", io);
        for row in 0..io.count("row_i") {
            // Rows with few zeros, so that something is left.
            let knob = 2 + row % 2;
            io.random_bits("row_i", row, knob);
        }
        Fill::Seldom(4, 0.2).fill_bits("clear_i", io);
    }
}

impl Fill {
    /// As [`fill`](Fill::fill), bit by bit for wide elements.
    fn fill_bits(self, port: &str, io: &mut Io) {
        let Self::Seldom(knob, p) = self else { return self.fill(port, io) };
        let bits = io.inputs.ports()[io.inputs.index(port)].bits;
        for bit in 0..bits {
            let value = io.rarely(p) && io.chance(knob);
            io.field(port, 0, bit, 1, u64::from(value));
        }
    }
}

/// Answers or expiry of a waiting probe: (answer, hit, expired).
fn answer(io: &mut Io, waiting: bool, knob: usize) -> (bool, bool, bool) {
    let hit = io.rarely(0.3);
    if waiting && io.chance(knob) {
        let expired = io.rarely(0.2);
        (!expired, hit, expired)
    } else {
        (false, hit, false)
    }
}

struct Statistics {
    sms: usize,
}

impl Driver for Statistics {
    fn drive(&mut self, io: &mut Io) {
        let events = [
            "miss_i",
            "query_i",
            "conflict_i",
            "probe_i",
            "outcome_i",
            "false_positive_i",
            "discarded_i",
            "expired_i",
            "dropped_i",
            "rebuilt_i",
        ];
        for (knob, port) in events.into_iter().enumerate() {
            Fill::Bits(knob).fill(port, io);
        }
        for sm in 0..self.sms {
            let remote = io.chance(10);
            io.flag("outcome_remote_i", sm, remote);
            let reason = if remote { 0 } else { io.rng.random_range(1..=5) };
            io.set("outcome_reason_i", sm, reason);
        }
        Fill::Seldom(11, 0.02).fill("clear_statistics_i", io);
    }
}

/// The top in its environment.
struct Top(Environment);

impl Driver for Top {
    fn drive(&mut self, io: &mut Io) {
        self.0.drive(&mut io.inputs);
    }

    fn observe(&mut self, io: &Io) {
        self.0.observe(&io.inputs, &io.outputs);
    }
}
