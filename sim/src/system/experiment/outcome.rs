//! From records to values, findings, tables and charts.

use super::{Claim, Class, Experiment, Measure, Record};
use crate::workload::Workload;
use serde::Serialize;

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
    /// Lines from DRAM, in percent of the baseline's.
    pub dram_percent: f64,
    /// Prefetches on time, early and late, in percent of those asked for; 0 when there are none.
    pub timeliness_percent: [f64; 3],
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
    /// Mean over the workloads of a group (`None`: over all); `None` when there are none.
    pub fn mean(&self, class: impl Into<Option<Class>>, of: impl Fn(&Value) -> f64) -> Option<f64> {
        let class = class.into();
        let values: Vec<f64> = self.values.iter().filter(|v| class.is_none_or(|c| v.class == c)).map(of).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    fn measure(&self, class: Option<Class>, measure: Measure) -> Option<f64> {
        self.mean(class, |v| match measure {
            Measure::Ipc => v.ipc_percent,
            Measure::L2Saved => 100.0 - v.l2_percent,
            Measure::Pruning => v.pruning_percent,
            Measure::Coverage => 100.0 * v.record.coverage,
            Measure::Accuracy => 100.0 * v.record.accuracy,
            Measure::OnTime => v.timeliness_percent[0],
            Measure::DramSaved => 100.0 - v.dram_percent,
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
                    dram_percent: percent(run.dram_fills, base.dram_fills),
                    timeliness_percent: {
                        let asked = [run.prefetches[1], run.prefetches[2], run.prefetches[3]];
                        asked.map(|n| 100.0 * n as f64 / asked.iter().sum::<u64>().max(1) as f64)
                    },
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
