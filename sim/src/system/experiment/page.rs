//! Tables and charts of a study.

use super::{Class, Experiment, Histogram, Outcome, PointOutcome, Subject, Value};
use crate::pascal::plot::{Chart, Series};
use std::fmt::Write as _;

fn number(v: Option<f64>) -> String {
    v.map_or("—".to_string(), |v| format!("{v:.1}"))
}

impl Outcome {
    /// One line for each workload and point.
    pub fn csv(&self) -> String {
        let mut csv = String::from(
            "point,x,workload,class,ipc_percent,l2_percent,of_perfect_percent,pruning_percent,cycles,misses,remote_hits,perfect_hits,in_flight_elsewhere,\
             l2_accesses,dram_fills,tp,fp,fn,tn,hit_p90,hit_p95,hit_p99,miss_p90,miss_p95,miss_p99,miss_latency,dropped_fills,notices,\
             issued,on_time,early,late,unused,invalidated,coverage,accuracy,useful,useful_suppressed,zero,zero_passed\n",
        );
        for p in &self.points {
            for v in &p.values {
                let r = &v.record;
                let [tp, fp, fn_, tn] = r.candidates;
                let (hit, miss) = (r.probes_hit.summary(), r.probes_miss.summary());
                let list = |l: &[u64]| l.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
                let _ = writeln!(
                    csv,
                    "{},{},{},{:?},{:.3},{:.3},{:.3},{:.3},{},{},{},{},{},{},{},{tp},{fp},{fn_},{tn},{},{},{},{},{},{},{:.2},{},{},{},{:.4},{:.4},{}",
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
                    hit.p90,
                    hit.p95,
                    hit.p99,
                    miss.p90,
                    miss.p95,
                    miss.p99,
                    r.miss_latency,
                    r.dropped_fills,
                    r.notices,
                    list(&r.prefetches),
                    r.coverage,
                    r.accuracy,
                    list(&r.filtered)
                );
            }
        }
        csv
    }

    /// Over x: the IPC change of each group, the paper's R1S1 beside; for prefetching coverage, accuracy and timeliness.
    pub fn svg(&self, experiment: &Experiment) -> Option<String> {
        let line = |name: &str, of: &dyn Fn(&PointOutcome) -> Option<f64>| {
            let points = self.points.iter().filter_map(|p| Some((p.x, of(p)?))).collect();
            Series { marked: true, ..Series::line(name.to_string(), points) }
        };
        let (y_label, mut series) = match experiment.subject {
            Subject::Sharing => {
                let mut lines: Vec<Series> =
                    Class::ALL.iter().map(|c| line(&format!("{c:?}"), &|p| p.mean(*c, |v| v.ipc_percent))).collect();
                lines.push(line("paper, R1S1", &|p| p.paper));
                ("IPC change over no sharing, %", lines)
            }
            Subject::Prefetching => {
                let lines = vec![
                    line("coverage", &|p| p.mean(None, |v| 100.0 * v.record.coverage)),
                    line("accuracy", &|p| p.mean(None, |v| 100.0 * v.record.accuracy)),
                    line("on time", &|p| p.mean(None, |v| v.timeliness_percent[0])),
                    line("IPC change", &|p| p.mean(None, |v| v.ipc_percent)),
                    line("paper, coverage", &|p| p.paper),
                ];
                ("mean over the workloads, %", lines)
            }
        };
        series.retain(|s| !s.points.is_empty());
        let chart = Chart {
            title: experiment.title.into(),
            x_label: experiment.x_label.into(),
            y_label: y_label.into(),
            log_x: experiment.log_x,
            log_y: false,
            series,
        };
        chart.to_svg().ok()
    }

    /// The page.
    pub fn page(&self, experiment: &Experiment, command: &str) -> String {
        let mut page = format!("# {}\n\n`{command}`\n\n", experiment.title);
        if !experiment.note.is_empty() {
            let _ = writeln!(page, "{}\n", experiment.note);
        }
        page += &match experiment.subject {
            Subject::Sharing => self.sharing_table(),
            Subject::Prefetching => self.prefetching_table(),
        };
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

    fn sharing_table(&self) -> String {
        let mut table = String::from(
            "Means over the workloads of a group. IPC: change over the baseline without sharing, in percent. L2: accesses left, in percent of the baseline. \
             Of perfect knowledge: remote hits, in percent of the misses whose line another L1 held. In flight: misses whose line was on its way to another L1, \
             in percent of all. Missed: misses that asked no L1 although one had the line. Probes: P90 / P95 / P99 over all workloads together, for hits and for misses, and in brackets the largest of any workload.\n\n\
             | point | paper R1S1 | R1S1 | R1S0 | R0S1 | R0S0 | L2 left R1S1 | L2 left R1S0 | of perfect knowledge | in flight | missed | TP+TN R1S1 | TP+TN | probes, hits | probes, misses |\n\
             |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for p in &self.points {
            let ipc = |class| number(p.mean(class, |v| v.ipc_percent));
            let l2 = |class| number(p.mean(class, |v| v.l2_percent));
            let sum = |of: &dyn Fn(&Value) -> u64| p.values.iter().map(of).sum::<u64>();
            let share = |part: u64, whole: u64| number((whole > 0).then(|| 100.0 * part as f64 / whole as f64));
            let misses = sum(&|v| v.record.misses);
            let probes = |of: &dyn Fn(&Value) -> &Histogram| {
                let mut all = Histogram::default();
                p.values.iter().for_each(|v| all.merge(of(v)));
                let most = |percent| p.values.iter().map(|v| of(v).percentile(percent)).max().unwrap_or(0);
                [90, 95, 99].map(|percent| format!("{} ({})", all.percentile(percent), most(percent))).join(" / ")
            };
            let _ = writeln!(
                table,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                p.label,
                number(p.paper),
                ipc(Class::R1S1),
                ipc(Class::R1S0),
                ipc(Class::R0S1),
                ipc(Class::R0S0),
                l2(Class::R1S1),
                l2(Class::R1S0),
                share(sum(&|v| v.record.remote_hits), sum(&|v| v.record.perfect_hits)),
                share(sum(&|v| v.record.in_flight_elsewhere), misses),
                share(sum(&|v| v.record.candidates[2]), misses),
                number(p.mean(Class::R1S1, |v| v.pruning_percent)),
                number(p.mean(None, |v| v.pruning_percent)),
                probes(&|v| &v.record.probes_hit),
                probes(&|v| &v.record.probes_miss)
            );
        }
        table
    }

    fn prefetching_table(&self) -> String {
        let mut table = String::from(
            "Means over all workloads, in percent. Used: on time or late, of those issued. On time, early, late: of the prefetches that were asked for. L2, DRAM: of the \
             baseline's. IPC: change over the baseline. Filter: candidates with data that it stopped, candidates all zero that it let pass.\n\n\
             | point | paper, coverage | coverage | accuracy | used | on time | early | late | L2 | DRAM | IPC | filter + | filter − |\n\
             |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        for p in &self.points {
            let mean = |of: &dyn Fn(&Value) -> f64| number(p.mean(None, of));
            let time = |i: usize| mean(&|v| v.timeliness_percent[i]);
            let used = |v: &Value| 100.0 * (v.record.prefetches[1] + v.record.prefetches[3]) as f64 / v.record.prefetches[0].max(1) as f64;
            let wrong = |i: usize| {
                let sum = |i: usize| p.values.iter().map(|v| v.record.filtered[i]).sum::<u64>();
                number((sum(i) > 0).then(|| 100.0 * sum(i + 1) as f64 / sum(i) as f64))
            };
            let _ = writeln!(
                table,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                p.label,
                number(p.paper),
                mean(&|v| 100.0 * v.record.coverage),
                mean(&|v| 100.0 * v.record.accuracy),
                mean(&used),
                time(0),
                time(1),
                time(2),
                mean(&|v| v.l2_percent),
                mean(&|v| v.dram_percent),
                mean(&|v| v.ipc_percent),
                wrong(0),
                wrong(2)
            );
        }
        table
    }
}
