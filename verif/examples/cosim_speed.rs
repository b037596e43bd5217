//! Measures the co-simulation layer: build seconds, cycles per second, and what the exchange of wide ports costs.
//!
//! `cargo run --release -p l1forge-verif --example cosim_speed`

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Instant;

use l1forge_verif::build::{Builder, Design};
use l1forge_verif::cache::Cache;
use l1forge_verif::dut::Init;
use l1forge_verif::lockstep::{Lockstep, Model};
use l1forge_verif::ports::{Port, Values};
use l1forge_verif::record::Recorder;
use l1forge_verif::tools::Toolbox;

const COUNTER: &str = include_str!("../tests/fixtures/counter.v");

/// A register behind each of 16 buses of 64 elements of 21 bits, some 21 thousand bits of ports in each direction.
fn wide() -> String {
    let mut ports = String::from("input wire clk");
    let mut body = String::new();
    for bus in 0..16 {
        ports += &format!(", input wire [1343:0] d{bus}, output reg [1343:0] q{bus}");
        body += &format!("  always @(posedge clk) q{bus} <= d{bus};\n");
    }
    format!("module wide ({ports});\n{body}endmodule\n")
}

struct Registers {
    ports: Vec<(Port, Port)>,
    state: Vec<[u64; 21]>,
}

impl Model for Registers {
    fn comb(&mut self, _: &Values, outputs: &mut Values) {
        for (&(_, q), state) in self.ports.iter().zip(&self.state) {
            outputs.set_words(q, state);
        }
    }
    fn clock(&mut self, inputs: &Values) {
        for (&(d, _), state) in self.ports.iter().zip(&mut self.state) {
            state.copy_from_slice(inputs.words(d));
        }
    }
}

/// Seconds that this thread has been running on a processor, so that a busy machine does not change the result.
fn busy_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split(' ').next()?.parse().ok()?;
    Some(nanoseconds * 1e-9)
}

/// Reports the processor time of `body`, with `wall` the elapsed time.
fn timed<T>(what: &str, cycles: u64, wall: bool, body: impl FnOnce() -> T) -> T {
    let (start, busy) = (Instant::now(), busy_seconds());
    let result = body();
    let elapsed = start.elapsed().as_secs_f64();
    let (seconds, kind) = match (busy, busy_seconds()) {
        (Some(from), Some(to)) if !wall => (to - from, "processor"),
        _ => (elapsed, "elapsed"),
    };
    let (rate, each) = (cycles as f64 / seconds, seconds * 1e6 / cycles as f64);
    println!("{what:<44} {rate:>12.0} cycles/s {each:>10.3} us/cycle ({kind} time)");
    result
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let design = Design::new("counter").source("counter.v", COUNTER).clock("clk");
    for (what, root) in [("first build, run-time library included", "one"), ("the same in another cache", "two")] {
        let builder = Builder::new(Cache::at(folder.path().join(root)), Toolbox::from_env());
        let library = builder.build(&design)?;
        println!("{what:<44} {:>12.2} s", library.build_seconds().unwrap_or(0.0));
    }
    let builder = Builder::new(Cache::at(folder.path().join("two")), Toolbox::from_env());
    let library = builder.build(&design.clone().define("OTHER", ""))?;
    println!("{:<44} {:>12.2} s", "another design in that cache", library.build_seconds().unwrap_or(0.0));
    let start = Instant::now();
    let library = builder.build(&design)?;
    println!("{:<44} {:>12.3} s", "from the cache", start.elapsed().as_secs_f64());

    let cycles = 20_000_000;
    let mut dut = library.instantiate(Init::Random(1))?;
    let (en, step, q) = (dut.input("en")?, dut.input("step")?, dut.output("q")?);
    dut.poke(en, 1);
    timed("counter: poke, step, peek", cycles, false, || {
        for cycle in 0..cycles {
            dut.poke(step, cycle & 1);
            dut.step().expect("the counter does not stop");
            black_box(dut.peek(q));
        }
    });

    let library = builder.build(&Design::new("wide").source("wide.v", wide()).clock("clk"))?;
    let interface = library.interface().clone();
    let names = |index| (format!("d{index}"), format!("q{index}"));
    let mut ports = Vec::new();
    for index in 0..16 {
        let (d, q) = names(index);
        ports.push((interface.input(&d)?, interface.output(&q)?));
    }
    let cycles = 200_000;
    let mut dut = library.instantiate(Init::Zeros)?;
    timed("wide: step alone", cycles, false, || {
        for _ in 0..cycles {
            dut.step().expect("registers do not stop");
        }
    });
    let (inputs, mut outputs) = (Values::inputs(&interface), Values::outputs(&interface));
    timed("wide: poke_all and peek_all alone", cycles, false, || {
        for _ in 0..cycles {
            dut.poke_all(black_box(&inputs));
            dut.peek_all(black_box(&mut outputs));
        }
    });
    let mut values = Values::inputs(&interface);
    timed("wide: set_elem of all 1024 elements alone", cycles, false, || {
        for cycle in 0..cycles {
            for &(d, _) in &ports {
                for element in 0..64 {
                    values.set_elem(d, element, 21, black_box((cycle + u64::from(element)) & 0x1f_ffff));
                }
            }
        }
    });
    let mut bench = |cycle: u64, _: &Values, inputs: &mut Values| {
        inputs.set_elem(ports[cycle as usize % 16].0, cycle as u32 % 64, 21, cycle & 0x1f_ffff);
        if cycle == cycles { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut dut = library.instantiate(Init::Zeros)?;
    let mut model = Registers { ports: ports.clone(), state: vec![[0; 21]; 16] };
    timed("wide: lockstep, everything compared", cycles, false, || Lockstep::new(&mut dut).run(&mut model, &mut bench))?;
    let mut dut = library.instantiate(Init::Zeros)?;
    let mut model = Registers { ports: ports.clone(), state: vec![[0; 21]; 16] };
    let mut recorder = Recorder::create(folder.path().join("wide.rec"), &interface)?;
    let mut bench = |cycle: u64, _: &Values, inputs: &mut Values| {
        inputs.set_elem(ports[cycle as usize % 16].0, cycle as u32 % 64, 21, cycle & 0x1f_ffff);
        if cycle == 20_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    timed("wide: lockstep, recorded", 20_000, false, || Lockstep::new(&mut dut).record(&mut recorder).run(&mut model, &mut bench))?;
    let recording = recorder.finish()?;
    let design = Design::new("wide").source("wide.v", wide()).clock("clk");
    // The registers have no reset: the first cycle differs in Icarus, and in it alone.
    let report = timed("wide: the recording in Icarus Verilog", 20_000, true, || {
        l1forge_verif::icarus::Icarus::new(Toolbox::from_env()).run(&design, &recording)
    })?;
    println!("{:<44} {:>12} in {} cycles", "mismatches in Icarus Verilog", report.mismatches, report.cycles);
    Ok(())
}
