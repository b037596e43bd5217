//! The memory macro against an array, and its black box.

mod common;

use common::lint::lint_with;
use common::sim::{Rand, Step, check};
use l1forge_hdl::prim::sram_1r1w;
use l1forge_hdl::rtl::{Bits, Design, Module, ModuleBuilder, index_width};
use std::rc::Rc;

/// A module around one macro.
fn wrapped(rows: u32, bits: u32) -> Rc<Module> {
    let mut m = ModuleBuilder::new("wrapper");
    m.clock_reset();
    let mem = sram_1r1w(rows, bits);
    let mut ports = Vec::new();
    for p in mem.ports() {
        match p.name.as_str() {
            "clk_i" => {}
            "rdata_o" => ports.push((p.name.clone(), m.output(&p.name, p.width, &p.doc))),
            _ => ports.push((p.name.clone(), m.input(&p.name, p.width, &p.doc))),
        }
    }
    m.instance("u_mem", &mem, |i| {
        for (name, e) in &ports {
            i.connect(name, e);
        }
    });
    m.finish().unwrap()
}

#[test]
fn reads_old_words_and_masks_bits() {
    for (rows, bits) in [(1, 1), (2, 3), (3, 5), (5, 8), (8, 1), (64, 64), (100, 100)] {
        let mut r = Rand(u64::from(rows));
        let mut mem = vec![Bits::zero(bits); rows as usize];
        let mut out = None; // unknown before the first read
        let addr = index_width(rows);
        let mut steps = Vec::new();
        for step in 0..600 {
            // Every word is written before one is read.
            let sweep = step < u64::from(rows);
            let (re, we) = (!sweep && r.chance(70), sweep || r.chance(70));
            let ra = r.below(1 << addr);
            // Often the same row on both ports.
            let wa = if sweep {
                step
            } else if r.chance(50) {
                ra
            } else {
                r.below(1 << addr)
            };
            let (data, mask) = (r.bits(bits), if sweep { Bits::zero(bits).not() } else { r.bits(bits) });
            let inputs = Step::default()
                .set("re_i", Bits::from_u64(1, u64::from(re)))
                .set("raddr_i", Bits::from_u64(addr, ra))
                .set("we_i", Bits::from_u64(1, u64::from(we)))
                .set("waddr_i", Bits::from_u64(addr, wa))
                .set("wdata_i", data.clone())
                .set("wmask_i", mask.clone());
            steps.push(match &out {
                Some(word) => inputs.expect("rdata_o", Bits::clone(word)),
                None => inputs,
            });
            if re {
                out = Some(mem.get(ra as usize).cloned().unwrap_or_else(|| Bits::zero(bits)));
            }
            if let (true, Some(w)) = (we, mem.get_mut(wa as usize)) {
                *w = w.and(&mask.not()).or(&data.and(&mask));
            }
        }
        check(&wrapped(rows, bits), &steps);
    }
}

#[test]
fn linters_are_silent_in_both_modes() {
    for (rows, bits) in [(1, 1), (3, 5), (64, 64), (100, 1000)] {
        let d = Design::new(wrapped(rows, bits)).unwrap();
        for defines in [&[][..], &["SYNTHESIS"]] {
            let said = lint_with(&d.files(), d.top(), defines);
            assert!(said.is_empty(), "{said}");
        }
    }
}

#[test]
fn synthesis_infers_nothing() {
    let d = Design::new(wrapped(64, 32)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let files: Vec<String> = d.write_to(dir.path()).unwrap().iter().map(|p| p.display().to_string()).collect();
    let script = format!(
        "read_verilog {}; synth -top wrapper; select -assert-count 1 wrapper/t:*sram_1r1w*; select -assert-none wrapper/t:$_DFF* wrapper/t:$mem*",
        files.join(" ")
    );
    let out = std::process::Command::new("yosys").args(["-q", "-p", &script]).output().expect("apt-get install yosys");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr));
}
