//! Names, scopes, registers and instances.

use super::super::expr::{Expr, Kind, Loc, Node};
use super::super::index::LoopVar;
use super::super::keywords::is_keyword;
use super::super::module::{Item, PropKind};
use super::super::options::ResetStyle;
use super::super::print::port_dir;
use super::super::process::{Label, Stmt, targets};
use super::super::signal::SigKind;
use super::Checker;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

fn identifier(name: &str) -> bool {
    let mut c = name.chars();
    c.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') && c.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Checker<'_> {
    fn name(&mut self, name: &str, loc: Loc) {
        if !identifier(name) {
            self.error(loc, &format!("`{name}` is not a Verilog identifier"));
        } else if is_keyword(name) {
            self.error(loc, &format!("`{name}` is a keyword of Verilog or SystemVerilog"));
        }
    }

    pub(super) fn names(&mut self) {
        let b = self.b;
        self.name(&b.name, b.loc);
        let mut seen: BTreeMap<&str, Loc> = BTreeMap::new();
        let mut all: Vec<(&str, Loc)> = b.signals.iter().map(|s| (s.name.as_str(), s.loc)).collect();
        all.extend(b.properties.iter().map(|p| (p.name.as_str(), p.loc)));
        for i in &b.items {
            if let Item::Instance(i) = i {
                all.push((&i.name, i.loc));
            }
        }
        for (n, loc) in all {
            self.name(n, loc);
            if n == b.name {
                self.error(loc, &format!("`{n}` has the name of its module"));
            }
            if let Some(first) = seen.insert(n, loc) {
                self.error(loc, &format!("the name `{n}` is already taken at {}:{}", first.file(), first.line()));
            }
        }
        let mut ports = 0;
        for s in &b.signals {
            let rule = match s.kind {
                SigKind::Input => Some(("input", s.name.ends_with("_i"), "_i")),
                SigKind::Clock => Some(("clock", s.name.ends_with("_i"), "_i")),
                SigKind::Reset if b.opts.reset.active_high() => Some(("active-high reset", s.name.ends_with("_i"), "_i")),
                SigKind::Reset => Some(("active-low reset", s.name.ends_with("_ni"), "_ni")),
                SigKind::Output => Some(("output", s.name.ends_with("_o"), "_o")),
                SigKind::Reg => Some(("register", s.name.ends_with("_q"), "_q")),
                SigKind::Param | SigKind::LocalParam => {
                    Some(("parameter", !s.name.contains(|c: char| c.is_ascii_lowercase()), "capital letters"))
                }
                SigKind::Wire => None,
            };
            if let Some((what, false, suffix)) = rule {
                self.error(
                    s.loc,
                    &format!("the name of {what} `{}` must end in {suffix}", s.name).replace("end in capital", "be in capital"),
                );
            }
            if port_dir(s.kind).is_some() {
                ports += 1;
                if s.doc.borrow().trim().is_empty() {
                    self.error(s.loc, &format!("port `{}` has no description", s.name));
                }
            }
        }
        if ports == 0 {
            self.error(b.loc, "there are no ports");
        }
        for p in &b.properties {
            let suffix = match p.kind {
                PropKind::Assert => "_A",
                PropKind::Assume => "_M",
                PropKind::Cover => "_C",
            };
            if !p.name.ends_with(suffix) {
                self.error(p.loc, &format!("the name of property `{}` must end in {suffix}", p.name));
            }
        }
    }

    // ---------------------------------------------------------------- foreign signals, loop variables out of scope

    pub(super) fn scopes(&mut self) {
        let b = self.b;
        let mut seen = HashSet::new();
        for item in &b.items {
            match item {
                Item::Comment(_) | Item::Section(_) | Item::Net(_) | Item::LocalParam(_) => {}
                Item::Wire(_, e, loc) | Item::Unused(_, e, loc) => self.scope(e, &[], loc, &mut seen),
                Item::Assign(t, v, loc) => {
                    self.scope(t, &[], loc, &mut seen);
                    self.scope(v, &[], loc, &mut seen);
                }
                Item::Comb(stmts, loc) | Item::Seq(stmts, loc) => self.scope_stmts(stmts, &mut vec![], loc, &mut seen),
                Item::Instance(i) => {
                    let vars: Vec<LoopVar> = i.array.iter().cloned().collect();
                    for (e, loc) in i.conns.values().chain(i.params.values()) {
                        self.scope(e, &vars, loc, &mut seen);
                    }
                    if let Some(g) = &i.array {
                        self.loop_var(g, i.loc);
                    }
                }
            }
        }
        for s in &b.signals {
            for u in s.updates.borrow().iter() {
                for e in u.cond.iter().chain([&u.target, &u.value]) {
                    self.scope(e, &[], u.loc, &mut seen);
                }
            }
        }
        for p in &b.properties {
            self.scope(&p.expr, &[], p.loc, &mut seen);
        }
    }

    fn loop_var(&mut self, v: &LoopVar, loc: Loc) {
        self.name(v.name(), loc);
        if let Some(s) = self.b.signals.iter().find(|s| s.name == v.name()) {
            let text = format!("loop variable `{}` hides the signal declared at {}:{}", v.name(), s.loc.file(), s.loc.line());
            self.error(loc, &text);
        }
    }

    fn scope_stmts(&mut self, stmts: &[Stmt], vars: &mut Vec<LoopVar>, at: Loc, seen: &mut HashSet<*const Node>) {
        for s in stmts {
            match s {
                Stmt::Comment(_) => {}
                Stmt::Assign { target, value, loc } => {
                    self.scope(target, vars, loc, seen);
                    self.scope(value, vars, loc, seen);
                }
                Stmt::If { arms, otherwise } => {
                    for (c, body) in arms {
                        self.scope(c, vars, at, seen);
                        self.scope_stmts(body, vars, at, seen);
                    }
                    self.scope_stmts(otherwise, vars, at, seen);
                }
                Stmt::For { var, body, loc } => {
                    self.loop_var(var, loc);
                    if self
                        .b
                        .items
                        .iter()
                        .any(|i| matches!(i, Item::Instance(i) if i.array.as_ref().is_some_and(|g| g.name() == var.name())))
                    {
                        self.error(loc, &format!("loop variable `{}` has the name of the genvar of an instance array", var.name()));
                    }
                    if vars.iter().any(|v| v.name() == var.name()) {
                        self.error(loc, &format!("loop variable `{}` is used by an outer loop", var.name()));
                    }
                    vars.push(var.clone());
                    self.scope_stmts(body, vars, at, seen);
                    vars.pop();
                }
                Stmt::Case { sel, arms, default } => {
                    self.scope(sel, vars, at, seen);
                    for (label, body) in arms {
                        if let Label::Name(e) = label {
                            self.scope(e, vars, at, seen);
                        }
                        self.scope_stmts(body, vars, at, seen);
                    }
                    self.scope_stmts(default, vars, at, seen);
                }
            }
        }
    }

    /// `seen` holds loop-free nodes only: they are the same everywhere.
    fn scope(&mut self, e: &Expr, vars: &[LoopVar], loc: Loc, seen: &mut HashSet<*const Node>) {
        if let Kind::Sig(s) = e.kind() {
            if s.module != self.b.uid {
                self.error(loc, &format!("signal `{}` belongs to another module (declared at {}:{})", s.name, s.loc.file(), s.loc.line()));
            }
            return;
        }
        if !e.0.loopy && e.is_worth_noting() && !seen.insert(Rc::as_ptr(&e.0)) {
            return;
        }
        let unknown = |v: &LoopVar| !vars.iter().any(|w| w.same(v));
        match e.kind() {
            Kind::LoopVal(v) if unknown(v) => self.error(loc, &format!("loop variable `{}` is used outside its loop", v.name())),
            Kind::Sel { off, .. } => {
                for (v, _) in &off.terms {
                    if unknown(v) {
                        self.error(loc, &format!("loop variable `{}` is used outside its loop", v.name()));
                    }
                }
            }
            _ => {}
        }
        e.kind().for_each_child(&mut |c| self.scope(c, vars, loc, seen));
    }

    // ---------------------------------------------------------------- registers and instances

    pub(super) fn registers(&mut self) {
        let b = self.b;
        let mut blocks: BTreeMap<u32, Loc> = BTreeMap::new();
        for item in &b.items {
            let Item::Seq(stmts, loc) = item else {
                continue;
            };
            let t = targets(stmts);
            for s in t.iter().filter(|s| s.module == b.uid) {
                if let Some(first) = blocks.insert(s.id, loc) {
                    self.error(loc, &format!("register `{}` is already updated at {}:{}", s.name, first.file(), first.line()));
                }
            }
            let with = t.iter().filter(|s| s.value.borrow().is_some()).count();
            if with != 0 && with != t.len() && b.opts.reset != ResetStyle::None {
                self.error(loc, "a clocked block cannot mix registers with and without reset: use two blocks");
            }
        }
        for s in b.signals.iter().filter(|s| s.kind == SigKind::Reg) {
            let updates = s.updates.borrow();
            let block = blocks.get(&s.id);
            match (updates.first(), block) {
                (None, None) => self.error(s.loc, &format!("register `{}` is never updated", s.name)),
                (Some(u), Some(first)) => {
                    self.error(u.loc, &format!("register `{}` is already updated at {}:{}", s.name, first.file(), first.line()));
                }
                _ => {}
            }
            let mut final_targets: Vec<&Expr> = Vec::new();
            for u in updates.iter() {
                if final_targets.iter().any(|t| Rc::ptr_eq(&t.0, &u.target.0)) {
                    self.error(u.loc, &format!("this update of `{}` can never happen: an unconditional one comes before it", s.name));
                }
                if u.cond.is_none() {
                    final_targets.push(&u.target);
                }
            }
            if b.clock.is_none() {
                self.error(s.loc, &format!("register `{}` needs a clock: call clock_reset()", s.name));
            } else if s.value.borrow().is_some() && b.opts.reset != ResetStyle::None && b.reset.is_none() {
                self.error(s.loc, &format!("register `{}` has a reset value but the module has no reset port", s.name));
            }
        }
    }

    pub(super) fn instances(&mut self) {
        for item in &self.b.items {
            let Item::Instance(i) = item else { continue };
            if let Some(style) = i.module.reset_style
                && style != self.b.opts.reset
            {
                let text = format!("instance `{}` has reset style {style:?}, this module {:?}", i.name, self.b.opts.reset);
                self.error(i.loc, &text);
            }
        }
    }
}
