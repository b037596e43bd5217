//! What the PASCAL tests share: the case lists, a tally of checks, and naive policies written from their definitions.
#![allow(dead_code, reason = "each test program uses its own part")]

use std::collections::BTreeMap;
use std::fmt::Display;

use l1forge_sim::pascal::{Pattern, Scan};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Property tests of an integration test: `cases` cases, failures kept beside the source file.
pub fn proptest_config(cases: u32) -> proptest::test_runner::Config {
    use proptest::test_runner::{Config, FileFailurePersistence};
    let kept = FileFailurePersistence::WithSource("proptest-regressions");
    Config { cases, failure_persistence: Some(Box::new(kept)), ..Config::default() }
}

/// A scan with a capacity.
#[derive(Debug, Clone)]
pub struct Case {
    pub scan: Scan,
    pub capacity: u64,
}

impl Case {
    pub fn new(blocks: u64, phases: &[u64], capacity: u64) -> Self {
        Self { scan: Scan::new(blocks, phases.to_vec()).expect("a legal case"), capacity }
    }

    /// The trace of the first `rounds` rounds, from the definition of the schedule.
    pub fn trace(&self, rounds: u64) -> Vec<u64> {
        let phases = self.scan.phases();
        (0..rounds).flat_map(|k| phases.iter().map(move |s| (s + k) % self.scan.blocks())).collect()
    }
}

/// All ordered phase vectors with N = 2..=6, M = 1..=3, and every capacity below N: 2254 cases.
pub fn small_cases() -> impl Iterator<Item = Case> {
    (2..=6u64).flat_map(|n| {
        (1..=3u32).flat_map(move |m| {
            (0..n.pow(m)).flat_map(move |code| {
                let phases: Vec<u64> = (0..m).map(|w| code / n.pow(w) % n).collect();
                (1..n).map(move |capacity| Case::new(n, &phases, capacity))
            })
        })
    })
}

/// `count` larger cases: N 7 to 48, M 1 to 12, phases uniform, clustered, equally spaced or wrapped Gaussian.
pub fn larger_cases(seed: u64, count: usize) -> Vec<Case> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    std::iter::repeat_with(|| {
        let blocks = random.random_range(7..=48u64);
        let workers = random.random_range(1..=12usize);
        let pattern = match random.random_range(0..4) {
            0 => Pattern::Uniform,
            1 => Pattern::Clusters(random.random_range(1..=workers as u64)),
            2 => Pattern::Spaced(random.random_range(1..=blocks)),
            _ => Pattern::WrappedGaussian(random.random_range(0.5..blocks as f64 / 3.0)),
        };
        let placed = pattern.place(blocks, workers, random.random()).expect("a legal pattern");
        // The fixed patterns place workers in ring order; the order of the workers matters to LRU.
        let mut phases = placed.phases().to_vec();
        for i in (1..phases.len()).rev() {
            phases.swap(i, random.random_range(0..=i));
        }
        Case::new(blocks, &phases, random.random_range(1..blocks))
    })
    .take(count)
    .collect()
}

/// Counts checks and violations by name; prints them and fails at the end if there was a violation.
#[derive(Default)]
pub struct Tally {
    rows: BTreeMap<&'static str, (u64, u64)>,
    first: Vec<String>,
}

impl Tally {
    pub fn check(&mut self, name: &'static str, holds: bool, context: impl FnOnce() -> String) {
        let row = self.rows.entry(name).or_default();
        row.0 += 1;
        if !holds {
            row.1 += 1;
            if self.first.len() < 10 {
                self.first.push(format!("{name}: {}", context()));
            }
        }
    }

    /// Something that is counted, and is no check.
    pub fn count(&mut self, name: &'static str) {
        self.rows.entry(name).or_default().0 += 1;
    }

    pub fn counted(&self, name: &str) -> u64 {
        self.rows.get(name).map_or(0, |row| row.0)
    }

    pub fn finish(self, title: impl Display) {
        println!("{title}");
        for (name, (checks, violations)) in &self.rows {
            println!("  {name:<72} {checks:>9} checks {violations:>4} violations");
        }
        assert!(self.first.is_empty(), "{title}: violations\n{}", self.first.join("\n"));
    }
}

/// For each access, the position of its block in a Mattson stack, or `None` on the first access.
pub fn mattson(trace: &[u64]) -> Vec<Option<u64>> {
    let mut stack: Vec<u64> = Vec::new();
    trace
        .iter()
        .map(|&block| {
            let found = stack.iter().position(|&b| b == block);
            if let Some(i) = found {
                stack.remove(i);
            }
            stack.insert(0, block);
            found.map(|i| i as u64)
        })
        .collect()
}

/// Cumulative misses after each round of a first-in first-out cache.
pub fn fifo(trace: &[u64], capacity: u64) -> u64 {
    let mut queue = std::collections::VecDeque::new();
    let mut misses = 0;
    for &block in trace {
        if !queue.contains(&block) {
            misses += 1;
            if queue.len() as u64 == capacity {
                queue.pop_front();
            }
            queue.push_back(block);
        }
    }
    misses
}

/// Misses of a cache that evicts at random and, if it may, refuses to install one block in four.
pub fn random_policy(trace: &[u64], capacity: u64, bypass: bool, seed: u64) -> u64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut cache: Vec<u64> = Vec::new();
    let mut misses = 0;
    for &block in trace {
        if cache.contains(&block) {
            continue;
        }
        misses += 1;
        if bypass && random.random_range(0..4) == 0 {
            continue;
        }
        if cache.len() as u64 == capacity {
            let victim = random.random_range(0..cache.len());
            cache.swap_remove(victim);
        }
        cache.push(block);
    }
    misses
}

/// The least misses of any demand-paging policy, at the end of every round: dynamic programming over all resident sets.
pub fn exhaustive_optimum(case: &Case, bypass: bool, rounds: u64) -> Vec<u32> {
    const IMPOSSIBLE: u32 = u32::MAX;
    let n = case.scan.blocks() as usize;
    let mut least = vec![IMPOSSIBLE; 1 << n];
    least[0] = 0;
    let workers = case.scan.workers();
    let mut result = Vec::new();
    for (i, block) in case.trace(rounds).into_iter().enumerate() {
        let bit = 1usize << block;
        let mut next = vec![IMPOSSIBLE; 1 << n];
        for (set, &misses) in least.iter().enumerate().filter(|(_, misses)| **misses != IMPOSSIBLE) {
            let mut reach = |set: usize, misses: u32| next[set] = next[set].min(misses);
            if set & bit != 0 {
                reach(set, misses);
                continue;
            }
            if bypass {
                reach(set, misses + 1);
            }
            if u64::from(set.count_ones()) < case.capacity {
                reach(set | bit, misses + 1);
            } else {
                for victim in (0..n).filter(|v| set >> v & 1 == 1) {
                    reach(set & !(1 << victim) | bit, misses + 1);
                }
            }
        }
        least = next;
        if (i + 1) % workers == 0 {
            result.push(*least.iter().min().expect("there are sets"));
        }
    }
    result
}
