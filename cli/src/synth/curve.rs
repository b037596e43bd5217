//! `l1forge synth --curve`: the areas of a block for several numbers of SMs.

use super::{Args, cache, progress, source, steps};
use crate::common::{add_files, print_json};
use crate::failure::CheckFailed;
use l1forge_hdl::package::{Package, package};
use l1forge_synth::flow::{Flow, Target, jobs};
use l1forge_synth::library::Library;
use l1forge_synth::report::curve::{Curve, curve, picture};
use l1forge_synth::report::text::{Table, number};
use l1forge_synth::report::{self, Area};
use l1forge_verif::tools::{Tool, Toolbox};

/// Maps the block at every size; what is mapped already is found in the cache.
pub fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let mut sizes = args.curve.clone();
    sizes.sort_unstable();
    sizes.dedup();
    // All sizes are looked at before the first is mapped.
    if let Some(sms) = sizes.iter().find(|n| !(2..=256).contains(*n)) {
        anyhow::bail!("--curve {sms}: legal are numbers of SMs of 2 to 256");
    }
    let package_of = |sms: &u32| -> anyhow::Result<Package> {
        let mut settings = args.config.settings()?;
        settings.set_sms(*sms)?;
        Ok(package(&settings.resolve()?, &args.block)?)
    };
    let packages = sizes.iter().map(package_of).collect::<anyhow::Result<Vec<_>>>()?;
    let library = Library::load(&args.library)?;
    let bar = progress("");
    let step = steps(&bar);
    let yosys = Toolbox::from_env().find(Tool::Yosys)?;
    let flow = Flow { yosys, cache: cache(), jobs: jobs(args.jobs)?, library: &library, progress: &step };
    let mut points: Vec<(u32, Area)> = Vec::new();
    for (sms, package) in sizes.iter().zip(&packages) {
        bar.set_message(format!("{sms} SMs"));
        bar.set_position(0);
        let source = source(package);
        let design = flow.map(flow.elaborate(&source)?, &source.top, &Target::Area)?;
        if let Some(message) = design.faults(&library, &source.macros).message() {
            return Err(CheckFailed(format!("{sms} SMs: {message}")).into());
        }
        points.push((*sms, report::area(&design, &library)));
    }
    bar.finish_and_clear();
    let curve = curve(&points);
    if let Some(out) = &args.out {
        let files = [
            ("curve.json".to_string(), serde_json::to_string_pretty(&curve)? + "\n"),
            ("curve.md".to_string(), table(&curve).markdown()),
            ("curve.svg".to_string(), picture(&curve, &format!("{}: area of cells", args.block))),
        ];
        add_files(out, &files)?;
    }
    if json {
        return print_json(&curve);
    }
    show!("{}", table(&curve).terminal());
    Ok(())
}

fn table(curve: &Curve) -> Table {
    let sizes: Vec<String> = curve.sms.iter().map(|n| format!("{n} SMs, um2")).collect();
    let mut head = vec!["module (own cells)"];
    head.extend(sizes.iter().map(String::as_str));
    head.push("exponent");
    let mut t = Table::new(&head);
    for part in &curve.parts {
        let mut row = vec![part.name.clone()];
        row.extend(part.area_um2.iter().map(|v| number(*v)));
        row.push(part.exponent.map_or_else(String::new, |e| format!("{e:.2}")));
        t.row(&row);
    }
    t
}
