//! Statements inside `always` blocks: assignments, `if`, `case`, `for`.

use super::bits::Bits;
use super::expr::{Expr, Kind, Loc};
use super::index::LoopVar;
use super::operand::Operand;
use super::signal::{SigKind, Signal};
use std::collections::BTreeSet;
use std::panic::Location;
use std::rc::Rc;

pub(crate) enum Stmt {
    Comment(String),
    Assign { target: Expr, value: Expr, loc: Loc },
    If { arms: Vec<(Expr, Vec<Stmt>)>, otherwise: Vec<Stmt> },
    For { var: LoopVar, body: Vec<Stmt>, loc: Loc },
    Case { sel: Expr, arms: Vec<(Label, Vec<Stmt>)>, default: Vec<Stmt> },
}

/// Label of a case arm.
pub(crate) enum Label {
    Value(Bits),
    /// A localparam.
    Name(Expr),
}

/// The signal an assignment target belongs to; panics if it is not a signal or a part of one.
#[track_caller]
pub(crate) fn target_signal(e: &Expr) -> &Rc<Signal> {
    match e.kind() {
        Kind::Sig(s) => s,
        Kind::Sel { base, .. } => match base.kind() {
            Kind::Sig(s) => s,
            _ => panic!("cannot assign to a part of an expression ({base})"),
        },
        Kind::Lit(_) => panic!("cannot assign to a constant ({e}): is a constant index beyond the last element?"),
        _ => panic!("cannot assign to an expression ({e})"),
    }
}

/// Turns a target with an index that may run beyond the signal into a plain target and its guard.
pub(crate) fn guard_target(e: &Expr) -> (Expr, Option<Expr>) {
    if let Kind::Sel { base, dynamic, off } = e.kind()
        && let (Kind::Concat(parts), [(idx, stride)]) = (base.kind(), &dynamic[..])
        && let [pad, sig] = &parts[..]
        && pad.as_lit().is_some_and(Bits::is_zero)
        && sig.as_signal().is_some()
    {
        let count = sig.width() / stride;
        let kind = Kind::Sel { base: sig.clone(), dynamic: dynamic.clone(), off: off.clone() };
        let target = if count == 1 { sig.bits(0, e.width()) } else { Expr::new(e.width(), kind) };
        return (target, Some(idx.lt(count)));
    }
    (e.clone(), None)
}

/// The body of an `always` block under construction.
///
/// In a combinational block ([`ModuleBuilder::comb`](super::ModuleBuilder::comb)) statements take effect in order and every target is zero until it is assigned, so there are no
/// latches. In a clocked block ([`ModuleBuilder::seq`](super::ModuleBuilder::seq)) targets are registers, which keep their value until assigned; the last assignment wins.
pub struct Block {
    pub(crate) stmts: Vec<Stmt>,
    pub(crate) clocked: bool,
}

impl Block {
    pub(crate) fn new(clocked: bool) -> Self {
        Block { stmts: vec![], clocked }
    }

    fn sub(&self, f: impl FnOnce(&mut Block)) -> Vec<Stmt> {
        let mut b = Block::new(self.clocked);
        f(&mut b);
        b.stmts
    }

    /// A comment line.
    pub fn comment(&mut self, text: &str) {
        self.stmts.push(Stmt::Comment(text.to_owned()));
    }

    /// Assigns to a signal or a part of it (slice, element at a constant, loop-variable or dynamic index).
    /// A dynamic index beyond the last element assigns nothing.
    #[track_caller]
    pub fn set(&mut self, target: impl Into<Expr>, value: impl Operand) {
        let target = target.into();
        let loc = Location::caller();
        let (target, guard) = guard_target(&target);
        let sig = target_signal(&target);
        let ok = match sig.kind {
            SigKind::Reg => self.clocked,
            SigKind::Wire | SigKind::Output => !self.clocked,
            _ => false,
        };
        assert!(
            ok,
            "{} cannot be assigned in a {} block: it is {}",
            sig.name,
            if self.clocked { "clocked" } else { "combinational" },
            sig.kind.describe()
        );
        let value = value.to_expr(target.width());
        assert!(value.width() == target.width(), "assignment of {} bits ({value}) to {} bits ({target})", value.width(), target.width());
        let assign = Stmt::Assign { target, value, loc };
        self.stmts.push(match guard {
            Some(g) => Stmt::If { arms: vec![(g, vec![assign])], otherwise: vec![] },
            None => assign,
        });
    }

    /// `if (cond) ...`; chain `.elif(...)` and `.otherwise(...)`.
    #[track_caller]
    pub fn if_(&mut self, cond: impl Into<Expr>, body: impl FnOnce(&mut Block)) -> IfChain<'_> {
        let cond = cond.into();
        assert!(cond.width() == 1, "condition of {} bits ({cond})", cond.width());
        let body = self.sub(body);
        self.stmts.push(Stmt::If { arms: vec![(cond, body)], otherwise: vec![] });
        IfChain { block: self }
    }

    /// `for (name = 0; name < count; name = name + 1) ...`
    #[track_caller]
    pub fn for_loop(&mut self, name: &str, count: u32, body: impl FnOnce(&mut Block, &LoopVar)) {
        assert!(count >= 1, "loop over nothing");
        let var = LoopVar::new(name, count);
        let body = self.sub(|b| body(b, &var));
        self.stmts.push(Stmt::For { var, body, loc: Location::caller() });
    }

    /// `case (sel) ...`; arms are added in the closure, anything not listed goes to [`CaseArms::otherwise`] (default: nothing happens).
    #[track_caller]
    pub fn case(&mut self, sel: impl Into<Expr>, body: impl FnOnce(&mut CaseArms)) {
        let sel = sel.into();
        let mut c = CaseArms { sel: sel.clone(), arms: vec![], default: vec![], clocked: self.clocked };
        body(&mut c);
        self.stmts.push(Stmt::Case { sel, arms: c.arms, default: c.default });
    }
}

/// The rest of an `if`.
pub struct IfChain<'a> {
    block: &'a mut Block,
}

impl IfChain<'_> {
    /// `else if (cond) ...`
    #[track_caller]
    pub fn elif(self, cond: impl Into<Expr>, body: impl FnOnce(&mut Block)) -> Self {
        let cond = cond.into();
        assert!(cond.width() == 1, "condition of {} bits ({cond})", cond.width());
        let stmts = self.block.sub(body);
        if let Some(Stmt::If { arms, .. }) = self.block.stmts.last_mut() {
            arms.push((cond, stmts));
        }
        self
    }

    /// `else ...`
    pub fn otherwise(self, body: impl FnOnce(&mut Block)) {
        let stmts = self.block.sub(body);
        if let Some(Stmt::If { otherwise, .. }) = self.block.stmts.last_mut() {
            *otherwise = stmts;
        }
    }
}

/// Arms of a `case`.
pub struct CaseArms {
    sel: Expr,
    pub(crate) arms: Vec<(Label, Vec<Stmt>)>,
    pub(crate) default: Vec<Stmt>,
    clocked: bool,
}

impl CaseArms {
    /// Arm for one value.
    #[track_caller]
    pub fn arm(&mut self, value: u64, body: impl FnOnce(&mut Block)) -> &mut Self {
        let w = self.sel.width();
        assert!(w >= 64 || value >> w == 0, "case label {value} does not fit {w} bits");
        let label = Bits::from_u64(w, value);
        let taken = self.arms.iter().any(|a| matches!(&a.0, Label::Value(v) if *v == label));
        assert!(!taken, "case label {value} twice");
        self.push(Label::Value(label), body)
    }

    /// Arm for a named constant (`localparam`).
    #[track_caller]
    pub fn arm_const(&mut self, value: &Expr, body: impl FnOnce(&mut Block)) -> &mut Self {
        assert!(value.width() == self.sel.width(), "case label {value} has {} bits", value.width());
        assert!(value.as_signal().is_some_and(|s| s.kind == SigKind::LocalParam), "case label {value} is not a localparam");
        self.push(Label::Name(value.clone()), body)
    }

    fn push(&mut self, label: Label, body: impl FnOnce(&mut Block)) -> &mut Self {
        let mut b = Block::new(self.clocked);
        body(&mut b);
        self.arms.push((label, b.stmts));
        self
    }

    /// The `default` arm.
    pub fn otherwise(&mut self, body: impl FnOnce(&mut Block)) {
        let mut b = Block::new(self.clocked);
        body(&mut b);
        self.default = b.stmts;
    }
}

/// Signals that statements assign, in order of first assignment.
pub(crate) fn targets(stmts: &[Stmt]) -> Vec<Rc<Signal>> {
    fn walk(stmts: &[Stmt], seen: &mut BTreeSet<u32>, out: &mut Vec<Rc<Signal>>) {
        for s in stmts {
            match s {
                Stmt::Comment(_) => {}
                Stmt::Assign { target, .. } => {
                    let t = target_signal(target);
                    if seen.insert(t.id) {
                        out.push(t.clone());
                    }
                }
                Stmt::If { arms, otherwise } => {
                    arms.iter().for_each(|a| walk(&a.1, seen, out));
                    walk(otherwise, seen, out);
                }
                Stmt::For { body, .. } => walk(body, seen, out),
                Stmt::Case { arms, default, .. } => {
                    arms.iter().for_each(|a| walk(&a.1, seen, out));
                    walk(default, seen, out);
                }
            }
        }
    }
    let mut out = Vec::new();
    walk(stmts, &mut BTreeSet::new(), &mut out);
    out
}
