//! Co-simulation of the whole C2P-Cache at 64 SMs: processor seconds of the Verilator build, cycles per processor second of the bare simulation and of
//! lockstep with model and oracle. Limits: build under 120 s, 5,000 cycles/s. Exit code 1 if one is missed.
//!
//! `cargo bench -p l1forge-verif --bench c2p_cosim`

use l1forge_config::Settings;
use l1forge_sim::c2p::environment::{Profile, sweep};
use l1forge_verif::block;
use l1forge_verif::build::Builder;
use l1forge_verif::cache::Cache;
use l1forge_verif::dut::Init;
use l1forge_verif::lockstep::{Lockstep, Testbench};
use l1forge_verif::ports::Values;
use l1forge_verif::tools::Toolbox;
use l1forge_verif::top::{self, End};
use std::ops::ControlFlow;
use std::process::{Command, ExitCode};

/// Cycles of the measured runs.
const CYCLES: u64 = 10_000;
/// Processor seconds that the build may take.
const BUILD_LIMIT: f64 = 120.0;
/// Cycles per processor second that the simulation must reach.
const SPEED_LIMIT: f64 = 5_000.0;

/// Processor seconds of this process, and of its children that have ended.
fn busy_seconds() -> (f64, f64) {
    let text = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc");
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| fields[i].parse::<f64>().expect("a number of clock ticks");
    // Fields 14 to 17 of proc(5); the first two are before the parenthesis. Linux has 100 ticks per second everywhere.
    ((ticks(11) + ticks(12)) / 100.0, (ticks(13) + ticks(14)) / 100.0)
}

/// Keeps the inputs that another bench drives.
struct Keep<T> {
    inner: T,
    inputs: Vec<Values>,
}

impl<T: Testbench> Testbench for Keep<T> {
    fn drive(&mut self, cycle: u64, previous: &Values, inputs: &mut Values) -> ControlFlow<()> {
        let flow = self.inner.drive(cycle, previous, inputs);
        self.inputs.push(inputs.clone());
        flow
    }
    fn observe(&mut self, cycle: u64, inputs: &Values, outputs: &Values) -> Result<(), String> {
        self.inner.observe(cycle, inputs, outputs)
    }
    fn finish(&mut self) -> Result<(), String> {
        self.inner.finish()
    }
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    // A compiler cache would hide what a first build costs.
    if std::env::var_os("CCACHE_DISABLE").is_none() {
        let me = std::env::current_exe()?;
        let status = Command::new(me).env("CCACHE_DISABLE", "1").status()?;
        return Ok(ExitCode::from(u8::from(!status.success())));
    }
    let mut settings = Settings::preset("paper")?;
    settings.set("sms=64")?;
    let config = settings.resolve()?;
    let design = block::design(&config, "c2p_cache", 0)?;
    let folder = tempfile::tempdir()?;
    let library = Builder::new(Cache::at(folder.path()), Toolbox::from_env()).build(&design)?;
    let build = busy_seconds().1;
    println!(
        "Verilator build at 64 SMs                {build:>9.1} processor seconds (limit {BUILD_LIMIT}), {:.1} s elapsed",
        library.build_seconds().unwrap_or(0.0)
    );

    let source = Box::new(sweep(2 * u64::from(config.l1_bytes / config.line_bytes) + 5, 3));
    let (mut model, bench) = top::bench(&config, library.interface(), Profile::ideal(), source, 1, End::Cycles(CYCLES));
    let mut bench = Keep { inner: bench, inputs: Vec::new() };
    let mut dut = library.instantiate(Init::Random(1))?;
    let start = busy_seconds().0;
    let report = Lockstep::new(&mut dut).reset(block::reset_of(&config)).run(&mut model, &mut bench)?;
    let lockstep = report.cycles as f64 / (busy_seconds().0 - start);
    let misses = bench.inner.environment().activity().misses;
    println!("lockstep with model and oracle           {lockstep:>9.0} cycles/processor second, {} cycles, {misses} misses", report.cycles);

    let mut dut = library.instantiate(Init::Random(1))?;
    dut.reset(library.interface().input("rst_i")?, true, 2)?;
    let start = busy_seconds().0;
    for inputs in &bench.inputs {
        dut.poke_all(inputs);
        dut.step()?;
    }
    let bare = bench.inputs.len() as f64 / (busy_seconds().0 - start);
    println!("simulation alone, the same inputs        {bare:>9.0} cycles/processor second (limit {SPEED_LIMIT})");
    Ok(ExitCode::from(u8::from(build > BUILD_LIMIT || bare < SPEED_LIMIT)))
}
