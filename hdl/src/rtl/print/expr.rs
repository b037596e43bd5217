//! Prints expressions, and makes named wires for what Verilog cannot write in place.

use super::super::bits::Bits;
use super::super::expr::{CmpOp, Expr, Kind, NaryOp, Node, index_width};
use super::super::index::Affine;
use super::super::process::target_signal;
use super::super::signal::SigKind;
use super::text::{base_name, lit_text, mask_text, repl_text, typed};
use super::walk::{reads_parameters, reads_signals};
use super::{Printer, SHARE_SIZE, Scope};
use std::rc::Rc;

/// Kinds that print as an always block.
pub(super) fn is_block(e: &Expr) -> bool {
    matches!(e.kind(), Kind::Popcount(_) | Kind::OneHotMux { .. } | Kind::ReduceElems(..) | Kind::Case { .. })
}

fn op_text(op: NaryOp) -> &'static str {
    match op {
        NaryOp::And => "&",
        NaryOp::Or => "|",
        NaryOp::Xor => "^",
        NaryOp::Add => "+",
    }
}

impl Printer<'_> {
    /// Names of wires made for a target come from its name.
    pub(super) fn base_from(&mut self, target: &Expr) {
        self.base = base_name(&target_signal(target).name);
    }

    pub(super) fn text(&mut self, e: &Expr) -> String {
        self.expr(e).0
    }

    /// Text and whether it is safe as an operand without parentheses.
    fn expr(&mut self, e: &Expr) -> (String, bool) {
        if e.0.size <= 2 {
            return self.expr_inner(e);
        }
        let node = Rc::as_ptr(&e.0);
        if let Some(n) = self.made_for(e) {
            self.note_use(&n, None);
            return (n, true);
        }
        if e.0.size > SHARE_SIZE && self.uses.get(&node).is_some_and(|n| *n > 1) {
            let n = self.hoist(e, "v");
            self.note_use(&n, None);
            return (n, true);
        }
        self.expr_inner(e)
    }

    fn operand(&mut self, e: &Expr) -> String {
        let (t, atom) = self.expr(e);
        if atom { t } else { format!("({t})") }
    }

    /// True if a wire for the expression must stay in the block that is being printed.
    fn is_inside(&mut self, e: &Expr) -> bool {
        match &mut self.scope {
            Scope::Module => false,
            Scope::Generate { .. } => e.0.loopy,
            Scope::Process(p) => e.0.loopy || !p.clocked && reads_any(e, &p.targets, &mut p.inside),
        }
    }

    /// The wire that was made for the expression.
    fn made_for(&mut self, e: &Expr) -> Option<String> {
        let inside = self.is_inside(e);
        let memo = match &self.scope {
            Scope::Generate { memo, .. } if inside => memo,
            Scope::Process(p) if inside => &p.memo,
            _ => &self.memo,
        };
        memo.get(&Rc::as_ptr(&e.0)).cloned()
    }

    fn note_use(&mut self, name: &str, range: Option<(u32, u32)>) {
        self.made.note_use(name, range);
        match &mut self.scope {
            Scope::Module => {}
            Scope::Generate { made, .. } => made.note_use(name, range),
            Scope::Process(p) => p.made.note_use(name, range),
        }
    }

    fn expr_inner(&mut self, e: &Expr) -> (String, bool) {
        let w = e.width();
        let text = match e.kind() {
            Kind::Lit(b) => return (lit_text(b), true),
            Kind::Sig(s) => return (s.name.clone(), true),
            Kind::LoopVal(v) if w == 1 => return (format!("{}[0]", v.name()), true),
            Kind::LoopVal(v) => return (format!("{}[{}:0]", v.name(), w - 1), true),
            Kind::Not(x) => return (format!("~{}", self.operand(x)), true),
            Kind::Nary(op, v) => {
                let parts: Vec<String> = v
                    .iter()
                    .map(|x| match (op, x.as_lit()) {
                        (NaryOp::And, Some(b)) => mask_text(b),
                        _ => self.operand(x),
                    })
                    .collect();
                parts.join(&format!(" {} ", op_text(*op)))
            }
            Kind::Sub(a, b) => format!("{} - {}", self.operand(a), self.operand(b)),
            Kind::Mul(a, b) => format!("{} * {b}", self.operand(a)),
            Kind::Cmp(op, a, b) => {
                let op = match op {
                    CmpOp::Eq => "==",
                    CmpOp::Ne => "!=",
                    CmpOp::Lt => "<",
                    CmpOp::Le => "<=",
                    CmpOp::Gt => ">",
                    CmpOp::Ge => ">=",
                };
                format!("{} {op} {}", self.operand(a), self.operand(b))
            }
            Kind::Shl(a, b) => format!("{} << {}", self.operand(a), self.operand(b)),
            Kind::Shr(a, b) => format!("{} >> {}", self.operand(a), self.operand(b)),
            Kind::Reduce(op, x) => {
                let (t, atom) = self.expr(x);
                if atom && !t.starts_with('~') { format!("{}{t}", op_text(*op)) } else { format!("{}({t})", op_text(*op)) }
            }
            Kind::Mux(c, a, b) => {
                let (c, a) = (self.operand(c), self.operand(a));
                let (t, atom) = self.expr(b);
                // Chains of muxes read as `c ? a : d ? b : e`.
                let chain = atom || matches!(b.kind(), Kind::Mux(..));
                format!("{c} ? {a} : {}", if chain { t } else { format!("({t})") })
            }
            Kind::Concat(_) => {
                let mut parts = Vec::new();
                self.concat_parts(e, true, &mut parts);
                return (format!("{{{}}}", parts.join(", ")), true);
            }
            Kind::Repl(n, x) => {
                let t = self.text(x);
                return (repl_text(*n, x.width(), &t), true);
            }
            Kind::Sel { base, dynamic, off } => {
                let name = match base.kind() {
                    Kind::LoopVal(v) if dynamic.is_empty() && off.is_const() => v.name().to_owned(),
                    _ => self.name_of(base),
                };
                if dynamic.is_empty() {
                    off.cover(w).into_iter().for_each(|r| self.note_use(&name, Some(r)));
                } else if !dynamic.iter().any(|d| reads_parameters(&d.0) || !reads_signals(&d.0, &[])) {
                    self.note_use(&name, None);
                } else if let Some(s) = base.as_signal() {
                    // The index may be constant in every instance and iteration, and linters then know which bits are left out.
                    if !matches!(s.kind, SigKind::Param | SigKind::LocalParam) {
                        self.constant_indexed.insert(name.clone());
                    }
                }
                return (self.select_text(&name, base.width(), dynamic, off, w), true);
            }
            Kind::Popcount(_) | Kind::OneHotMux { .. } | Kind::ReduceElems(..) | Kind::Case { .. } => {
                if self.is_inside(e) {
                    let flat = expand(e);
                    return self.expr_inner(&flat);
                }
                let n = self.hoist(e, "v");
                self.note_use(&n, None);
                return (n, true);
            }
        };
        (text, false)
    }

    /// Parts of nested concatenations, as one list.
    fn concat_parts(&mut self, e: &Expr, top: bool, out: &mut Vec<String>) {
        if let Kind::Concat(v) = e.kind() {
            let shared = e.0.size > SHARE_SIZE && self.uses.get(&Rc::as_ptr(&e.0)).is_some_and(|n| *n > 1);
            if top || !shared && self.made_for(e).is_none() {
                v.iter().for_each(|x| self.concat_parts(x, false, out));
                return;
            }
        }
        let t = self.text(e);
        out.push(t);
    }

    fn select_text(&mut self, name: &str, base_width: u32, dynamic: &[(Expr, u32)], off: &Affine, w: u32) -> String {
        if base_width == w {
            return name.to_owned();
        }
        let index = if dynamic.is_empty() {
            match (off.as_const(), w) {
                (Some(lo), 1) => return format!("{name}[{lo}]"),
                (Some(lo), _) => return format!("{name}[{}:{lo}]", lo + i64::from(w) - 1),
                (None, _) => off.to_string(),
            }
        } else {
            let index = index_expr(index_width(base_width), dynamic, off);
            self.text(&index)
        };
        if w == 1 { format!("{name}[{index}]") } else { format!("{name}[{index} +: {w}]") }
    }

    /// The name of a signal, or of a wire made for the expression.
    fn name_of(&mut self, e: &Expr) -> String {
        match e.kind() {
            Kind::Sig(s) => s.name.clone(),
            Kind::Concat(v) if v.len() == 2 && v[0].as_lit().is_some_and(Bits::is_zero) => self.hoist(e, "pad"),
            _ => self.hoist(e, "v"),
        }
    }

    /// Name of an operand that a loop selects from.
    fn loop_operand(&mut self, e: &Expr) -> String {
        let n = self.name_of(e);
        self.note_use(&n, None);
        n
    }

    /// Makes a wire (or a block with its variable, or a variable of the current block) for an expression and returns its name.
    fn hoist(&mut self, e: &Expr, hint: &str) -> String {
        if let Some(n) = self.made_for(e) {
            return n;
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
        let (node, w) = (Rc::as_ptr(&e.0), e.width());
        if self.is_inside(e) {
            let (t, _) = self.expr_inner(e);
            let name = self.fresh(&want);
            match &mut self.scope {
                Scope::Process(p) => {
                    p.decls.push((name.clone(), w));
                    p.pre.push(format!("{name} = {t};"));
                    p.memo.insert(node, name.clone());
                    p.made.add(&name, w);
                }
                Scope::Generate { wires, memo, made } => {
                    wires.push(format!("{}{name} = {t};", typed("wire", w)));
                    memo.insert(node, name.clone());
                    made.add(&name, w);
                }
                Scope::Module => unreachable!("nothing is inside of the module scope"),
            }
            return name;
        }
        let name;
        if is_block(e) {
            name = self.fresh(&want);
            let block = self.block_text(&name, e);
            self.pre.push(format!("{}{name};", typed("reg", w)));
            self.pre.push(block);
        } else {
            let (t, _) = self.expr_inner(e);
            name = self.fresh(&want);
            self.pre.push(format!("{}{name} = {t};", typed("wire", w)));
        }
        self.memo.insert(node, name.clone());
        self.made.add(&name, w);
        name
    }

    /// A zero that the simulator sees as a signal: `always @*` would never run without one.
    pub(super) fn trigger(&mut self, target: &str) -> String {
        let name = self.fresh(&format!("{}_zero", base_name(target)));
        self.pre.push(format!("wire {name} = 1'b0;  // read below so that simulators run the block"));
        name
    }

    /// The always block that gives `target` the value of a block kind.
    pub(super) fn block_text(&mut self, target: &str, e: &Expr) -> String {
        let w = e.width();
        let label = self.fresh(&format!("p_{target}"));
        let runs = reads_signals(e, &[]) && !reads_parameters(e);
        let zero = if runs {
            lit_text(&Bits::zero(w))
        } else {
            let t = self.trigger(target);
            repl_text(w, 1, &t)
        };
        let at = |name: &str, bus: u32, w: u32| match (bus == w, w) {
            (true, _) => name.to_owned(),
            (_, 1) => format!("{name}[i]"),
            _ => format!("{name}[i*{w} +: {w}]"),
        };
        let (n, init, value) = match e.kind() {
            Kind::Popcount(x) => {
                let n = x.width();
                let bit = at(&self.loop_operand(x), n, 1);
                (n, zero, format!("{target} + {{{}, {bit}}}", Bits::zero(w - 1)))
            }
            Kind::OneHotMux { sel, bus } => {
                let n = sel.width();
                let bit = at(&self.loop_operand(sel), n, 1);
                let element = at(&self.loop_operand(bus), bus.width(), w);
                (n, zero, format!("{target} | ({} & {element})", repl_text(w, 1, &bit)))
            }
            Kind::ReduceElems(op, bus) => {
                let element = at(&self.loop_operand(bus), bus.width(), w);
                let init = match op {
                    NaryOp::And if runs => lit_text(&Bits::ones(w)),
                    NaryOp::And => format!("~{zero}"),
                    _ => zero,
                };
                (bus.width() / w, init, format!("{target} {} {element}", op_text(*op)))
            }
            Kind::Case { sel, arms, default } => {
                let mut s = format!("always @* begin : {label}\n");
                if !runs {
                    s.push_str(&format!("    {target} = {zero};\n"));
                }
                s.push_str(&format!("    case ({})\n", self.text(sel)));
                for (k, v) in arms {
                    s.push_str(&format!("        {k}: {target} = {};\n", self.text(v)));
                }
                s.push_str(&format!("        default: {target} = {};\n    endcase\nend", self.text(default)));
                return s;
            }
            _ => unreachable!("not a block kind"),
        };
        format!(
            "always @* begin : {label}\n    reg [31:0] i;\n    {target} = {init};\n    for (i = 0; i < {n}; i = i + 1) begin\n        {target} = {value};\n    end\nend"
        )
    }
}

/// True if the expression reads one of the signals.
fn reads_any(e: &Expr, signals: &std::collections::BTreeSet<u32>, memo: &mut std::collections::HashMap<*const Node, bool>) -> bool {
    if let Kind::Sig(s) = e.kind() {
        return signals.contains(&s.id);
    }
    if signals.is_empty() || matches!(e.kind(), Kind::Lit(_)) {
        return false;
    }
    let node = Rc::as_ptr(&e.0);
    if let Some(b) = memo.get(&node) {
        return *b;
    }
    let mut found = false;
    e.kind().for_each_child(&mut |c| found = found || reads_any(c, signals, memo));
    memo.insert(node, found);
    found
}

/// A block kind as a plain expression.
fn expand(e: &Expr) -> Expr {
    let w = e.width();
    match e.kind() {
        Kind::Popcount(x) => Expr::add_all((0..x.width()).map(|i| x.bit(i).zext(w))),
        Kind::OneHotMux { sel, bus } => Expr::or_all((0..sel.width()).map(|i| sel.bit(i).replicate(w) & bus.elem(i, w))),
        Kind::ReduceElems(op, bus) => {
            let parts: Vec<Expr> = (0..bus.width() / w).map(|i| bus.elem(i, w)).collect();
            Expr::new(w, Kind::Nary(*op, parts))
        }
        Kind::Case { sel, arms, default } => arms.iter().rev().fold(default.clone(), |d, (k, v)| sel.eq(k).mux(v, d)),
        _ => e.clone(),
    }
}

/// The bit index `off + sum(dyn * stride)` in exactly `width` bits.
fn index_expr(width: u32, dynamic: &[(Expr, u32)], off: &Affine) -> Expr {
    if let Some(e) = off.as_const().and_then(|c| index_fields(width, dynamic, c)) {
        return e;
    }
    let mut terms: Vec<Expr> = dynamic.iter().map(|(e, stride)| scaled(&e.zext(width), i64::from(*stride))).collect();
    for (v, k) in &off.terms {
        terms.push(scaled(&Expr::new(width, Kind::LoopVal(v.clone())), *k));
    }
    if off.c != 0 {
        terms.push(Expr::from(Bits::from_u64(width, off.c as u64)));
    }
    Expr::add_all(terms)
}

/// The index as fields side by side, such as `{set, way, 3'd0}`, if they do not overlap.
fn index_fields(width: u32, dynamic: &[(Expr, u32)], c: i64) -> Option<Expr> {
    let c = Bits::from_u64(width, u64::try_from(c).ok()?);
    let mut fields: Vec<(u32, &Expr)> = Vec::new();
    for (e, stride) in dynamic {
        stride.is_power_of_two().then(|| fields.push((stride.trailing_zeros(), e)))?;
    }
    fields.sort_by_key(|f| f.0);
    let (mut parts, mut at) = (Vec::new(), 0);
    for (lo, e) in fields {
        if lo < at || lo + e.width() > width || !c.slice(lo, e.width()).is_zero() {
            return None;
        }
        if lo > at {
            parts.push(Expr::from(c.slice(at, lo - at)));
        }
        parts.push(e.clone());
        at = lo + e.width();
    }
    if at < width {
        parts.push(Expr::from(c.slice(at, width - at)));
    }
    Some(Expr::concat_lsb_first(parts))
}

/// `e * k` modulo 2^width.
fn scaled(e: &Expr, k: i64) -> Expr {
    let w = e.width();
    if k == 1 { e.clone() } else { Expr::new(w, Kind::Mul(e.clone(), Bits::from_u64(w, k as u64))) }
}
