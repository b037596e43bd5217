//! Prints a module as Verilog-2005.
//!
//! Every printed operand has exactly the width of its context, so Verilog's rules of context-determined widths never change a result. Whatever Verilog
//! cannot write in place (a slice of an expression, a loop) becomes a named wire or block before the statement that needs it.

mod expr;
mod item;
mod process;
mod text;
mod walk;

use super::design::{Dir, Module, name_marker};
use super::expr::{Kind, Node};
use super::module::{Item, ModuleBuilder, PropKind};
use super::options::ResetStyle;
use super::process::targets;
use super::signal::{SigKind, Signal};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use text::{base_name, comment_into, range_text, table_text, typed, wrap_into};

/// Shared expressions larger than this become a wire.
const SHARE_SIZE: u32 = 5;

/// Parts of a wire that are used, as position and width; `None` is everything.
type UsedParts = Option<Vec<(u32, u32)>>;

/// Wires that the printer makes, by name, with their width.
#[derive(Default)]
struct Made(BTreeMap<String, (u32, UsedParts)>);

impl Made {
    fn add(&mut self, name: &str, width: u32) {
        self.0.insert(name.to_owned(), (width, Some(vec![])));
    }

    fn note_use(&mut self, name: &str, range: Option<(u32, u32)>) {
        if let Some((_, used)) = self.0.get_mut(name) {
            match (range, used.as_mut()) {
                (Some(r), Some(v)) => v.push(r),
                (None, _) => *used = None,
                _ => {}
            }
        }
    }

    /// Parts of every wire that nothing uses, as text.
    fn unused(&self) -> impl Iterator<Item = (&String, String)> {
        self.0.iter().filter_map(|(name, (w, used))| {
            let gaps = super::check::gaps(used.clone()?, *w);
            let parts: Vec<String> = gaps
                .iter()
                .map(|&(lo, n)| match (n == *w, n) {
                    (true, _) => name.clone(),
                    (_, 1) => format!("{name}[{lo}]"),
                    _ => format!("{name}[{}:{lo}]", lo + n - 1),
                })
                .collect();
            (!parts.is_empty()).then(|| (name, parts.join(", ")))
        })
    }
}

/// Statements and temporaries of the always block that is being printed.
struct Process {
    clocked: bool,
    /// Signals that the block assigns; expressions of them must stay inside.
    targets: BTreeSet<u32>,
    /// Whether an expression must stay inside.
    inside: HashMap<*const Node, bool>,
    decls: Vec<(String, u32)>,
    /// Assignments of temporaries before the current statement.
    pre: Vec<String>,
    /// Temporaries of the current statement.
    memo: HashMap<*const Node, String>,
    made: Made,
}

enum Scope {
    Module,
    /// Inside `generate for`: wires for expressions of the genvar.
    Generate {
        wires: Vec<String>,
        memo: HashMap<*const Node, String>,
        made: Made,
    },
    Process(Process),
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
    /// How often large shared expressions are used.
    uses: HashMap<*const Node, u32>,
    memo: HashMap<*const Node, String>,
    made: Made,
    /// Signals indexed by parameters.
    constant_indexed: BTreeSet<String>,
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

pub(crate) fn port_dir(kind: SigKind) -> Option<Dir> {
    match kind {
        SigKind::Clock => Some(Dir::Clock),
        SigKind::Reset => Some(Dir::Reset),
        SigKind::Input => Some(Dir::Input),
        SigKind::Output => Some(Dir::Output),
        _ => None,
    }
}

impl<'a> Printer<'a> {
    pub(crate) fn new(b: &'a ModuleBuilder, formal: BTreeSet<u32>) -> Self {
        let mut names: BTreeSet<String> = b.signals.iter().map(|s| s.name.clone()).collect();
        names.extend(b.properties.iter().map(|p| p.name.clone()));
        for item in &b.items {
            match item {
                Item::Instance(i) => {
                    names.insert(i.name.clone());
                    names.extend(i.array.iter().map(|g| g.name().to_owned()));
                }
                Item::Comb(stmts, _) | Item::Seq(stmts, _) => names.extend(process::loop_vars(stmts)),
                _ => {}
            }
        }
        Printer {
            b,
            formal,
            genvar: false,
            commented: false,
            out: String::new(),
            scope: Scope::Module,
            pre: vec![],
            names,
            uses: HashMap::new(),
            memo: HashMap::new(),
            made: Made::default(),
            constant_indexed: BTreeSet::new(),
            base: String::new(),
            vars: BTreeSet::new(),
            subs: vec![],
            sub_counts: vec![],
        }
    }

    /// A name that nothing has yet.
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

    fn flush_pre(&mut self) {
        for p in std::mem::take(&mut self.pre) {
            self.line(4, &p);
        }
    }

    /// Prints an item after the wires it needs.
    fn emit(&mut self, text: &str) {
        self.flush_pre();
        self.line(4, text);
    }

    pub(crate) fn print(mut self) -> Printed {
        let b = self.b;
        walk::count_uses(b, &mut self.uses);
        for item in &b.items {
            match item {
                Item::Comb(stmts, _) => self.vars.extend(targets(stmts).iter().map(|s| s.id)),
                Item::Assign(t, v, _) if expr::is_block(v) => {
                    if let Kind::Sig(s) = t.kind() {
                        self.vars.insert(s.id);
                    }
                }
                _ => {}
            }
        }
        self.header();
        self.register_declarations();
        for item in &b.items {
            self.item(item);
        }
        self.registers();
        self.sinks();
        self.properties();
        self.blank();
        self.out.push_str("endmodule\n\n`default_nettype wire\n");
        // One blank line at most, no blanks at the end of a line.
        let mut template = String::with_capacity(self.out.len());
        let mut blank = false;
        for l in self.out.lines() {
            let l = l.trim_end();
            if l.is_empty() && blank {
                continue;
            }
            blank = l.is_empty();
            template.push_str(l);
            template.push('\n');
        }
        Printed { template, subs: self.subs, sub_counts: self.sub_counts }
    }

    fn header(&mut self) {
        let b = self.b;
        self.out.push_str(&format!("// Generated by l1forge.\n//\n// Module {}\n", name_marker("self")));
        if !b.purpose.is_empty() {
            self.out.push_str("//\n");
            comment_into(&mut self.out, 0, &b.purpose);
        }
        if !b.notes.is_empty() {
            self.out.push_str("//\n// Generated for:\n");
            let w = b.notes.iter().map(|n| n.0.len()).max().unwrap_or(0);
            for (n, t) in &b.notes {
                self.out.push_str(&format!("//   {n:w$}  {}\n", t.replace('\n', " ")));
            }
        }
        if !b.latency.is_empty() {
            self.out.push_str("//\n");
            comment_into(&mut self.out, 0, &format!("Latency: {}", b.latency));
        }
        self.out.push_str(&format!("\n`default_nettype none\n\nmodule {}", name_marker("self")));
        let of = |want: &dyn Fn(SigKind) -> bool| -> Vec<Rc<Signal>> { b.signals.iter().filter(|s| want(s.kind)).cloned().collect() };
        let params = of(&|k| k == SigKind::Param);
        if !params.is_empty() {
            self.out.push_str(" #(\n");
            for (k, p) in params.iter().enumerate() {
                let v = p.value.borrow().as_ref().map(table_text).unwrap_or_default();
                comment_into(&mut self.out, 4, &p.doc.borrow());
                let sep = if k + 1 == params.len() { "" } else { "," };
                self.line(4, &format!("{}{} = {v}{sep}", typed("parameter", p.width), p.name));
            }
            self.out.push(')');
        }
        self.out.push_str(" (\n");
        let ports = of(&|k| port_dir(k).is_some());
        let rw = ports.iter().map(|p| range_text(p.width).len()).max().unwrap_or(0);
        let nw = ports.iter().map(|p| p.name.len()).max().unwrap_or(0) + 1;
        for (k, p) in ports.iter().enumerate() {
            let dir = match p.kind {
                SigKind::Output if self.vars.contains(&p.id) => "output reg ",
                SigKind::Output => "output wire",
                _ => "input  wire",
            };
            let range = range_text(p.width);
            let gap = if rw == 0 { String::new() } else { format!(" {range:rw$}") };
            let name = format!("{}{}", p.name, if k + 1 == ports.len() { "" } else { "," });
            let doc = p.doc.borrow().replace('\n', " ");
            self.out.push_str(&format!("    {dir}{gap} {name:nw$}  // {doc}\n"));
        }
        self.out.push_str(");\n");
        if b.repeated {
            self.out.push_str("    /* verilator no_inline_module */\n");
        }
        self.out.push('\n');
    }

    /// Sinks for what the module has but does not need: bits of wires that the printer made, and clock and reset of a block whose size needs no state.
    fn sinks(&mut self) {
        let b = self.b;
        let (mut clock, mut reset) = (false, false);
        for s in b.signals.iter().filter(|s| s.kind == SigKind::Reg) {
            clock = true;
            reset |= s.value.borrow().is_some();
        }
        for (sig, used) in [(&b.clock, &mut clock), (&b.reset, &mut reset)] {
            if let (Some(s), false) = (sig, *used) {
                let mut seen = HashSet::new();
                walk::for_each_root(b, &mut |e| *used = *used || walk::mentions(e, s, &mut seen));
            }
        }
        let mut sinks: Vec<(String, String)> = Vec::new();
        for (sig, used) in [(&b.clock, clock), (&b.reset, reset)] {
            if let (Some(s), false) = (sig, used) {
                sinks.push((s.to_string(), s.to_string()));
            }
        }
        sinks.extend(self.constant_indexed.iter().map(|s| (s.clone(), s.clone())));
        sinks.extend(self.made.unused().map(|(name, bits)| (name.clone(), bits)));
        if sinks.is_empty() {
            return;
        }
        self.blank();
        self.line(4, "// Not needed.");
        for (name, bits) in sinks {
            let name = self.fresh(&format!("unused_{name}"));
            self.line(4, &format!("wire {name} = &{{1'b0, {bits}}};"));
        }
        // What properties add is not linted.
        self.made = Made::default();
    }

    fn properties(&mut self) {
        let b = self.b;
        if b.properties.is_empty() {
            return;
        }
        self.blank();
        self.out.push_str("`ifdef FORMAL\n");
        for item in &b.items {
            if let Item::Wire(s, e, _) = item
                && self.formal.contains(&s.id)
            {
                self.base = base_name(&s.name);
                let doc = s.doc.borrow().clone();
                self.driver(&s.name, e, Some(s.width), &doc);
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
        let guarded = b.reset.is_some();
        if guarded {
            // Before reset registers have any value.
            let in_reset = self.reset_condition(true);
            self.line(4, &format!("initial begin : p_formal_start\n    assume ({in_reset});\nend"));
        }
        let head = match &b.clock {
            Some(c) => format!("always @(posedge {c}) begin : p_formal"),
            None => "always @* begin : p_formal".to_owned(),
        };
        self.line(4, &head);
        if guarded {
            let out_of_reset = self.reset_condition(false);
            self.line(8, &format!("if ({out_of_reset}) begin"));
        }
        let depth = if guarded { 12 } else { 8 };
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

    /// Condition that reset is active, or that it is not.
    fn reset_condition(&self, active: bool) -> String {
        let rst = self.b.reset.as_ref().map_or_else(String::new, ToString::to_string);
        if self.b.opts.reset.active_high() == active { rst } else { format!("!{rst}") }
    }

    fn has_reset(&self, s: &Signal) -> bool {
        s.value.borrow().is_some() && self.b.opts.reset != ResetStyle::None
    }
}
