//! From records to values, findings, tables and charts.

use super::{Claim, Class, Experiment, Measure, Record};
use crate::pascal::plot::{Chart, Series};
use crate::workload::Workload;
use serde::Serialize;
use std::fmt::Write as _;

/// Claims about differences of up to this many percentage points are claims that there is none.
const FLAT: f64 = 1.0;
/// A claim that there is no difference holds up to so many percentage points, and is weaker up to twice as many.
const TOLERANCE: f64 = 2.0;

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Same direction, at least half as large.
    Reproduced,
    /// Same direction, less than half as large.
    Weaker,
    /// The other direction, or no difference at all.
    Contrary,
    /// No workload of the group was run.
    NotDecided,
}

impl Finding {
    /// The finding on a difference.
    pub fn of(paper: f64, ours: f64) -> Self {
        if paper.abs() <= FLAT {
            return match ours.abs() {
                d if d <= TOLERANCE => Self::Reproduced,
                d if d <= 2.0 * TOLERANCE => Self::Weaker,
                _ => Self::Contrary,
            };
        }
        match ours / paper {
            r if r >= 0.5 => Self::Reproduced,
            r if r > 0.0 => Self::Weaker,
            _ => Self::Contrary,
        }
    }

    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Weaker => "weaker",
            Self::Contrary => "contrary",
            Self::NotDecided => "not decided",
        }
    }
}

/// One workload at one point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Value {
    /// The workload.
    pub workload: Workload,
    /// Its group.
    pub class: Class,
    /// Change of the IPC over the baseline, in percent.
    pub ipc_percent: f64,
    /// L2 accesses, in percent of the baseline's.
    pub l2_percent: f64,
    /// Remote hits, in percent of those that perfect knowledge would have found in the same run.
    pub of_perfect_percent: f64,
    /// TP + TN, in percent of the misses.
    pub pruning_percent: f64,
    /// The counts.
    pub record: Record,
}

/// All workloads at one point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointOutcome {
    /// Label of the point.
    pub label: String,
    /// x.
    pub x: f64,
    /// What the paper gives for R1S1, in percent.
    pub paper: Option<f64>,
    /// The workloads.
    pub values: Vec<Value>,
}

impl PointOutcome {
    /// Mean over the workloads of a group; `None` when there are none.
    pub fn mean(&self, class: Class, of: impl Fn(&Value) -> f64) -> Option<f64> {
        let values: Vec<f64> = self.values.iter().filter(|v| v.class == class).map(of).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    fn measure(&self, class: Class, measure: Measure) -> Option<f64> {
        self.mean(class, |v| match measure {
            Measure::Ipc => v.ipc_percent,
            Measure::L2Saved => 100.0 - v.l2_percent,
            Measure::Pruning => v.pruning_percent,
        })
    }
}

/// A claim beside what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimOutcome {
    /// In words.
    pub text: String,
    /// The paper's difference, in percentage points.
    pub paper: f64,
    /// Ours.
    pub ours: Option<f64>,
    /// The finding.
    pub finding: Finding,
}

/// A study that has been run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Name of the experiment.
    pub name: &'static str,
    /// Redundancy and sensitivity of each workload, and its group.
    pub classes: Vec<(Workload, f64, f64, Class)>,
    /// The points.
    pub points: Vec<PointOutcome>,
    /// The claims.
    pub claims: Vec<ClaimOutcome>,
}

/// Puts the records together; those of a workload are in the order of [`Experiment::tasks`].
pub fn evaluate(experiment: &Experiment, records: &[(Workload, Vec<Record>)]) -> Outcome {
    let classes: Vec<_> = records
        .iter()
        .map(|(workload, r)| {
            let (redundancy, sensitivity) = (r[0].redundancy(), 1.0 - r[1].ipc / r[0].ipc);
            (*workload, redundancy, sensitivity, Class::of(redundancy, sensitivity))
        })
        .collect();
    let percent = |part: u64, whole: u64| if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 };
    let points: Vec<_> = experiment
        .points
        .iter()
        .enumerate()
        .map(|(i, point)| {
            let value = |((workload, r), class): (&(Workload, Vec<Record>), &(_, _, _, Class))| {
                let (base, run) = (&r[2 + 2 * i], &r[3 + 2 * i]);
                Value {
                    workload: *workload,
                    class: class.3,
                    ipc_percent: 100.0 * (run.ipc / base.ipc - 1.0),
                    l2_percent: percent(run.l2_accesses, base.l2_accesses),
                    of_perfect_percent: percent(run.remote_hits, run.perfect_hits),
                    pruning_percent: percent(run.candidates[0] + run.candidates[3], run.candidates.iter().sum()),
                    record: run.clone(),
                }
            };
            let values = records.iter().zip(&classes).map(value).collect();
            PointOutcome { label: point.label.clone(), x: point.x, paper: point.paper, values }
        })
        .collect();
    let claims = experiment.claims.iter().map(|claim| judge(claim, &points)).collect();
    Outcome { name: experiment.name, classes, points, claims }
}

fn judge(claim: &Claim, points: &[PointOutcome]) -> ClaimOutcome {
    let better = points[claim.better].measure(claim.class, claim.measure);
    let worse = claim.worse.map_or(Some(0.0), |i| points[i].measure(claim.class, claim.measure));
    let ours = better.zip(worse).map(|(b, w)| b - w);
    let finding = ours.map_or(Finding::NotDecided, |ours| Finding::of(claim.paper, ours));
    ClaimOutcome { text: claim.text.clone(), paper: claim.paper, ours, finding }
}

impl Outcome {
    /// One line for each workload and point.
    pub fn csv(&self) -> String {
        let mut csv = String::from(
            "point,x,workload,class,ipc_percent,l2_percent,of_perfect_percent,pruning_percent,cycles,misses,remote_hits,perfect_hits,in_flight_elsewhere,\
             l2_accesses,dram_fills,tp,fp,fn,tn,hit_p90,hit_p95,hit_p99,miss_p90,miss_p95,miss_p99,miss_latency,dropped_fills,notices\n",
        );
        for p in &self.points {
            for v in &p.values {
                let r = &v.record;
                let [tp, fp, fn_, tn] = r.candidates;
                let _ = writeln!(
                    csv,
                    "{},{},{},{:?},{:.3},{:.3},{:.3},{:.3},{},{},{},{},{},{},{},{tp},{fp},{fn_},{tn},{},{},{},{},{},{},{:.2},{},{}",
                    p.label.replace(",", ""),
                    p.x,
                    v.workload,
                    v.class,
                    v.ipc_percent,
                    v.l2_percent,
                    v.of_perfect_percent,
                    v.pruning_percent,
                    r.cycles,
                    r.misses,
                    r.remote_hits,
                    r.perfect_hits,
                    r.in_flight_elsewhere,
                    r.l2_accesses,
                    r.dram_fills,
                    r.probes_hit[1],
                    r.probes_hit[2],
                    r.probes_hit[3],
                    r.probes_miss[1],
                    r.probes_miss[2],
                    r.probes_miss[3],
                    r.miss_latency,
                    r.dropped_fills,
                    r.notices
                );
            }
        }
        csv
    }

    /// IPC change over x, one line for each group, the paper's R1S1 beside.
    pub fn svg(&self, experiment: &Experiment) -> Option<String> {
        let line = |name: String, points: Vec<(f64, f64)>| Series { marked: true, ..Series::line(name, points) };
        let mut series: Vec<Series> = Class::ALL
            .into_iter()
            .map(|class| {
                let points = self.points.iter().filter_map(|p| Some((p.x, p.mean(class, |v| v.ipc_percent)?))).collect();
                line(format!("{class:?}"), points)
            })
            .collect();
        series.push(line("paper, R1S1".into(), self.points.iter().filter_map(|p| Some((p.x, p.paper?))).collect()));
        series.retain(|s| !s.points.is_empty());
        let chart = Chart {
            title: experiment.title.into(),
            x_label: experiment.x_label.into(),
            y_label: "IPC change over no sharing, %".into(),
            log_x: experiment.log_x,
            log_y: false,
            series,
        };
        chart.to_svg().ok()
    }

    /// The page.
    pub fn page(&self, experiment: &Experiment, command: &str) -> String {
        let number = |v: Option<f64>| v.map_or("—".to_string(), |v| format!("{v:.1}"));
        let mut page = format!("# {}\n\n`{command}`\n\n", experiment.title);
        if !experiment.note.is_empty() {
            let _ = writeln!(page, "{}\n", experiment.note);
        }
        page += "Means over the workloads of a group. IPC: change over the baseline without sharing, in percent. L2: accesses left, in percent of the baseline.\n\n";
        page += "| point | paper R1S1 | R1S1 | R1S0 | R0S1 | R0S0 | L2 left R1S1 | L2 left R1S0 | of perfect knowledge | TP+TN R1S1 |\n|---|---|---|---|---|---|---|---|---|---|\n";
        for p in &self.points {
            let ipc = |class| number(p.mean(class, |v| v.ipc_percent));
            let l2 = |class| number(p.mean(class, |v| v.l2_percent));
            let (hits, perfect) = p.values.iter().fold((0, 0), |s, v| (s.0 + v.record.remote_hits, s.1 + v.record.perfect_hits));
            let share = number((perfect > 0).then(|| 100.0 * hits as f64 / perfect as f64));
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {share} | {} |",
                p.label,
                number(p.paper),
                ipc(Class::R1S1),
                ipc(Class::R1S0),
                ipc(Class::R0S1),
                ipc(Class::R0S0),
                l2(Class::R1S1),
                l2(Class::R1S0),
                number(p.mean(Class::R1S1, |v| v.pruning_percent))
            );
        }
        if !self.claims.is_empty() {
            page += "\n| claim of the paper | paper, points | ours, points | finding |\n|---|---|---|---|\n";
            for c in &self.claims {
                let _ = writeln!(page, "| {} | {:.1} | {} | {} |", c.text, c.paper, number(c.ours), c.finding.text());
            }
        }
        page += "\n| workload | redundancy | sensitivity | group |\n|---|---|---|---|\n";
        for (workload, r, s, class) in &self.classes {
            let _ = writeln!(page, "| {workload} | {:.1} % | {:.1} % | {class:?} |", 100.0 * r, 100.0 * s);
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings() {
        for (paper, ours, finding) in [
            (10.0, 5.0, Finding::Reproduced),
            (10.0, 30.0, Finding::Reproduced),
            (10.0, 4.9, Finding::Weaker),
            (10.0, 0.0, Finding::Contrary),
            (10.0, -1.0, Finding::Contrary),
            (-2.0, -1.5, Finding::Reproduced),
            (-2.0, 1.0, Finding::Contrary),
            (0.1, -1.9, Finding::Reproduced),
            (0.1, 3.0, Finding::Weaker),
            (0.1, 5.0, Finding::Contrary),
        ] {
            assert_eq!(Finding::of(paper, ours), finding, "{paper} {ours}");
        }
    }

    #[test]
    fn classes_by_threshold() {
        assert_eq!(Class::of(0.5, 0.1), Class::R1S1);
        assert_eq!(Class::of(0.49, 0.1), Class::R0S1);
        assert_eq!(Class::of(0.5, 0.09), Class::R1S0);
        assert_eq!(Class::of(0.0, 0.0), Class::R0S0);
    }
}
