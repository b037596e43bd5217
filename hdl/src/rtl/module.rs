//! Building one module.

use super::bits::Bits;
use super::design::Module;
use super::error::RtlError;
use super::expr::{Expr, Kind, Loc};
use super::index::LoopVar;
use super::instance::Instance;
use super::operand::Operand;
use super::options::{ResetStyle, RtlOptions};
use super::process::{Block, Stmt, target_signal};
use super::reg::Reg;
use super::signal::{SigKind, Signal};
use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT_MODULE: AtomicU64 = AtomicU64::new(0);

/// What a property is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PropKind {
    Assert,
    Assume,
    Cover,
}

pub(crate) enum Item {
    Comment(String),
    Section(String),
    /// Declaration of a wire driven elsewhere.
    Net(Rc<Signal>),
    Wire(Rc<Signal>, Expr, Loc),
    LocalParam(Rc<Signal>),
    Assign(Expr, Expr, Loc),
    Comb(Vec<Stmt>, Loc),
    Seq(Vec<Stmt>, Loc),
    Instance(Instance),
    Unused(String, Expr, Loc),
}

pub(crate) struct Property {
    pub(crate) kind: PropKind,
    pub(crate) name: String,
    pub(crate) expr: Expr,
    pub(crate) why: String,
    pub(crate) loc: Loc,
}

/// Builds one module; see the [module documentation](super) for a tour.
pub struct ModuleBuilder {
    pub(crate) uid: u64,
    pub(crate) name: String,
    pub(crate) opts: RtlOptions,
    pub(crate) purpose: String,
    pub(crate) latency: String,
    pub(crate) notes: Vec<(String, String)>,
    /// Verilator keeps the module apart.
    pub(crate) repeated: bool,
    pub(crate) signals: Vec<Rc<Signal>>,
    pub(crate) items: Vec<Item>,
    pub(crate) properties: Vec<Property>,
    pub(crate) clock: Option<Expr>,
    pub(crate) reset: Option<Expr>,
    pub(crate) loc: Loc,
    pub(crate) errors: Vec<String>,
}

impl ModuleBuilder {
    /// A module with the default [`RtlOptions`].
    #[track_caller]
    pub fn new(name: &str) -> Self {
        Self::with_options(name, RtlOptions::default())
    }

    /// A module with the options of a design.
    #[track_caller]
    pub fn with_options(name: &str, opts: RtlOptions) -> Self {
        ModuleBuilder {
            uid: NEXT_MODULE.fetch_add(1, Ordering::Relaxed),
            name: name.to_owned(),
            opts,
            purpose: String::new(),
            latency: String::new(),
            notes: vec![],
            repeated: false,
            signals: vec![],
            items: vec![],
            properties: vec![],
            clock: None,
            reset: None,
            loc: Location::caller(),
            errors: vec![],
        }
    }

    /// The options of the design.
    pub fn options(&self) -> RtlOptions {
        self.opts
    }

    /// What the module does: a paragraph of the file header.
    pub fn purpose(&mut self, text: &str) -> &mut Self {
        text.clone_into(&mut self.purpose);
        self
    }

    /// When outputs answer inputs: a paragraph of the file header.
    pub fn latency(&mut self, text: &str) -> &mut Self {
        text.clone_into(&mut self.latency);
        self
    }

    /// Asks Verilator to keep the module apart instead of copying it into every place that uses it. For modules of some size
    /// with many instances: their C++ is compiled faster. A comment to all other tools.
    pub fn repeated(&mut self) -> &mut Self {
        self.repeated = true;
        self
    }

    /// A generation parameter, printed in the header: name and value with its meaning.
    pub fn note(&mut self, name: &str, text: impl ToString) -> &mut Self {
        self.notes.push((name.to_owned(), text.to_string()));
        self
    }

    #[track_caller]
    fn declare(&mut self, name: &str, width: u32, kind: SigKind, doc: &str) -> Expr {
        assert!(width >= 1, "signal {name} of no bits");
        let s = Rc::new(Signal {
            module: self.uid,
            id: self.signals.len() as u32,
            name: name.to_owned(),
            width,
            kind,
            loc: Location::caller(),
            doc: RefCell::new(doc.to_owned()),
            value: RefCell::new(None),
            updates: RefCell::new(vec![]),
        });
        self.signals.push(s.clone());
        Expr::new(width, Kind::Sig(s))
    }

    /// An input port; names end in `_i`.
    #[track_caller]
    pub fn input(&mut self, name: &str, width: u32, doc: &str) -> Expr {
        self.declare(name, width, SigKind::Input, doc)
    }

    /// An output port; names end in `_o`.
    #[track_caller]
    pub fn output(&mut self, name: &str, width: u32, doc: &str) -> Expr {
        self.declare(name, width, SigKind::Output, doc)
    }

    /// The clock port.
    #[track_caller]
    pub fn clock(&mut self, name: &str) -> Expr {
        assert!(self.clock.is_none(), "second clock {name}: a module has one clock");
        let e = self.declare(name, 1, SigKind::Clock, "clock, rising edge");
        self.clock = Some(e.clone());
        e
    }

    /// The reset port, of the style in the options.
    #[track_caller]
    pub fn reset(&mut self, name: &str) -> Expr {
        assert!(self.reset.is_none(), "second reset {name}: a module has one reset");
        assert!(self.opts.reset != ResetStyle::None, "the options of the design say that there is no reset");
        let e = self.declare(name, 1, SigKind::Reset, self.opts.reset.describe());
        self.reset = Some(e.clone());
        e
    }

    /// Clock `clk_i` and the reset of the options (`rst_i`, or `rst_ni` if it is active low). Instances connect both by themselves.
    #[track_caller]
    pub fn clock_reset(&mut self) {
        self.clock("clk_i");
        if self.opts.reset != ResetStyle::None {
            self.reset(self.opts.reset.port_name());
        }
    }

    /// 1 while reset is active (0 if the design has no reset).
    #[track_caller]
    pub fn reset_active(&self) -> Expr {
        match (&self.reset, self.opts.reset.active_high()) {
            (Some(r), true) => r.clone(),
            (Some(r), false) => !r,
            (None, _) => Expr::zeros(1),
        }
    }

    /// A named wire with its value.
    #[track_caller]
    pub fn wire(&mut self, name: &str, value: impl Into<Expr>) -> Expr {
        let value = value.into();
        let e = self.declare(name, value.width(), SigKind::Wire, "");
        let s = target_signal(&e).clone();
        self.items.push(Item::Wire(s, value, Location::caller()));
        e
    }

    /// A named wire to be driven later by [`assign`](Self::assign), [`comb`](Self::comb) or an instance.
    #[track_caller]
    pub fn net(&mut self, name: &str, width: u32) -> Expr {
        let e = self.declare(name, width, SigKind::Wire, "");
        self.items.push(Item::Net(target_signal(&e).clone()));
        e
    }

    /// A register with reset value 0 that keeps its value until [`Reg::next`] or [`Reg::next_when`] says otherwise; names end in `_q`.
    #[track_caller]
    pub fn reg(&mut self, name: &str, width: u32) -> Reg {
        let e = self.declare(name, width, SigKind::Reg, "");
        *target_signal(&e).value.borrow_mut() = Some(Bits::zero(width));
        Reg(e)
    }

    /// A Verilog `parameter` that instances may override.
    #[track_caller]
    pub fn param(&mut self, name: &str, default: Bits, doc: &str) -> Expr {
        let e = self.declare(name, default.width(), SigKind::Param, doc);
        *target_signal(&e).value.borrow_mut() = Some(default);
        e
    }

    /// A named constant.
    #[track_caller]
    pub fn localparam(&mut self, name: &str, value: Bits) -> Expr {
        let e = self.declare(name, value.width(), SigKind::LocalParam, "");
        let s = target_signal(&e).clone();
        *s.value.borrow_mut() = Some(value);
        self.items.push(Item::LocalParam(s));
        e
    }

    /// A comment line before the next construct.
    pub fn comment(&mut self, text: &str) {
        self.items.push(Item::Comment(text.to_owned()));
    }

    /// A heading comment.
    pub fn section(&mut self, text: &str) {
        self.items.push(Item::Section(text.to_owned()));
    }

    /// Drives an output or a [`net`](Self::net), or a constant slice of one.
    #[track_caller]
    pub fn assign(&mut self, target: impl Into<Expr>, value: impl Operand) {
        let target = target.into();
        let sig = target_signal(&target);
        assert!(matches!(sig.kind, SigKind::Wire | SigKind::Output), "{} cannot be assigned: it is {}", sig.name, sig.kind.describe());
        if let Kind::Sel { dynamic, off, .. } = target.kind() {
            assert!(dynamic.is_empty() && off.is_const(), "assign to {} needs a constant position: use comb", sig.name);
        }
        let value = value.to_expr(target.width());
        assert!(value.width() == target.width(), "assignment of {} bits ({value}) to {} bits ({target})", value.width(), target.width());
        self.items.push(Item::Assign(target, value, Location::caller()));
    }

    /// A combinational block. It drives whole signals: what it does not assign is zero.
    #[track_caller]
    pub fn comb(&mut self, body: impl FnOnce(&mut Block)) {
        let mut b = Block::new(false);
        body(&mut b);
        self.items.push(Item::Comb(b.stmts, Location::caller()));
    }

    /// A combinational block with one `for` loop.
    #[track_caller]
    pub fn comb_for(&mut self, name: &str, count: u32, body: impl FnOnce(&mut Block, &LoopVar)) {
        let mut b = Block::new(false);
        b.for_loop(name, count, body);
        self.items.push(Item::Comb(b.stmts, Location::caller()));
    }

    /// A clocked block, for registers whose updates need loops or nested conditions. Its registers are reset in the same block.
    #[track_caller]
    pub fn seq(&mut self, body: impl FnOnce(&mut Block)) {
        let mut b = Block::new(true);
        body(&mut b);
        self.items.push(Item::Seq(b.stmts, Location::caller()));
    }

    /// States that bits of a value (of an input, of a result) are not needed.
    #[track_caller]
    pub fn mark_unused(&mut self, value: impl Into<Expr>) {
        let value = value.into();
        let base = match value.kind() {
            Kind::Sig(s) => s.name.clone(),
            Kind::Sel { base, .. } => base.as_signal().map_or_else(|| "bits".to_owned(), |s| s.name.clone()),
            _ => "bits".to_owned(),
        };
        self.items.push(Item::Unused(format!("unused_{base}"), value, Location::caller()));
    }

    /// A property that must hold in every cycle out of reset, printed for formal tools; names end in `_A`.
    #[track_caller]
    pub fn assert(&mut self, name: &str, expr: impl Into<Expr>, why: &str) {
        self.property(PropKind::Assert, name, expr.into(), why, Location::caller());
    }

    /// A property of the environment, printed for formal tools; names end in `_M`.
    #[track_caller]
    pub fn assume(&mut self, name: &str, expr: impl Into<Expr>, why: &str) {
        self.property(PropKind::Assume, name, expr.into(), why, Location::caller());
    }

    /// A situation that must be reachable, printed for formal tools; names end in `_C`.
    #[track_caller]
    pub fn cover(&mut self, name: &str, expr: impl Into<Expr>, why: &str) {
        self.property(PropKind::Cover, name, expr.into(), why, Location::caller());
    }

    #[track_caller]
    fn property(&mut self, kind: PropKind, name: &str, expr: Expr, why: &str, loc: Loc) {
        assert!(expr.width() == 1, "property {name} has {} bits", expr.width());
        self.properties.push(Property { kind, name: name.to_owned(), expr, why: why.to_owned(), loc });
    }

    /// Checks and prints the module.
    ///
    /// # Errors
    /// Everything the checks found, each with module, signal and source line; see [`RtlError`].
    pub fn finish(self) -> Result<Rc<Module>, RtlError> {
        super::check::finish(self)
    }
}
