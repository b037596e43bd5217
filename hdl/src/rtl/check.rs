//! Checks of a whole module: names, drivers, uses, combinational loops.

use super::design::{Dir, Module, Param, Port};
use super::error::RtlError;
use super::expr::{Expr, Kind, Loc, Node};
use super::index::{Affine, LoopVar};
use super::keywords::is_keyword;
use super::module::{Instance, Item, ModuleBuilder, PropKind};
use super::options::ResetStyle;
use super::print::{Printer, port_dir};
use super::process::{Label, Stmt, target_signal, targets};
use super::signal::{SigKind, Signal};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

/// Bits `lo .. lo + width` of a signal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Range {
    sig: u32,
    lo: u32,
    width: u32,
}

/// Something that gives bits of a signal their value without a register.
struct Driver {
    range: Range,
    loc: Loc,
    reads: Rc<Vec<Range>>,
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

fn identifier(name: &str) -> bool {
    let mut c = name.chars();
    c.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') && c.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Checker<'_> {
    fn error(&mut self, loc: Loc, text: &str) {
        self.errors.push(format!("module {}: {text} (at {}:{})", self.b.name, loc.file(), loc.line()));
    }

    fn signal(&self, id: u32) -> &Rc<Signal> {
        &self.b.signals[id as usize]
    }

    // ---------------------------------------------------------------- names

    fn name(&mut self, name: &str, loc: Loc) {
        if !identifier(name) {
            self.error(loc, &format!("`{name}` is not a Verilog identifier"));
        } else if is_keyword(name) {
            self.error(loc, &format!("`{name}` is a keyword of Verilog or SystemVerilog"));
        }
    }

    fn names(&mut self) {
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

    fn scopes(&mut self) {
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

    fn registers(&mut self) {
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

    fn instances(&mut self) {
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

    // ---------------------------------------------------------------- uses

    fn uses(&mut self) {
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

    // ---------------------------------------------------------------- drivers

    fn drivers(&mut self) -> Vec<Driver> {
        let b = self.b;
        let mut out: Vec<Driver> = Vec::new();
        for item in &b.items {
            match item {
                Item::Wire(s, e, loc) => {
                    let mut r = Vec::new();
                    reads(e, None, &mut r);
                    out.push(Driver { range: Range { sig: s.id, lo: 0, width: s.width }, loc, reads: Rc::new(r) });
                }
                Item::Assign(t, e, loc) => {
                    let mut r = Vec::new();
                    reads(e, None, &mut r);
                    out.push(Driver { range: target_range(t, None), loc, reads: Rc::new(r) });
                }
                Item::Comb(stmts, loc) => {
                    for (id, r) in block_reads(stmts) {
                        let width = self.signal(id).width;
                        out.push(Driver { range: Range { sig: id, lo: 0, width }, loc, reads: Rc::new(r) });
                    }
                }
                Item::Instance(i) => instance_drivers(i, &mut out),
                _ => {}
            }
        }
        out.sort_by_key(|d| d.range);
        for w in out.windows(2) {
            let (a, d) = (w[0].range, w[1].range);
            if a.sig == d.sig && a.lo + a.width > d.lo {
                let s = self.signal(a.sig);
                let overlap = (d.lo, (a.lo + a.width).min(d.lo + d.width) - d.lo);
                let text = format!(
                    "{}`{}` is driven twice, also at {}:{}",
                    bits_text(&[overlap], s.width),
                    s.name,
                    w[0].loc.file(),
                    w[0].loc.line()
                );
                self.error(w[1].loc, &text);
            }
        }
        let mut driven: Vec<Vec<(u32, u32)>> = vec![vec![]; b.signals.len()];
        for d in &out {
            driven[d.range.sig as usize].push((d.range.lo, d.range.width));
        }
        for (s, d) in b.signals.iter().zip(driven) {
            if matches!(s.kind, SigKind::Wire | SigKind::Output) {
                let gaps = gaps(d, s.width);
                if !gaps.is_empty() {
                    self.error(s.loc, &format!("{}`{}` is not driven", bits_text(&gaps, s.width), s.name));
                }
            }
        }
        out
    }

    // ---------------------------------------------------------------- combinational dependencies

    /// Refuses combinational loops; else tells for every output which ports it depends on.
    fn dependencies(&mut self, drivers: &[Driver]) -> Vec<Vec<bool>> {
        let b = self.b;
        let ports: Vec<&Rc<Signal>> = b.signals.iter().filter(|s| port_dir(s.kind).is_some()).collect();
        let mut port_of = vec![usize::MAX; b.signals.len()];
        for (i, p) in ports.iter().enumerate() {
            port_of[p.id as usize] = i;
        }
        // Drivers of a signal are neighbours, sorted by position and without overlap.
        let mut first = vec![drivers.len(); b.signals.len() + 1];
        for (i, d) in drivers.iter().enumerate().rev() {
            first[d.range.sig as usize] = i;
        }
        for i in (0..b.signals.len()).rev() {
            first[i] = first[i].min(first[i + 1]);
        }
        let overlapping = |r: Range| {
            let own = &drivers[first[r.sig as usize]..first[r.sig as usize + 1]];
            let from = own.partition_point(|d| d.range.lo + d.range.width <= r.lo);
            let to = own.partition_point(|d| d.range.lo < r.lo + r.width);
            let start = first[r.sig as usize];
            start + from..start + to.max(from)
        };
        let words = ports.len().div_ceil(64);
        let mut deps: Vec<Vec<u64>> = vec![vec![]; drivers.len()];
        let mut state = vec![0u8; drivers.len()];
        for root in 0..drivers.len() {
            if state[root] != 0 {
                continue;
            }
            // Node, position in its reads, position among the drivers of that read.
            let mut stack: Vec<(usize, usize, usize)> = vec![(root, 0, 0)];
            state[root] = 1;
            deps[root] = vec![0; words];
            while let Some(&(n, r, k)) = stack.last() {
                let top = stack.len() - 1;
                let Some(read) = drivers[n].reads.get(r) else {
                    state[n] = 2;
                    stack.pop();
                    if let Some(&(parent, ..)) = stack.last() {
                        let d = std::mem::take(&mut deps[n]);
                        deps[parent].iter_mut().zip(&d).for_each(|(a, b)| *a |= b);
                        deps[n] = d;
                    }
                    continue;
                };
                let port = port_of[read.sig as usize];
                if port != usize::MAX && self.signal(read.sig).kind != SigKind::Output {
                    deps[n][port / 64] |= 1 << (port % 64);
                }
                let targets = overlapping(*read);
                if k >= targets.len() {
                    stack[top] = (n, r + 1, 0);
                    continue;
                }
                stack[top].2 += 1;
                let next = targets.start + k;
                match state[next] {
                    0 => {
                        state[next] = 1;
                        deps[next] = vec![0; words];
                        stack.push((next, 0, 0));
                    }
                    1 => {
                        let from = stack.iter().position(|s| s.0 == next).unwrap_or(0);
                        let path: Vec<String> = stack[from..]
                            .iter()
                            .chain([&(next, 0, 0)])
                            .map(|s| {
                                let d = &drivers[s.0];
                                let sig = self.signal(d.range.sig);
                                format!(
                                    "{}`{}` ({}:{})",
                                    bits_text(&[(d.range.lo, d.range.width)], sig.width),
                                    sig.name,
                                    d.loc.file(),
                                    d.loc.line()
                                )
                            })
                            .collect();
                        let text = format!("combinational loop: {}", path.join(" <- "));
                        self.error(drivers[next].loc, &text);
                        return vec![];
                    }
                    _ => {
                        let d = std::mem::take(&mut deps[next]);
                        deps[n].iter_mut().zip(&d).for_each(|(a, b)| *a |= b);
                        deps[next] = d;
                    }
                }
            }
        }
        ports
            .iter()
            .filter(|p| p.kind == SigKind::Output)
            .map(|p| {
                let mut any = vec![false; ports.len()];
                for d in overlapping(Range { sig: p.id, lo: 0, width: p.width }) {
                    for (i, a) in any.iter_mut().enumerate() {
                        *a |= deps[d][i / 64] >> (i % 64) & 1 == 1;
                    }
                }
                any
            })
            .collect()
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

/// For every target of a combinational block, what it depends on. Reading a target of the block means what was assigned before, so such reads are
/// replaced by the dependencies of that target.
fn block_reads(stmts: &[Stmt]) -> Vec<(u32, Vec<Range>)> {
    let order: Vec<u32> = targets(stmts).iter().map(|s| s.id).collect();
    let mut direct: BTreeMap<u32, BTreeSet<Range>> = order.iter().map(|id| (*id, BTreeSet::new())).collect();
    let mut conds: Vec<Vec<Range>> = vec![];
    walk_block(stmts, &mut conds, &mut direct);
    // Close over reads of own targets.
    loop {
        let mut changed = false;
        for id in &order {
            let own: Vec<u32> = direct[id].iter().map(|r| r.sig).filter(|s| s != id && direct.contains_key(s)).collect();
            for o in own {
                let more = direct[&o].clone();
                let mine = direct.entry(*id).or_default();
                let before = mine.len();
                mine.extend(more);
                changed |= mine.len() != before;
            }
        }
        if !changed {
            break;
        }
    }
    order.iter().map(|id| (*id, direct[id].iter().filter(|r| !direct.contains_key(&r.sig)).copied().collect())).collect()
}

fn walk_block(stmts: &[Stmt], conds: &mut Vec<Vec<Range>>, direct: &mut BTreeMap<u32, BTreeSet<Range>>) {
    for s in stmts {
        match s {
            Stmt::Comment(_) => {}
            Stmt::Assign { target, value, .. } => {
                let mut r = Vec::new();
                reads(value, None, &mut r);
                if let Kind::Sel { dynamic, .. } = target.kind() {
                    dynamic.iter().for_each(|d| reads(&d.0, None, &mut r));
                }
                let d = direct.entry(target_signal(target).id).or_default();
                d.extend(r);
                conds.iter().for_each(|c| d.extend(c.iter().copied()));
            }
            Stmt::If { arms, otherwise } => {
                let depth = conds.len();
                for (c, body) in arms {
                    let mut r = Vec::new();
                    reads(c, None, &mut r);
                    conds.push(r);
                    walk_block(body, conds, direct);
                }
                walk_block(otherwise, conds, direct);
                conds.truncate(depth);
            }
            Stmt::For { body, .. } => walk_block(body, conds, direct),
            Stmt::Case { sel, arms, default } => {
                let mut r = Vec::new();
                reads(sel, None, &mut r);
                conds.push(r);
                arms.iter().for_each(|a| walk_block(&a.1, conds, direct));
                walk_block(default, conds, direct);
                conds.pop();
            }
        }
    }
}

fn instance_drivers(i: &Instance, out: &mut Vec<Driver>) {
    let n = i.array.as_ref().map_or(1, LoopVar::count);
    let ports = i.module.ports();
    for g in 0..n {
        let at = i.array.as_ref().map(|v| (v, g));
        let inputs: Vec<Vec<Range>> = ports
            .iter()
            .map(|p| {
                let mut r = Vec::new();
                if p.dir != Dir::Output {
                    reads(&i.conns[&p.name].0, at, &mut r);
                }
                r
            })
            .collect();
        for (o, p) in ports.iter().filter(|p| p.dir == Dir::Output).enumerate() {
            let (target, loc) = &i.conns[&p.name];
            let mut r = Vec::new();
            for (k, reads) in inputs.iter().enumerate() {
                if i.module.comb_deps[o][k] {
                    r.extend(reads);
                }
            }
            out.push(Driver { range: target_range(target, at), loc, reads: Rc::new(r) });
        }
    }
}
