//! Mutation study: does the stimulus of a block find single-operator changes of its Verilog?
//!
//! For each block, `cargo run --release -p l1forge-verif --example mutants [-- c2p | snakecharmer | BLOCK...]` records the stimulus with
//! the outputs of the golden model, changes one operator, constant, condition or term of the generated Verilog at a time, and replays the
//! recording in Icarus Verilog. A mutant with a wrong output is killed; of the others Yosys tries to prove that they are equal. What it
//! prints, with the reasons of the survivors, is in docs/results/mutants.md and mutants-snakecharmer.md. `L1FORGE_SEED` chooses other
//! mutants and another stimulus; `MUTANTS` and `CYCLES` change their number, `PROOF` the seconds of a proof; `ONLY` takes only
//! lines with one of its words, which commas divide.

#[path = "../tests/common/configs.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod configs;
#[path = "../tests/common/prefetch.rs"]
mod prefetch;

use l1forge_config::Config;
use l1forge_verif::build::Design;
use l1forge_verif::icarus::{Icarus, IcarusError};
use l1forge_verif::lockstep::seed_from_env;
use l1forge_verif::stimulus::{self, Replay};
use l1forge_verif::tools::{Tool, Toolbox};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, VecDeque};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Blocks and the configurations they are built in.
struct Study {
    name: &'static str,
    configuration: fn(&str) -> Config,
    blocks: &'static [(&'static str, &'static [&'static str])],
    /// Changes beyond those of the first study: [`MORE`], bits and slices moved by one, signals stuck at 0 and at 1.
    more: bool,
}

const STUDIES: &[Study] = &[
    Study {
        name: "c2p",
        configuration: configs::named,
        blocks: &[
            ("bf_engine", &["odd", "any"]),
            ("bank_arbiter", &["odd", "any"]),
            ("and_reduction", &["odd", "merge"]),
            ("refresh_controller", &["odd", "four"]),
            ("update_lane", &["odd", "four"]),
            ("update_network", &["odd", "four"]),
            ("probe_order", &["any", "merge", "wide"]),
            ("probe_queue", &["odd", "wide"]),
            ("probe_engine", &["odd", "tiny"]),
        ],
        more: false,
    },
    Study {
        name: "snakecharmer",
        configuration: prefetch::named,
        blocks: &[
            ("l1_awt", &["odd", "single", "two", "apogee"]),
            ("l2_awt", &["odd", "single", "two", "apogee"]),
            ("sgu", &["odd", "two", "plain"]),
            ("peb", &["odd", "single", "two"]),
            ("prt", &["odd", "single", "two", "apogee"]),
            ("zero_filter", &["odd", "single", "two"]),
        ],
        more: true,
    },
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

/// Operators that the first study did not change.
const MORE: &[(&str, &str, &str)] =
    &[("comparison", " < ", " <= "), ("comparison", " >= ", " > "), ("comparison", " >= ", " < "), ("comparison", " <= ", " < ")];

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

/// All changes of one source; `more` kinds or those of the first study.
fn mutations(file: usize, text: &str, more: bool) -> Vec<Mutation> {
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
        // The first `<=` of a statement assigns.
        let statement = !["wire", "assign", "if", "end else if"].iter().any(|word| code.trim_start().starts_with(word));
        let assigns = |i: usize| statement && code.find(" <= ") == Some(i);
        for (kind, old, new) in OPERATORS.iter().chain(if more { MORE } else { &[] }) {
            for (i, _) in code.match_indices(old).filter(|m| m.0 >= first && !(*old == " <= " && assigns(m.0))) {
                add(kind, i, i + old.len(), (*new).into());
            }
        }
        if more {
            moved_bits(code, first, &mut add);
            if let Some(i) = code.find(" = ").filter(|_| code.trim_end().ends_with(';') && !code.contains("localparam")) {
                let end = code.rfind(';').unwrap_or(code.len());
                add("stuck", i + 3, end, "0".into());
                add("stuck", i + 3, end, "~0".into());
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

/// Bits `[n]` and slices `[m:n]` that are read at a place one lower or, at the end, one higher.
fn moved_bits(code: &str, first: usize, add: &mut impl FnMut(&'static str, usize, usize, String)) {
    for (i, _) in code.match_indices('[').filter(|m| m.0 >= first && m.0 > 0 && !code[..m.0].ends_with(' ')) {
        let Some(end) = code[i..].find(']').map(|j| i + j) else { continue };
        let numbers: Option<Vec<u32>> = code[i + 1..end].split(':').map(|n| n.parse().ok()).collect();
        let Some(numbers) = numbers else { continue };
        let move_by = |by: i64| numbers.iter().map(|n| (i64::from(*n) + by).to_string()).collect::<Vec<_>>().join(":");
        let by = if numbers.contains(&0) { 1 } else { -1 };
        add("bit index", i + 1, end, move_by(by));
    }
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

/// Yosys proves within `PROOF` seconds that a mutant is equal to the design: with the same registers, from any state.
fn proven(tools: &Toolbox, design: &Design, mutant: &Design) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let mut script = String::new();
    for (name, design) in [("gold", design), ("gate", mutant)] {
        let path = folder.path().join(format!("{name}.v"));
        let text: String = design.source_files().iter().map(|f| f.1.as_str()).collect();
        std::fs::write(&path, text).expect("a writable folder");
        let top = design.top();
        script += &format!(
            "read_verilog {name}.v; prep -flatten -top {top}; memory_map; async2sync; rename {top} {name}; design -stash {name}; "
        );
    }
    script += "design -copy-from gold gold; design -copy-from gate gate; equiv_make gold gate equiv; hierarchy -top equiv; \
               equiv_simple -undef; equiv_induct -undef; equiv_status -assert";
    let mut yosys = tools.command(Tool::Yosys).expect("Yosys");
    yosys.args(["-q", "-p", &script]).current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let (mut yosys, start) = (yosys.spawn().expect("Yosys runs"), Instant::now());
    while start.elapsed().as_secs() < number("PROOF", 20) {
        if let Some(status) = yosys.try_wait().expect("Yosys runs") {
            return status.success();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    yosys.kill().and_then(|()| yosys.wait()).expect("Yosys can be stopped");
    false
}

/// Tries mutants of a block in a configuration; prints a row, returns the survivors.
fn study(name: &str, configuration: &str, c: &Config, more: bool) -> Vec<String> {
    let (seed, count, cycles) = (seed_from_env(1), number("MUTANTS", 20) as usize, number("CYCLES", 30_000));
    let folder = tempfile::tempdir().expect("a folder");
    let replay = stimulus::record(name, c, 0, seed, cycles, &folder.path().join("run")).expect("a recording");
    let tools = Toolbox::from_env();
    let icarus = Icarus::new(tools.clone()).report_limit(1).stop_at_mismatch();
    let report = icarus.run(&replay.design, &replay.recording).expect("Icarus Verilog");
    assert_eq!(report.mismatches, 0, "{name} of {configuration} without a change: {:?}", report.first);
    // Macros and the wrapper stay as they are.
    let sources = replay.design.source_files().iter().enumerate();
    let all: Vec<_> = sources.filter(|s| !s.1.0.starts_with("l1forge_masked")).flat_map(|(i, s)| mutations(i, &s.1, more)).collect();
    let only = std::env::var("ONLY").unwrap_or_default();
    let all: Vec<_> = all.into_iter().filter(|m| only.split(',').any(|word| show(&replay, m).contains(word))).collect();
    let possible = all.len();
    let queue = Mutex::new(choose(all, &mut ChaCha8Rng::seed_from_u64(seed)).into_iter().enumerate().collect::<VecDeque<_>>());
    let results: Mutex<Vec<(usize, String, Verdict)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while results.lock().expect("no panic").len() < count {
                    let Some((order, m)) = queue.lock().expect("no panic").pop_front() else { return };
                    let design = mutant(&replay, &m);
                    let verdict = match icarus.run(&design, &replay.recording) {
                        Ok(report) if report.mismatches > 0 => Verdict::Killed,
                        Ok(_) if proven(&tools, &replay.design, &design) => Verdict::Equal,
                        Ok(_) => Verdict::Survived,
                        // Not Verilog: no mutant.
                        Err(IcarusError::Compile { .. }) => continue,
                        Err(error) => panic!("{error}"),
                    };
                    results.lock().expect("no panic").push((order, show(&replay, &m), verdict));
                }
            });
        }
    });
    // The first ones in the order chosen, whichever thread was faster.
    let mut results = results.into_inner().expect("no panic");
    results.sort();
    results.truncate(count);
    let of = |verdict| results.iter().filter(|r| r.2 == verdict).count();
    let [killed, equal, survived] = [Verdict::Killed, Verdict::Equal, Verdict::Survived].map(of);
    println!("| {name} | {configuration} | {possible} | {} | {killed} | {equal} | {survived} |", results.len());
    let left = results.into_iter().filter(|r| r.2 != Verdict::Killed);
    left.map(|r| format!("{name} of `{configuration}`{}: {}", if r.2 == Verdict::Equal { ", proven equal" } else { "" }, r.1))
        .inspect(|survivor| eprintln!("{survivor}"))
        .collect()
}

/// What became of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Killed,
    /// Proven to be the same design.
    Equal,
    Survived,
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    println!("| block | configuration | possible | tried | killed | proven equal | survived |\n|---|---|---|---|---|---|---|");
    let mut survivors = Vec::new();
    for s in STUDIES {
        for (name, configurations) in s.blocks.iter().filter(|b| is(s.name) || is(b.0)) {
            for configuration in *configurations {
                survivors.extend(study(name, configuration, &(s.configuration)(configuration), s.more));
            }
        }
    }
    println!("\nNot killed:");
    for survivor in survivors {
        println!("* {survivor}");
    }
}
