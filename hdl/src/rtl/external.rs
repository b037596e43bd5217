//! Modules whose text is written by hand: memory macros, vendor cells, output of other tools.

use super::bits::Bits;
use super::design::{Dir, Memory, Module, Param, Port, name_marker};
use std::rc::Rc;

/// Describes a module written by hand, so that it can be instantiated and checked like any other.
///
/// ```
/// use l1forge_hdl::rtl::{Dir, External, ModuleBuilder};
/// let text = "module inv (input wire a_i, output wire y_o);\n    assign y_o = ~a_i;\nendmodule\n";
/// let inv = External::new("inv", text)
///     .port("a_i", Dir::Input, 1, "value")
///     .port("y_o", Dir::Output, 1, "its complement")
///     .combinational("a_i", "y_o")
///     .finish();
/// assert!(inv.is_combinational_path("a_i", "y_o"));
/// ```
pub struct External {
    name: String,
    text: String,
    ports: Vec<Port>,
    params: Vec<Param>,
    fixed: Vec<(String, String)>,
    comb: Vec<(String, String)>,
    flip_flop_bits: u64,
    memory: Option<Memory>,
}

impl External {
    /// Name and complete file text of the module.
    pub fn new(name: &str, text: &str) -> Self {
        External {
            name: name.to_owned(),
            text: text.to_owned(),
            ports: vec![],
            params: vec![],
            fixed: vec![],
            comb: vec![],
            flip_flop_bits: 0,
            memory: None,
        }
    }

    /// Declares a port, in the order of the text.
    pub fn port(mut self, name: &str, dir: Dir, width: u32, doc: &str) -> Self {
        self.ports.push(Port { name: name.to_owned(), dir, width, doc: doc.to_owned() });
        self
    }

    /// Declares a parameter that instances may set.
    pub fn param(mut self, name: &str, default: Bits, doc: &str) -> Self {
        self.params.push(Param { name: name.to_owned(), width: default.width(), default, doc: doc.to_owned() });
        self
    }

    /// A parameter that every instance sets to this value, such as the size that the port widths follow from.
    pub fn fixed_param(mut self, name: &str, value: u32) -> Self {
        self.fixed.push((name.to_owned(), value.to_string()));
        self
    }

    /// There is a path from this input to this output without a register.
    pub fn combinational(mut self, input: &str, output: &str) -> Self {
        self.comb.push((input.to_owned(), output.to_owned()));
        self
    }

    /// Register bits inside.
    pub fn flip_flop_bits(mut self, bits: u64) -> Self {
        self.flip_flop_bits = bits;
        self
    }

    /// The module is a memory macro of this size.
    pub fn memory(mut self, rows: u32, bits: u32) -> Self {
        self.memory = Some(Memory { rows, bits });
        self
    }

    /// The module.
    #[track_caller]
    pub fn finish(self) -> Rc<Module> {
        for (i, o) in &self.comb {
            let known = |n: &str, out: bool| self.ports.iter().any(|p| p.name == n && (p.dir == Dir::Output) == out);
            assert!(known(i, false) && known(o, true), "{}: no ports {i} and {o}", self.name);
        }
        let outputs = self.ports.iter().filter(|p| p.dir == Dir::Output);
        let comb_deps = outputs
            .map(|o| {
                let depends = |i: &Port| self.comb.iter().any(|c| c.0 == i.name && c.1 == o.name);
                self.ports.iter().map(depends).collect()
            })
            .collect();
        // Only the declaration carries the name, so that two external modules of equal text are one.
        let template = self.text.replace(&format!("module {}", self.name), &format!("module {}", name_marker("self")));
        Rc::new(Module {
            name: self.name,
            ports: self.ports,
            params: self.params,
            template,
            subs: vec![],
            sub_counts: vec![],
            comb_deps,
            flip_flop_bits: self.flip_flop_bits,
            reset_style: None,
            memory: self.memory,
            repeated: false,
            fixed_params: self.fixed,
        })
    }
}
