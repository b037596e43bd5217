//! `static`, `bound`, `curve`, `spacing`: the model at fixed phases.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use l1forge_sim::pascal::plot::{Chart, Series};
use l1forge_sim::pascal::simulate::min_steady;
use l1forge_sim::pascal::{Allocation, Check, Fraction, InputError, Pattern, Scan, StaticModel, check_capacity, check_rounds, to_f64};
use serde_json::{Value, json};

use super::input::{ScanArgs, line, shown, shown_list};
use super::{Outcome, Report};

/// Arguments of `static`.
#[derive(Debug, Args)]
pub struct StaticArgs {
    #[command(flatten)]
    scan: ScanArgs,
    /// Capacity C of the cache in blocks; N and more are legal
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    capacity: u64,
    /// Also the totals over the first R rounds from an empty cache
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    rounds: Option<u64>,
    /// Ways of the set-associative baseline, at most its lines
    #[arg(long, value_name = "A", default_value_t = 8, allow_negative_numbers = true)]
    ways: u64,
    /// Lines per block of the set-associative baseline
    #[arg(long, value_name = "L", default_value_t = 1, allow_negative_numbers = true)]
    lines_per_block: u64,
    /// Check the closed forms against simulators over R rounds (2 N + 3 without --rounds); a difference is exit code 1
    #[arg(long)]
    verify: bool,
}

impl StaticArgs {
    pub(super) fn report(&self) -> Result<Report, InputError> {
        let capacity = check_capacity(self.capacity)?;
        let model = StaticModel::new(self.scan.scan()?);
        let answer = model.query(capacity)?;
        let (exact, normal) = model.sdcm(capacity, self.ways, self.lines_per_block)?;
        let scan = model.scan();
        let (water, bracket) = (&answer.waterline, &answer.bracket);
        let che = to_f64(&answer.che);
        let mut document = json!({
            "workers": scan.workers(),
            "blocks": scan.blocks(),
            "capacity": capacity,
            "phases": scan.phases(),
            "distinct": scan.distinct(),
            "gaps": model.gaps().in_ring_order(),
            "clusters": answer.clusters,
            "theta": water.theta.to_string(),
            "theta_float": to_f64(&water.theta),
            "t_star": water.t_star,
            "k_ttl": water.misses_per_round,
            "lru": {
                "lo": bracket.lo,
                "hi": bracket.hi,
                "exact": answer.lru,
                "rd": model.profile().distances(),
                "applies": bracket.applies,
                "lo_at_least_one": bracket.lo_at_least_one(),
                "hi_any_capacity": bracket.hi_any,
                "collapsed": bracket.collapsed(),
            },
            "policy": policy_json(&answer.policy_bypass, &answer.policy_forced),
            "che": che,
            "che_exact": answer.che.to_string(),
            "sdcm_fa": answer.lru,
            "sdcm": {"ways": self.ways, "lines_per_block": self.lines_per_block, "exact": exact, "normal": normal},
        });

        let mut text = String::new();
        line(&mut text, "ring", format!("N = {} blocks, M = {} workers, C = {capacity} blocks", scan.blocks(), scan.workers()));
        line(&mut text, "gaps", shown_list(model.gaps().in_ring_order()));
        line(&mut text, "distinct phases, clusters", format!("{}, {}", scan.distinct(), answer.clusters));
        line(&mut text, "waterline theta, T*", format!("{}, {} rounds", shown(&water.theta), water.t_star));
        line(&mut text, "K, slotted TTL", water.misses_per_round);
        let scope = if bracket.applies { "" } else { ", outside Theorem 3: upper end does not hold" };
        line(&mut text, "K, LRU", format!("{}, bracket [{}, {}]{scope}", answer.lru, bracket.lo, bracket.hi));
        line(&mut text, "LRU reuse distances", shown_list(model.profile().distances()));
        line(&mut text, "K, every policy", format!("at least {}", shown(&answer.policy_bypass)));
        line(&mut text, "K, every forced policy", format!("at least {}", shown(&answer.policy_forced)));
        line(&mut text, "K, Che-IRM", shown(&answer.che));
        line(&mut text, "K, SDCM fully associative", answer.lru);
        line(&mut text, "K, SDCM set-associative", format!("exact {exact:.6}, normal {normal:.6}, {} ways", self.ways));

        if let Some(rounds) = self.rounds {
            let cold = model.cold(capacity, check_rounds(rounds)?)?;
            document["rounds"] = json!(rounds);
            document["cold_ttl_fills"] = json!(cold.ttl);
            document["cold_lru_misses"] = json!(cold.lru);
            document["cold_policy"] = policy_json(&cold.policy_bypass, &cold.policy_forced);
            line(&mut text, &format!("first {rounds} rounds, TTL"), format!("{} fills", cold.ttl));
            line(&mut text, &format!("first {rounds} rounds, LRU"), format!("{} misses", cold.lru));
            let least = shown(&cold.policy_bypass);
            line(&mut text, &format!("first {rounds} rounds, policies"), format!("at least {least} misses"));
        }
        let mut outcome = Outcome::Success;
        if self.verify {
            let rounds = self.rounds.unwrap_or(2 * scan.blocks() + 3);
            let checks = model.verify(capacity, simulated_rounds(rounds, scan)?)?;
            document["checks"] = checks.iter().map(check_json).collect();
            for check in &checks {
                let verdict = if check.holds { "ok" } else { "WRONG" };
                let value = format!("{} simulated, {} by the model: {verdict}", check.simulated, check.expected);
                line(&mut text, check.name, value);
            }
            if checks.iter().any(|check| !check.holds) {
                outcome = Outcome::CheckFailed;
            }
        }
        Ok(Report { outcome, ..Report::new(document, text) })
    }
}

/// Arguments of `bound`.
#[derive(Debug, Args)]
pub struct BoundArgs {
    #[command(flatten)]
    scan: ScanArgs,
    /// Capacity C of the cache in blocks
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    capacity: u64,
    /// Also simulate Belady's optimum until its state repeats, for at most so many rounds
    #[arg(long, value_name = "ROUNDS", num_args = 0..=1, default_missing_value = "100000", allow_negative_numbers = true)]
    min: Option<u64>,
}

impl BoundArgs {
    pub(super) fn report(&self) -> Result<Report, InputError> {
        let capacity = check_capacity(self.capacity)?;
        let model = StaticModel::new(self.scan.scan()?);
        let answer = model.query(capacity)?;
        let intervals = model.bound().intervals();
        let shares = model.bound().retained(capacity, Allocation::Bypass);
        let mut document = json!({
            "workers": model.scan().workers(),
            "blocks": model.scan().blocks(),
            "capacity": capacity,
            "policy": policy_json(&answer.policy_bypass, &answer.policy_forced),
            "intervals": intervals.iter().map(Fraction::to_string).collect::<Vec<_>>(),
            "retained": shares.iter().map(Fraction::to_string).collect::<Vec<_>>(),
        });
        let mut text = String::new();
        line(&mut text, "K, every policy", format!("at least {}", shown(&answer.policy_bypass)));
        line(&mut text, "K, every forced policy", format!("at least {}", shown(&answer.policy_forced)));
        line(&mut text, "K, LRU", answer.lru);
        line(&mut text, "K, slotted TTL", answer.waterline.misses_per_round);
        for (w, (interval, share)) in intervals.iter().zip(&shares).enumerate().take(16) {
            line(&mut text, &format!("worker {w}"), format!("{interval} rounds between requests, retained {share}"));
        }
        if intervals.len() > 16 {
            line(&mut text, "...", format!("{} workers in all", intervals.len()));
        }
        let mut outcome = Outcome::Success;
        if let Some(limit) = self.min {
            let limit = simulated_rounds(limit, model.scan())?;
            let mut found = serde_json::Map::new();
            let both = [("bypass", Allocation::Bypass, answer.policy_bypass), ("forced", Allocation::Forced, answer.policy_forced)];
            for (name, allocation, bound) in both {
                let steady = min_steady(model.scan(), capacity, allocation, limit)?;
                let shown_min = match steady {
                    Some(steady) => {
                        let rate = steady.misses_per_round;
                        found.insert(name.to_string(), json!(rate.to_string()));
                        found.insert(format!("{name}_float"), json!(to_f64(&rate)));
                        found.insert(format!("{name}_period"), json!(steady.period_rounds));
                        if rate < bound {
                            outcome = Outcome::CheckFailed;
                        }
                        format!("{}, period {} rounds", shown(&rate), steady.period_rounds)
                    }
                    None => {
                        found.insert(name.to_string(), Value::Null);
                        format!("no cycle within {limit} rounds")
                    }
                };
                line(&mut text, &format!("K, Belady, {name}"), shown_min);
            }
            document["min"] = Value::Object(found);
        }
        Ok(Report { outcome, ..Report::new(document, text) })
    }
}

/// Arguments of `curve`.
#[derive(Debug, Args)]
pub struct CurveArgs {
    #[command(flatten)]
    scan: ScanArgs,
    /// Smallest capacity in blocks
    #[arg(long, value_name = "C", default_value_t = 1, allow_negative_numbers = true)]
    from: u64,
    /// Largest capacity in blocks; N without it
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    to: Option<u64>,
    /// Blocks between two capacities; about 64 points without it
    #[arg(long, value_name = "BLOCKS", allow_negative_numbers = true)]
    step: Option<u64>,
    /// Ways of the set-associative baseline
    #[arg(long, value_name = "A", default_value_t = 8, allow_negative_numbers = true)]
    ways: u64,
    /// Draw the curve
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
}

impl CurveArgs {
    pub(super) fn report(&self) -> Result<Report, InputError> {
        let model = StaticModel::new(self.scan.scan()?);
        let n = model.scan().blocks();
        let from = check_capacity(self.from).map_err(|e| InputError::new("from", e.message()))?;
        let to = check_capacity(self.to.unwrap_or(n)).map_err(|e| InputError::new("to", e.message()))?;
        if to < from {
            return Err(InputError::new("to", format!("{to} is below the smallest capacity, {from}")));
        }
        let step = self.step.unwrap_or_else(|| ((to - from) / 64).max(1));
        if step == 0 || (to - from) / step > 1 << 20 {
            return Err(InputError::new("step", format!("{step} makes no curve of at most {} points", 1 << 20)));
        }
        let mut capacities: Vec<u64> = (from..=to).step_by(usize::try_from(step).unwrap_or(usize::MAX)).collect();
        if capacities.last() != Some(&to) {
            capacities.push(to);
        }

        let mut text = format!(
            "{:>10} {:>12} {:>6} {:>6} {:>12} {:>12} {:>10} {:>10}\n",
            "C", "theta", "TTL", "LRU", "any policy", "forced", "SDCM", "Che"
        );
        let mut points = Vec::with_capacity(capacities.len());
        let mut drawn: [Vec<(f64, f64)>; 3] = Default::default();
        for &capacity in &capacities {
            let answer = model.query(capacity)?;
            let (sdcm, _) = model.sdcm(capacity, self.ways, 1)?;
            let (theta, bypass) = (to_f64(&answer.waterline.theta), to_f64(&answer.policy_bypass));
            let (forced, che) = (to_f64(&answer.policy_forced), to_f64(&answer.che));
            for (series, y) in drawn.iter_mut().zip([bypass, sdcm, che]) {
                series.push((capacity as f64, y));
            }
            writeln!(
                text,
                "{capacity:>10} {theta:>12.4} {:>6} {:>6} {bypass:>12.4} {forced:>12.4} {sdcm:>10.4} {che:>10.4}",
                answer.waterline.misses_per_round, answer.lru
            )
            .expect("writing to a text cannot fail");
            points.push(json!({
                "capacity": capacity,
                "theta": answer.waterline.theta.to_string(),
                "k_ttl": answer.waterline.misses_per_round,
                "lru": {"lo": answer.bracket.lo, "hi": answer.bracket.hi, "exact": answer.lru},
                "policy": policy_json(&answer.policy_bypass, &answer.policy_forced),
                "che": che,
                "sdcm": sdcm,
            }));
        }
        let steps = |steps: Vec<l1forge_sim::pascal::Step>| -> Vec<Value> {
            steps.iter().map(|step| json!({"capacity": step.capacity, "k": step.misses_per_round})).collect()
        };
        let document = json!({
            "workers": model.scan().workers(),
            "blocks": n,
            "ttl_steps": steps(model.gaps().capacity_steps()),
            "lru_steps": steps(model.profile().capacity_steps()),
            "points": points,
        });
        let mut report = Report::new(document, text);
        if let Some(path) = &self.svg {
            let within = |steps: Vec<l1forge_sim::pascal::Step>| -> Vec<(f64, f64)> {
                // The exact corners inside the range, and its two ends.
                let value = |c: u64| l1forge_sim::pascal::at_capacity(&steps, c) as f64;
                let inside = steps.iter().map(|s| s.capacity).filter(|c| *c > from && *c < to);
                [from].into_iter().chain(inside).chain([to]).map(|c| (c as f64, value(c))).collect()
            };
            let [bypass, sdcm, che] = drawn;
            let chart = Chart {
                title: format!("Fills per round over capacity, N = {n}, M = {}", model.scan().workers()),
                x_label: "capacity C (blocks)".to_string(),
                y_label: "fills per round K".to_string(),
                log_x: false,
                log_y: false,
                series: vec![
                    Series::steps("gap law (TTL)", &within(model.gaps().capacity_steps())),
                    Series::steps("LRU, exact", &within(model.profile().capacity_steps())),
                    Series::line("bound for every policy", bypass),
                    Series::line(format!("SDCM, {} ways", self.ways), sdcm),
                    Series::line("Che-IRM", che),
                ],
            };
            report.files.push((path.clone(), chart.to_svg()?));
        }
        Ok(report)
    }
}

/// Arguments of `spacing`.
#[derive(Debug, Args)]
pub struct SpacingArgs {
    /// Workers M
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    workers: usize,
    /// Blocks N of the ring
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    blocks: u64,
    /// Capacity C of the cache in blocks
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    capacity: u64,
    /// Smallest spacing of two neighbours in blocks
    #[arg(long, value_name = "G", default_value_t = 0, allow_negative_numbers = true)]
    from: u64,
    /// Largest spacing in blocks; N / M without it
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    to: Option<u64>,
    /// Draw K over the spacing
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
}

impl SpacingArgs {
    pub(super) fn report(&self) -> Result<Report, InputError> {
        let capacity = check_capacity(self.capacity)?;
        let to = self.to.unwrap_or(self.blocks / (self.workers as u64).max(1));
        if to < self.from || to - self.from > 1 << 16 {
            let message = format!("{to} makes no range of at most {} spacings from {}", 1 << 16, self.from);
            return Err(InputError::new("to", message));
        }
        let mut text = format!(
            "{:>8} {:>12} {:>6} {:>16} {:>16} {:>12}\n",
            "spacing", "theta", "TTL", "LRU, last leads", "LRU, first leads", "any policy"
        );
        let mut points = Vec::new();
        let mut drawn: [Vec<(f64, f64)>; 4] = Default::default();
        for spacing in self.from..=to {
            let last = StaticModel::new(Pattern::Spaced(spacing).place(self.blocks, self.workers, 0)?);
            let first = StaticModel::new(Pattern::SpacedReversed(spacing).place(self.blocks, self.workers, 0)?);
            let answer = last.query(capacity)?;
            let reversed = first.query(capacity)?.lru;
            let bypass = to_f64(&answer.policy_bypass);
            let row = [answer.waterline.misses_per_round as f64, answer.lru as f64, reversed as f64, bypass];
            for (series, y) in drawn.iter_mut().zip(row) {
                series.push((spacing as f64, y));
            }
            writeln!(
                text,
                "{spacing:>8} {:>12.4} {:>6} {:>16} {reversed:>16} {bypass:>12.4}",
                to_f64(&answer.waterline.theta),
                answer.waterline.misses_per_round,
                answer.lru
            )
            .expect("writing to a text cannot fail");
            points.push(json!({
                "spacing": spacing,
                "theta": answer.waterline.theta.to_string(),
                "k_ttl": answer.waterline.misses_per_round,
                "lru_last_leads": answer.lru,
                "lru_first_leads": reversed,
                "policy": policy_json(&answer.policy_bypass, &answer.policy_forced),
            }));
        }
        let document = json!({
            "workers": self.workers, "blocks": self.blocks, "capacity": capacity, "points": points,
        });
        let mut report = Report::new(document, text);
        if let Some(path) = &self.svg {
            let [by_gap_law, lru_last, lru_first, bypass] = drawn;
            let chart = Chart {
                title: format!("Fills per round over the spacing of neighbours, N = {}, M = {}, C = {capacity}", self.blocks, self.workers),
                x_label: "spacing of neighbouring workers (blocks)".to_string(),
                y_label: "fills per round K".to_string(),
                log_x: false,
                log_y: false,
                series: vec![
                    Series::line("gap law (TTL)", by_gap_law),
                    Series::line("LRU, the last worker leads", lru_last),
                    Series::line("LRU, the first worker leads", lru_first),
                    Series::line("bound for every policy", bypass),
                ],
            };
            report.files.push((path.clone(), chart.to_svg()?));
        }
        Ok(report)
    }
}

/// Rounds that a simulator is asked for: at most 2^33 requests.
fn simulated_rounds(rounds: u64, scan: &Scan) -> Result<u64, InputError> {
    let limit = (1 << 33) / scan.workers() as u64;
    if rounds == 0 || rounds > limit {
        return Err(InputError::new("rounds", format!("{rounds} cannot be simulated, legal values are 1 to {limit}")));
    }
    Ok(rounds)
}

fn policy_json(bypass: &Fraction, forced: &Fraction) -> Value {
    json!({
        "bypass": bypass.to_string(),
        "bypass_float": to_f64(bypass),
        "forced": forced.to_string(),
        "forced_float": to_f64(forced),
    })
}

fn check_json(check: &Check) -> Value {
    json!({"name": check.name, "expected": check.expected, "simulated": check.simulated, "holds": check.holds})
}
