//! Checks of a whole module: names, drivers, uses, combinational loops.

mod drivers;
mod names;
mod uses;

use super::design::{Module, Param, Port};
use super::error::RtlError;
use super::expr::{Expr, Kind, Loc, Node};
use super::index::{Affine, LoopVar};
use super::module::ModuleBuilder;
use super::print::{Printer, port_dir};
use super::process::{Label, Stmt, target_signal};
use super::signal::{SigKind, Signal};
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

/// Bits `lo .. lo + width` of a signal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Range {
    sig: u32,
    lo: u32,
    width: u32,
}

struct Checker<'a> {
    b: &'a ModuleBuilder,
    errors: Vec<String>,
    /// Signals by id that only properties need.
    formal: BTreeSet<u32>,
}

pub(crate) fn finish(b: ModuleBuilder) -> Result<Rc<Module>, RtlError> {
    let mut c = Checker { b: &b, errors: b.errors.iter().map(|e| format!("module {}: {e}", b.name)).collect(), formal: BTreeSet::new() };
    c.names();
    c.scopes();
    c.registers();
    c.instances();
    // The rest looks signals up by number, so it needs signals of this module only.
    let mut comb_deps = vec![];
    if c.errors.is_empty() {
        c.uses();
        let drivers = c.drivers();
        if c.errors.is_empty() {
            comb_deps = c.dependencies(&drivers);
        }
    }
    if !c.errors.is_empty() {
        return Err(RtlError::new(c.errors));
    }
    let formal = c.formal;
    let ports: Vec<Port> = b
        .signals
        .iter()
        .filter_map(|s| {
            let dir = port_dir(s.kind)?;
            Some(Port { name: s.name.clone(), dir, width: s.width, doc: s.doc.borrow().clone() })
        })
        .collect();
    let params: Vec<Param> = b
        .signals
        .iter()
        .filter(|s| s.kind == SigKind::Param)
        .filter_map(|s| {
            let default = s.value.borrow().clone()?;
            Some(Param { name: s.name.clone(), width: s.width, default, doc: s.doc.borrow().clone() })
        })
        .collect();
    let flip_flop_bits = b.signals.iter().filter(|s| s.kind == SigKind::Reg).map(|s| u64::from(s.width)).sum();
    let printed = Printer::new(&b, formal).print();
    Ok(Rc::new(Module {
        name: b.name.clone(),
        ports,
        params,
        template: printed.template,
        subs: printed.subs,
        sub_counts: printed.sub_counts,
        comb_deps,
        flip_flop_bits,
        reset_style: b.reset.as_ref().map(|_| b.opts.reset),
        memory: None,
        repeated: b.repeated,
        fixed_params: vec![],
    }))
}

/// Adds the bits that an expression reads. `at` fixes the genvar of an instance array.
fn reads(e: &Expr, at: Option<(&LoopVar, u32)>, out: &mut Vec<Range>) {
    let mut seen = HashSet::new();
    reads_into(e, at, &mut seen, out);
}

fn reads_into(e: &Expr, at: Option<(&LoopVar, u32)>, seen: &mut HashSet<*const Node>, out: &mut Vec<Range>) {
    match e.kind() {
        Kind::Lit(_) | Kind::LoopVal(_) => return,
        Kind::Sig(s) => {
            out.push(Range { sig: s.id, lo: 0, width: s.width });
            return;
        }
        Kind::Sel { base, dynamic, off } => {
            if let (Kind::Sig(s), []) = (base.kind(), &dynamic[..]) {
                let (lo, hi) = off_range(off, at);
                out.push(Range { sig: s.id, lo, width: hi - lo + e.width() });
                return;
            }
        }
        _ => {}
    }
    if e.is_worth_noting() && !seen.insert(Rc::as_ptr(&e.0)) {
        return;
    }
    e.kind().for_each_child(&mut |c| reads_into(c, at, seen, out));
}

/// Smallest and largest bit position of an offset.
fn off_range(off: &Affine, at: Option<(&LoopVar, u32)>) -> (u32, u32) {
    let (lo, hi) = match at {
        Some((v, n)) => off.fixed(v, n).range(),
        None => off.range(),
    };
    (lo.max(0) as u32, hi.max(0) as u32)
}

/// Bits that a target stands for.
fn target_range(e: &Expr, at: Option<(&LoopVar, u32)>) -> Range {
    let s = target_signal(e);
    match e.kind() {
        Kind::Sel { dynamic, off, .. } if dynamic.is_empty() => {
            let (lo, hi) = off_range(off, at);
            Range { sig: s.id, lo, width: hi - lo + e.width() }
        }
        _ => Range { sig: s.id, lo: 0, width: s.width },
    }
}

/// Parts of `width` bits that no range covers.
pub(crate) fn gaps(mut ranges: Vec<(u32, u32)>, width: u32) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    let (mut at, mut gaps) = (0, Vec::new());
    for (lo, w) in ranges {
        if lo > at {
            gaps.push((at, lo - at));
        }
        at = at.max(lo + w);
    }
    if at < width {
        gaps.push((at, width - at));
    }
    gaps
}

/// `bit 3, bits 7:5`; empty for a whole signal.
fn bits_text(ranges: &[(u32, u32)], width: u32) -> String {
    if let [(0, w)] = ranges
        && *w == width
    {
        return String::new();
    }
    let mut t: Vec<String> =
        ranges.iter().take(8).map(|&(lo, w)| if w == 1 { format!("bit {lo}") } else { format!("bits {}:{lo}", lo + w - 1) }).collect();
    if ranges.len() > 8 {
        t.push(format!("and {} more ranges", ranges.len() - 8));
    }
    format!("{} of ", t.join(", "))
}

impl Checker<'_> {
    fn error(&mut self, loc: Loc, text: &str) {
        self.errors.push(format!("module {}: {text} (at {}:{})", self.b.name, loc.file(), loc.line()));
    }

    fn signal(&self, id: u32) -> &Rc<Signal> {
        &self.b.signals[id as usize]
    }
}

/// Visits what statements read (not their targets, but indices of targets).
fn stmt_reads(stmts: &[Stmt], f: &mut dyn FnMut(&Expr)) {
    for s in stmts {
        match s {
            Stmt::Comment(_) => {}
            Stmt::Assign { target, value, .. } => {
                if let Kind::Sel { dynamic, .. } = target.kind() {
                    dynamic.iter().for_each(|d| f(&d.0));
                }
                f(value);
            }
            Stmt::If { arms, otherwise } => {
                for (c, body) in arms {
                    f(c);
                    stmt_reads(body, f);
                }
                stmt_reads(otherwise, f);
            }
            Stmt::For { body, .. } => stmt_reads(body, f),
            Stmt::Case { sel, arms, default } => {
                f(sel);
                for (label, body) in arms {
                    if let Label::Name(e) = label {
                        f(e);
                    }
                    stmt_reads(body, f);
                }
                stmt_reads(default, f);
            }
        }
    }
}
