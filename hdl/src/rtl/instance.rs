//! Instances of finished modules, alone and in arrays.

use super::design::{Dir, Module};
use super::expr::{Expr, Kind, Loc};
use super::index::LoopVar;
use super::module::{Item, ModuleBuilder};
use super::operand::Operand;
use super::process::target_signal;
use super::signal::SigKind;
use std::collections::BTreeMap;
use std::panic::Location;
use std::rc::Rc;

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

impl ModuleBuilder {
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
                Dir::Clock => self.clock.clone(),
                Dir::Reset => self.reset.clone(),
                Dir::Input => None,
                Dir::Output => {
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
        if p.dir == Dir::Output {
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
        if self.inst.module.ports().iter().any(|p| p.name == port && p.dir == Dir::Output) {
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
