//! Building one module.

use super::bits::Bits;
use super::design::Module;
use super::error::RtlError;
use super::expr::{Expr, Kind, Loc, Operand};
use super::index::LoopVar;
use super::options::{ResetStyle, RtlOptions};
use super::process::{Block, Stmt, guard_target, target_signal};
use super::signal::{SigKind, Signal, Update};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Deref;
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

pub(crate) struct Instance {
    pub(crate) name: String,
    pub(crate) module: Rc<Module>,
    /// The genvar of an array.
    pub(crate) array: Option<LoopVar>,
    pub(crate) params: BTreeMap<String, (Expr, Loc)>,
    /// By port name.
    pub(crate) conns: BTreeMap<String, (Expr, Loc)>,
    pub(crate) loc: Loc,
}

/// Builds one module; see the [module documentation](super) for a tour.
pub struct ModuleBuilder {
    pub(crate) uid: u64,
    pub(crate) name: String,
    pub(crate) opts: RtlOptions,
    pub(crate) purpose: String,
    pub(crate) latency: String,
    /// Verilator keeps the module apart.
    pub(crate) repeated: bool,
    pub(crate) notes: Vec<(String, String)>,
    pub(crate) no_inline: bool,
    pub(crate) signals: Vec<Rc<Signal>>,
    pub(crate) items: Vec<Item>,
    pub(crate) properties: Vec<Property>,
    pub(crate) clock: Option<Expr>,
    pub(crate) reset: Option<Expr>,
    pub(crate) loc: Loc,
    pub(crate) errors: Vec<String>,
}

/// A register. Reads as an [`Expr`]; its next value is given by [`next`](Self::next) and [`next_when`](Self::next_when).
#[derive(Clone)]
pub struct Reg(pub(crate) Expr);

/// A part of a register, to be updated on its own: made by [`Reg::part`] and [`Reg::at`].
pub struct RegPart(Expr);

impl Deref for Reg {
    type Target = Expr;
    fn deref(&self) -> &Expr {
        &self.0
    }
}

impl From<Reg> for Expr {
    fn from(r: Reg) -> Expr {
        r.0
    }
}

impl From<&Reg> for Expr {
    fn from(r: &Reg) -> Expr {
        r.0.clone()
    }
}

impl Operand for &Reg {
    fn known_width(&self) -> Option<u32> {
        Some(self.0.width())
    }

    fn to_expr(self, _: u32) -> Expr {
        self.0.clone()
    }
}

impl Operand for Reg {
    fn known_width(&self) -> Option<u32> {
        Some(self.0.width())
    }

    fn to_expr(self, _: u32) -> Expr {
        self.0
    }
}

#[track_caller]
fn push_update(target: &Expr, cond: Option<Expr>, value: impl Operand) {
    let value = value.to_expr(target.width());
    assert!(value.width() == target.width(), "next value of {} bits ({value}) for {} bits ({target})", value.width(), target.width());
    if let Some(c) = &cond {
        assert!(c.width() == 1, "condition of {} bits ({c})", c.width());
    }
    let (target, guard) = guard_target(target);
    let cond = match (cond, guard) {
        (Some(c), Some(g)) => Some(c & g),
        (c, g) => c.or(g),
    };
    let sig = target_signal(&target).clone();
    sig.updates.borrow_mut().push(Update { cond, target, value, loc: Location::caller() });
}

impl Reg {
    fn signal(&self) -> &Signal {
        self.0.as_signal().unwrap_or_else(|| unreachable!("a register is a signal"))
    }

    /// Reset value (0 unless said otherwise).
    #[track_caller]
    pub fn reset(self, value: impl Operand) -> Self {
        let v = Expr::lit(self.width(), value);
        let Some(b) = v.as_lit() else { panic!("the reset value must be a constant") };
        *self.signal().value.borrow_mut() = Some(b.clone());
        self
    }

    /// Leaves the register out of reset: for payload that is guarded by a valid bit.
    pub fn no_reset(self) -> Self {
        *self.signal().value.borrow_mut() = None;
        self
    }

    /// Comment printed beside the declaration.
    #[track_caller]
    pub fn doc(self, text: &str) -> Self {
        Reg(self.0.doc(text))
    }

    /// Value after the next clock edge. After calls of [`next_when`](Self::next_when) it is the final `else`.
    #[track_caller]
    pub fn next(&self, value: impl Operand) {
        push_update(&self.0, None, value);
    }

    /// Value after the next clock edge if `cond`. Several calls form `if / else if`: the first one that applies wins; if none does the register keeps its value.
    #[track_caller]
    pub fn next_when(&self, cond: impl Into<Expr>, value: impl Operand) {
        push_update(&self.0, Some(cond.into()), value);
    }

    /// Bits `lo .. lo + width`, to be updated on their own. Updates of different parts are independent; where they overlap the later one wins.
    #[track_caller]
    pub fn part(&self, lo: u32, width: u32) -> RegPart {
        RegPart(self.bits(lo, width))
    }

    /// Element `idx` of a packed register, to be updated on its own: storage such as the memory of a FIFO. A dynamic index beyond the last element updates nothing.
    #[track_caller]
    pub fn at(&self, idx: impl Into<super::Index>, width: u32) -> RegPart {
        RegPart(self.elem(idx, width))
    }
}

impl RegPart {
    /// See [`Reg::next`].
    #[track_caller]
    pub fn next(&self, value: impl Operand) {
        push_update(&self.0, None, value);
    }

    /// See [`Reg::next_when`].
    #[track_caller]
    pub fn next_when(&self, cond: impl Into<Expr>, value: impl Operand) {
        push_update(&self.0, Some(cond.into()), value);
    }
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
            repeated: false,
            notes: vec![],
            no_inline: false,
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

    /// Asks Verilator to keep the module apart instead of copying it into every place that uses it. For modules of some size
    /// with many instances: their C++ is compiled faster.
    pub fn repeated(&mut self) -> &mut Self {
        self.repeated = true;
        self
    }

    /// When outputs answer inputs: a paragraph of the file header.
    pub fn latency(&mut self, text: &str) -> &mut Self {
        text.clone_into(&mut self.latency);
        self
    }

    /// Tells Verilator to compile the module once instead of once per instance, for modules with many instances (a comment to other tools).
    pub fn no_inline(&mut self) -> &mut Self {
        self.no_inline = true;
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

    /// An instance of a finished module. Clock and reset are connected unless the closure does it; outputs it leaves out get a wire of their own, found in the result.
    #[track_caller]
    pub fn instance(&mut self, name: &str, module: &Rc<Module>, body: impl FnOnce(&mut Connect)) -> Outputs {
        let mut c = Connect::new(name, module, None, Location::caller());
        body(&mut c);
        self.finish_instance(c)
    }

    /// `count` instances of a finished module in a `generate for`. Ports connect to the element of the instance (`req.elem(g, 4)`), to a signal for all, or to `g.value(w)`.
    /// Outputs that the closure leaves out get a packed bus.
    #[track_caller]
    pub fn instance_array(&mut self, name: &str, module: &Rc<Module>, count: u32, body: impl FnOnce(&mut Connect, &LoopVar)) -> Outputs {
        assert!(count >= 1, "array {name} of no instances");
        let g = LoopVar::new("g", count);
        let mut c = Connect::new(name, module, Some(g.clone()), Location::caller());
        body(&mut c, &g);
        self.finish_instance(c)
    }

    #[track_caller]
    fn finish_instance(&mut self, c: Connect) -> Outputs {
        let Connect { mut inst, open, errors } = c;
        let mut outs = BTreeMap::new();
        let at = |l: Loc| format!(" (at {}:{})", l.file(), l.line());
        self.errors.extend(errors);
        let count = inst.array.as_ref().map_or(1, LoopVar::count);
        let loc = inst.loc;
        let module = inst.module.clone();
        for p in module.ports() {
            if inst.conns.contains_key(&p.name) {
                continue;
            }
            let e = match p.dir {
                super::Dir::Clock => self.clock.clone(),
                super::Dir::Reset => self.reset.clone(),
                super::Dir::Input => None,
                super::Dir::Output => {
                    let short = inst.name.strip_prefix("u_").unwrap_or(&inst.name);
                    let mut name = format!("{short}_{}", p.name.strip_suffix("_o").unwrap_or(&p.name));
                    let is_open = open.contains(&p.name);
                    if is_open {
                        name = format!("unused_{name}");
                    }
                    let bus = self.net(&name, p.width * count);
                    if !is_open {
                        outs.insert(p.name.clone(), bus.clone());
                    }
                    Some(match &inst.array {
                        Some(g) => bus.elem(g, p.width),
                        None => bus,
                    })
                }
            };
            match e {
                Some(e) => {
                    inst.conns.insert(p.name.clone(), (e, loc));
                }
                None => self.errors.push(format!("{}: port {} of {} is not connected{}", inst.name, p.name, module.name(), at(loc))),
            }
        }
        let name = inst.name.clone();
        self.items.push(Item::Instance(inst));
        Outputs { name, outs }
    }

    /// Checks and prints the module.
    ///
    /// # Errors
    /// Everything the checks found, each with module, signal and source line; see [`RtlError`].
    pub fn finish(self) -> Result<Rc<Module>, RtlError> {
        super::check::finish(self)
    }
}

/// Connections of an instance.
pub struct Connect {
    inst: Instance,
    open: Vec<String>,
    errors: Vec<String>,
}

impl Connect {
    fn new(name: &str, module: &Rc<Module>, array: Option<LoopVar>, loc: Loc) -> Self {
        let inst = Instance { name: name.to_owned(), module: module.clone(), array, params: BTreeMap::new(), conns: BTreeMap::new(), loc };
        Connect { inst, open: vec![], errors: vec![] }
    }

    #[track_caller]
    fn error(&mut self, text: String) {
        let loc = Location::caller();
        self.errors.push(format!("{}: {text} (at {}:{})", self.inst.name, loc.file(), loc.line()));
    }

    /// Connects a port: an expression to an input, a signal or a part of one to an output.
    #[track_caller]
    pub fn connect(&mut self, port: &str, value: impl Operand) -> &mut Self {
        let module = self.inst.module.clone();
        let Some(p) = module.ports().iter().find(|p| p.name == port) else {
            let names: Vec<_> = module.ports().iter().map(|p| p.name.as_str()).collect();
            self.error(format!("{} has no port {port}; it has {}", module.name(), names.join(", ")));
            return self;
        };
        let value = value.to_expr(p.width);
        if value.width() != p.width {
            self.error(format!("port {port} of {} has {} bits, connected to {} bits ({value})", module.name(), p.width, value.width()));
            return self;
        }
        if p.dir == super::Dir::Output {
            let sig = target_signal(&value);
            if !matches!(sig.kind, SigKind::Wire | SigKind::Output) {
                self.error(format!("output {port} cannot drive {}: it is {}", sig.name, sig.kind.describe()));
                return self;
            }
        }
        if self.inst.conns.insert(port.to_owned(), (value, Location::caller())).is_some() {
            self.error(format!("port {port} connected twice"));
        }
        self
    }

    /// Leaves an output open.
    #[track_caller]
    pub fn open(&mut self, port: &str) -> &mut Self {
        if self.inst.module.ports().iter().any(|p| p.name == port && p.dir == super::Dir::Output) {
            self.open.push(port.to_owned());
        } else {
            self.error(format!("{} has no output {port}", self.inst.module.name()));
        }
        self
    }

    /// Sets a parameter to a constant, or in an array to an element of a constant (`table.elem(g, w)`).
    #[track_caller]
    pub fn param(&mut self, name: &str, value: impl Operand) -> &mut Self {
        let module = self.inst.module.clone();
        let Some(p) = module.params().iter().find(|p| p.name == name) else {
            self.error(format!("{} has no parameter {name}", module.name()));
            return self;
        };
        let value = value.to_expr(p.width);
        if value.width() != p.width {
            self.error(format!("parameter {name} has {} bits, given {} bits", p.width, value.width()));
            return self;
        }
        let constant = match value.kind() {
            Kind::Lit(_) | Kind::LoopVal(_) => true,
            Kind::Sig(s) => matches!(s.kind, SigKind::Param | SigKind::LocalParam),
            Kind::Sel { base, dynamic, .. } => {
                dynamic.is_empty() && base.as_signal().is_some_and(|s| matches!(s.kind, SigKind::Param | SigKind::LocalParam))
            }
            _ => false,
        };
        if !constant {
            self.error(format!("parameter {name} is set to {value}, which is not a constant, a parameter or an element of one"));
            return self;
        }
        if self.inst.params.insert(name.to_owned(), (value, Location::caller())).is_some() {
            self.error(format!("parameter {name} set twice"));
        }
        self
    }
}

/// Wires of the outputs that an instance was not told to connect.
pub struct Outputs {
    name: String,
    outs: BTreeMap<String, Expr>,
}

impl Outputs {
    /// The wire (for arrays: the packed bus) of an output port.
    #[track_caller]
    pub fn get(&self, port: &str) -> Expr {
        match self.outs.get(port) {
            Some(e) => e.clone(),
            None => panic!("{} has no unconnected output {port}", self.name),
        }
    }
}
