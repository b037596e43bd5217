//! Replays the stimulus of a block in Icarus Verilog: `replay NAME CONFIGURATION SEED CYCLES FOLDER`; bench and sources stay in the folder.

#[path = "../tests/common/configs.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod configs;

use l1forge_verif::icarus::Icarus;
use l1forge_verif::stimulus;
use l1forge_verif::tools::Toolbox;
use std::path::Path;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, configuration, seed, cycles, folder] = &args[..] else { panic!("replay NAME CONFIGURATION SEED CYCLES FOLDER") };
    let c = configs::named(configuration);
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder).expect("a folder");
    let (seed, cycles) = (seed.parse().expect("a seed"), cycles.parse().expect("cycles"));
    let replay = stimulus::record(name, &c, 0, seed, cycles, &folder.join("run")).expect("a recording");
    let report = Icarus::new(Toolbox::from_env()).keep(folder).run(&replay.design, &replay.recording).expect("Icarus Verilog");
    println!("{} cycles, {} mismatches, {:#?}", report.cycles, report.mismatches, report.first);
}
