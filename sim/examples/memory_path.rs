//! Speed of the memory path, and studies without the command line tool.
//!
//! `cargo run --release -p l1forge-sim --example memory_path`: simulated accesses per second at 64 SMs, sharing off and C2P on.
//! `… --example memory_path STUDY SMS SCALE WORKLOAD…`: the page of a study.

use l1forge_config::Settings;
use l1forge_sim::system::experiment::{by_name, evaluate};
use l1forge_sim::system::{Scheme, SystemParameters, run};
use l1forge_sim::workload::{Workload, WorkloadParameters};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [study, sms, scale, workloads @ ..] = args.as_slice() {
        let (experiment, sms, scale) = (by_name(study)?, sms.parse()?, scale.parse()?);
        let mut records = Vec::new();
        for name in workloads {
            let workload = Workload::by_name(name)?;
            let tasks = experiment.tasks(workload, sms, 1, scale);
            records.push((workload, tasks.iter().map(|t| t.run()).collect::<Result<_, _>>()?));
        }
        let outcome = evaluate(&experiment, &records);
        print!("{}\n{}", outcome.page(&experiment, &args.join(" ")), outcome.csv());
        return Ok(());
    }
    let config = Settings::default().resolve()?;
    for scheme in [Scheme::None, Scheme::C2p] {
        let (mut accesses, mut seconds) = (0, 0.0);
        for workload in [Workload::Gemm, Workload::CyclicScan, Workload::GraphWalk, Workload::Stencil2d] {
            let events = workload.events(WorkloadParameters::default())?;
            let start = Instant::now();
            let traffic = run(Box::new(events), &config, &SystemParameters::default(), scheme, |_| {})?;
            seconds += start.elapsed().as_secs_f64();
            accesses += traffic.measures.accesses + traffic.measures.stores + traffic.measures.atomics;
        }
        println!("{scheme}: {:.2} million line accesses per second", accesses as f64 / seconds / 1e6);
    }
    Ok(())
}
