//! What each part of SnakeCharmer buys: the golden model of the top in its environment, without stalls.

use super::COUNTERS;
use super::bench::Bench;
use super::environment::{Activity, Profile};
use super::memory::Latency;
use super::streams::{Shape, Stream};
use super::top::SnakeCharmer;
use l1forge_config::{Config, ConfigError, Settings};

/// A scheme: a name and what is switched on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheme {
    /// Its name in tables.
    pub name: &'static str,
    /// Settings over the defaults.
    pub sets: Vec<&'static str>,
    /// Prefetches are issued.
    pub prefetch: bool,
    /// Registers are idle.
    pub registers: bool,
}

/// The schemes of the paper's figures.
pub fn schemes() -> Vec<Scheme> {
    let make = |name, front: &'static str, zf: bool, scc: bool, prt: bool| Scheme {
        name,
        sets: vec![
            front,
            if zf { "sc_zero_filter=true" } else { "sc_zero_filter=false" },
            if scc { "sc_controller=true" } else { "sc_controller=false" },
        ],
        prefetch: name != "none",
        registers: prt,
    };
    let snake = "frontend=snake";
    let apogee = "frontend=apogee";
    vec![
        make("none", snake, false, false, false),
        make("snake", snake, false, false, false),
        make("sk+zf", snake, true, false, false),
        make("sk+scc", snake, false, true, false),
        make("sk+prt", snake, false, false, true),
        make("zf+scc", snake, true, true, false),
        make("scc+prt", snake, false, true, true),
        make("prt+zf", snake, true, false, true),
        make("all", snake, true, true, true),
        make("apogee", apogee, false, false, false),
        make("apogee+sc", apogee, true, true, true),
    ]
}

/// Choices of the specification, each taken back alone from the whole.
pub fn ablations() -> Vec<Scheme> {
    let all = |name, sets: &[&'static str]| Scheme { name, sets: sets.to_vec(), prefetch: true, registers: true };
    vec![
        all("all", &[]),
        all(
            "plain rule",
            &[
                "sc_awt_inherit=false",
                "sc_awt_per_kind=false",
                "sc_awt_inter_warp_local=true",
                "sc_awt_doubling=false",
                "sc_awt_move_events=0",
            ],
        ),
        all("no inheriting", &["sc_awt_inherit=false"]),
        all("one entry for all kinds", &["sc_awt_per_kind=false"]),
        all("inter-warp local", &["sc_awt_inter_warp_local=true"]),
        all("no doubling", &["sc_awt_doubling=false"]),
        all("late or early must be most", &["sc_awt_move_events=0"]),
        all("degree 1", &["sc_degree=1"]),
        all("degree 4", &["sc_degree=4"]),
        all("degree 8", &["sc_degree=8"]),
        all("PRT: old after 512", &["sc_prt_age=512"]),
        all("PRT: old after 4096", &["sc_prt_age=4096"]),
        all("PRT: any unread makes place", &["sc_prt_age=0"]),
        all("PRT: old ones leave by themselves", &["sc_prt_replace=false"]),
        all("PRT: unread ones stay", &["sc_prt_replace=false", "sc_prt_age=0"]),
        Scheme { name: "no PRT", sets: vec![], prefetch: true, registers: false },
        Scheme { name: "no PRT, 128-line L1", sets: vec!["l1_bytes=16384"], prefetch: true, registers: false },
        all("128-line L1", &["l1_bytes=16384"]),
    ]
}

/// What a run is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Demands.
    pub shape: Shape,
    /// Warps of the SM.
    pub warps: usize,
    /// Demands of all warps.
    pub demands: u64,
    /// Mean latency from request to fill; it varies by a tenth either way.
    pub latency: u32,
    /// Seed.
    pub seed: u64,
    /// Lines of 1000 whose prefetches are wrong.
    pub astray: u64,
    /// Cycles of computation before each load of a loop, see [`Stream::gap`].
    pub gap: u32,
}

/// What a run gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Scheme.
    pub scheme: &'static str,
    /// The run.
    pub load: Load,
    /// Counts.
    pub activity: Activity,
    /// Cycles until the last warp had finished.
    pub cycles: u64,
    /// Counters, in the order of [`COUNTERS`].
    pub counters: [u64; COUNTERS.len()],
    /// PRT entries held at the end, of these full of unread sectors.
    pub occupancy: (usize, usize),
}

impl Row {
    /// A counter by its name.
    pub fn counter(&self, name: &str) -> u64 {
        COUNTERS.iter().position(|n| *n == name).map_or(0, |n| self.counters[n])
    }

    /// H / (H + M): sectors demanded that a prefetch had brought in time, of those and the ones that missed.
    pub fn coverage(&self) -> f64 {
        let hits = self.counter("on_time");
        share(hits, hits + self.activity.missed + self.activity.merged)
    }

    /// H / F: of the sectors prefetched, those used in time.
    pub fn accuracy(&self) -> f64 {
        share(self.counter("on_time"), self.counter("issued"))
    }

    /// Of the sectors prefetched, those that somebody asked for while they were there or on their way.
    pub fn used(&self) -> f64 {
        share(self.counter("on_time") + self.counter("late"), self.counter("issued"))
    }

    /// Of the prefetches that somebody asked for, those on time, early, late.
    pub fn timeliness(&self) -> [f64; 3] {
        let parts = ["on_time", "early", "late"].map(|n| self.counter(n));
        parts.map(|p| share(p, parts.iter().sum()))
    }

    /// Sectors prefetched by one kind of pattern that somebody asked for.
    pub fn asked(&self, kind: usize) -> u64 {
        let a = &self.activity;
        a.on_time[kind] + a.early[kind] + a.late[kind]
    }

    /// Of these, those on time; `None` when nobody asked for any.
    pub fn timeliness_of(&self, kind: usize) -> Option<f64> {
        (self.asked(kind) > 0).then(|| share(self.activity.on_time[kind], self.asked(kind)))
    }

    /// Of the candidates with data, those that the zero filter stopped; of those all zero, those it let pass.
    pub fn filter_errors(&self) -> [f64; 2] {
        [self.activity.useful, self.activity.zero].map(|(all, wrong)| share(wrong, all))
    }

    /// Of the prefetches, those that found the PRT full.
    pub fn full_rate(&self) -> f64 {
        share(self.activity.prefetches.1, self.activity.prefetches.0)
    }
}

/// A part of a whole; 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The configuration of a scheme.
///
/// # Errors
/// A setting is illegal.
pub fn configuration(base: &Settings, scheme: &Scheme) -> Result<Config, ConfigError> {
    let mut settings = base.clone();
    for set in &scheme.sets {
        settings.set(set)?;
    }
    settings.resolve()
}

/// One run to the end of all warps.
///
/// # Errors
/// A setting is illegal.
pub fn run(base: &Settings, scheme: &Scheme, load: Load) -> Result<Row, ConfigError> {
    let c = configuration(base, scheme)?;
    let stream = Stream::new(load.shape, load.warps, load.demands / load.warps as u64, load.seed).gap(load.gap);
    Ok(run_stream(&c, scheme, load, stream))
}

/// One run of any stream; `load` says the rest.
pub fn run_stream(c: &Config, scheme: &Scheme, load: Load, stream: Stream) -> Row {
    let tenth = load.latency / 10;
    let profile = Profile {
        latency: Latency { least: (load.latency - tenth).max(1), most: load.latency + tenth, reorder: true },
        idle: if scheme.registers { c.sc_prt_entries.into() } else { 0 },
        ..Profile::ideal(c)
    };
    let mut bench = Bench::new(c, profile, stream, load.seed).unjudged();
    bench.model = SnakeCharmer::new(c).disturbed(load.astray);
    bench.environment.enable(scheme.prefetch);
    // A run that does not come to an end is a fault of the model; the limit is far beyond any.
    bench.run(load.demands * u64::from(load.latency + 100) * 2);
    assert!(bench.fault().is_none() && bench.environment.warps_finished(), "{}: {:?}", scheme.name, bench.fault());
    Row {
        scheme: scheme.name,
        load,
        activity: *bench.environment.activity(),
        cycles: bench.environment.activity().finished_at,
        counters: *bench.model.counters(),
        occupancy: bench.model.prt().occupancy(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, shape: Shape, astray: u64) -> Row {
        let base = Settings::preset("paper").unwrap();
        let scheme = schemes().into_iter().find(|s| s.name == name).unwrap();
        run(&base, &scheme, Load { shape, warps: 8, demands: 1_600, latency: 200, seed: 1, astray, gap: 20 }).unwrap()
    }

    #[test]
    fn without_prefetches_everything_misses() {
        let none = row("none", Shape::Intra, 0);
        assert_eq!((none.counter("issued"), none.counter("candidates") > 0), (0, true));
        assert_eq!(none.activity.missed, none.activity.demanded);
    }

    #[test]
    fn prefetches_help_a_strided_loop() {
        let (none, all) = (row("none", Shape::Intra, 0), row("all", Shape::Intra, 0));
        assert!(all.cycles < none.cycles * 3 / 4, "{} of {}", all.cycles, none.cycles);
        assert!(all.coverage() > 0.5 && all.used() > 0.8, "{} {}", all.coverage(), all.used());
    }

    #[test]
    fn wrong_prefetches_are_never_used() {
        let (right, wrong) = (row("all", Shape::Intra, 0), row("all", Shape::Intra, 200));
        assert!(wrong.used() < right.used() - 0.1, "{} {}", wrong.used(), right.used());
    }
}
