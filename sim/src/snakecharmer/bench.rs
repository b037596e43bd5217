//! Model, environment and oracle together.

use super::environment::{Environment, Profile};
use super::oracle::Oracle;
use super::streams::Stream;
use super::top::{Inputs, Outputs, SnakeCharmer};
use l1forge_config::Config;

/// A simulation of the model alone.
pub struct Bench {
    /// The model.
    pub model: SnakeCharmer,
    /// What surrounds it.
    pub environment: Environment,
    /// What judges it; studies run without.
    pub oracle: Option<Oracle>,
    /// Cycles simulated.
    pub cycle: u64,
}

impl Bench {
    /// A simulation before the first cycle.
    pub fn new(c: &Config, profile: Profile, stream: Stream, seed: u64) -> Self {
        Self {
            model: SnakeCharmer::new(c),
            environment: Environment::new(c, profile, stream, seed),
            oracle: Some(Oracle::new(c)),
            cycle: 0,
        }
    }

    /// Without a judge.
    #[must_use]
    pub fn unjudged(mut self) -> Self {
        self.oracle = None;
        self
    }

    /// One cycle. Returns what was on the ports.
    pub fn step(&mut self) -> (Inputs, Outputs) {
        let x = self.environment.drive(&self.model);
        let o = self.model.outputs(&x);
        if let Some(oracle) = &mut self.oracle {
            oracle.check(&x, &o, self.model.counters(), Some(self.environment.resident()));
        }
        self.environment.observe(&x, &o);
        self.model.step(&x);
        self.environment.note(&self.model);
        if let (Some(oracle), Some(decision)) = (&mut self.oracle, self.model.decision()) {
            oracle.decide(decision, x.enable);
        }
        self.cycle += 1;
        (x, o)
    }

    /// The first thing that went wrong.
    pub fn fault(&self) -> Option<&str> {
        let oracle = self.oracle.as_ref().and_then(|o| o.violations().first());
        self.environment.faults().first().or(oracle).map(String::as_str)
    }

    /// Cycles until so many are over, all warps have finished, or something is wrong.
    pub fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
            if self.fault().is_some() || self.environment.warps_finished() {
                return;
            }
        }
    }

    /// The warps stop; what is on its way ends. Returns whether it ended within `limit` cycles.
    pub fn drain(&mut self, limit: u64) -> bool {
        self.environment.stop();
        for _ in 0..limit {
            if self.environment.is_done() || self.fault().is_some() {
                break;
            }
            self.step();
        }
        self.environment.is_done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snakecharmer::streams::Shape;
    use l1forge_config::Settings;

    fn config(sets: &[&str]) -> Config {
        let mut s = Settings::preset("paper").unwrap();
        sets.iter().for_each(|set| s.set(set).unwrap_or_else(|e| panic!("{e}")));
        s.resolve().unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn random_surroundings_break_no_rule() {
        let first = std::env::var("L1FORGE_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
        for seed in first..first + 24 {
            let shape = Shape::ALL[seed as usize % Shape::ALL.len()];
            let sets: &[&str] = match seed % 4 {
                0 => &[],
                1 => &["sc_prt_entries=5", "sc_peb_entries=3", "sc_queue_depth=2", "sc_prt_age=20"],
                2 => &["frontend=apogee", "sc_prt_entries=7", "sc_prt_replace=false"],
                _ => &["frontend=external", "sc_prt_entries=4", "sc_peb_entries=4"],
            };
            let c = config(sets);
            let stream = Stream::new(shape, 6, 2_000, seed).gap(2).zeros(60);
            let mut bench = Bench::new(&c, Profile::random(&c, seed), stream, seed);
            bench.run(6_000);
            let ended = bench.drain(20_000);
            assert_eq!(bench.fault(), None, "seed {seed}: L1FORGE_SEED={seed} cargo test -p l1forge-sim random_surroundings");
            assert!(ended, "seed {seed}: not drained");
        }
    }

    #[test]
    fn rest_is_as_good_as_idle_cycles() {
        for (seed, sets) in [(1, &["sc_prt_age=40", "sc_anchor_period=64", "sc_zero_timer=50"][..]), (2, &["frontend=apogee"])] {
            let c = config(sets);
            let run = |rest: bool| {
                let stream = Stream::new(Shape::Zeros, 4, 300, seed).zeros(200);
                let mut bench = Bench::new(&c, Profile::ideal(&c), stream, seed).unjudged();
                let (mut seen, mut rests) = (Vec::new(), 0);
                for cycle in 0..12_000_u64 {
                    seen.push(bench.step().1);
                    // Time stands still around the design now and then.
                    if cycle % 7 == 0 && bench.model.is_resting() {
                        let cycles = cycle * 31 % 230;
                        rests += 1;
                        if rest {
                            bench.model.rest(cycles);
                        } else {
                            let x = Inputs { enable: true, idle: c.sc_prt_entries.into(), ..Inputs::default() };
                            (0..cycles).for_each(|_| bench.model.step(&x));
                        }
                    }
                }
                assert!(rests > 20, "{rests}");
                (seen, *bench.model.counters())
            };
            assert!(run(true) == run(false), "seed {seed}");
        }
    }
}
