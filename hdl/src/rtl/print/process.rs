//! Prints always blocks.

use super::super::bits::Bits;
use super::super::expr::{Expr, Kind, NaryOp};
use super::super::options::ResetStyle;
use super::super::process::{Label, Stmt, target_signal, targets};
use super::super::signal::{SigKind, Signal};
use super::text::{base_name, comment_into, lit_text, repl_text, typed, wrap_into};
use super::walk::{mentions, reads_parameters, reads_signals};
use super::{Made, Printer, Process, Scope};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Declarations and statements of an always block, both with their indentation.
struct Body {
    decls: String,
    code: String,
}

/// Condition and value of a register update.
type Step = (Option<String>, String);

/// One register update chain: conditions, and for each the assignments under it.
type Chain = (Vec<Option<String>>, Vec<Vec<String>>);

impl Printer<'_> {
    /// A combinational block.
    pub(super) fn comb(&mut self, stmts: &[Stmt]) {
        let targets = targets(stmts);
        let Some(first) = targets.first() else { return };
        let base = base_name(&first.name);
        let label = self.fresh(&format!("p_{base}"));
        let own: Vec<u32> = targets.iter().map(|t| t.id).collect();
        let triggered = runs(stmts, &own);
        let zero = if triggered { "1'b0".to_owned() } else { self.trigger(&base) };
        let mut defaults = String::new();
        for s in &targets {
            if triggered && assigned_first(stmts, s) {
                continue;
            }
            let value = if triggered { lit_text(&Bits::zero(s.width)) } else { repl_text(s.width, 1, &zero) };
            wrap_into(&mut defaults, 4, &format!("{} = {value};", s.name), "");
        }
        let body = self.process(false, &targets, stmts, 1);
        self.gap();
        self.emit(&format!("always @* begin : {label}\n{}{defaults}{}end", body.decls, body.code));
        self.blank();
    }

    /// A clocked block.
    pub(super) fn seq(&mut self, stmts: &[Stmt]) {
        let targets = targets(stmts);
        let Some(first) = targets.first() else { return };
        let label = self.fresh(&format!("p_{}", base_name(&first.name)));
        let reset = self.has_reset(first);
        let body = self.process(true, &targets, stmts, if reset { 2 } else { 1 });
        let t = self.clocked(&label, &targets, &body);
        self.gap();
        self.emit(&t);
        self.blank();
    }

    fn process(&mut self, clocked: bool, targets: &[Rc<Signal>], stmts: &[Stmt], depth: usize) -> Body {
        self.scope = Scope::Process(Process {
            clocked,
            targets: targets.iter().map(|t| t.id).collect(),
            inside: HashMap::new(),
            decls: vec![],
            pre: vec![],
            memo: HashMap::new(),
            made: Made::default(),
        });
        let mut code = String::new();
        self.stmts(stmts, depth, clocked, &mut code);
        let Scope::Process(p) = std::mem::replace(&mut self.scope, Scope::Module) else { unreachable!("scope of a process") };
        let mut decls = String::new();
        for v in loop_vars(stmts) {
            decls.push_str(&format!("    reg [31:0] {v};\n"));
        }
        let partly: HashSet<&String> = p.made.unused().map(|u| u.0).collect();
        let (partly, whole): (Vec<_>, Vec<_>) = p.decls.iter().partition(|d| partly.contains(&d.0));
        for (name, w) in &whole {
            decls.push_str(&format!("    {}{name};\n", typed("reg", *w)));
        }
        if !partly.is_empty() {
            decls.push_str("    // Only some bits of these are needed.\n");
            decls.push_str("    /* verilator lint_off UNUSEDSIGNAL */\n");
            for (name, w) in &partly {
                decls.push_str(&format!("    {}{name};\n", typed("reg", *w)));
            }
            decls.push_str("    /* verilator lint_on UNUSEDSIGNAL */\n");
        }
        // Temporaries of branches that are not taken would be latches.
        let mut start = String::new();
        if !clocked {
            // So would the variables of loops in such branches.
            for v in branch_loop_vars(stmts, false) {
                wrap_into(&mut start, depth * 4, &format!("{v} = 0;"), "");
            }
        }
        for (name, w) in &p.decls {
            let value = lit_text(&Bits::zero(*w));
            wrap_into(&mut start, depth * 4, &format!("{name} = {value};"), "");
        }
        let code = start + &code;
        Body { decls, code }
    }

    /// Prints the temporaries of the current statement.
    fn flush_local(&mut self, depth: usize, out: &mut String) {
        if let Scope::Process(p) = &mut self.scope {
            for t in p.pre.drain(..) {
                wrap_into(out, depth * 4, &t, "");
            }
            p.memo.clear();
        }
    }

    fn stmts(&mut self, stmts: &[Stmt], depth: usize, clocked: bool, out: &mut String) {
        for s in stmts {
            self.stmt(s, depth, clocked, out);
        }
    }

    fn stmt(&mut self, s: &Stmt, depth: usize, clocked: bool, out: &mut String) {
        let pad = depth * 4;
        match s {
            Stmt::Comment(t) => comment_into(out, pad, t),
            Stmt::Assign { target, value, .. } => {
                self.base_from(target);
                let t = self.text(target);
                let v = self.text(value);
                self.flush_local(depth, out);
                wrap_into(out, pad, &format!("{t} {} {v};", if clocked { "<=" } else { "=" }), "");
            }
            Stmt::If { arms, otherwise } => {
                self.base_from_stmts(s);
                let conds: Vec<String> = arms.iter().map(|(c, _)| self.text(c)).collect();
                self.flush_local(depth, out);
                for (i, ((_, body), c)) in arms.iter().zip(conds).enumerate() {
                    wrap_into(out, pad, &format!("{} ({c}) begin", if i == 0 { "if" } else { "end else if" }), "");
                    self.stmts(body, depth + 1, clocked, out);
                }
                if !otherwise.is_empty() {
                    wrap_into(out, pad, "end else begin", "");
                    self.stmts(otherwise, depth + 1, clocked, out);
                }
                wrap_into(out, pad, "end", "");
            }
            Stmt::For { var, body, .. } => {
                let (v, n) = (var.name(), var.count());
                wrap_into(out, pad, &format!("for ({v} = 0; {v} < {n}; {v} = {v} + 1) begin"), "");
                self.stmts(body, depth + 1, clocked, out);
                wrap_into(out, pad, "end", "");
            }
            Stmt::Case { sel, arms, default } => {
                self.base_from_stmts(s);
                let t = self.text(sel);
                self.flush_local(depth, out);
                wrap_into(out, pad, &format!("case ({t})"), "");
                for (label, body) in arms {
                    let l = match label {
                        Label::Value(b) => b.to_string(),
                        Label::Name(e) => e.to_string(),
                    };
                    wrap_into(out, pad + 4, &format!("{l}: begin"), "");
                    self.stmts(body, depth + 2, clocked, out);
                    wrap_into(out, pad + 4, "end", "");
                }
                wrap_into(out, pad + 4, "default: begin", "");
                self.stmts(default, depth + 2, clocked, out);
                wrap_into(out, pad + 4, "end", "");
                wrap_into(out, pad, "endcase", "");
            }
        }
    }

    /// Names of temporaries of a condition come from what it decides about.
    fn base_from_stmts(&mut self, s: &Stmt) {
        if let Some(t) = targets(std::slice::from_ref(s)).first() {
            self.base = base_name(&t.name);
        }
    }

    /// Puts clock and reset around the body of a block.
    fn clocked(&self, label: &str, targets: &[Rc<Signal>], body: &Body) -> String {
        let clk = self.b.clock.as_ref().map_or_else(String::new, ToString::to_string);
        let rst = self.b.reset.as_ref().map_or_else(String::new, ToString::to_string);
        let with_reset = targets.first().is_some_and(|t| self.has_reset(t));
        let edge = match self.b.opts.reset {
            ResetStyle::AsyncLow if with_reset => format!(" or negedge {rst}"),
            ResetStyle::AsyncHigh if with_reset => format!(" or posedge {rst}"),
            _ => String::new(),
        };
        let mut s = format!("always @(posedge {clk}{edge}) begin : {label}\n{}", body.decls);
        if with_reset {
            s.push_str(&format!("    if ({}) begin\n", self.reset_condition(true)));
            for t in targets {
                if let Some(v) = &*t.value.borrow() {
                    wrap_into(&mut s, 8, &format!("{} <= {};", t.name, lit_text(v)), "");
                }
            }
            s.push_str(&format!("    end else begin\n{}    end\n", body.code));
        } else {
            s.push_str(&body.code);
        }
        s.push_str("end");
        s
    }

    /// All registers that are not assigned in a block of their own.
    pub(super) fn registers(&mut self) {
        let b = self.b;
        let regs = b.signals.iter().filter(|s| s.kind == SigKind::Reg && !s.updates.borrow().is_empty());
        let (with, without): (Vec<_>, Vec<_>) = regs.cloned().partition(|s| self.has_reset(s));
        for (group, label) in [(with, "p_regs"), (without, "p_regs_no_reset")] {
            if group.is_empty() {
                continue;
            }
            let mut chains: Vec<Chain> = Vec::new();
            for r in &group {
                self.chains_of(r, &mut chains);
            }
            let depth = if self.has_reset(&group[0]) { 8 } else { 4 };
            let mut code = String::new();
            for (conds, lines) in chains {
                let mut open = false;
                for (c, assigns) in conds.iter().zip(lines) {
                    match (c, open) {
                        (Some(c), false) => wrap_into(&mut code, depth, &format!("if ({c}) begin"), ""),
                        (Some(c), true) => wrap_into(&mut code, depth, &format!("end else if ({c}) begin"), ""),
                        (None, true) => wrap_into(&mut code, depth, "end else begin", ""),
                        (None, false) => {}
                    }
                    open |= c.is_some();
                    for a in assigns {
                        wrap_into(&mut code, if open { depth + 4 } else { depth }, &a, "");
                    }
                }
                if open {
                    wrap_into(&mut code, depth, "end", "");
                }
            }
            let label = self.fresh(label);
            let t = self.clocked(&label, &group, &Body { decls: String::new(), code });
            self.blank();
            self.emit(&t);
        }
    }

    /// Appends the updates of a register: those of one target form a chain, and chains with the same conditions are one.
    fn chains_of(&mut self, r: &Signal, chains: &mut Vec<Chain>) {
        let mut by_target: Vec<(String, Vec<Step>)> = Vec::new();
        self.base = base_name(&r.name);
        for u in r.updates.borrow().iter() {
            let t = self.text(&u.target);
            let c = u.cond.as_ref().map(|c| self.text(c));
            let v = self.text(&u.value);
            match by_target.iter_mut().find(|b| b.0 == t) {
                Some(b) => b.1.push((c, v)),
                None => by_target.push((t, vec![(c, v)])),
            }
        }
        for (t, updates) in by_target {
            let conds: Vec<Option<String>> = updates.iter().map(|u| u.0.clone()).collect();
            let lines = updates.into_iter().map(|u| format!("{t} <= {};", u.1));
            match chains.last_mut() {
                Some((c, l)) if *c == conds => l.iter_mut().zip(lines).for_each(|(a, b)| a.push(b)),
                _ => chains.push((conds, lines.map(|l| vec![l]).collect())),
            }
        }
    }
}

/// True if the statements surely read a signal that can change and is not their own: without one, `always @*` would never run.
/// Simulators leave out what a parameter makes constant.
fn runs(stmts: &[Stmt], own: &[u32]) -> bool {
    stmts.iter().any(|s| match s {
        Stmt::Comment(_) => false,
        Stmt::Assign { value, .. } => surely_reads(value, own),
        Stmt::If { arms, .. } => surely_reads(&arms[0].0, own),
        Stmt::Case { sel, .. } => surely_reads(sel, own),
        Stmt::For { body, .. } => runs(body, own),
    })
}

fn surely_reads(e: &Expr, own: &[u32]) -> bool {
    if !reads_signals(e, own) {
        return false;
    }
    if !reads_parameters(e) {
        return true;
    }
    match e.kind() {
        Kind::Mux(c, ..) => surely_reads(c, own),
        Kind::Nary(NaryOp::And | NaryOp::Or, _) | Kind::Shl(..) | Kind::Shr(..) => false,
        kind => {
            let mut any = false;
            kind.for_each_child(&mut |c| any = any || surely_reads(c, own));
            any
        }
    }
}

/// Names of the variables of loops inside branches (`inside`: the statements are in one), each once.
fn branch_loop_vars(stmts: &[Stmt], inside: bool) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for s in stmts {
        match s {
            Stmt::For { var, body, .. } => {
                if inside {
                    all.insert(var.name().to_owned());
                }
                all.extend(branch_loop_vars(body, inside));
            }
            Stmt::If { arms, otherwise } => {
                arms.iter().for_each(|a| all.extend(branch_loop_vars(&a.1, true)));
                all.extend(branch_loop_vars(otherwise, true));
            }
            Stmt::Case { arms, default, .. } => {
                arms.iter().for_each(|a| all.extend(branch_loop_vars(&a.1, true)));
                all.extend(branch_loop_vars(default, true));
            }
            Stmt::Comment(_) | Stmt::Assign { .. } => {}
        }
    }
    all
}

/// Names of all loop variables, outer ones first.
pub(super) fn loop_vars(stmts: &[Stmt]) -> Vec<String> {
    fn walk(stmts: &[Stmt], out: &mut Vec<String>) {
        for s in stmts {
            match s {
                Stmt::Comment(_) | Stmt::Assign { .. } => {}
                Stmt::If { arms, otherwise } => {
                    arms.iter().for_each(|a| walk(&a.1, out));
                    walk(otherwise, out);
                }
                Stmt::For { var, body, .. } => {
                    if !out.iter().any(|v| v == var.name()) {
                        out.push(var.name().to_owned());
                    }
                    walk(body, out);
                }
                Stmt::Case { arms, default, .. } => {
                    arms.iter().for_each(|a| walk(&a.1, out));
                    walk(default, out);
                }
            }
        }
    }
    let mut out = Vec::new();
    walk(stmts, &mut out);
    out
}

/// True if the signal gets a whole value before anything else happens to it.
fn assigned_first(stmts: &[Stmt], s: &Rc<Signal>) -> bool {
    for st in stmts {
        match st {
            Stmt::Comment(_) => {}
            Stmt::Assign { target, value, .. } => {
                let own = target_signal(target).id == s.id;
                let mut reads = false;
                let me = Expr::new(s.width, Kind::Sig(s.clone()));
                reads |= mentions(value, &me, &mut HashSet::new());
                if own || reads {
                    return own && target.as_signal().is_some() && !reads;
                }
            }
            _ => return false,
        }
    }
    false
}
