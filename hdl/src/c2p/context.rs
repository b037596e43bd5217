//! What every generator needs: the configuration, its sizes, the options of the design.

use crate::rtl::{Expr, Module, ModuleBuilder, ResetStyle, RtlError, RtlOptions, index_width, value_width};
use l1forge_config::Config;
use std::rc::Rc;

/// The result of a generator.
pub(super) type Built = Result<Rc<Module>, RtlError>;

/// The configuration and the sizes that follow from it, under the letters of `docs/blocks/README.md`.
pub(super) struct Context<'a> {
    pub config: &'a Config,
    /// N, SMs.
    pub n: u32,
    /// Q, queries per SM.
    pub q: u32,
    /// k, positions per tag.
    pub k: u32,
    /// T, bits of a tag.
    pub t: u32,
    /// I, bits of an id.
    pub i: u32,
    /// S, bits of an SM number.
    pub s: u32,
    /// L, bits of a slot number.
    pub l: u32,
    /// X, bits of an index.
    pub x: u32,
    /// RW, bits of a row.
    pub rw: u32,
    /// B, banks.
    pub b: u32,
    /// C, copies.
    pub c: u32,
    /// V, rows an SM may read in a cycle.
    pub v: u32,
    /// R, rows per bank.
    pub r: u32,
    /// TW, bits of the time base.
    pub tw: u32,
    /// ST, tags per stream beat.
    pub st: u32,
    /// W, update lanes.
    pub w: u32,
    options: RtlOptions,
}

impl<'a> Context<'a> {
    pub fn new(config: &'a Config) -> Self {
        use l1forge_config::ResetStyle as Style;
        let reset = match config.reset_style {
            Style::SyncHigh => ResetStyle::SyncHigh,
            Style::SyncLow => ResetStyle::SyncLow,
            Style::AsyncHigh => ResetStyle::AsyncHigh,
            Style::AsyncLow => ResetStyle::AsyncLow,
        };
        Self {
            config,
            n: config.sms,
            q: config.queries_per_sm,
            k: config.k(),
            t: config.tag_bits(),
            i: config.id_bits,
            s: config.sm_bits(),
            l: config.slot_bits(),
            x: config.index_bits(),
            rw: config.row_bits(),
            b: config.banks,
            c: config.copies,
            v: config.lookup_ports,
            r: config.rows(),
            tw: value_width(u64::from(config.probe_timeout.max(config.answer_timeout)) + 1),
            st: config.stream_tags(),
            w: config.update_lanes,
            options: RtlOptions { reset },
        }
    }

    /// A module with clock and reset.
    #[track_caller]
    pub fn clocked(&self, name: &str, purpose: &str, latency: &str) -> ModuleBuilder {
        let mut m = self.combinational(name, purpose, latency);
        m.clock_reset();
        m
    }

    /// A module without clock.
    #[track_caller]
    pub fn combinational(&self, name: &str, purpose: &str, latency: &str) -> ModuleBuilder {
        let mut m = self.options.module(name);
        m.purpose(purpose).latency(latency);
        m
    }

    /// The bank field of an index, in `index_width(B)` bits (0 with one bank).
    pub fn bank_of(&self, index: &Expr) -> Expr {
        if self.b == 1 { Expr::zeros(1) } else { index.bits(self.rw, self.x - self.rw) }
    }

    /// The row field of an index.
    pub fn row_of(&self, index: &Expr) -> Expr {
        index.bits(0, self.rw)
    }

    /// The copy that lookup port `j` of SM `s` reads with `copy_choice = "fixed"`.
    pub fn copy_of(&self, s: u32, j: u32) -> u32 {
        (j + s) % self.c
    }

    /// Bits of the number of a bank.
    pub fn bank_width(&self) -> u32 {
        index_width(self.b)
    }
}

/// Every block that can be generated on its own, with its generator.
pub const BLOCKS: &[(&str, &str)] = &[
    ("c2p_cache", "the whole block"),
    ("query_store", "the queries of one SM"),
    ("query_slot", "one query"),
    ("and_reduction", "AND of the k rows of a query"),
    ("probe_engine", "probes the candidates of a query"),
    ("engine_pool", "BF engines and who uses them"),
    ("bf_engine", "encodes a tag into k indices"),
    ("lookup_network", "lookups to banks and rows back"),
    ("bank_arbiter", "one bank of one copy"),
    ("snapshot_matrix", "the banked matrix"),
    ("fill_queue", "fill notices of one SM"),
    ("stream_buffer", "one beat of rebuild tags"),
    ("update_lane", "encoded tags on their way to the matrix"),
    ("update_network", "matrix write ports"),
    ("refresh_controller", "clears and rebuilds columns"),
    ("probe_order", "nearest candidate"),
    ("probe_network", "offers to target queues"),
    ("probe_queue", "probes at one target"),
    ("probe_return", "answers to slots"),
    ("statistics", "event counters"),
    ("update_bank_arbiter", "one bank's write port"),
    ("rr_arbiter_free", "round robin, every pick is taken"),
    ("rr_arbiter_ready", "round robin, a pick may wait"),
    ("rr_arbiter_lock", "round robin, a pick that waits stays"),
];

/// Generates a block by name; `None` for an unknown name. `instance` chooses among instances that differ: the SM of
/// `probe_order`, the lane of `update_lane`, the copy of `bank_arbiter`.
///
/// # Errors
/// A fault of the generator found by the checks of the builder; no legal configuration has one.
pub fn block(config: &Config, name: &str, instance: u32) -> Option<Result<Rc<Module>, RtlError>> {
    let c = &Context::new(config);
    Some(match name {
        "c2p_cache" => super::c2p_cache::module(c),
        "query_store" => super::query_store::module(c),
        "query_slot" => super::query_slot::module(c),
        "and_reduction" => super::and_reduction::module(c),
        "probe_engine" => super::probe_engine::module(c),
        "engine_pool" => super::engine_pool::module(c),
        "bf_engine" => super::bf_engine::module(c, 8),
        "lookup_network" => super::lookup_network::module(c),
        "bank_arbiter" => super::lookup_network::arbiter(c, instance),
        "snapshot_matrix" => super::snapshot_matrix::module(c),
        "fill_queue" => super::fill_queue::module(c),
        "stream_buffer" => super::stream_buffer::module(c),
        "update_lane" => super::update_lane::alone(c, instance),
        "update_network" => super::update_network::module(c),
        "refresh_controller" => super::refresh_controller::module(c),
        "probe_order" => super::probe_order::alone(c, instance),
        "probe_network" => super::probe_network::module(c),
        "probe_queue" => super::probe_queue::module(c),
        "probe_return" => super::probe_return::module(c),
        "statistics" => super::statistics::module(c),
        "update_bank_arbiter" => super::update_network::arbiter(c),
        "rr_arbiter_free" | "rr_arbiter_ready" | "rr_arbiter_lock" => super::round_robin::module(c, name),
        _ => return None,
    })
}

/// Bound on the cycles from an accepted miss to its outcome, with outcome and L2 ports always ready
/// (`docs/blocks/c2p_cache.md`).
pub fn miss_bound(config: &Config) -> u64 {
    let c = Context::new(config);
    let wide = u64::from;
    let group = config.sms.div_ceil(config.shared_engines());
    let occupied = if config.engine_pipelined { 1 } else { config.engine_latency };
    let encode = wide(c.q * group * occupied + occupied + config.engine_latency);
    let requesters = super::lookup_network::requesters(&c);
    // Lookups granted until the last one of a query: own ones, and those of slots that start meanwhile.
    let share = c.k.div_ceil(c.v);
    let grants = if share == 1 { 2 * c.q - 1 } else { 2 * share * (3 * c.q - 2) };
    let lookup = wide(grants) * wide(requesters) + wide(config.lookup_latency);
    let probe = wide(c.q + 1 + config.probe_timeout + config.answer_timeout + config.probe_queue_depth + config.answer_queue_depth + 2);
    let probes = if config.probe_limit == 0 { c.n - 1 } else { config.probe_limit.min(c.n - 1) };
    encode + lookup + wide(probes) * probe + wide(3 * c.q + 4)
}
