//! Prints a module as Verilog-2005.
//!
//! Every printed operand has exactly the width of its context, so Verilog's rules of context-determined widths never change a result. Whatever Verilog
//! cannot write in place (a slice of an expression, a loop) becomes a named wire or block before the statement that needs it.

use super::bits::Bits;
use super::design::{Dir, Module, name_marker};
use super::expr::{CmpOp, Expr, Kind, NaryOp, Node, index_width};
use super::index::LoopVar;
use super::module::{Instance, Item, ModuleBuilder, PropKind};
use super::options::ResetStyle;
use super::process::{Label, Stmt, target_signal, targets};
use super::signal::{SigKind, Signal};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

const WRAP: usize = 110;
/// Verilator refuses replications of more bits than this.
const MAX_REPL: u32 = 8192;
/// Shared expressions larger than this become a wire.
const SHARE_SIZE: u32 = 6;

/// `{n{text}}`, nested where a linter limits the size; `width` is the width of `text`.
pub(crate) fn repl_text(n: u32, width: u32, text: &str) -> String {
    let per = (MAX_REPL / width.max(1)).max(1);
    if n == 1 {
        return text.to_owned();
    }
    if n <= per || per == 1 {
        return format!("{{{n}{{{text}}}}}");
    }
    let (full, rest) = (n / per, n % per);
    let block = format!("{{{per}{{{text}}}}}");
    let blocks = vec![block; full as usize];
    let mut parts = blocks;
    if rest > 0 {
        parts.push(repl_text(rest, width, text));
    }
    if rest == 0 && full <= MAX_REPL {
        return format!("{{{full}{{{{{per}{{{text}}}}}}}}}");
    }
    format!("{{{}}}", parts.join(", "))
}

fn lit_text(b: &Bits) -> String {
    let w = b.width();
    if w > MAX_REPL && (b.is_zero() || b.is_ones()) {
        return repl_text(w, 1, if b.is_zero() { "1'b0" } else { "1'b1" });
    }
    b.to_string()
}

fn range_text(width: u32) -> String {
    if width == 1 {
        String::new()
    } else {
        format!("[{}:0]", width - 1)
    }
}

/// `reg [7:0] ` or `reg `.
fn typed(what: &str, width: u32) -> String {
    if width == 1 {
        format!("{what} ")
    } else {
        format!("{what} {} ", range_text(width))
    }
}

/// Used bits of a wire that the printer made.
enum Used {
    Whole,
    Ranges(Vec<(u32, u32)>),
}

struct Local {
    decls: Vec<String>,
    pre: Vec<String>,
}

enum Scope {
    Module,
    /// Inside `generate for`.
    Generate(Vec<String>),
    /// Inside an always block.
    Process(Local),
}

pub(crate) struct Printer<'a> {
    b: &'a ModuleBuilder,
    /// Wires that only properties need.
    formal: BTreeSet<u32>,
    /// The genvar is declared.
    genvar: bool,
    /// The last thing printed is a comment for the next item.
    commented: bool,
    out: String,
    scope: Scope,
    /// Lines that go before the current item.
    pre: Vec<String>,
    names: BTreeSet<String>,
    uses: HashMap<*const Node, u32>,
    memo: HashMap<*const Node, String>,
    made: BTreeMap<String, (u32, Used)>,
    /// Names of wires that the printer makes start with this.
    base: String,
    /// Signals assigned in always blocks.
    vars: BTreeSet<u32>,
    subs: Vec<Rc<Module>>,
    sub_counts: Vec<u64>,
}

/// What printing yields.
pub(crate) struct Printed {
    pub(crate) template: String,
    pub(crate) subs: Vec<Rc<Module>>,
    pub(crate) sub_counts: Vec<u64>,
}

/// Kinds that print as an always block.
fn is_block(e: &Expr) -> bool {
    matches!(
        e.kind(),
        Kind::Popcount(_) | Kind::OneHotMux { .. } | Kind::ReduceElems(..) | Kind::Case { .. }
    )
}

/// Wraps text at spaces and indents it by `indent`; safe for Verilog code without string literals.
fn wrap_into(out: &mut String, indent: usize, text: &str, prefix: &str) {
    let pad = " ".repeat(indent);
    for line in text.split('\n') {
        if line.trim().is_empty() {
            out.push_str(prefix.trim_end());
            out.push('\n');
            continue;
        }
        let own = line.len() - line.trim_start().len();
        let mut col = indent + own + prefix.len();
        out.push_str(&pad);
        out.push_str(&line[..own]);
        out.push_str(prefix);
        let mut first = true;
        for word in line.trim_start().split(' ') {
            if !first {
                if col + 1 + word.len() > WRAP {
                    out.push('\n');
                    let hang = if prefix.is_empty() { 4 } else { 0 };
                    out.push_str(&pad);
                    out.push_str(&line[..own]);
                    out.push_str(prefix);
                    out.push_str(&" ".repeat(hang));
                    col = indent + own + prefix.len() + hang;
                } else {
                    out.push(' ');
                    col += 1;
                }
            }
            out.push_str(word);
            col += word.len();
            first = false;
        }
        out.push('\n');
    }
}

fn comment_into(out: &mut String, indent: usize, text: &str) {
    for line in text.trim().lines() {
        wrap_into(out, indent, line, "// ");
    }
}

impl<'a> Printer<'a> {
    pub(crate) fn new(b: &'a ModuleBuilder, formal: BTreeSet<u32>) -> Self {
        Printer {
            b,
            formal,
            genvar: false,
            commented: false,
            out: String::new(),
            scope: Scope::Module,
            pre: vec![],
            names: b.signals.iter().map(|s| s.name.clone()).collect(),
            uses: HashMap::new(),
            memo: HashMap::new(),
            made: BTreeMap::new(),
            base: String::new(),
            vars: BTreeSet::new(),
            subs: vec![],
            sub_counts: vec![],
        }
    }

    fn fresh(&mut self, want: &str) -> String {
        let mut name = want.to_owned();
        let mut n = 1;
        while !self.names.insert(name.clone()) {
            n += 1;
            name = format!("{want}_{n}");
        }
        name
    }

    fn line(&mut self, indent: usize, text: &str) {
        wrap_into(&mut self.out, indent, text, "");
    }

    /// A blank line, except after a comment, which belongs to what follows.
    fn gap(&mut self) {
        if !self.commented {
            self.blank();
        }
        self.commented = false;
    }

    fn blank(&mut self) {
        if !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    // ---------------------------------------------------------------- expressions

    /// Text and whether it is safe as an operand without parentheses.
    fn expr(&mut self, e: &Expr) -> (String, bool) {
        let node = Rc::as_ptr(&e.0);
        if let Some(n) = self.memo.get(&node) {
            let n = n.clone();
            self.note_use(&n, None);
            return (n, true);
        }
        if !e.0.loopy && e.0.size > SHARE_SIZE && self.uses.get(&node).is_some_and(|n| *n > 1) {
            return (self.hoist(e), true);
        }
        self.expr_inner(e)
    }

    fn operand(&mut self, e: &Expr) -> String {
        let (t, atom) = self.expr(e);
        if atom { t } else { format!("({t})") }
    }

    fn text(&mut self, e: &Expr) -> String {
        self.expr(e).0
    }

    fn note_use(&mut self, name: &str, range: Option<(u32, u32)>) {
        if let Some((_, used)) = self.made.get_mut(name) {
            match (range, &mut *used) {
                (Some(r), Used::Ranges(v)) => v.push(r),
                (None, _) => *used = Used::Whole,
                _ => {}
            }
        }
    }

    fn expr_inner(&mut self, e: &Expr) -> (String, bool) {
        let w = e.width();
        match e.kind() {
            Kind::Lit(b) => (lit_text(b), true),
            Kind::Sig(s) => (s.name.clone(), true),
            Kind::LoopVal(v) => (
                if w == 1 {
                    format!("{}[0]", v.name())
                } else {
                    format!("{}[{}:0]", v.name(), w - 1)
                },
                true,
            ),
            Kind::Not(x) => (format!("~{}", self.operand(x)), true),
            Kind::Nary(op, v) => {
                let sep = match op {
                    NaryOp::And => " & ",
                    NaryOp::Or => " | ",
                    NaryOp::Xor => " ^ ",
                    NaryOp::Add => " + ",
                };
                let v: Vec<String> = v.iter().map(|x| self.operand(x)).collect();
                (v.join(sep), false)
            }
            Kind::Sub(a, b) => (format!("{} - {}", self.operand(a), self.operand(b)), false),
            Kind::Mul(a, b) => (format!("{} * {b}", self.operand(a)), false),
            Kind::Cmp(op, a, b) => {
                let op = match op {
                    CmpOp::Eq => "==",
                    CmpOp::Ne => "!=",
                    CmpOp::Lt => "<",
                    CmpOp::Le => "<=",
                    CmpOp::Gt => ">",
                    CmpOp::Ge => ">=",
                };
                (
                    format!("{} {op} {}", self.operand(a), self.operand(b)),
                    false,
                )
            }
            Kind::Shl(a, b) => (format!("{} << {}", self.operand(a), self.operand(b)), false),
            Kind::Shr(a, b) => (format!("{} >> {}", self.operand(a), self.operand(b)), false),
            Kind::Reduce(op, x) => {
                let op = match op {
                    NaryOp::And => "&",
                    NaryOp::Or => "|",
                    _ => "^",
                };
                let (t, atom) = self.expr(x);
                let plain = atom && !t.starts_with('~');
                (
                    if plain {
                        format!("{op}{t}")
                    } else {
                        format!("{op}({t})")
                    },
                    false,
                )
            }
            Kind::Mux(c, a, b) => {
                let c = self.operand(c);
                let a = self.operand(a);
                let (t, atom) = self.expr(b);
                // Chains of muxes read as `c ? a : d ? b : e`.
                let chain = matches!(b.kind(), Kind::Mux(..));
                let b = if atom || chain { t } else { format!("({t})") };
                (format!("{c} ? {a} : {b}"), false)
            }
            Kind::Concat(_) => {
                let mut parts = Vec::new();
                self.concat_parts(e, true, &mut parts);
                (format!("{{{}}}", parts.join(", ")), true)
            }
            Kind::Repl(n, x) => {
                let t = self.text(x);
                (repl_text(*n, x.width(), &t), true)
            }
            Kind::Sel { base, dynamic, off } => {
                let name = self.name_of(base, "v");
                if let ([], Some(lo)) = (&dynamic[..], off.as_const()) {
                    self.note_use(&name, Some((lo as u32, w)));
                } else {
                    self.note_use(&name, None);
                }
                (self.select_text(&name, base.width(), dynamic, off, w), true)
            }
            Kind::Popcount(_)
            | Kind::OneHotMux { .. }
            | Kind::ReduceElems(..)
            | Kind::Case { .. } => (self.hoist(e), true),
        }
    }

    fn concat_parts(&mut self, e: &Expr, top: bool, out: &mut Vec<String>) {
        if let Kind::Concat(v) = e.kind() {
            let node = Rc::as_ptr(&e.0);
            let shared =
                !e.0.loopy && e.0.size > SHARE_SIZE && self.uses.get(&node).is_some_and(|n| *n > 1);
            if top || !shared && !self.memo.contains_key(&node) {
                for x in v {
                    self.concat_parts(x, false, out);
                }
                return;
            }
        }
        let t = self.text(e);
        out.push(t);
    }

    fn select_text(
        &mut self,
        name: &str,
        base_width: u32,
        dynamic: &[(Expr, u32)],
        off: &super::index::Affine,
        w: u32,
    ) -> String {
        if base_width == w {
            return name.to_owned();
        }
        if dynamic.is_empty() {
            return match (off.as_const(), w) {
                (Some(lo), 1) => format!("{name}[{lo}]"),
                (Some(lo), _) => format!("{name}[{}:{lo}]", lo + i64::from(w) - 1),
                (None, 1) => format!("{name}[{off}]"),
                (None, _) => format!("{name}[{off} +: {w}]"),
            };
        }
        let idx = index_expr(index_width(base_width), dynamic, off);
        let t = self.text(&idx);
        if w == 1 {
            format!("{name}[{t}]")
        } else {
            format!("{name}[{t} +: {w}]")
        }
    }

    /// The name of a signal, or of a wire made for the expression.
    fn name_of(&mut self, e: &Expr, hint: &str) -> String {
        match e.kind() {
            Kind::Sig(s) => s.name.clone(),
            Kind::Concat(v) if v.len() == 2 && v[0].as_lit().is_some_and(Bits::is_zero) => {
                self.hoist_as(e, "pad")
            }
            _ => self.hoist_as(e, hint),
        }
    }

    fn hoist(&mut self, e: &Expr) -> String {
        let n = self.hoist_as(e, "v");
        self.note_use(&n, None);
        n
    }

    /// Makes a wire (or a block with its variable) for an expression and returns its name.
    fn hoist_as(&mut self, e: &Expr, hint: &str) -> String {
        let node = Rc::as_ptr(&e.0);
        if let Some(n) = self.memo.get(&node) {
            return n.clone();
        }
        let hint = match e.kind() {
            Kind::Nary(NaryOp::Add, _) => "sum",
            Kind::Sub(..) => "diff",
            Kind::Mul(..) => "prod",
            Kind::Shl(..) | Kind::Shr(..) => "shift",
            Kind::Popcount(_) => "count",
            Kind::OneHotMux { .. } | Kind::Case { .. } => "sel",
            Kind::ReduceElems(..) => "all",
            Kind::Cmp(..) => "cmp",
            _ => hint,
        };
        let want = format!("{}_{hint}", self.base);
        let w = e.width();
        if e.0.loopy {
            let name = self.fresh(&want);
            let (t, _) = self.expr_inner(e);
            match &mut self.scope {
                Scope::Process(l) => {
                    l.decls.push(format!("{}{name};", typed("reg", w)));
                    l.pre.push(format!("{name} = {t};"));
                }
                Scope::Generate(v) => v.push(format!("{}{name} = {t};", typed("wire", w))),
                Scope::Module => unreachable!("loop variable outside a loop"),
            }
            self.made.insert(name.clone(), (w, Used::Whole));
            return name;
        }
        // Operands first, so that the name numbers follow the order of the text.
        if is_block(e) {
            let name = self.fresh(&want);
            self.pre.push(format!("{}{name};", typed("reg", w)));
            let block = self.block_text(&name, e);
            self.pre.push(block);
            self.memo.insert(node, name.clone());
            self.made.insert(name.clone(), (w, Used::Ranges(vec![])));
            return name;
        }
        let (t, _) = self.expr_inner(e);
        let name = self.fresh(&want);
        self.pre.push(format!("{}{name} = {t};", typed("wire", w)));
        self.memo.insert(node, name.clone());
        self.made.insert(name.clone(), (w, Used::Ranges(vec![])));
        name
    }

    /// Name of an operand that a loop selects from.
    fn loop_operand(&mut self, e: &Expr) -> String {
        let n = self.name_of(e, "v");
        self.note_use(&n, None);
        n
    }

    /// The always block that gives `target` the value of a block kind.
    fn block_text(&mut self, target: &str, e: &Expr) -> String {
        let w = e.width();
        let zero = lit_text(&Bits::zero(w));
        let at = |name: &str, bus: u32, w: u32| match (bus == w, w) {
            (true, _) => name.to_owned(),
            (_, 1) => format!("{name}[i]"),
            _ => format!("{name}[i*{w} +: {w}]"),
        };
        let label = self.fresh(&format!("p_{target}"));
        let for_loop = |n: u32, init: &str, body: &str| {
            format!(
                "always @* begin : {label}\n    reg [31:0] i;\n    {target} = {init};\n    for (i = 0; i < {n}; i = i + 1) begin\n        {target} = {body};\n    end\nend"
            )
        };
        match e.kind() {
            Kind::Popcount(x) => {
                let n = x.width();
                let x = self.loop_operand(x);
                let pad = if w > 1 {
                    format!("{{{}, {x}[i]}}", Bits::zero(w - 1))
                } else {
                    format!("{x}[i]")
                };
                for_loop(n, &zero, &format!("{target} + {pad}"))
            }
            Kind::OneHotMux { sel, bus } => {
                let n = sel.width();
                let (s, b) = (self.loop_operand(sel), self.loop_operand(bus));
                let bit = at(&s, n, 1);
                let mask = if w == 1 { bit } else { repl_text(w, 1, &bit) };
                for_loop(
                    n,
                    &zero,
                    &format!("{target} | ({mask} & {})", at(&b, bus.width(), w)),
                )
            }
            Kind::ReduceElems(op, bus) => {
                let n = bus.width() / w;
                let b = self.loop_operand(bus);
                let (init, op) = match op {
                    NaryOp::And => (lit_text(&Bits::ones(w)), "&"),
                    NaryOp::Or => (zero, "|"),
                    NaryOp::Xor => (zero, "^"),
                    NaryOp::Add => (zero, "+"),
                };
                for_loop(
                    n,
                    &init,
                    &format!("{target} {op} {}", at(&b, bus.width(), w)),
                )
            }
            Kind::Case { sel, arms, default } => {
                let mut s = format!("always @* begin : {label}\n    case ({})\n", self.text(sel));
                for (k, v) in arms {
                    s.push_str(&format!("        {k}: {target} = {};\n", self.text(v)));
                }
                s.push_str(&format!(
                    "        default: {target} = {};\n    endcase\nend",
                    self.text(default)
                ));
                s
            }
            _ => unreachable!("not a block kind"),
        }
    }

    // ---------------------------------------------------------------- statements

    fn process(
        &mut self,
        label: &str,
        clocked: bool,
        head: &str,
        defaults: &[String],
        stmts: &[Stmt],
    ) -> String {
        let mut vars = Vec::new();
        loop_vars(stmts, &mut vars);
        self.scope = Scope::Process(Local {
            decls: vec![],
            pre: vec![],
        });
        let mut body = String::new();
        self.stmts(stmts, 1, clocked, &mut body);
        let Scope::Process(local) = std::mem::replace(&mut self.scope, Scope::Module) else {
            unreachable!("scope of a process")
        };
        let mut s = format!("{head} begin : {label}\n");
        for v in vars {
            s.push_str(&format!("    reg [31:0] {v};\n"));
        }
        for d in local.decls {
            s.push_str(&format!("    {d}\n"));
        }
        for d in defaults {
            s.push_str(&format!("    {d}\n"));
        }
        s.push_str(&body);
        s.push_str("end");
        s
    }

    fn flush_local(&mut self, depth: usize, out: &mut String) {
        if let Scope::Process(l) = &mut self.scope {
            for p in l.pre.drain(..) {
                wrap_into(out, depth * 4, &p, "");
            }
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
                wrap_into(
                    out,
                    pad,
                    &format!("{t} {} {v};", if clocked { "<=" } else { "=" }),
                    "",
                );
            }
            Stmt::If { arms, otherwise } => {
                let conds: Vec<String> = arms.iter().map(|(c, _)| self.text(c)).collect();
                self.flush_local(depth, out);
                for (i, ((_, body), c)) in arms.iter().zip(conds).enumerate() {
                    wrap_into(
                        out,
                        pad,
                        &format!("{} ({c}) begin", if i == 0 { "if" } else { "end else if" }),
                        "",
                    );
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
                wrap_into(
                    out,
                    pad,
                    &format!("for ({v} = 0; {v} < {n}; {v} = {v} + 1) begin"),
                    "",
                );
                self.stmts(body, depth + 1, clocked, out);
                wrap_into(out, pad, "end", "");
            }
            Stmt::Case { sel, arms, default } => {
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

    fn base_from(&mut self, target: &Expr) {
        self.base = base_name(&target_signal(target).name);
    }

    // ---------------------------------------------------------------- items

    fn flush_pre(&mut self) {
        for p in std::mem::take(&mut self.pre) {
            self.line(4, &p);
        }
    }

    fn emit(&mut self, text: &str) {
        self.flush_pre();
        self.line(4, text);
    }

    fn driver(&mut self, target: &str, value: &Expr, decl_width: Option<u32>, doc: &str) {
        let note = if doc.is_empty() {
            String::new()
        } else {
            format!("  // {doc}")
        };
        if is_block(value) {
            let block = self.block_text(target, value);
            self.flush_pre();
            if let Some(w) = decl_width {
                self.line(4, &format!("{}{target};", typed("reg", w)));
            }
            self.line(4, &block);
            return;
        }
        let t = self.text(value);
        self.flush_pre();
        let text = match decl_width {
            Some(w) => format!("{}{target} = {t};", typed("wire", w)),
            None => format!("assign {target} = {t};"),
        };
        if text.contains('\n') || text.len() + note.len() > WRAP - 4 {
            if !doc.is_empty() {
                comment_into(&mut self.out, 4, doc);
            }
            self.line(4, &text);
        } else {
            self.out.push_str(&format!("    {text}{note}\n"));
        }
    }

    fn declaration(&mut self, what: &str, s: &Signal, tail: &str) {
        let doc = s.doc.borrow();
        let text = format!("{}{}{tail};", typed(what, s.width), s.name);
        self.flush_pre();
        if doc.is_empty() {
            self.line(4, &text);
        } else if text.len() + doc.len() + 4 > WRAP {
            comment_into(&mut self.out, 4, &doc);
            self.line(4, &text);
        } else {
            self.out
                .push_str(&format!("    {text}  // {}\n", doc.trim()));
        }
    }

    fn item(&mut self, item: &Item) {
        let comment = matches!(item, Item::Comment(_));
        match item {
            Item::Comment(t) => {
                self.gap();
                comment_into(&mut self.out, 4, t);
                self.commented = true;
            }
            Item::Section(t) => {
                self.gap();
                let rule = "-".repeat(WRAP - 7);
                self.out.push_str(&format!("    // {rule}\n"));
                comment_into(&mut self.out, 4, t);
                self.out.push_str(&format!("    // {rule}\n\n"));
            }
            Item::Net(s) => {
                let what = if self.vars.contains(&s.id) {
                    "reg"
                } else {
                    "wire"
                };
                self.declaration(what, s, "");
            }
            Item::Wire(s, ..) if self.formal.contains(&s.id) => {}
            Item::Wire(s, e, _) => {
                self.base = base_name(&s.name);
                let doc = s.doc.borrow().clone();
                self.driver(&s.name, e, Some(s.width), &doc);
            }
            Item::LocalParam(s) => {
                let value = s.value.borrow().as_ref().map(lit_text).unwrap_or_default();
                self.declaration("localparam", s, &format!(" = {value}"));
            }
            Item::Assign(t, v, _) => {
                self.base_from(t);
                let target = self.text(t);
                self.driver(&target, v, None, "");
            }
            Item::Comb(stmts, _) => {
                let targets = targets(stmts);
                let first = targets
                    .first()
                    .map_or_else(|| "comb".to_owned(), |s| s.name.clone());
                self.base = base_name(&first);
                let label = self.fresh(&format!("p_{}", base_name(&first)));
                let defaults: Vec<String> = targets
                    .iter()
                    .filter(|s| !assigned_first(stmts, s))
                    .map(|s| format!("{} = {};", s.name, lit_text(&Bits::zero(s.width))))
                    .collect();
                let t = self.process(&label, false, "always @*", &defaults, stmts);
                self.gap();
                self.emit(&t);
                self.blank();
            }
            Item::Seq(stmts, _) => {
                let targets = targets(stmts);
                let first = targets
                    .first()
                    .map_or_else(|| "seq".to_owned(), |s| s.name.clone());
                self.base = base_name(&first);
                let label = self.fresh(&format!("p_{}", base_name(&first)));
                let inner = self.process(&label, true, "", &[], stmts);
                let t = self.clocked(&label, &targets, &inner);
                self.gap();
                self.emit(&t);
                self.blank();
            }
            Item::Instance(i) => self.instance(i),
            Item::Unused(name, e, _) => {
                let name = self.fresh(name);
                self.base = name.clone();
                let t = self.text(e);
                self.emit(&format!("wire {name} = &{{1'b0, {t}}};"));
            }
        }
        self.commented = comment;
    }

    /// Puts the reset around the body of a clocked process (`" begin : label ... end"`).
    fn clocked(&self, label: &str, targets: &[Rc<Signal>], body: &str) -> String {
        let inner: Vec<&str> = body.lines().collect();
        let (decls, rest): (Vec<&str>, Vec<&str>) = inner[1..inner.len() - 1]
            .iter()
            .partition(|l| l.starts_with("    reg ") && l.ends_with(';'));
        let resets: Vec<String> = targets
            .iter()
            .filter_map(|s| {
                s.value
                    .borrow()
                    .as_ref()
                    .map(|v| format!("        {} <= {};", s.name, lit_text(v)))
            })
            .collect();
        let style = self.b.opts.reset;
        let with_reset = !resets.is_empty() && style != ResetStyle::None;
        let mut s = format!("{} begin : {label}\n", self.clock_head(with_reset));
        for d in decls {
            s.push_str(d);
            s.push('\n');
        }
        if with_reset {
            let missing: Vec<&str> = targets
                .iter()
                .filter(|t| t.value.borrow().is_none())
                .map(|t| t.name.as_str())
                .collect();
            debug_assert!(missing.is_empty(), "mixed reset in one block: {missing:?}");
            s.push_str(&format!(
                "    if ({}) begin\n{}\n    end else begin\n",
                self.reset_text(),
                resets.join("\n")
            ));
            for l in rest {
                s.push_str(&format!("    {l}\n"));
            }
            s.push_str("    end\n");
        } else {
            for l in rest {
                s.push_str(l);
                s.push('\n');
            }
        }
        s.push_str("end");
        s
    }

    fn clock_head(&self, with_reset: bool) -> String {
        let clk = self
            .b
            .clock
            .as_ref()
            .map_or_else(String::new, ToString::to_string);
        let rst = self
            .b
            .reset
            .as_ref()
            .map_or_else(String::new, ToString::to_string);
        match self.b.opts.reset {
            ResetStyle::AsyncLow if with_reset => {
                format!("always @(posedge {clk} or negedge {rst})")
            }
            ResetStyle::AsyncHigh if with_reset => {
                format!("always @(posedge {clk} or posedge {rst})")
            }
            _ => format!("always @(posedge {clk})"),
        }
    }

    fn reset_text(&self) -> String {
        let rst = self
            .b
            .reset
            .as_ref()
            .map_or_else(String::new, ToString::to_string);
        if self.b.opts.reset.active_high() {
            rst
        } else {
            format!("!{rst}")
        }
    }

    fn sub(&mut self, m: &Rc<Module>, count: u64) -> usize {
        let i = match self.subs.iter().position(|s| Rc::ptr_eq(s, m)) {
            Some(i) => i,
            None => {
                self.subs.push(m.clone());
                self.sub_counts.push(0);
                self.subs.len() - 1
            }
        };
        self.sub_counts[i] += count;
        i
    }

    fn instance(&mut self, i: &Instance) {
        let n = i.array.as_ref().map_or(1, LoopVar::count);
        let sub = self.sub(&i.module, u64::from(n));
        let inner_name = if i.array.is_some() {
            "u".to_owned()
        } else {
            i.name.clone()
        };
        let ports: Vec<_> = i
            .module
            .ports()
            .iter()
            .filter(|p| i.conns.contains_key(&p.name))
            .collect();
        let width = ports.iter().map(|p| p.name.len()).max().unwrap_or(0);
        let saved = std::mem::replace(
            &mut self.scope,
            if i.array.is_some() {
                Scope::Generate(vec![])
            } else {
                Scope::Module
            },
        );
        let mut s = name_marker(&sub.to_string());
        let mut params: Vec<(String, String)> = i.module.fixed_params.clone();
        for (name, value) in &i.params {
            let t = self.text(&value.0);
            params.push((name.clone(), t));
        }
        if !params.is_empty() {
            let w = params.iter().map(|p| p.0.len()).max().unwrap_or(0);
            let lines: Vec<String> = params
                .iter()
                .map(|(n, t)| format!("    .{n:w$} ({t})"))
                .collect();
            s.push_str(&format!(" #(\n{}\n)", lines.join(",\n")));
        }
        s.push_str(&format!(" {inner_name} (\n"));
        for (k, p) in ports.iter().enumerate() {
            self.base = format!("{}_{}", base_name(&i.name), base_name(&p.name));
            let t = self.text(&i.conns[&p.name].0);
            s.push_str(&format!(
                "    .{:width$} ({t}){}\n",
                p.name,
                if k + 1 == ports.len() { "" } else { "," }
            ));
        }
        s.push_str(");");
        let scope = std::mem::replace(&mut self.scope, saved);
        self.gap();
        self.flush_pre();
        if let (Some(g), Scope::Generate(wires)) = (&i.array, scope) {
            let v = g.name();
            if !std::mem::replace(&mut self.genvar, true) {
                self.line(4, &format!("genvar {v};"));
            }
            self.line(4, "generate");
            self.line(
                8,
                &format!("for ({v} = 0; {v} < {n}; {v} = {v} + 1) begin : {}", i.name),
            );
            for wtext in wires {
                self.line(12, &wtext);
            }
            self.line(12, &s);
            self.line(8, "end");
            self.line(4, "endgenerate");
        } else {
            self.line(4, &s);
        }
        self.blank();
    }

    /// All registers that are not assigned in a block of their own.
    fn registers(&mut self) {
        let regs: Vec<Rc<Signal>> = self
            .b
            .signals
            .iter()
            .filter(|s| s.kind == SigKind::Reg && !s.updates.borrow().is_empty())
            .cloned()
            .collect();
        if regs.is_empty() {
            return;
        }
        let has_reset =
            |s: &Rc<Signal>| s.value.borrow().is_some() && self.b.opts.reset != ResetStyle::None;
        let (with, without): (Vec<_>, Vec<_>) = regs.into_iter().partition(has_reset);
        for (group, label) in [(with, "p_regs"), (without, "p_regs_no_reset")] {
            if group.is_empty() {
                continue;
            }
            let mut body = String::new();
            let mut chains: Vec<(Vec<Option<String>>, Vec<Vec<String>>)> = Vec::new();
            for r in &group {
                // Updates of one target form a chain.
                let mut by_target: Vec<(String, Vec<(Option<String>, String)>)> = Vec::new();
                for u in r.updates.borrow().iter() {
                    self.base = base_name(&r.name);
                    let t = self.text(&u.target);
                    let c = u.cond.as_ref().map(|c| self.text(c));
                    let v = self.text(&u.value);
                    match by_target.iter_mut().find(|b| b.0 == t) {
                        Some(b) => b.1.push((c, v)),
                        None => by_target.push((t, vec![(c, v)])),
                    }
                }
                for (t, ups) in by_target {
                    let conds: Vec<Option<String>> = ups.iter().map(|u| u.0.clone()).collect();
                    let lines: Vec<String> = ups
                        .into_iter()
                        .map(|u| format!("{t} <= {};", u.1))
                        .collect();
                    match chains.last_mut() {
                        Some((c, l)) if *c == conds => {
                            l.iter_mut().zip(lines).for_each(|(a, b)| a.push(b))
                        }
                        _ => chains.push((conds, lines.into_iter().map(|l| vec![l]).collect())),
                    }
                }
            }
            for (conds, lines) in chains {
                let mut open = false;
                for (c, ls) in conds.iter().zip(lines) {
                    let head = match (c, open) {
                        (Some(c), false) => Some(format!("if ({c}) begin")),
                        (Some(c), true) => Some(format!("end else if ({c}) begin")),
                        (None, true) => Some("end else begin".to_owned()),
                        (None, false) => None,
                    };
                    open |= c.is_some();
                    if let Some(h) = head {
                        wrap_into(&mut body, 4, &h, "");
                    }
                    for l in ls {
                        wrap_into(&mut body, if open { 8 } else { 4 }, &l, "");
                    }
                }
                if open {
                    body.push_str("    end\n");
                }
            }
            let label = self.fresh(label);
            let t = self.clocked(&label, &group, &format!(" begin\n{body}end"));
            self.blank();
            self.emit(&t);
        }
    }

    /// Small sizes of a block may need no state: its clock and reset are then connected to nothing.
    fn idle_clock_reset(&mut self) {
        let b = self.b;
        let (mut clock, mut reset) = (false, false);
        for s in b.signals.iter().filter(|s| s.kind == SigKind::Reg) {
            clock = true;
            reset |= s.value.borrow().is_some();
        }
        for (sig, used) in [(&b.clock, &mut clock), (&b.reset, &mut reset)] {
            if let (Some(s), false) = (sig, *used) {
                let mut seen = HashSet::new();
                for_each_root(b, &mut |e| *used = *used || mentions(e, s, &mut seen));
            }
        }
        for (sig, used) in [(&b.clock, clock), (&b.reset, reset)] {
            if let (Some(s), false) = (sig, used) {
                let name = self.fresh(&format!("unused_{s}"));
                self.line(4, &format!("wire {name} = &{{1'b0, {s}}};"));
            }
        }
    }

    fn properties(&mut self) {
        if self.b.properties.is_empty() {
            return;
        }
        let b = self.b;
        let clk = b.clock.as_ref().map(ToString::to_string);
        self.blank();
        self.out.push_str("`ifdef FORMAL\n");
        for item in &b.items {
            if let Item::Wire(s, e, _) = item {
                if self.formal.contains(&s.id) {
                    self.base = base_name(&s.name);
                    let doc = s.doc.borrow().clone();
                    self.driver(&s.name, e, Some(s.width), &doc);
                }
            }
        }
        let mut lines = Vec::new();
        for p in &b.properties {
            self.base = base_name(&p.name);
            let t = self.text(&p.expr);
            let word = match p.kind {
                PropKind::Assert => "assert",
                PropKind::Assume => "assume",
                PropKind::Cover => "cover",
            };
            lines.push((p.why.clone(), format!("{}: {word} ({t});", p.name)));
        }
        self.flush_pre();
        let head = match &clk {
            Some(c) => format!("always @(posedge {c}) begin : p_formal"),
            None => "always @* begin : p_formal".to_owned(),
        };
        self.line(4, &head);
        let guarded = b.reset.is_some();
        let depth = if guarded { 12 } else { 8 };
        if guarded {
            let active = if b.opts.reset.active_high() { "!" } else { "" };
            let rst = b
                .reset
                .as_ref()
                .map_or_else(String::new, ToString::to_string);
            self.line(8, &format!("if ({active}{rst}) begin"));
        }
        for (why, l) in lines {
            comment_into(&mut self.out, depth, &why);
            self.line(depth, &l);
        }
        if guarded {
            self.line(8, "end");
        }
        self.line(4, "end");
        self.out.push_str("`endif\n");
    }

    fn header(&mut self) {
        let b = self.b;
        self.out.push_str("// Generated by l1forge.\n//\n");
        self.out
            .push_str(&format!("// Module {}\n", name_marker("self")));
        if !b.purpose.is_empty() {
            self.out.push_str("//\n");
            comment_into(&mut self.out, 0, &b.purpose);
        }
        if !b.notes.is_empty() {
            self.out.push_str("//\n// Generated for:\n");
            let w = b.notes.iter().map(|n| n.0.len()).max().unwrap_or(0);
            for (n, t) in &b.notes {
                self.out
                    .push_str(&format!("//   {n:w$}  {}\n", t.replace('\n', " ")));
            }
        }
        if !b.latency.is_empty() {
            self.out.push_str("//\n");
            comment_into(&mut self.out, 0, &format!("Latency: {}", b.latency));
        }
        self.out.push_str("\n`default_nettype none\n\n");
        self.out
            .push_str(&format!("module {}", name_marker("self")));
        let of = |kinds: &[SigKind]| -> Vec<Rc<Signal>> {
            b.signals
                .iter()
                .filter(|s| kinds.contains(&s.kind))
                .cloned()
                .collect()
        };
        let params = of(&[SigKind::Param]);
        if !params.is_empty() {
            self.out.push_str(" #(\n");
            for (k, p) in params.iter().enumerate() {
                let v = p.value.borrow().as_ref().map(lit_text).unwrap_or_default();
                comment_into(&mut self.out, 4, &p.doc.borrow());
                let sep = if k + 1 == params.len() { "" } else { "," };
                self.line(
                    4,
                    &format!("{}{} = {v}{sep}", typed("parameter", p.width), p.name),
                );
            }
            self.out.push(')');
        }
        let ports = of(&[
            SigKind::Clock,
            SigKind::Reset,
            SigKind::Input,
            SigKind::Output,
        ]);
        if ports.is_empty() {
            self.out.push_str(";\n");
            return;
        }
        self.out.push_str(" (\n");
        let decl = |s: &Signal| match s.kind {
            SigKind::Output if self.vars.contains(&s.id) => "output reg ",
            SigKind::Output => "output wire",
            _ => "input  wire",
        };
        let rw = ports
            .iter()
            .map(|p| range_text(p.width).len())
            .max()
            .unwrap_or(0);
        let nw = ports.iter().map(|p| p.name.len()).max().unwrap_or(0) + 1;
        let mut text = String::new();
        for (k, p) in ports.iter().enumerate() {
            let range = range_text(p.width);
            let name = format!("{}{}", p.name, if k + 1 == ports.len() { "" } else { "," });
            let gap = if rw == 0 {
                String::new()
            } else {
                format!(" {range:rw$}")
            };
            text.push_str(
                &format!(
                    "    {}{gap} {name:nw$}  // {}",
                    decl(p),
                    p.doc.borrow().replace('\n', " ")
                )
                .trim_end_matches([' ', '/']),
            );
            text.push('\n');
        }
        self.out.push_str(&text);
        self.out.push_str(");\n\n");
    }

    pub(crate) fn print(mut self) -> Printed {
        let b = self.b;
        count_uses(b, &mut self.uses);
        for item in &b.items {
            match item {
                Item::Comb(stmts, _) => self.vars.extend(targets(stmts).iter().map(|s| s.id)),
                Item::Assign(t, v, _) if is_block(v) => {
                    if let Kind::Sig(s) = t.kind() {
                        self.vars.insert(s.id);
                    }
                }
                _ => {}
            }
        }
        self.header();
        for s in b.signals.iter().filter(|s| s.kind == SigKind::Reg) {
            let init = match (&*s.value.borrow(), b.opts.reset) {
                (Some(v), ResetStyle::None) => format!(" = {}", lit_text(v)),
                _ => String::new(),
            };
            self.declaration("reg", s, &init);
        }
        for item in &b.items {
            self.item(item);
        }
        self.registers();
        self.idle_clock_reset();
        let partly: Vec<String> = self
            .made
            .iter()
            .filter_map(|(name, (w, used))| match used {
                Used::Whole => None,
                Used::Ranges(r) => unused_ranges(*w, r).map(|u| (name, *w, u)),
            })
            .map(|(name, w, ranges)| {
                let parts: Vec<String> = ranges
                    .iter()
                    .map(|&(lo, n)| match (n == w, n) {
                        (true, _) => name.clone(),
                        (_, 1) => format!("{name}[{lo}]"),
                        _ => format!("{name}[{}:{lo}]", lo + n - 1),
                    })
                    .collect();
                format!("wire unused_{name} = &{{1'b0, {}}};", parts.join(", "))
            })
            .collect();
        if !partly.is_empty() {
            self.blank();
            self.line(4, "// Bits that nothing needs.");
            for p in partly {
                self.line(4, &p);
            }
        }
        self.properties();
        self.blank();
        self.out.push_str("endmodule\n\n`default_nettype wire\n");
        // No trailing blanks inside blocks, one blank line at most.
        let mut text = String::with_capacity(self.out.len());
        let mut blank = false;
        for l in self.out.lines() {
            let l = l.trim_end();
            if l.is_empty() && blank {
                continue;
            }
            blank = l.is_empty();
            text.push_str(l);
            text.push('\n');
        }
        Printed {
            template: text,
            subs: self.subs,
            sub_counts: self.sub_counts,
        }
    }
}

fn unused_ranges(width: u32, used: &[(u32, u32)]) -> Option<Vec<(u32, u32)>> {
    let mut v = used.to_vec();
    v.sort_unstable();
    let (mut at, mut out) = (0, Vec::new());
    for (lo, n) in v {
        if lo > at {
            out.push((at, lo - at));
        }
        at = at.max(lo + n);
    }
    if at < width {
        out.push((at, width - at));
    }
    (!out.is_empty()).then_some(out)
}

/// The bit index `off + sum(dyn * stride)` in exactly `width` bits.
fn index_expr(width: u32, dynamic: &[(Expr, u32)], off: &super::index::Affine) -> Expr {
    if let Some(c) = off.as_const() {
        // Fields side by side: `{set, way, 3'd0}`.
        let mut fields: Vec<(u32, &Expr)> = Vec::new();
        let mut ok = c >= 0;
        for (e, stride) in dynamic {
            ok &= stride.is_power_of_two();
            fields.push((stride.trailing_zeros(), e));
        }
        fields.sort_by_key(|f| f.0);
        let c = Bits::from_u64(width, c as u64);
        let mut parts = Vec::new();
        let mut at = 0;
        for (lo, e) in &fields {
            if !ok || *lo < at || lo + e.width() > width || !c.slice(*lo, e.width()).is_zero() {
                ok = false;
                break;
            }
            if *lo > at {
                parts.push(Expr::from(c.slice(at, lo - at)));
            }
            parts.push((*e).clone());
            at = lo + e.width();
        }
        if ok {
            if at < width {
                parts.push(Expr::from(c.slice(at, width - at)));
            }
            return Expr::concat_lsb_first(parts);
        }
    }
    let mut terms: Vec<Expr> = dynamic
        .iter()
        .map(|(e, stride)| scaled(&e.zext(width), i64::from(*stride)))
        .collect();
    for (v, k) in &off.terms {
        terms.push(scaled(&Expr::new(width, Kind::LoopVal(v.clone())), *k));
    }
    if off.c != 0 {
        terms.push(Expr::from(Bits::from_u64(width, off.c as u64)));
    }
    Expr::add_all(terms)
}

/// `e * k` modulo 2^width.
fn scaled(e: &Expr, k: i64) -> Expr {
    let w = e.width();
    if k == 1 {
        e.clone()
    } else {
        Expr::new(w, Kind::Mul(e.clone(), Bits::from_u64(w, k as u64)))
    }
}

fn base_name(name: &str) -> String {
    let n = name.strip_prefix("u_").unwrap_or(name);
    for suffix in ["_o", "_i", "_q", "_d", "_A", "_M", "_C"] {
        if let Some(s) = n.strip_suffix(suffix) {
            return s.to_owned();
        }
    }
    n.to_owned()
}

fn loop_vars(stmts: &[Stmt], out: &mut Vec<String>) {
    for s in stmts {
        match s {
            Stmt::Comment(_) | Stmt::Assign { .. } => {}
            Stmt::If { arms, otherwise } => {
                arms.iter().for_each(|a| loop_vars(&a.1, out));
                loop_vars(otherwise, out);
            }
            Stmt::For { var, body, .. } => {
                if !out.iter().any(|v| v == var.name()) {
                    out.push(var.name().to_owned());
                }
                loop_vars(body, out);
            }
            Stmt::Case { arms, default, .. } => {
                arms.iter().for_each(|a| loop_vars(&a.1, out));
                loop_vars(default, out);
            }
        }
    }
}

/// True if the signal gets a whole value before anything else happens to it.
fn assigned_first(stmts: &[Stmt], s: &Rc<Signal>) -> bool {
    for st in stmts {
        match st {
            Stmt::Comment(_) => {}
            Stmt::Assign { target, value, .. } => {
                if target_signal(target).id == s.id {
                    return target.as_signal().is_some() && !reads(value, s.id);
                }
                if reads(value, s.id) {
                    return false;
                }
            }
            _ => return false,
        }
    }
    false
}

/// True if the expression reads the signal.
fn mentions(e: &Expr, signal: &Expr, seen: &mut HashSet<*const Node>) -> bool {
    if Rc::ptr_eq(&e.0, &signal.0) {
        return true;
    }
    if Rc::strong_count(&e.0) > 1 && !seen.insert(Rc::as_ptr(&e.0)) {
        return false;
    }
    let mut found = false;
    e.kind()
        .for_each_child(&mut |c| found = found || mentions(c, signal, seen));
    found
}

fn reads(e: &Expr, id: u32) -> bool {
    if let Kind::Sig(s) = e.kind() {
        return s.id == id;
    }
    let mut found = false;
    e.kind()
        .for_each_child(&mut |c| found = found || reads(c, id));
    found
}

/// Visits every expression that the module prints.
pub(crate) fn for_each_root(b: &ModuleBuilder, f: &mut dyn FnMut(&Expr)) {
    fn walk(stmts: &[Stmt], f: &mut dyn FnMut(&Expr)) {
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
                        walk(body, f);
                    }
                    walk(otherwise, f);
                }
                Stmt::For { body, .. } => walk(body, f),
                Stmt::Case { sel, arms, default } => {
                    f(sel);
                    arms.iter().for_each(|a| walk(&a.1, f));
                    walk(default, f);
                }
            }
        }
    }
    for item in &b.items {
        match item {
            Item::Comment(_) | Item::Section(_) | Item::Net(_) | Item::LocalParam(_) => {}
            Item::Wire(_, e, _) | Item::Unused(_, e, _) => f(e),
            Item::Assign(t, v, _) => {
                f(t);
                f(v);
            }
            Item::Comb(stmts, _) | Item::Seq(stmts, _) => walk(stmts, f),
            Item::Instance(i) => i.conns.values().for_each(|c| f(&c.0)),
        }
    }
    for s in &b.signals {
        for u in s.updates.borrow().iter() {
            if let Some(c) = &u.cond {
                f(c);
            }
            f(&u.target);
            f(&u.value);
        }
    }
}

fn count_uses(b: &ModuleBuilder, uses: &mut HashMap<*const Node, u32>) {
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

pub(crate) fn port_dir(kind: SigKind) -> Option<Dir> {
    match kind {
        SigKind::Clock => Some(Dir::Clock),
        SigKind::Reset => Some(Dir::Reset),
        SigKind::Input => Some(Dir::Input),
        SigKind::Output => Some(Dir::Output),
        _ => None,
    }
}
