//! Which bits of signals are used.

use super::super::design::Dir;
use super::super::expr::{Expr, Kind, Node};
use super::super::module::Item;
use super::super::signal::SigKind;
use super::{Checker, bits_text, gaps, reads, stmt_reads};
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

/// Adds the bits that an expression needs, exact to the bit for loops.
fn used_bits(e: &Expr, used: &mut [Vec<(u32, u32)>], seen: &mut HashSet<*const Node>) {
    match e.kind() {
        Kind::Lit(_) | Kind::LoopVal(_) => return,
        Kind::Sig(s) => {
            used[s.id as usize].push((0, s.width));
            return;
        }
        Kind::Sel { base, dynamic, off } => {
            if let (Kind::Sig(s), []) = (base.kind(), &dynamic[..]) {
                used[s.id as usize].extend(off.cover(e.width()));
                return;
            }
        }
        _ => {}
    }
    if e.is_worth_noting() && !seen.insert(Rc::as_ptr(&e.0)) {
        return;
    }
    e.kind().for_each_child(&mut |c| used_bits(c, used, seen));
}

impl Checker<'_> {
    pub(super) fn uses(&mut self) {
        let b = self.b;
        let mut used: Vec<Vec<(u32, u32)>> = vec![vec![]; b.signals.len()];
        let mut buf = Vec::new();
        let note = |e: &Expr, used: &mut Vec<Vec<(u32, u32)>>| used_bits(e, used, &mut HashSet::new());
        let mut wires = Vec::new();
        for item in &b.items {
            match item {
                Item::Wire(s, e, _) => wires.push((s, e)),
                Item::Unused(_, e, _) | Item::Assign(_, e, _) => note(e, &mut used),
                Item::Comb(stmts, _) | Item::Seq(stmts, _) => stmt_reads(stmts, &mut |e| note(e, &mut used)),
                Item::Instance(i) => {
                    for p in i.module.ports().iter().filter(|p| p.dir != Dir::Output) {
                        note(&i.conns[&p.name].0, &mut used);
                    }
                    i.params.values().for_each(|e| note(&e.0, &mut used));
                }
                _ => {}
            }
        }
        for s in &b.signals {
            for u in s.updates.borrow().iter() {
                u.cond.iter().chain([&u.value]).for_each(|e| note(e, &mut used));
                if let Kind::Sel { dynamic, .. } = u.target.kind() {
                    dynamic.iter().for_each(|d| note(&d.0, &mut used));
                }
            }
        }
        // What properties need, and wires that only such wires need, is printed for formal tools alone.
        let mut in_properties = BTreeSet::new();
        for p in &b.properties {
            reads(&p.expr, None, &mut buf);
            in_properties.extend(buf.drain(..).map(|r| r.sig));
        }
        for (s, e) in wires.into_iter().rev() {
            if used[s.id as usize].is_empty() && in_properties.contains(&s.id) {
                self.formal.insert(s.id);
                reads(e, None, &mut buf);
                in_properties.extend(buf.drain(..).map(|r| r.sig));
            } else {
                note(e, &mut used);
            }
        }
        for s in &b.signals {
            let skip = matches!(s.kind, SigKind::Output | SigKind::Clock | SigKind::Reset)
                || s.name.contains("unused")
                || self.formal.contains(&s.id);
            if skip {
                continue;
            }
            let gaps = gaps(std::mem::take(&mut used[s.id as usize]), s.width);
            if !gaps.is_empty() {
                let what = match s.kind {
                    SigKind::Input => "input ",
                    SigKind::Reg => "register ",
                    SigKind::Param | SigKind::LocalParam => "parameter ",
                    _ => "",
                };
                // A parameter is one thing for every linter.
                if matches!(s.kind, SigKind::Param | SigKind::LocalParam) && gaps != [(0, s.width)] {
                    continue;
                }
                let only = if in_properties.contains(&s.id) { " except by properties" } else { "" };
                let text = format!("{}{what}`{}` is never used{only}: remove it or call mark_unused", bits_text(&gaps, s.width), s.name);
                self.error(s.loc, &text);
            }
        }
    }
}
