//! Ports, cycles and instances of a running model.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::sync::LazyLock;
use std::thread;

use common::{design, shared_builder};
use l1forge_verif::build::{BuildError, Builder, Design, Waves};
use l1forge_verif::dut::{Dut, Init, Library, StopKind};
use l1forge_verif::ports::{PortSpec, Values};
use l1forge_verif::tools::{Tool, Toolbox};
use proptest::prelude::*;

/// Libraries that several tests use; finding one in the cache asks the tools for their versions every time.
static WIDTHS_LIBRARY: LazyLock<Library> = LazyLock::new(|| shared_builder().build(&widths()).unwrap());
static STOPS_LIBRARY: LazyLock<Library> = LazyLock::new(|| shared_builder().build(&stops_design()).unwrap());
static UNSET_LIBRARY: LazyLock<Library> = LazyLock::new(|| shared_builder().build(&design("unset.v")).unwrap());

#[test]
fn a_counter_counts() {
    let library = shared_builder().build(&design("counter.v")).unwrap();
    let mut dut = library.instantiate(Init::Random(7)).unwrap();
    let (rst, en, step) = (dut.input("rst").unwrap(), dut.input("en").unwrap(), dut.input("step").unwrap());
    let (q, next) = (dut.output("q").unwrap(), dut.output("next").unwrap());
    dut.reset(rst, true, 2).unwrap();
    dut.poke(en, 1);
    dut.poke(step, 100);
    let mut seen = Vec::new();
    for _ in 0..4 {
        dut.settle().unwrap();
        seen.push((dut.peek(q), dut.peek(next)));
        dut.tick().unwrap();
    }
    assert_eq!(seen, [(0, 100), (100, 200), (200, 300), (44, 144)]);
    assert_eq!(dut.cycles(), 6);
    // After the edge: the new register with the old inputs. Without an edge the register stays.
    assert_eq!((dut.peek(q), dut.peek(next)), (144, 244));
    dut.poke(step, 1);
    dut.eval().unwrap();
    assert_eq!((dut.peek(q), dut.peek(next)), (144, 145));
}

/// Ports of `widths.v`: suffix and width.
const WIDTHS: [(&str, u32); 12] = [
    ("1", 1),
    ("8", 8),
    ("9", 9),
    ("16", 16),
    ("17", 17),
    ("32", 32),
    ("33", 33),
    ("64", 64),
    ("65", 65),
    ("96", 96),
    ("__wide", 1344),
    ("", 1),
];

fn pair(suffix: &str) -> (String, String) {
    match suffix {
        "" => ("new".into(), "delete".into()),
        _ => (format!("a{suffix}"), format!("b{suffix}")),
    }
}

fn widths() -> Design {
    let mut ports = vec![PortSpec::input("clk", 1)];
    for (suffix, width) in WIDTHS {
        let (input, output) = pair(suffix);
        ports.push(PortSpec::output(output, width));
        ports.push(PortSpec::input(input, width));
    }
    let source = common::fixture("widths.v");
    // `new` and `delete` are C++ keywords, and ordinary names in Verilog.
    Design::new("widths").source("rtl/widths.v", source).clock("clk").ports(ports)
}

fn random_words(width: u32, seed: &mut u64) -> Vec<u64> {
    let mut words: Vec<u64> = (0..width.div_ceil(64))
        .map(|_| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *seed ^ (*seed >> 29)
        })
        .collect();
    let top = (width - 1) % 64 + 1;
    *words.last_mut().unwrap() &= u64::MAX >> (64 - top);
    words
}

fn inverted(words: &[u64], width: u32) -> Vec<u64> {
    let mut words: Vec<u64> = words.iter().map(|word| !word).collect();
    *words.last_mut().unwrap() &= u64::MAX >> (63 - (width - 1) % 64);
    words
}

#[test]
fn every_width_goes_through_the_containers() {
    let library = &WIDTHS_LIBRARY;
    let interface = library.interface().clone();
    let mut dut = library.instantiate(Init::Random(1)).unwrap();
    let (mut inputs, mut outputs) = (Values::inputs(&interface), Values::outputs(&interface));
    let mut seed = 3;
    for _ in 0..50 {
        let mut expected = outputs.clone();
        for (suffix, width) in WIDTHS {
            let (input, output) = pair(suffix);
            let words = random_words(width, &mut seed);
            inputs.set_words(interface.input(&input).unwrap(), &words);
            expected.set_words(interface.output(&output).unwrap(), &inverted(&words, width));
        }
        dut.poke_all(&inputs);
        dut.step().unwrap();
        dut.peek_all(&mut outputs);
        assert_eq!(outputs, expected);
    }
}

#[test]
fn every_width_goes_through_single_ports() {
    let library = &WIDTHS_LIBRARY;
    let mut dut = library.instantiate(Init::Random(1)).unwrap();
    let mut seed = 4;
    let mut words = Vec::new();
    for (suffix, width) in WIDTHS {
        let (input, output) = pair(suffix);
        let (input, output) = (dut.input(&input).unwrap(), dut.output(&output).unwrap());
        for _ in 0..20 {
            let value = random_words(width, &mut seed);
            let halves: Vec<u32> =
                value.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]).take(width.div_ceil(32) as usize).collect();
            let wanted: Vec<u32> = inverted(&value, width)
                .iter()
                .flat_map(|word| [*word as u32, (*word >> 32) as u32])
                .take(width.div_ceil(32) as usize)
                .collect();
            dut.poke_words(input, &halves);
            dut.step().unwrap();
            dut.peek_words(output, &mut words);
            assert_eq!(words, wanted, "{width} bits");
            if width <= 64 {
                assert_eq!(dut.peek(output), inverted(&value, width)[0]);
                dut.poke(input, inverted(&value, width)[0]);
                dut.step().unwrap();
                assert_eq!(dut.peek(output), value[0]);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn elements_of_the_model_are_those_of_the_container(
        which in 0usize..12,
        writes in prop::collection::vec((any::<u32>(), 1u32..=64, any::<u64>()), 1..12),
    ) {
        let library = &WIDTHS_LIBRARY;
        let mut dut = library.instantiate(Init::Random(1)).unwrap();
        let (suffix, width) = WIDTHS[which];
        let (input, output) = pair(suffix);
        let (input, output) = (dut.input(&input).unwrap(), dut.output(&output).unwrap());
        let mut plain = Values::inputs(library.interface());
        for (index, elem, value) in writes {
            let elem = elem.min(width);
            let index = index % (width / elem);
            let value = value & (u64::MAX >> (64 - elem));
            dut.set_elem(input, index, elem, value);
            plain.set_elem(input, index, elem, value);
            prop_assert_eq!(dut.get_elem(input, index, elem), value);
        }
        let bit = width / 2;
        dut.set_bit(input, bit, !plain.get_bit(input, bit));
        plain.set_bit(input, bit, !plain.get_bit(input, bit));
        dut.step().unwrap();
        for bit in 0..width {
            prop_assert_eq!(dut.get_bit(input, bit), plain.get_bit(input, bit));
            prop_assert_eq!(dut.get_bit(output, bit), !plain.get_bit(input, bit));
        }
    }
}

#[test]
#[should_panic(expected = "value 0x200 does not fit in 9 bits")]
fn a_value_that_does_not_fit_is_refused() {
    let mut dut = WIDTHS_LIBRARY.instantiate(Init::Zeros).unwrap();
    let port = dut.input("a9").unwrap();
    dut.poke(port, 512);
}

#[test]
#[should_panic(expected = "an output cannot be set")]
fn an_output_cannot_be_set() {
    let mut dut = WIDTHS_LIBRARY.instantiate(Init::Zeros).unwrap();
    let port = dut.output("b9").unwrap();
    dut.poke(port, 1);
}

#[test]
#[should_panic(expected = "these are not the input values of `widths`")]
fn values_of_another_design_are_refused() {
    let other = shared_builder().build(&design("counter.v")).unwrap();
    let mut dut = WIDTHS_LIBRARY.instantiate(Init::Zeros).unwrap();
    dut.poke_all(&Values::inputs(other.interface()));
}

#[test]
fn the_port_list_is_checked_against_the_model() {
    let mut ports = vec![
        PortSpec::input("clk", 1),
        PortSpec::input("rst", 1),
        PortSpec::output("en", 1),
        PortSpec::input("step", 9),
        PortSpec::output("q", 8),
        PortSpec::output("absent", 3),
    ];
    let error = shared_builder().build(&design("counter.v").ports(ports.clone())).unwrap_err();
    let BuildError::Ports { top, mut differences } = error else { panic!("{error}") };
    differences.sort();
    assert_eq!(top, "counter");
    assert_eq!(
        differences,
        [
            "`en` is an input of 1 bits, expected an output of 1 bits",
            "`step` is an input of 8 bits, expected an input of 9 bits",
            "output `absent` [3] is missing",
            "output `next` [9] is not in the port list",
        ]
    );
    ports[2] = PortSpec::input("en", 1);
    ports[3] = PortSpec::input("step", 8).elements(4);
    ports[5] = PortSpec::output("next", 9);
    let library = shared_builder().build(&design("counter.v").ports(ports.clone())).unwrap();
    assert_eq!(library.interface().specs(), ports);
}

#[test]
fn ports_are_found_without_a_list() {
    let library = shared_builder().build(&design("counter.v")).unwrap();
    let mut specs = library.interface().specs().to_vec();
    specs.sort_by(|left, right| left.name.cmp(&right.name));
    let expected = [
        PortSpec::input("clk", 1),
        PortSpec::input("en", 1),
        PortSpec::output("next", 9),
        PortSpec::output("q", 8),
        PortSpec::input("rst", 1),
        PortSpec::input("step", 8),
    ];
    assert_eq!(specs, expected);
}

fn stops_design() -> Design {
    Design::new("stops").source("rtl/stops.sv", common::fixture("stops.sv")).clock("clk")
}

fn stops(how: u64) -> Dut {
    let library = &STOPS_LIBRARY;
    let mut dut = library.instantiate(Init::Random(1)).unwrap();
    let port = dut.input("how").unwrap();
    for _ in 0..3 {
        dut.step().unwrap();
    }
    dut.poke(port, how);
    dut
}

#[test]
fn stops_of_the_design_are_errors() {
    for (how, kind, line, message) in [
        (1, StopKind::Stop, 14, "$stop"),
        (2, StopKind::Error, 15, "Assertion failed in TOP.stops: q was 3"),
        (3, StopKind::Error, 16, "Assertion failed in TOP.stops: no way out"),
        (4, StopKind::Finish, 17, "$finish"),
        (7, StopKind::Error, 19, "Assertion failed in TOP.stops: assertion about q"),
    ] {
        let mut dut = stops(how);
        let error = dut.step().unwrap_err();
        assert_eq!((error.kind, error.line), (kind, line), "{error}");
        assert_eq!((error.file.as_str(), error.cycle), ("rtl/stops.sv", 3), "{error}");
        assert_eq!(error.message, message);
        // The error is that of the call; the instance goes on.
        let port = dut.input("how").unwrap();
        dut.poke(port, 0);
        dut.step().unwrap();
        assert_eq!(dut.peek(dut.output("q").unwrap()), 5);
    }
}

#[test]
fn logic_that_does_not_settle_is_an_error_and_the_end() {
    let mut dut = stops(6);
    let error = dut.step().unwrap_err();
    assert_eq!(error.kind, StopKind::Simulator, "{error}");
    assert!(error.message.contains("did not converge"), "{error}");
    assert_eq!(error.file, "rtl/stops.sv");
    let port = dut.input("how").unwrap();
    dut.poke(port, 0);
    assert_eq!(dut.step().unwrap_err().kind, StopKind::Simulator);
    // Others live on.
    stops(0).step().unwrap();
}

/// A C++ exception in the model, planted behind Verilator's back.
#[test]
fn exceptions_are_errors_and_the_end() {
    let (folder, cache) = common::private_cache();
    for (throw, message) in [("throw std::runtime_error{\"made up\"}", "made up"), ("throw 7", "unknown C++ exception")] {
        let fake = folder.path().join("verilator");
        let real = Toolbox::from_env().find(Tool::Verilator).unwrap();
        let script = format!(
            "#!/bin/sh\n'{}' \"$@\" || exit\n[ \"$1\" = --cc ] || exit 0\n\
             sed -i 's/eval_step() {{/eval_step() {{ static int calls; if (++calls > 5) {throw};/; 1i #include <stdexcept>' ../obj/Vdut.cpp\n",
            real.display()
        );
        fs::write(&fake, script).unwrap();
        fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
        let builder = Builder::new(cache.clone(), Toolbox::from_env().with(Tool::Verilator, &fake));
        let library = builder.build(&design("counter.v").define("MESSAGE", message.len().to_string())).unwrap();
        let mut dut = library.instantiate(Init::Zeros).unwrap();
        dut.step().unwrap();
        dut.step().unwrap();
        for _ in 0..2 {
            let error = dut.step().unwrap_err();
            assert_eq!((error.kind, error.message.as_str(), error.cycle), (StopKind::Exception, message, 2));
        }
    }
}

#[test]
fn an_error_in_an_initial_block_is_an_error_of_the_new_instance() {
    let text = "module absent (input wire clk, output wire q);\n  reg [0:0] m[0:1];\n  initial $readmemh(\"no_such_file\", m);\n  \
                assign q = m[0] ^ clk;\nendmodule\n";
    let library = shared_builder().build(&Design::new("absent").source("absent.v", text).clock("clk")).unwrap();
    let error = library.instantiate(Init::Zeros).unwrap_err();
    assert!(error.message.contains("$readmem file not found"), "{error}");
    assert!(error.file.contains("no_such_file"), "{error}");
}

#[test]
fn printed_text_belongs_to_the_instance() {
    let (mut talker, mut silent) = (stops(5), stops(0));
    talker.step().unwrap();
    silent.step().unwrap();
    talker.step().unwrap();
    assert_eq!(talker.take_output(), "q=3\nq=4\n");
    assert_eq!(silent.take_output(), "");
    assert_eq!(talker.take_output(), "");
}

#[test]
fn endless_output_is_bounded() {
    let mut dut = stops(5);
    for _ in 0..100_000 {
        dut.step().unwrap();
    }
    let output = dut.take_output();
    assert!(output.len() >= 1 << 16 && output.len() <= 1 << 18, "{}", output.len());
    assert!(output.ends_with(&format!("q={}\n", (3 + 99_999) % 256)));
}

fn unset(init: Init) -> (Vec<u32>, u64, u64) {
    let library = &UNSET_LIBRARY;
    let mut dut = library.instantiate(init).unwrap();
    let sel = dut.input("sel").unwrap();
    dut.poke(sel, 2);
    dut.settle().unwrap();
    let mut q = Vec::new();
    dut.peek_words(dut.output("q").unwrap(), &mut q);
    (q, dut.peek(dut.output("m").unwrap()), dut.peek(dut.output("x").unwrap()))
}

#[test]
fn undefined_values_are_random_and_repeatable() {
    assert_eq!(unset(Init::Zeros), (vec![0; 4], 0, 0));
    let ones = (vec![u32::MAX, u32::MAX, u32::MAX, 15], 0xffff_ffff, 0xffff_ffff);
    assert_eq!(unset(Init::Ones), ones);
    let (first, second) = (unset(Init::Random(1)), unset(Init::Random(2)));
    assert!(first.0 != second.0 && first.1 != second.1 && first.2 != second.2, "{first:x?} {second:x?}");
    assert_eq!(unset(Init::Random(1)), first);
    // Also while other threads make instances with other seeds.
    thread::scope(|scope| {
        for thread in 0..4 {
            let (first, second) = (&first, &second);
            scope.spawn(move || {
                for _ in 0..20 {
                    let seed = 1 + thread % 2;
                    assert_eq!(&unset(Init::Random(seed)), if seed == 1 { first } else { second });
                }
            });
        }
    });
}

#[test]
fn instances_are_independent_also_in_threads() {
    let library = shared_builder().build(&design("counter.v")).unwrap();
    let run = |step: u64, cycles: u64| {
        let mut dut = library.instantiate(Init::Random(step)).unwrap();
        let (rst, en, input) = (dut.input("rst").unwrap(), dut.input("en").unwrap(), dut.input("step").unwrap());
        dut.reset(rst, true, 1).unwrap();
        dut.poke(en, 1);
        dut.poke(input, step);
        for _ in 0..cycles {
            dut.step().unwrap();
        }
        assert_eq!(dut.peek(dut.output("q").unwrap()), step * cycles % 256);
        dut
    };
    thread::scope(|scope| {
        for step in 1..5 {
            let run = &run;
            scope.spawn(move || run(step, 20_000));
        }
    });
    // One instance made here, stepped there, and here again.
    let mut dut = run(3, 10);
    let dut = thread::scope(|scope| {
        scope
            .spawn(move || {
                dut.step().unwrap();
                dut
            })
            .join()
            .unwrap()
    });
    assert_eq!(dut.peek(dut.output("q").unwrap()), 33);
}

#[test]
fn two_designs_live_in_one_process() {
    let (counter, stops) = (shared_builder().build(&design("counter.v")).unwrap(), shared_builder().build(&stops_design()).unwrap());
    for _ in 0..10 {
        let mut left = counter.instantiate(Init::Random(1)).unwrap();
        let mut right = stops.instantiate(Init::Random(1)).unwrap();
        let rst = left.input("rst").unwrap();
        left.reset(rst, true, 1).unwrap();
        right.step().unwrap();
        right.step().unwrap();
        drop(left);
        right.step().unwrap();
        assert_eq!(right.peek(right.output("q").unwrap()), 3);
    }
}

#[test]
fn a_library_exports_nothing_but_its_interface() {
    let library = shared_builder().build(&design("counter.v").waves(Waves::Fst)).unwrap();
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library.path()).output().unwrap();
    let symbols = String::from_utf8(output.stdout).unwrap();
    let names: Vec<_> = symbols.lines().filter_map(|line| line.split(' ').next_back()).collect();
    assert!(names.contains(&"l1forge_eval"), "{symbols}");
    assert_eq!(names.iter().find(|name| !name.starts_with("l1forge_")), None);
}

#[test]
fn a_library_is_unloaded_and_loaded_again() {
    // A build that no other test holds; in threads, whose thread-local objects of the library outlive its last instance.
    for _ in 0..3 {
        let run = || {
            let library = shared_builder().build(&stops_design().define("AGAIN", "")).unwrap();
            let mut dut = library.instantiate(Init::Ones).unwrap();
            let how = dut.input("how").unwrap();
            dut.poke(how, 5);
            dut.step().unwrap();
            assert_eq!(dut.take_output(), "q=0\n");
        };
        thread::scope(|scope| {
            scope.spawn(run);
            scope.spawn(run);
        });
        run();
    }
}
