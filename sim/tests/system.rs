//! The memory path: balances, determinism, latencies by hand, and what every scheme must do.

use l1forge_config::{Config, Settings};
use l1forge_sim::c2p::C2pCache;
use l1forge_sim::system::prefetch::{self, Action, Fill, Snake, View};
use l1forge_sim::system::scan::Serial;
use l1forge_sim::system::scheme::{C2p, NoSharing, PerfectKnowledge};
use l1forge_sim::system::{
    L1s, NextLine, NoPrefetch, Observation, PrefetchCounts, Prefetcher, Scheme, Sharing, SystemError, SystemParameters, Traffic, Verdict,
    run, run_with,
};
use l1forge_sim::trace::Events;
use l1forge_sim::workload::{Workload, WorkloadParameters};

fn config(settings: &[&str]) -> Config {
    let mut s = Settings::default();
    settings.iter().for_each(|a| s.set(a).unwrap());
    s.resolve().unwrap()
}

fn events(workload: Workload, sms: u32, scale: f64, seed: u64) -> Events {
    Box::new(workload.events(WorkloadParameters { sms, scale, seed, ..WorkloadParameters::default() }).unwrap())
}

fn traffic(workload: Workload, scheme: Scheme, c: &Config) -> Traffic {
    run(events(workload, c.sms, 0.2, 1), c, &SystemParameters::default(), scheme, |_| {})
        .unwrap_or_else(|e| panic!("{workload} with {scheme}: {e}"))
}

/// Every run checks its balances itself.
#[test]
fn every_workload_balances_with_every_scheme() {
    let c = config(&["sms=8", "l1_bytes=8192"]);
    for workload in Workload::ALL {
        let base = traffic(workload, Scheme::None, &c);
        assert_eq!((base.measures.remote_hits, base.measures.probes), (0, 0));
        for scheme in Scheme::ALL {
            let t = traffic(workload, scheme, &c);
            let m = &t.measures;
            // Timing changes what hits, never what is asked for.
            assert_eq!((m.accesses, m.stores, m.atomics), (base.measures.accesses, base.measures.stores, base.measures.atomics));
            assert_eq!((t.instructions, t.kernels), (base.instructions, base.kernels));
            assert!(m.accesses > 0 && t.ipc() > 0.0);
            if scheme == Scheme::Oracle {
                assert_eq!((m.candidates.fp, m.candidates.fn_, m.remote_hits), (0, 0, m.perfect_hits), "{workload}");
            }
            if matches!(scheme, Scheme::Ata | Scheme::Ring) {
                assert!(m.remote_hits <= m.l1_misses && m.candidates.tp + m.candidates.fp >= m.remote_hits);
            }
        }
    }
}

#[test]
fn sharing_saves_l2_accesses_where_lines_are_shared() {
    let c = config(&["sms=8"]);
    for scheme in [Scheme::C2p, Scheme::Oracle, Scheme::Ata, Scheme::Ccd, Scheme::Ring] {
        let (base, t) = (traffic(Workload::CyclicScan, Scheme::None, &c), traffic(Workload::CyclicScan, scheme, &c));
        assert!(t.measures.l2_accesses() * 10 < base.measures.l2_accesses() * 9, "{scheme}: {:?}", t.measures);
        let none = traffic(Workload::VectorAdd, scheme, &c);
        assert_eq!(none.measures.remote_hits, 0, "{scheme}: no line of vector_add is shared");
    }
}

/// A block is driven through its ports, the model by sets: the same traffic, cycle by cycle.
#[test]
fn the_model_behind_its_ports_is_the_model() {
    let c = config(&["sms=8", "l1_bytes=8192", "refresh_period=512"]);
    let p = SystemParameters::default();
    for workload in [Workload::GraphWalk, Workload::Mm2, Workload::Histogram] {
        let direct = run(events(workload, 8, 0.2, 1), &c, &p, Scheme::C2p, |_| {}).unwrap();
        let sharing = Box::new(C2p::with_block(&c, &p, Box::new(C2pCache::new(&c))));
        let prefetchers = (0..8).map(|_| Box::new(NoPrefetch) as Box<dyn Prefetcher>).collect();
        let behind = run_with(events(workload, 8, 0.2, 1), &c, &p, sharing, prefetchers, |_| {}).unwrap();
        assert_eq!(behind, direct, "{workload}");
        assert!(direct.scheme_counters.iter().any(|counter| counter.0 == "rebuilds" && counter.1 > 0), "{workload}");
    }
}

#[test]
fn twice_the_same() {
    let c = config(&["sms=6"]);
    for scheme in Scheme::ALL {
        assert_eq!(traffic(Workload::GraphWalk, scheme, &c), traffic(Workload::GraphWalk, scheme, &c));
    }
}

/// Cycles of one load, from the mean over the loads so far.
fn latency(serial_loads: &[(usize, u64)], c: &Config, p: &SystemParameters, scheme: Scheme) -> u64 {
    let sum = |loads: &[(usize, u64)]| {
        let mut serial = Serial::new(c, p, 64, scheme.build(c, p)).unwrap();
        loads.iter().for_each(|(sm, block)| assert!(serial.load(*sm, *block).unwrap() <= 1));
        serial.finish().unwrap().0.latency_sum
    };
    sum(serial_loads) - sum(&serial_loads[..serial_loads.len() - 1])
}

#[test]
fn latencies_are_the_sum_of_the_parts() {
    let c = config(&["sms=4", "l2_latency=200", "refresh_period=65535"]);
    let p = SystemParameters::default();
    // L2 miss, L2 hit, and the same with the interconnect slower or DRAM faster.
    assert_eq!(latency(&[(0, 5)], &c, &p, Scheme::None), 200 + 220);
    assert_eq!(latency(&[(0, 5), (1, 5)], &c, &p, Scheme::None), 200);
    let p = SystemParameters { network_latency: 100, dram_latency: 7, ..p };
    assert_eq!(latency(&[(0, 5)], &c, &p, Scheme::None), 207);
    // Oracle: engine 2, lookup 2, remote tags 7, return 2.
    assert_eq!(latency(&[(0, 5), (1, 5)], &c, &p, Scheme::Oracle), 13);
    // The C2P-Cache waits a few cycles more between its stages, and an L2 miss pays for the lookup.
    // The loads between give the notice of the line the time to reach the matrix.
    let remote = latency(&[(0, 5), (0, 6), (0, 7), (1, 5)], &c, &p, Scheme::C2p);
    assert!((13..=24).contains(&remote), "{remote}");
    let miss = latency(&[(0, 5), (0, 6), (0, 7)], &c, &p, Scheme::C2p);
    assert!((207 + 4..=207 + 12).contains(&miss), "{miss}");
}

#[test]
fn prefetches_are_all_accounted_for() {
    let c = config(&["sms=4", "l1_bytes=4096"]);
    for workload in [Workload::VectorAdd, Workload::Gemm, Workload::GraphWalk, Workload::Contend, Workload::CyclicScan] {
        let prefetchers = (0..4).map(|_| Box::new(NextLine::default()) as Box<dyn Prefetcher>).collect();
        let t = run_with(events(workload, 4, 0.2, 1), &c, &SystemParameters::default(), Box::new(NoSharing), prefetchers, |_| {}).unwrap();
        let p = t.measures.prefetch;
        assert!(p.issued > 0 && p.on_time + p.late > 0, "{workload}: {p:?}");
    }
}

/// A run with a prefetching scheme; `sets` are hardware settings.
fn prefetched(workload: Workload, name: &str, sharing: Scheme, sets: &[&str], p: &SystemParameters) -> Traffic {
    let scheme = prefetch::by_name(name).unwrap();
    let sets: Vec<&str> = sets.iter().chain(&scheme.sets).copied().collect();
    let c = config(&sets);
    let prefetchers = prefetch::build(&scheme, &c, p);
    run_with(events(workload, c.sms, 0.2, 1), &c, p, sharing.build(&c, p), prefetchers, |_| {})
        .unwrap_or_else(|e| panic!("{workload} with {name} and {sharing}: {e}"))
}

/// Every run checks the balances of the design and of the system, and that they agree.
#[test]
fn every_prefetcher_balances_everywhere() {
    let p = SystemParameters { zero_percent: 30, ..SystemParameters::default() };
    let sets = ["sms=4", "l1_bytes=8192", "sc_peb_entries=8"];
    for workload in Workload::ALL {
        let base = prefetched(workload, "none", Scheme::None, &sets, &p);
        assert!(base.prefetch_counters.is_empty() && base.measures.prefetch == PrefetchCounts::default());
        for name in ["snake", "snakecharmer", "apogee", "apogee-sc"] {
            let t = prefetched(workload, name, Scheme::None, &sets, &p);
            let m = &t.measures;
            assert_eq!((m.accesses, m.stores, m.atomics), (base.measures.accesses, base.measures.stores, base.measures.atomics));
            if !name.contains('c') || name == "apogee" {
                assert_eq!(m.register_hits, 0, "{workload} with {name}: no register is idle");
            }
        }
    }
}

#[test]
fn prefetchers_work_with_every_sharing_scheme() {
    for workload in [Workload::Stencil2d, Workload::Contend, Workload::CyclicScan] {
        for sharing in Scheme::ALL {
            for prefetch_shared in [true, false] {
                let p = SystemParameters { prefetch_shared, ..SystemParameters::default() };
                let t = prefetched(workload, "snakecharmer", sharing, &["sms=6", "l1_bytes=8192"], &p);
                assert!(t.measures.prefetch.issued > 0, "{workload} with {sharing}");
                assert_eq!(t, prefetched(workload, "snakecharmer", sharing, &["sms=6", "l1_bytes=8192"], &p));
            }
        }
    }
}

#[test]
fn prefetches_pay_where_loads_are_regular() {
    let p = SystemParameters { resident_blocks: 1, ..SystemParameters::default() };
    let [none, snake, all] = ["none", "snake", "snakecharmer"].map(|n| prefetched(Workload::VectorAdd, n, Scheme::None, &["sms=4"], &p));
    assert!(snake.cycles < none.cycles && all.cycles < none.cycles, "{} {} {}", none.cycles, snake.cycles, all.cycles);
    assert!(all.measures.register_hits > 0 && all.measures.l1_misses < none.measures.l1_misses);
    let zeros = SystemParameters { zero_percent: 100, ..p };
    let zero = prefetched(Workload::VectorAdd, "snakecharmer", Scheme::None, &["sms=4"], &zeros);
    let suppressed = |t: &Traffic| t.prefetch_counters.iter().find(|c| c.0 == "suppressed").unwrap().1;
    assert!(suppressed(&all) == 0 && suppressed(&zero) > 100 && zero.measures.prefetch.issued < all.measures.prefetch.issued);
    assert_eq!(prefetch::by_name("snack").unwrap_err().to_string().split(", ").next(), Some("prefetch = snack: legal is one of none"));
}

/// The design, but the first use of some prefetched lines is not told to it.
struct Silent(Snake, u64);

impl Prefetcher for Silent {
    fn holds(&self, line: u64) -> bool {
        self.0.holds(line)
    }
    fn load(&mut self, load: &Observation) {
        self.0.load(load);
    }
    fn store(&mut self, line: u64) {
        self.0.store(line);
    }
    fn used(&mut self, line: u64, handle: u64, late: bool) {
        self.1 += 1;
        if self.1 != 3 {
            self.0.used(line, handle, late);
        }
    }
    fn left(&mut self, line: u64, handle: u64, void: bool) {
        self.0.left(line, handle, void);
    }
    fn fill(&mut self, fill: &Fill) {
        self.0.fill(fill);
    }
    fn step(&mut self, now: u64, view: &dyn View) -> Action {
        self.0.step(now, view)
    }
    fn is_resting(&self) -> bool {
        self.0.is_resting()
    }
    fn flush(&mut self) {
        self.0.flush();
    }
    fn counts(&self) -> PrefetchCounts {
        self.0.counts()
    }
    fn check(&self, seen: &PrefetchCounts) -> Result<(), String> {
        self.0.check(seen)
    }
}

#[test]
fn a_use_that_the_prefetcher_is_not_told_of_is_an_error() {
    let (c, p) = (config(&["sms=2"]), SystemParameters::default());
    let prefetchers = (0..2).map(|_| Box::new(Silent(Snake::new(&c, &p, true), 0)) as Box<dyn Prefetcher>).collect();
    let error = run_with(events(Workload::VectorAdd, 2, 0.5, 1), &c, &p, Box::new(NoSharing), prefetchers, |_| {}).unwrap_err();
    assert!(error.to_string().contains("broken balance of the prefetcher: "), "{error}");
}

/// A scheme that decides about a miss twice.
struct Twice(NoSharing);

impl Sharing for Twice {
    fn name(&self) -> &'static str {
        "twice"
    }
    fn step(&mut self, now: u64, l1s: &mut L1s) {
        for sm in 0..l1s.count() {
            if let Some(miss) = l1s.peek_miss(sm).filter(|_| now.is_multiple_of(1000)) {
                l1s.judge(&miss, Verdict::Pruned);
            }
        }
        self.0.step(now, l1s);
    }
    fn next(&self, now: u64) -> Option<u64> {
        Some(now + 1)
    }
}

#[test]
fn a_broken_balance_is_an_error() {
    let c = config(&["sms=4"]);
    let prefetchers = (0..4).map(|_| Box::new(NoPrefetch) as Box<dyn Prefetcher>).collect();
    let p = SystemParameters::default();
    let error = run_with(events(Workload::Contend, 4, 0.5, 1), &c, &p, Box::new(Twice(NoSharing)), prefetchers, |_| {}).unwrap_err();
    assert!(matches!(&error, SystemError::Balance(b) if b.left != b.right), "{error}");
}

#[test]
fn illegal_parameters_are_one_message() {
    let c = config(&["sms=4"]);
    let p = SystemParameters { mshrs: 0, ..SystemParameters::default() };
    let error = run(events(Workload::Gemm, 4, 0.1, 1), &c, &p, Scheme::None, |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "system.mshrs = 0: legal is 1..=64");
    assert_eq!(Scheme::by_name("c2").unwrap_err().to_string(), "scheme = c2: legal is one of none, c2p, oracle, ata, ccd, ring");
    let _ = PerfectKnowledge::new(&c);
}
