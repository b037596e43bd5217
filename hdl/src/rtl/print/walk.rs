//! Walks over everything that a module prints.

use super::super::expr::{Expr, Node};
use super::super::module::{Item, ModuleBuilder};
use super::super::process::Stmt;
use super::super::signal::SigKind;
use super::SHARE_SIZE;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// True if the expression reads the signal.
pub(super) fn mentions(e: &Expr, signal: &Expr, seen: &mut HashSet<*const Node>) -> bool {
    let same = |s: &Expr| matches!((s.as_signal(), signal.as_signal()), (Some(a), Some(b)) if a.id == b.id);
    finds(e, &mut |x| same(x), seen)
}

/// True if the expression reads a parameter.
pub(super) fn reads_parameters(e: &Expr) -> bool {
    let mut parameter = |x: &Expr| x.as_signal().is_some_and(|s| matches!(s.kind, SigKind::Param | SigKind::LocalParam));
    finds(e, &mut parameter, &mut HashSet::new())
}

/// True if the expression reads anything that can change, apart from some signals.
pub(super) fn reads_signals(e: &Expr, except: &[u32]) -> bool {
    let constant = [SigKind::Param, SigKind::LocalParam];
    let mut changes = |x: &Expr| x.as_signal().is_some_and(|s| !constant.contains(&s.kind) && !except.contains(&s.id));
    finds(e, &mut changes, &mut HashSet::new())
}

fn finds(e: &Expr, what: &mut dyn FnMut(&Expr) -> bool, seen: &mut HashSet<*const Node>) -> bool {
    if what(e) {
        return true;
    }
    if e.is_worth_noting() && !seen.insert(Rc::as_ptr(&e.0)) {
        return false;
    }
    let mut found = false;
    e.kind().for_each_child(&mut |c| found = found || finds(c, what, seen));
    found
}

/// Visits every expression of statements: targets, values, conditions.
fn for_each_in(stmts: &[Stmt], f: &mut dyn FnMut(&Expr)) {
    for s in stmts {
        match s {
            Stmt::Comment(_) => {}
            Stmt::Assign { target, value, .. } => {
                f(target);
                f(value);
            }
            Stmt::If { arms, otherwise } => {
                for (c, body) in arms {
                    f(c);
                    for_each_in(body, f);
                }
                for_each_in(otherwise, f);
            }
            Stmt::For { body, .. } => for_each_in(body, f),
            Stmt::Case { sel, arms, default } => {
                f(sel);
                arms.iter().for_each(|a| for_each_in(&a.1, f));
                for_each_in(default, f);
            }
        }
    }
}

/// Visits every expression that the module prints outside of properties.
pub(super) fn for_each_root(b: &ModuleBuilder, f: &mut dyn FnMut(&Expr)) {
    for item in &b.items {
        match item {
            Item::Comment(_) | Item::Section(_) | Item::Net(_) | Item::LocalParam(_) => {}
            Item::Wire(_, e, _) | Item::Unused(_, e, _) => f(e),
            Item::Assign(t, v, _) => {
                f(t);
                f(v);
            }
            Item::Comb(stmts, _) | Item::Seq(stmts, _) => for_each_in(stmts, f),
            Item::Instance(i) => i.conns.values().for_each(|c| f(&c.0)),
        }
    }
    for s in &b.signals {
        for u in s.updates.borrow().iter() {
            u.cond.iter().chain([&u.target, &u.value]).for_each(&mut *f);
        }
    }
}

/// Counts the uses of shared expressions that are worth a wire.
pub(super) fn count_uses(b: &ModuleBuilder, uses: &mut HashMap<*const Node, u32>) {
    fn visit(e: &Expr, uses: &mut HashMap<*const Node, u32>) {
        if e.0.size > SHARE_SIZE && Rc::strong_count(&e.0) > 1 {
            let n = uses.entry(Rc::as_ptr(&e.0)).or_insert(0);
            *n += 1;
            if *n > 1 {
                return;
            }
        }
        e.kind().for_each_child(&mut |c| visit(c, uses));
    }
    for_each_root(b, &mut |e| visit(e, uses));
    for p in &b.properties {
        visit(&p.expr, uses);
    }
}
