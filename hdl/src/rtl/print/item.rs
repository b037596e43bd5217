//! Prints what stands between ports and `endmodule`: declarations, assignments, instances.

use super::super::design::{Module, name_marker};
use super::super::expr::Expr;
use super::super::index::LoopVar;
use super::super::instance::Instance;
use super::super::module::Item;
use super::super::options::ResetStyle;
use super::super::signal::{SigKind, Signal};
use super::expr::is_block;
use super::text::{WRAP, base_name, comment_into, lit_text, range_text, table_text, typed};
use super::{Made, Printer, Scope};
use std::collections::HashMap;
use std::rc::Rc;

impl Printer<'_> {
    /// All registers, aligned.
    pub(super) fn register_declarations(&mut self) {
        let regs: Vec<Rc<Signal>> = self.b.signals.iter().filter(|s| s.kind == SigKind::Reg).cloned().collect();
        let range = |s: &Signal| range_text(s.width);
        let rw = regs.iter().map(|s| range(s).len()).max().unwrap_or(0);
        let decls: Vec<String> = regs
            .iter()
            .map(|s| {
                let init = match (&*s.value.borrow(), self.b.opts.reset) {
                    (Some(v), ResetStyle::None) => format!(" = {}", lit_text(v)),
                    _ => String::new(),
                };
                let gap = if rw == 0 { String::new() } else { format!(" {:rw$}", range(s)) };
                format!("reg{gap} {}{init};", s.name)
            })
            .collect();
        let dw = decls.iter().map(String::len).filter(|n| *n < WRAP / 2).max().unwrap_or(0);
        for (s, d) in regs.iter().zip(decls) {
            self.documented(&format!("{d:dw$}"), &s.doc.borrow());
        }
        if !regs.is_empty() {
            self.blank();
        }
    }

    /// A line with its comment beside it, or before it if there is no room.
    fn documented(&mut self, text: &str, doc: &str) {
        let doc = doc.trim();
        if doc.is_empty() {
            self.line(4, text.trim_end());
        } else if text.contains('\n') || doc.contains('\n') || text.len() + doc.len() + 9 > WRAP {
            comment_into(&mut self.out, 4, doc);
            self.line(4, text.trim_end());
        } else {
            self.out.push_str(&format!("    {text}  // {doc}\n"));
        }
    }

    /// The driver of a target, as a declaration with value if a width is given.
    pub(super) fn driver(&mut self, target: &str, value: &Expr, declare: Option<u32>, doc: &str) {
        if is_block(value) {
            let block = self.block_text(target, value);
            if let Some(w) = declare {
                self.flush_pre();
                self.documented(&format!("{}{target};", typed("reg", w)), doc);
            }
            self.emit(&block);
            return;
        }
        let t = self.text(value);
        let text = match declare {
            Some(w) => format!("{}{target} = {t};", typed("wire", w)),
            None => format!("assign {target} = {t};"),
        };
        self.flush_pre();
        self.documented(&text, doc);
    }

    pub(super) fn item(&mut self, item: &Item) {
        match item {
            Item::Comment(t) => {
                self.gap();
                comment_into(&mut self.out, 4, t);
                self.commented = true;
                return;
            }
            Item::Section(t) => {
                self.gap();
                let rule = "-".repeat(WRAP - 7);
                self.out.push_str(&format!("    // {rule}\n"));
                comment_into(&mut self.out, 4, t);
                self.out.push_str(&format!("    // {rule}\n\n"));
            }
            Item::Net(s) => {
                let what = if self.vars.contains(&s.id) { "reg" } else { "wire" };
                self.documented(&format!("{}{};", typed(what, s.width), s.name), &s.doc.borrow());
            }
            Item::Wire(s, ..) if self.formal.contains(&s.id) => {}
            Item::Wire(s, e, _) => {
                self.base = base_name(&s.name);
                let doc = s.doc.borrow().clone();
                self.driver(&s.name, e, Some(s.width), &doc);
            }
            Item::LocalParam(s) => {
                let value = s.value.borrow().as_ref().map(table_text).unwrap_or_default();
                self.documented(&format!("{}{} = {value};", typed("localparam", s.width), s.name), &s.doc.borrow());
            }
            Item::Assign(t, v, _) => {
                self.base_from(t);
                let target = self.text(t);
                self.driver(&target, v, None, "");
            }
            Item::Comb(stmts, _) => self.comb(stmts),
            Item::Seq(stmts, _) => self.seq(stmts),
            Item::Instance(i) => self.instance(i),
            Item::Unused(name, e, _) => {
                let name = self.fresh(name);
                self.base = name.clone();
                let t = self.text(e);
                self.emit(&format!("wire {name} = &{{1'b0, {t}}};"));
            }
        }
        self.commented = false;
    }

    fn sub(&mut self, m: &Rc<Module>, count: u64) -> usize {
        let i = self.subs.iter().position(|s| Rc::ptr_eq(s, m)).unwrap_or_else(|| {
            self.subs.push(m.clone());
            self.sub_counts.push(0);
            self.subs.len() - 1
        });
        self.sub_counts[i] += count;
        i
    }

    fn instance(&mut self, i: &Instance) {
        let n = i.array.as_ref().map_or(1, LoopVar::count);
        let sub = self.sub(&i.module, u64::from(n));
        if i.array.is_some() {
            self.scope = Scope::Generate { wires: vec![], memo: HashMap::new(), made: Made::default() };
        }
        let mut params: Vec<(String, String)> = i.module.fixed_params.clone();
        for (name, value) in &i.params {
            params.push((name.clone(), self.text(&value.0)));
        }
        let mut conns: Vec<(String, String)> = Vec::new();
        for p in i.module.ports() {
            self.base = format!("{}_{}", base_name(&i.name), base_name(&p.name));
            let t = self.text(&i.conns[&p.name].0);
            conns.push((p.name.clone(), t));
        }
        let list = |v: &[(String, String)]| {
            let w = v.iter().map(|p| p.0.len()).max().unwrap_or(0);
            let lines: Vec<String> = v.iter().map(|(n, t)| format!("    .{n:w$} ({t})")).collect();
            lines.join(",\n")
        };
        let name = if i.array.is_some() { "u" } else { &i.name };
        let mut s = name_marker(&sub.to_string());
        if !params.is_empty() {
            s.push_str(&format!(" #(\n{}\n)", list(&params)));
        }
        s.push_str(&format!(" {name} (\n{}\n);", list(&conns)));

        let scope = std::mem::replace(&mut self.scope, Scope::Module);
        self.gap();
        self.flush_pre();
        if let (Some(g), Scope::Generate { wires, made, .. }) = (&i.array, scope) {
            let v = g.name();
            if !std::mem::replace(&mut self.genvar, true) {
                self.line(4, &format!("genvar {v};"));
            }
            self.line(4, "generate");
            self.line(8, &format!("for ({v} = 0; {v} < {n}; {v} = {v} + 1) begin : {}", i.name));
            for w in wires {
                self.line(12, &w);
            }
            for (name, bits) in made.unused() {
                self.line(12, &format!("wire unused_{name} = &{{1'b0, {bits}}};"));
            }
            self.line(12, &s);
            self.line(8, "end");
            self.line(4, "endgenerate");
        } else {
            self.line(4, &s);
        }
        self.blank();
    }
}
