//! Lockstep runs, their failures, recordings, and the same cycles in Icarus Verilog.

mod common;

use std::fs;
use std::ops::ControlFlow;

use common::lanes::{Lanes, Random, design, ports};
use common::shared_builder;
use l1forge_verif::build::{Design, Waves};
use l1forge_verif::dut::{Init, StopKind};
use l1forge_verif::icarus::{Icarus, IcarusError};
use l1forge_verif::lockstep::{Failure, Lockstep, LockstepError, Model, Outcome, Reset, Session, SessionError, seed_from_env};
use l1forge_verif::ports::{Interface, Values};
use l1forge_verif::record::{Recorder, Recording};
use l1forge_verif::test_command;
use l1forge_verif::tools::{Tool, Toolbox};

fn session(fault: &str, seed: u64, cycles: u64) -> Result<Outcome<Lanes, Random>, Box<Failure>> {
    let builder = shared_builder();
    let result = Session::new(&builder, &design(fault), seed)
        .reset(Reset::high("rst", 2))
        .run(|interface, seed| (Lanes::new(interface), Random::new(interface, seed, cycles)), None);
    result.map_err(|error| match error {
        SessionError::Failure(failure) => failure,
        other => panic!("{other}"),
    })
}

#[test]
fn design_and_model_agree() {
    let seed = seed_from_env(1);
    let outcome = session("", seed, 5000).unwrap();
    assert_eq!(outcome.report.cycles, 5000);
    assert_eq!((outcome.bench.observed, outcome.bench.finished), (5000, true));
    assert!(outcome.model.total() > 0);
    assert!(outcome.code_coverage.is_none());
}

#[test]
fn max_cycles_ends_the_run() {
    let builder = shared_builder();
    let outcome = Session::new(&builder, &design("").coverage(true), 1)
        .reset(Reset::high("rst", 2))
        .max_cycles(17)
        .run(|interface, seed| (Lanes::new(interface), Random::new(interface, seed, u64::MAX)), None)
        .unwrap();
    assert_eq!((outcome.report.cycles, outcome.bench.finished), (17, true));
    assert!(outcome.code_coverage.unwrap().points().count() > 100);
}

/// The first cycle, lane and values at which the planted fault shows, from the model alone.
fn first_fault(seed: u64) -> (u64, u64, u64) {
    let interface = Interface::new(ports(), Some("clk")).unwrap();
    let (mut model, mut bench) = (Lanes::new(&interface), Random::new(&interface, seed, u64::MAX));
    let (mut inputs, mut outputs) = (Values::inputs(&interface), Values::outputs(&interface));
    let sum = interface.output("sum").unwrap();
    for cycle in 0.. {
        let _ = l1forge_verif::lockstep::Testbench::drive(&mut bench, cycle, &outputs.clone(), &mut inputs);
        model.comb(&inputs, &mut outputs);
        let value = outputs.get_elem(sum, 3, 21);
        if value & 0xff == 0x5a {
            return (cycle, value, value ^ 0x100);
        }
        model.clock(&inputs);
    }
    unreachable!()
}

#[test]
fn a_mismatch_says_where_and_how_to_repeat() {
    let folder = tempfile::tempdir().unwrap();
    let waves = folder.path().join("failure.fst");
    let builder = shared_builder();
    for seed in [1, 2] {
        let (cycle, right, wrong) = first_fault(seed);
        let result = Session::new(&builder, &design("FAULT_VALUE"), seed)
            .reset(Reset::high("rst", 2))
            .command(test_command!(seed))
            .failure_waves(&waves, 10)
            .run(|interface, seed| (Lanes::new(interface), Random::new(interface, seed, 100_000)), None);
        let Err(SessionError::Failure(failure)) = result else { panic!("no failure") };
        let LockstepError::Mismatch(mismatch) = &failure.error else { panic!("{failure}") };
        assert_eq!((mismatch.cycle, mismatch.port.as_str(), mismatch.element), (cycle, "sum", Some(3)));
        assert_eq!(mismatch.expected, format!("{right:06x}"));
        assert_eq!(mismatch.got, format!("{wrong:06x}"));
        assert_eq!(mismatch.ports, ["sum"]);
        assert_eq!((failure.seed, failure.top.as_str()), (seed, "lanes"));
        let text = failure.to_string();
        for part in [
            format!("cycle {cycle}: sum[3] is {wrong:06x}, the model says {right:06x}"),
            format!("\n  cycle {cycle}\n    in  rst=0 valid={{"),
            format!("3:{wrong:06x}"),
            format!("waves: {}", waves.display()),
            format!(
                "repeat it with: L1FORGE_SEED={seed} cargo test -p l1forge-verif --test lockstep -- --exact \
                 a_mismatch_says_where_and_how_to_repeat"
            ),
        ] {
            assert!(text.contains(&part), "no `{part}` in:\n{text}");
        }
        assert_eq!(failure.note, None);
        // Waves of the last ten cycles before the failure, in half cycles after two cycles of reset.
        let bytes = fs::read(&waves).unwrap();
        let word = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!((word(9), word(17)), (2 * (cycle + 2 - 10), 2 * (cycle + 2) + 1));
        fs::remove_file(&waves).unwrap();
    }
}

#[test]
fn the_last_cycles_are_in_the_report() {
    let failure = session("FAULT_VALUE", 1, 100_000).unwrap_err();
    let (cycle, ..) = first_fault(1);
    let LockstepError::Mismatch(mismatch) = &failure.error else { panic!("{failure}") };
    let cycles: Vec<_> = mismatch.history.lines().filter_map(|line| line.strip_prefix("  cycle ")).collect();
    let expected: Vec<_> = (cycle - 5..=cycle).map(|cycle| cycle.to_string()).collect();
    assert_eq!(cycles, expected);
    assert_eq!((failure.waves, failure.note), (None, None));
}

#[test]
fn a_run_that_does_not_repeat_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let builder = shared_builder();
    let mut runs = 0;
    let result =
        Session::new(&builder, &design("FAULT_VALUE"), 1).reset(Reset::high("rst", 2)).failure_waves(folder.path().join("x.fst"), 10).run(
            |interface, seed| {
                runs += 1;
                // The second run ends before the fault.
                (Lanes::new(interface), Random::new(interface, seed, if runs == 1 { 100_000 } else { 1 }))
            },
            None,
        );
    let Err(SessionError::Failure(failure)) = result else { panic!("no failure") };
    assert!(failure.note.unwrap().contains("depends on more than its seed"));
}

#[test]
fn a_carry_fault_needs_a_directed_bench_to_show() {
    // Wraps to exactly zero in lane 2.
    let bench = |interface: &Interface| {
        let (valid, add) = (interface.input("valid").unwrap(), interface.input("add").unwrap());
        move |cycle: u64, _: &Values, inputs: &mut Values| {
            inputs.set(valid, 4);
            inputs.set_elem(add, 2, 21, if cycle == 0 { 1 } else { 0x1f_ffff });
            if cycle == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    };
    let builder = shared_builder();
    let run = |fault| {
        Session::new(&builder, &design(fault), 1)
            .reset(Reset::high("rst", 1))
            .run(|interface, _| (Lanes::new(interface), bench(interface)), None)
    };
    assert_eq!(run("").unwrap().report.cycles, 4);
    let Err(SessionError::Failure(failure)) = run("FAULT_CARRY") else { panic!("no failure") };
    let LockstepError::Mismatch(mismatch) = failure.error else { panic!("{failure}") };
    assert_eq!((mismatch.cycle, mismatch.port.as_str(), mismatch.element), (2, "wrapped", Some(2)));
    assert_eq!((mismatch.expected.as_str(), mismatch.got.as_str()), ("1", "0"));
}

#[test]
fn without_reset_cycles_undefined_registers_show() {
    let builder = shared_builder();
    let result =
        Session::new(&builder, &design(""), 1).run(|interface, seed| (Lanes::new(interface), Random::new(interface, seed, 10)), None);
    let Err(SessionError::Failure(failure)) = result else { panic!("no failure") };
    assert_eq!(failure.error.cycle(), Some(0));
}

#[test]
fn a_stop_of_the_design_ends_the_run() {
    let failure = session("FAULT_FINISH", 1, 100_000).unwrap_err();
    let LockstepError::Dut(error) = &failure.error else { panic!("{failure}") };
    assert_eq!((error.kind, error.file.as_str()), (StopKind::Finish, "lanes.v"));
}

#[test]
fn a_discontent_bench_ends_the_run() {
    struct Picky(Random, bool);
    impl l1forge_verif::lockstep::Testbench for Picky {
        fn drive(&mut self, cycle: u64, previous: &Values, inputs: &mut Values) -> ControlFlow<()> {
            self.0.drive(cycle, previous, inputs)
        }
        fn observe(&mut self, cycle: u64, _: &Values, _: &Values) -> Result<(), String> {
            if self.1 && cycle == 7 { Err("seven is unlucky".into()) } else { Ok(()) }
        }
        fn finish(&mut self) -> Result<(), String> {
            Err("never content".into())
        }
    }
    let library = shared_builder().build(&design("")).unwrap();
    let interface = library.interface();
    for (early, cycle, message) in [(true, 7, "seven is unlucky"), (false, 20, "never content")] {
        let mut dut = library.instantiate(Init::Random(1)).unwrap();
        let error = Lockstep::new(&mut dut)
            .reset(Reset::high("rst", 1))
            .run(&mut Lanes::new(interface), &mut Picky(Random::new(interface, 1, 20), early))
            .unwrap_err();
        assert!(matches!(&error, LockstepError::Testbench { cycle: at, message: text, .. } if *at == cycle && text == message), "{error}");
    }
    let mut dut = library.instantiate(Init::Random(1)).unwrap();
    let error = Lockstep::new(&mut dut)
        .reset(Reset::low("reset_n", 1))
        .run(&mut Lanes::new(interface), &mut Random::new(interface, 1, 20))
        .unwrap_err();
    assert!(error.to_string().contains("no input port `reset_n`"), "{error}");
}

#[test]
fn the_bench_sees_the_outputs_of_the_cycle_before() {
    let library = shared_builder().build(&design("")).unwrap();
    let interface = library.interface();
    let (valid, add, sum, any) = (
        interface.input("valid").unwrap(),
        interface.input("add").unwrap(),
        interface.output("sum").unwrap(),
        interface.output("any").unwrap(),
    );
    let mut seen = Vec::new();
    let mut bench = |cycle: u64, previous: &Values, inputs: &mut Values| {
        seen.push((previous.get_elem(sum, 0, 21), previous.get(any)));
        inputs.set(valid, cycle & 1);
        inputs.set_elem(add, 0, 21, 10);
        if cycle == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut dut = library.instantiate(Init::Random(1)).unwrap();
    Lockstep::new(&mut dut).reset(Reset::high("rst", 1)).run(&mut Lanes::new(interface), &mut bench).unwrap();
    assert_eq!(seen, [(0, 0), (0, 0), (0, 1), (10, 0), (10, 1), (20, 0)]);
}

/// Records a good run.
fn recording(folder: &std::path::Path, cycles: u64) -> Recording {
    let library = shared_builder().build(&design("")).unwrap();
    let interface = library.interface();
    let mut recorder = Recorder::create(folder.join("run.rec"), interface).unwrap();
    let mut dut = library.instantiate(Init::Random(1)).unwrap();
    Lockstep::new(&mut dut)
        .reset(Reset::high("rst", 2))
        .record(&mut recorder)
        .run(&mut Lanes::new(interface), &mut Random::new(interface, 1, cycles))
        .unwrap();
    assert_eq!(recorder.frames(), cycles + 2);
    recorder.finish().unwrap()
}

#[test]
fn a_recording_holds_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recording(folder.path(), 300);
    assert_eq!(recording.frames(), 302);
    assert_eq!(recording.interface().specs(), ports());
    let interface = recording.interface().clone();
    let (mut model, mut bench) = (Lanes::new(&interface), Random::new(&interface, 1, 300));
    let (mut inputs, mut outputs) = (Values::inputs(&interface), Values::outputs(&interface));
    let (mut wanted_inputs, mut wanted_outputs) = (inputs.clone(), outputs.clone());
    let rst = interface.input("rst").unwrap();
    let mut cycles = recording.cycles().unwrap();
    for cycle in 0..302 {
        assert_eq!(cycles.next(&mut inputs, &mut outputs).unwrap(), Some(cycle >= 2));
        wanted_inputs.set(rst, u64::from(cycle < 2));
        if cycle >= 2 {
            let _ = l1forge_verif::lockstep::Testbench::drive(&mut bench, cycle - 2, &wanted_outputs.clone(), &mut wanted_inputs);
        }
        model.comb(&wanted_inputs, &mut wanted_outputs);
        assert_eq!((&inputs, &outputs), (&wanted_inputs, &wanted_outputs), "cycle {cycle}");
        model.clock(&wanted_inputs);
    }
    assert_eq!(cycles.next(&mut inputs, &mut outputs).unwrap(), None);
}

#[test]
fn a_file_that_is_no_recording_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(recording(folder.path(), 5).path()).unwrap();
    let path = folder.path().join("bad.rec");
    for (bytes, reason) in [
        (&whole[..whole.len() - 1], "the last cycle is not complete"),
        (b"something else".as_slice(), "not a recording"),
        (b"l1forge recording 1\ninput x 1 a\nend\n".as_slice(), "bad line `input x 1 a`"),
        (b"l1forge recording 1\ninput 1 1 a\n".as_slice(), "bad line ``"),
    ] {
        fs::write(&path, bytes).unwrap();
        let error = Recording::open(&path).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn icarus_runs_the_same_cycles() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recording(folder.path(), 2000);
    let report = Icarus::new(Toolbox::from_env()).run(&design(""), &recording).unwrap();
    assert_eq!((report.cycles, report.mismatches, report.first.len()), (2002, 0, 0));
    assert!(report.version.contains("Icarus"), "{}", report.version);
}

#[test]
fn icarus_finds_faults_and_undefined_values() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recording(folder.path(), 2000);
    let icarus = Icarus::new(Toolbox::from_env()).report_limit(3);

    let (cycle, right, wrong) = first_fault(1);
    let report = icarus.run(&design("FAULT_VALUE"), &recording).unwrap();
    assert_eq!(report.cycles, 2002);
    assert_eq!((report.first[0].cycle, report.first[0].port.as_str()), (cycle + 2, "sum"));
    let lane = |hex: &str| (u128::from_str_radix(hex, 16).unwrap() >> 63) as u64 & 0x1f_ffff;
    assert_eq!((lane(&report.first[0].expected), lane(&report.first[0].got)), (right, wrong));

    // An undefined bit that Verilator happens to see as a defined one: in Icarus it is a mismatch at once, and stays one.
    let report = icarus.run(&design("FAULT_UNDEFINED"), &recording).unwrap();
    assert!(report.mismatches > 1000, "{}", report.mismatches);
    assert_eq!(report.first.len(), 3);
    assert_eq!(report.first[0].port, "check");
    assert!(report.first[0].got.contains(['x', 'X']), "{}", report.first[0]);
    assert!(!report.first[0].expected.contains(['x', 'X']));
}

#[test]
fn icarus_reports_what_stops_it() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recording(folder.path(), 2000);
    let icarus = Icarus::new(Toolbox::from_env());
    for fault in ["FAULT_FINISH", "FAULT_STOP"] {
        let error = icarus.run(&design(fault), &recording).unwrap_err();
        assert!(matches!(error, IcarusError::Ended { cycles: None, expected: 2002, .. }), "{fault}: {error}");
    }

    let broken = Design::new("lanes").source("lanes.v", "module lanes (");
    let error = icarus.run(&broken, &recording).unwrap_err();
    let IcarusError::Compile { output, .. } = error else { panic!("{error}") };
    assert!(output.contains("lanes.v:2: syntax error") || output.contains("lanes.v:1: syntax error"), "{output}");

    let tools = Toolbox::from_env().with(Tool::Vvp, "/nonexistent/vvp");
    let error = Icarus::new(tools).run(&design(""), &recording).unwrap_err();
    assert!(matches!(&error, IcarusError::MissingTool(missing) if missing.tool == Tool::Vvp), "{error}");
}

#[test]
fn icarus_takes_very_wide_ports_and_odd_names() {
    let folder = tempfile::tempdir().unwrap();
    let text = "module wide (input wire clk, input wire [20010:0] \\data.in , input wire odd, output reg [20010:0] new);\n  \
                always @(posedge clk) new <= {\\data.in [20009:0], odd};\nendmodule\n";
    let design = Design::new("wide").source("a folder/wide.v", text).clock("clk").waves(Waves::Off);
    let library = shared_builder().build(&design).unwrap();
    let interface = library.interface().clone();
    let (data, odd, new) = (interface.input("data.in").unwrap(), interface.input("odd").unwrap(), interface.output("new").unwrap());
    struct Shift(Vec<u64>, l1forge_verif::ports::Port, l1forge_verif::ports::Port, l1forge_verif::ports::Port);
    impl Model for Shift {
        fn comb(&mut self, _: &Values, outputs: &mut Values) {
            outputs.set_words(self.3, &self.0);
        }
        fn clock(&mut self, inputs: &Values) {
            let mut carry = inputs.get(self.2);
            for (word, &input) in self.0.iter_mut().zip(inputs.words(self.1)) {
                *word = (input << 1) | carry;
                carry = input >> 63;
            }
            *self.0.last_mut().unwrap() &= (1 << (20011 % 64)) - 1;
        }
    }
    // One cycle more than the register needs, the first of which is not compared.
    let mut recorder = Recorder::create(folder.path().join("wide.rec"), &interface).unwrap();
    let mut state = 1u64;
    let mut bench = |cycle: u64, _: &Values, inputs: &mut Values| {
        let mut words = vec![0u64; data.words()];
        for word in &mut words {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            *word = state ^ (state >> 31);
        }
        *words.last_mut().unwrap() &= (1 << (20011 % 64)) - 1;
        inputs.set_words(data, &words);
        inputs.set(odd, cycle & 1);
        if cycle == 50 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut dut = library.instantiate(Init::Zeros).unwrap();
    let mut model = Shift(vec![0; new.words()], data, odd, new);
    // The register has no reset: `odd` stands in for one, to get a cycle without comparison.
    Lockstep::new(&mut dut).reset(Reset::high("odd", 1)).record(&mut recorder).run(&mut model, &mut bench).unwrap();
    let recording = recorder.finish().unwrap();
    let icarus = Icarus::new(Toolbox::from_env()).keep(folder.path().join("kept"));
    let report = icarus.run(&design, &recording).unwrap();
    assert_eq!((report.cycles, report.mismatches), (51, 0), "{:?}", report.first);
    assert!(folder.path().join("kept/l1forge_bench.v").exists());
}
