//! Mutation study: does the stimulus of a block find single-operator changes of its Verilog?
//!
//! For each block, `cargo run --release -p l1forge-verif --example mutants [-- BLOCK...]` records the stimulus with the outputs of the
//! golden model, changes one operator, constant, condition or term of the generated Verilog at a time, and replays the recording in
//! Icarus Verilog. A mutant with a wrong output is killed. What it prints, with the reasons of the survivors, is in
//! docs/results/mutants.md. `L1FORGE_SEED` chooses other mutants and another stimulus; `MUTANTS` and `CYCLES` change their number.

#[path = "../tests/common/configs.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod configs;

use l1forge_verif::build::Design;
use l1forge_verif::icarus::{Icarus, IcarusError};
use l1forge_verif::lockstep::seed_from_env;
use l1forge_verif::stimulus::{self, Replay};
use l1forge_verif::tools::Toolbox;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

/// Blocks and the configurations they are built in.
const BLOCKS: &[(&str, &[&str])] = &[
    ("bf_engine", &["odd", "any"]),
    ("bank_arbiter", &["odd", "any"]),
    ("and_reduction", &["odd", "merge"]),
    ("refresh_controller", &["odd", "four"]),
    ("update_network", &["odd", "four"]),
    ("probe_order", &["any", "merge", "wide"]),
    ("probe_queue", &["odd", "wide"]),
    ("probe_engine", &["odd", "tiny"]),
];

/// One change of a source text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Mutation {
    kind: &'static str,
    file: usize,
    /// Bytes that are replaced.
    from: usize,
    to: usize,
    with: String,
}

/// Operators and what takes their place.
const OPERATORS: &[(&str, &str, &str)] = &[
    ("arithmetic", " + ", " - "),
    ("arithmetic", " - ", " + "),
    ("arithmetic", " * ", " + "),
    ("and/or", " & ", " | "),
    ("and/or", " | ", " & "),
    ("and/or", " ^ ", " & "),
    ("comparison", " == ", " != "),
    ("comparison", " != ", " == "),
    ("comparison", " > ", " < "),
    ("comparison", " > ", " >= "),
    ("comparison", " < ", " > "),
    ("shift", " << ", " >> "),
    ("reduction", "(|", "(&"),
    ("reduction", "= |", "= &"),
    ("inversion", "~", ""),
];

/// The end of an operand without parentheses that begins at `at`: a name with an index, or a constant.
fn operand(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let start = at + usize::from(bytes.get(at) == Some(&b'~'));
    let mut end = start;
    while bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'\'')) {
        end += 1;
    }
    if end > start && bytes.get(end) == Some(&b'[') {
        end += text[end..].find(']')? + 1;
    }
    (end > start && !matches!(bytes.get(end), Some(b'(' | b'{' | b'['))).then_some(end)
}

/// All changes of one source.
fn mutations(file: usize, text: &str) -> Vec<Mutation> {
    let mut list = Vec::new();
    let body = text.find("\n);\n").map_or(0, |at| at + 4);
    let (mut at, mut unused, mut formal) = (0, false, false);
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let code = line.split("//").next().unwrap_or_default();
        unused |= code.contains("wire unused_");
        // Of the head, only parameters.
        let head = start < body && !code.trim_start().starts_with("parameter ");
        // Assertions are no part of the design.
        formal = (formal || code.contains("`ifdef FORMAL")) && !code.contains("`endif");
        let skip = head || unused || formal || code.contains("for (") || code.trim_start().starts_with("reg ");
        unused &= !code.contains(';');
        if skip {
            continue;
        }
        let mut add =
            |kind, from: usize, to: usize, with: String| list.push(Mutation { kind, file, from: start + from, to: start + to, with });
        // The widths of a declaration stay.
        let first =
            if ["wire [", "localparam", "parameter"].iter().any(|d| code.contains(d)) { code.find(']').map_or(0, |i| i + 1) } else { 0 };
        for (kind, old, new) in OPERATORS {
            for (i, _) in code.match_indices(old).filter(|m| m.0 >= first) {
                add(kind, i, i + old.len(), (*new).into());
            }
        }
        for op in [" & ", " | ", " ^ ", " + ", " - "] {
            for (i, _) in code.match_indices(op) {
                if let Some(end) = operand(code, i + op.len()) {
                    add("dropped term", i, end, String::new());
                    let name = code.as_bytes()[i + op.len()].is_ascii_alphabetic();
                    if name && (op == " & " || op == " | ") {
                        add("inversion", i + op.len(), i + op.len(), "~".into());
                    }
                }
            }
        }
        for (i, _) in code.match_indices("'d").filter(|m| m.0 >= first) {
            let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
            let back = code[..i].bytes().rev().take_while(u8::is_ascii_digit).count();
            let (width, from) = (code[i - back..i].parse::<u32>(), i + 2);
            let to = from + digits(&code[from..]);
            if let (Ok(width), Ok(value)) = (width, code[from..to].parse::<u128>())
                && width < 100
            {
                let modulus = 1_u128 << width;
                add("constant", from, to, ((value + 1) % modulus).to_string());
                if modulus > 2 {
                    add("constant", from, to, ((value + modulus - 1) % modulus).to_string());
                }
                if modulus > 4 {
                    add("constant", from, to, (value ^ (modulus / 2)).to_string());
                }
            }
        }
        for (i, _) in code.match_indices("1'b").filter(|_| !code.contains("_pad")) {
            let bit = &code[i + 3..i + 4];
            add("constant", i + 3, i + 4, if bit == "0" { "1".into() } else { "0".into() });
        }
        if let (Some(i), Some(j)) = (code.find("if ("), code.rfind(") begin")) {
            add("condition", i + 4, j, format!("!({})", &code[i + 4..j]));
        }
        if let Some(i) = code.find(" ? ")
            && let Some(j) = code[i..].find(" : ").map(|j| i + j)
            && let Some(k) = code[j..].find([';', ')']).map(|k| j + k)
        {
            let (yes, no) = (&code[i + 3..j], &code[j + 3..k]);
            // Parentheses of an arm are closed further on.
            if yes.matches('(').count() == yes.matches(')').count() && no.matches('(').count() == no.matches(')').count() {
                add("mux arms", i + 3, k, format!("{no} : {yes}"));
            }
        }
    }
    list
}

/// So many changes, from all kinds in turn, in random order.
fn choose(all: Vec<Mutation>, rng: &mut ChaCha8Rng) -> VecDeque<Mutation> {
    let mut kinds: BTreeMap<&str, Vec<Mutation>> = BTreeMap::new();
    for m in all {
        kinds.entry(m.kind).or_default().push(m);
    }
    for list in kinds.values_mut() {
        list.shuffle(rng);
    }
    let mut chosen = VecDeque::new();
    while kinds.values().any(|list| !list.is_empty()) {
        chosen.extend(kinds.values_mut().filter_map(Vec::pop));
    }
    chosen
}

fn mutant(replay: &Replay, m: &Mutation) -> Design {
    let mut design = Design::new(replay.design.top());
    for (i, (name, text)) in replay.design.source_files().iter().enumerate() {
        let text = if i == m.file { format!("{}{}{}", &text[..m.from], m.with, &text[m.to..]) } else { text.clone() };
        design = design.source(name, text);
    }
    design
}

/// Line number and the line before and after.
fn show(replay: &Replay, m: &Mutation) -> String {
    let (name, text) = &replay.design.source_files()[m.file];
    let start = text[..m.from].rfind('\n').map_or(0, |i| i + 1);
    let end = text[m.to..].find('\n').map_or(text.len(), |i| m.to + i);
    let number = text[..m.from].matches('\n').count() + 1;
    let code = |line: &str| line.split("//").next().unwrap_or_default().trim().to_string();
    let after = format!("{}{}{}", &text[start..m.from], m.with, &text[m.to..end]);
    format!("{name}:{number} ({}): `{}` became `{}`", m.kind, code(&text[start..end]), code(&after))
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |v| v.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let (seed, count, cycles) = (seed_from_env(1), number("MUTANTS", 20) as usize, number("CYCLES", 12_000));
    println!("| block | configuration | possible | tried | killed | survived |\n|---|---|---|---|---|---|");
    let mut survivors = Vec::new();
    for (name, configurations) in BLOCKS.iter().filter(|b| wanted.is_empty() || wanted.iter().any(|w| w == b.0)) {
        for configuration in *configurations {
            let c = configs::named(configuration);
            let folder = tempfile::tempdir().expect("a folder");
            let replay = stimulus::record(name, &c, 0, seed, cycles, &folder.path().join("run")).expect("a recording");
            let icarus = Icarus::new(Toolbox::from_env()).report_limit(1);
            let report = icarus.run(&replay.design, &replay.recording).expect("Icarus Verilog");
            assert_eq!(report.mismatches, 0, "{name} of {configuration} without a change: {:?}", report.first);
            // Macros and the wrapper stay as they are.
            let sources = replay.design.source_files().iter().enumerate();
            let all: Vec<_> = sources.filter(|s| !s.1.0.starts_with("l1forge_masked")).flat_map(|(i, s)| mutations(i, &s.1)).collect();
            let possible = all.len();
            let queue = Mutex::new(choose(all, &mut ChaCha8Rng::seed_from_u64(seed)).into_iter().enumerate().collect::<VecDeque<_>>());
            let results: Mutex<Vec<(usize, String, bool)>> = Mutex::new(Vec::new());
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        while results.lock().expect("no panic").len() < count {
                            let Some((order, m)) = queue.lock().expect("no panic").pop_front() else { return };
                            let killed = match icarus.run(&mutant(&replay, &m), &replay.recording) {
                                Ok(report) => report.mismatches > 0,
                                // Not Verilog: no mutant.
                                Err(IcarusError::Compile { .. }) => continue,
                                Err(error) => panic!("{error}"),
                            };
                            results.lock().expect("no panic").push((order, show(&replay, &m), killed));
                        }
                    });
                }
            });
            // The first ones in the order chosen, whichever thread was faster.
            let mut results = results.into_inner().expect("no panic");
            results.sort();
            results.truncate(count);
            let killed = results.iter().filter(|r| r.2).count();
            println!("| {name} | {configuration} | {possible} | {} | {killed} | {} |", results.len(), results.len() - killed);
            survivors.extend(results.into_iter().filter(|r| !r.2).map(|r| format!("{name} of `{configuration}`: {}", r.1)));
        }
    }
    println!("\nSurvivors:");
    for survivor in survivors {
        println!("* {survivor}");
    }
}
