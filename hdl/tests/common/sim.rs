//! Runs a design in Icarus against expected values computed in Rust.

use l1forge_hdl::rtl::{Bits, Design, Dir, Module, Port};
use std::collections::BTreeMap;
use std::process::Command;
use std::rc::Rc;

/// One clock cycle: inputs, and what the outputs must show before the clock edge. Outputs that are not listed may be anything.
#[derive(Default, Clone)]
pub struct Step {
    pub inputs: BTreeMap<&'static str, Bits>,
    pub outputs: BTreeMap<&'static str, Bits>,
}

impl Step {
    pub fn set(mut self, port: &'static str, value: Bits) -> Self {
        self.inputs.insert(port, value);
        self
    }

    pub fn expect(mut self, port: &'static str, value: Bits) -> Self {
        self.outputs.insert(port, value);
        self
    }
}

fn run(cmd: &mut Command) -> String {
    let name = cmd.get_program().to_string_lossy().into_owned();
    let out = cmd.output().unwrap_or_else(|e| panic!("{name} does not run ({e}): install it with `apt-get install iverilog`"));
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{name}: {text}");
    text
}

/// Simulates the steps after a reset and panics at the first difference.
pub fn check(module: &Rc<Module>, steps: &[Step]) {
    let result = simulate(module, steps);
    assert!(result.is_ok(), "{}", result.unwrap_err());
}

/// [`check`] with the differences returned.
pub fn simulate(module: &Rc<Module>, steps: &[Step]) -> Result<(), String> {
    let design = Design::new(module.clone()).unwrap_or_else(|e| panic!("{e}"));
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut files: Vec<_> = design.write_to(dir.path()).expect("a writable temporary folder");

    let of = |d: Dir| -> Vec<Port> { module.ports().iter().filter(|p| p.dir == d).cloned().collect() };
    let (ins, outs) = (of(Dir::Input), of(Dir::Output));
    let in_bits: u32 = ins.iter().map(|p| p.width).sum::<u32>() + 1;
    let out_bits: u32 = outs.iter().map(|p| p.width).sum();
    let vectors: String = steps
        .iter()
        .map(|s| {
            for name in s.inputs.keys().chain(s.outputs.keys()) {
                assert!(module.port(name).is_some(), "no port {name}");
            }
            // From the low end: mask of compared outputs, expected outputs, inputs, a one so that no word is empty.
            let mask = outs.iter().map(|p| match s.outputs.get(p.name.as_str()) {
                Some(_) => Bits::ones(p.width),
                None => Bits::zero(p.width),
            });
            let value = |map: &BTreeMap<&'static str, Bits>, p: &Port| match map.get(p.name.as_str()) {
                Some(b) => {
                    assert_eq!(b.width(), p.width, "width of {}", p.name);
                    b.clone()
                }
                None => Bits::zero(p.width),
            };
            let expected = outs.iter().map(|p| value(&s.outputs, p));
            let inputs = ins.iter().map(|p| value(&s.inputs, p));
            let parts: Vec<Bits> = mask.chain(expected).chain(inputs).chain([Bits::ones(1)]).collect();
            Bits::concat_lsb_first(&parts).to_hex() + "\n"
        })
        .collect();
    std::fs::write(dir.path().join("vectors.hex"), vectors).expect("a writable temporary folder");

    let total = in_bits + 2 * out_bits;
    let mut tb = format!(
        "module tb;\n    reg [{}:0] vectors [0:{}];\n    reg [{}:0] v;\n    reg clk = 0;\n    reg rst = 1;\n    integer i;\n",
        total - 1,
        steps.len() - 1,
        total - 1
    );
    let mut conns = Vec::new();
    let mut at = 2 * out_bits;
    for p in &ins {
        conns.push(format!(".{}(v[{}:{at}])", p.name, at + p.width - 1));
        at += p.width;
    }
    for p in &outs {
        tb.push_str(&format!("    wire [{}:0] {};\n", p.width - 1, p.name));
        conns.push(format!(".{0}({0})", p.name));
    }
    for p in module.ports() {
        match p.dir {
            Dir::Clock => conns.push(format!(".{}(clk)", p.name)),
            Dir::Reset => conns.push(format!(".{}({})", p.name, if p.name.ends_with("_ni") { "!rst" } else { "rst" })),
            _ => {}
        }
    }
    tb.push_str(&format!("    {} dut ({});\n", design.top(), conns.join(", ")));
    let mut compare = String::new();
    let (mut m, mut e) = (0, out_bits);
    for p in &outs {
        let hi = p.width - 1;
        compare.push_str(&format!(
            "            if (v[{m}] && {n} !== v[{}:{e}]) $display(\"step %0d: {n} is %h, expected %h\", i, {n}, v[{}:{e}]);\n",
            e + hi,
            e + hi,
            n = p.name
        ));
        m += p.width;
        e += p.width;
    }
    tb.push_str(&format!(
        "    initial begin\n        $readmemh(\"vectors.hex\", vectors);\n        v = 0;\n        #1 clk = 1; #1 clk = 0; #1 rst = 0; #1;\n        for (i = 0; i < {}; i = i + 1) begin\n            v = vectors[i];\n            #1;\n{compare}            #1 clk = 1; #1 clk = 0; #1;\n        end\n        $finish(0);\n    end\nendmodule\n",
        steps.len()
    ));
    let tb_path = dir.path().join("tb.v");
    std::fs::write(&tb_path, tb).expect("a writable temporary folder");
    files.push(tb_path);
    let exe = dir.path().join("tb.vvp");
    let warnings = run(Command::new("iverilog").args(["-g2005", "-s", "tb", "-o"]).arg(&exe).args(&files));
    let text = warnings + &run(Command::new("vvp").current_dir(dir.path()).arg("-n").arg(&exe));
    if text.trim().is_empty() {
        return Ok(());
    }
    let shown: Vec<&str> = text.lines().take(20).collect();
    Err(format!("{}\n{}", shown.join("\n"), design.files().iter().map(|f| f.1.as_str()).collect::<String>()))
}

/// Small generator of pseudo-random values for stimuli, seeded.
pub struct Rand(pub u64);

impl Rand {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn bits(&mut self, width: u32) -> Bits {
        let words: Vec<u64> = (0..width.div_ceil(64)).map(|_| self.next()).collect();
        Bits::from_words(width, &words)
    }
}
