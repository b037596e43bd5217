//! What every generator needs: the configuration, its sizes, the options of the design.

use crate::rtl::{Expr, Module, ModuleBuilder, ResetStyle, RtlError, RtlOptions, index_width, value_width};
use l1forge_config::Config;
use std::rc::Rc;

/// The result of a generator.
pub(super) type Built = Result<Rc<Module>, RtlError>;

/// The configuration and the sizes that follow from it, under the letters of `docs/blocks/snakecharmer/README.md`.
pub(super) struct Context<'a> {
    pub config: &'a Config,
    /// T, bits of a line address.
    pub t: u32,
    /// S, sectors of a line.
    pub s: u32,
    /// W, bits of a warp.
    pub w: u32,
    /// P, bits of a pattern.
    pub p: u32,
    /// PC, bits of a load PC.
    pub pc: u32,
    /// A, bits of a line address kept for training.
    pub a: u32,
    /// SB, bits of a stride.
    pub sb: u32,
    /// D, bits of a distance.
    pub d: u32,
    /// DL, bits of a distance in the L1-AWT.
    pub dl: u32,
    /// LI, bits of an L1-AWT index.
    pub li: u32,
    /// GI, bits of an L2-AWT index.
    pub gi: u32,
    /// G, bits of a generation.
    pub g: u32,
    /// H, bits of a handle.
    pub h: u32,
    /// R, entries of the PRT.
    pub r: u32,
    /// E, bits of the number of a PRT entry.
    pub e: u32,
    /// EC, bits of a number of PRT entries.
    pub ec: u32,
    /// RB, bits of the number of a register.
    pub rb: u32,
    pub options: RtlOptions,
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
        let (li, gi, g) = (index_width(config.sc_l1_awt_entries), index_width(config.sc_l2_awt_entries), config.sc_generation_bits);
        Self {
            config,
            t: config.tag_bits(),
            s: config.sc_sectors(),
            w: index_width(config.sc_warps),
            p: index_width(config.sc_patterns),
            pc: config.sc_pc_bits,
            a: config.sc_train_bits,
            sb: config.sc_stride_bits,
            d: value_width(u64::from(config.sc_max_distance())),
            dl: value_width(u64::from(config.sc_local_max_distance())),
            li,
            gi,
            g,
            h: gi + g + li + g + 1,
            r: config.sc_prt_entries,
            e: index_width(config.sc_prt_entries),
            ec: value_width(u64::from(config.sc_prt_entries)),
            rb: config.sc_register_bits,
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

    /// The largest distance of a kind, in `width` bits; 0 for kinds that cannot occur at that width.
    pub fn max_of(&self, kind: &Expr, width: u32) -> Expr {
        let c = self.config;
        let maxima = [c.sc_max_intra_warp, c.sc_max_inter_pc, c.sc_max_inter_warp];
        let arms = maxima.iter().enumerate().filter(|(_, m)| value_width(u64::from(**m)) <= width);
        kind.select(arms.map(|(k, m)| (k as u64, Expr::lit(width, *m))).collect::<Vec<_>>(), Expr::zeros(width))
    }

    /// The largest distance that an AWT entry of a kind may take.
    pub fn limit(&self, kind: &Expr, width: u32) -> Expr {
        if self.config.sc_awt_per_kind {
            return self.max_of(kind, width);
        }
        Expr::lit(width, self.config.sc_max_distance())
    }

    /// A distance as read for a kind: entries shared by all kinds may hold more than the kind allows.
    pub fn read_distance(&self, distance: Expr, kind: &Expr) -> Expr {
        if self.config.sc_awt_per_kind { distance } else { min(&distance, &self.max_of(kind, distance.width())) }
    }

    /// The kind under which the AWTs keep a context.
    pub fn awt_kind(&self, kind: &Expr) -> Expr {
        if self.config.sc_awt_per_kind { kind.clone() } else { Expr::zeros(2) }
    }
}

/// The smaller of two numbers.
pub(super) fn min(a: &Expr, b: &Expr) -> Expr {
    a.lt(b).mux(a, b)
}

/// A signed value, extended or cut.
pub(super) fn sign_extend(x: &Expr, width: u32) -> Expr {
    if width <= x.width() {
        return x.trunc(width);
    }
    Expr::concat_lsb_first([x.clone(), x.bit(x.width() - 1).replicate(width - x.width())])
}

/// A register that runs over the `n` places of a ring, one on `step`; a constant with one place.
#[track_caller]
pub(super) fn ring(m: &mut ModuleBuilder, name: &str, n: u32, clear: Option<&Expr>, step: &Expr, doc: &str) -> Expr {
    if n == 1 {
        return Expr::zeros(1);
    }
    let place = m.reg(name, index_width(n)).doc(doc);
    if let Some(clear) = clear {
        place.next_when(clear, 0u32);
    }
    let next = if n.is_power_of_two() { &place + 1u32 } else { place.eq(n - 1).mux(0u32, &place + 1u32) };
    place.next_when(step, next);
    Expr::from(&place)
}

/// A mask per entry: `mask` in the entries of `rows`, zero elsewhere.
#[track_caller]
pub(super) fn spread(m: &mut ModuleBuilder, name: &str, rows: &Expr, mask: &Expr) -> Expr {
    let (n, s) = (rows.width(), mask.width());
    if n == 1 {
        return m.wire(name, rows.replicate(s) & mask);
    }
    let out = m.net(name, n * s);
    m.comb_for("e", n, |b, e| b.set(out.elem(e, s), rows.bit(e).replicate(s) & mask));
    out
}

/// For each entry whether any bit of its element is set.
#[track_caller]
pub(super) fn some(m: &mut ModuleBuilder, name: &str, bus: &Expr, s: u32) -> Expr {
    let n = bus.width() / s;
    if s == 1 {
        return m.wire(name, bus);
    }
    let out = m.net(name, n);
    m.comb_for("e", n, |b, e| b.set(out.bit(e), bus.elem(e, s).reduce_or()));
    out
}

/// The entries that are valid and hold a key.
#[track_caller]
pub(super) fn search(m: &mut ModuleBuilder, name: &str, valid: &Expr, keys: &Expr, key: &Expr) -> Expr {
    let (n, w) = (valid.width(), key.width());
    let out = m.net(name, n);
    m.comb_for("e", n, |b, e| b.set(out.bit(e), valid.bit(e) & keys.elem(e, w).eq(key)));
    out
}

/// States that no two of the first entries are valid with the same key: all pairs of the first four, so of all of a small table.
#[track_caller]
pub(super) fn unique(m: &mut ModuleBuilder, name: &str, valid: &Expr, keys: &Expr, why: &str) {
    let n = valid.width();
    let w = keys.width() / n;
    let pairs = (0..n.min(4)).flat_map(|a| (0..a).map(move |b| (a, b)));
    let differ = pairs.map(|(a, b)| !(valid.bit(a) & valid.bit(b) & keys.elem(a, w).eq(keys.elem(b, w))));
    let differ: Vec<Expr> = differ.collect();
    if !differ.is_empty() {
        m.assert(name, Expr::and_all(differ), why);
    }
}

/// The first of `requests` strictly after number `last`, cyclically, one-hot.
#[track_caller]
pub(super) fn first_after(m: &mut ModuleBuilder, name: &str, requests: &Expr, last: &Expr) -> Expr {
    if requests.width() == 1 {
        return requests.clone();
    }
    crate::prim::round_robin(m, name, requests, last)
}

/// Every block that can be generated on its own, with what it is.
pub const BLOCKS: &[(&str, &str)] = &[
    ("snakecharmer", "the whole prefetcher of one SM"),
    ("head_table", "last load of each warp"),
    ("tail_table", "patterns and their training"),
    ("apogee", "APOGEE front end: patterns and their training"),
    ("candidate_generator", "candidates of a trigger"),
    ("zero_filter", "suppresses patterns that fetch zeros"),
    ("l1_awt", "best distances by warp and load PC"),
    ("l2_awt", "best distances by load PC"),
    ("sgu", "score of a candidate"),
    ("prefetch_queue", "prefetches on their way to the L1"),
    ("prt", "prefetch register table"),
    ("peb", "prefetch eviction buffer"),
    ("feedback", "events for the AWTs"),
    ("prefetch_statistics", "counters of the prefetcher"),
];

/// Generates a block by name; `None` for an unknown name. There is one instance of each; `_instance` is there as for other blocks.
///
/// # Errors
/// A fault of the generator found by the checks of the builder; no legal configuration has one.
pub fn block(config: &Config, name: &str, _instance: u32) -> Option<Result<Rc<Module>, RtlError>> {
    let c = &Context::new(config);
    Some(match name {
        "snakecharmer" => super::snakecharmer::module(c),
        "head_table" => super::head_table::module(c),
        "tail_table" => super::tail_table::module(c),
        "apogee" => super::apogee::module(c),
        "candidate_generator" => super::candidate_generator::module(c),
        "zero_filter" => super::zero_filter::module(c),
        "l1_awt" => super::l1_awt::module(c),
        "l2_awt" => super::l2_awt::module(c),
        "sgu" => super::sgu::module(c),
        "prefetch_queue" => super::prefetch_queue::module(c),
        "prt" => super::prt::module(c),
        "peb" => super::peb::module(c),
        "feedback" => super::feedback::module(c),
        "prefetch_statistics" => super::prefetch_statistics::module(c),
        _ => return None,
    })
}
