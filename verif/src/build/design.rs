//! What is built.

use super::*;

/// Wave format of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waves {
    /// No waves; fastest.
    #[default]
    Off,
    /// FST, the compact format of GTKWave and Surfer.
    Fst,
    /// VCD, plain text.
    Vcd,
}

/// Verilog sources and how to build them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design {
    pub(super) top: String,
    pub(super) sources: Vec<(String, String)>,
    pub(super) ports: Option<Vec<PortSpec>>,
    pub(super) clock: Option<String>,
    pub(super) defines: Vec<(String, String)>,
    pub(super) separate: Vec<(String, String)>,
    pub(super) waves: Waves,
    pub(super) coverage: bool,
}

impl Design {
    /// A design whose top module is `top`, without sources yet.
    pub fn new(top: impl Into<String>) -> Self {
        Self {
            top: top.into(),
            sources: Vec::new(),
            ports: None,
            clock: None,
            defines: Vec::new(),
            separate: Vec::new(),
            waves: Waves::Off,
            coverage: false,
        }
    }

    /// Adds a source. `name` is the relative path that messages show; a name ending in `.v` is read as Verilog-2005, one ending in
    /// `.sv` as SystemVerilog. Sources are compiled in the order given.
    #[must_use]
    pub fn source(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.sources.push((name.into(), text.into()));
        self
    }

    /// Adds several sources, see [`Design::source`].
    #[must_use]
    pub fn sources<N: Into<String>, T: Into<String>>(mut self, sources: impl IntoIterator<Item = (N, T)>) -> Self {
        self.sources.extend(sources.into_iter().map(|(name, text)| (name.into(), text.into())));
        self
    }

    /// The port list. It is compared with the model; without one, the ports are taken from the model, in an order that depends on
    /// Verilator.
    #[must_use]
    pub fn ports(mut self, ports: Vec<PortSpec>) -> Self {
        self.ports = Some(ports);
        self
    }

    /// The input that [`crate::dut::Dut::step`] toggles. A design without a clock is combinational.
    #[must_use]
    pub fn clock(mut self, name: impl Into<String>) -> Self {
        self.clock = Some(name.into());
        self
    }

    /// Defines a preprocessor macro; `value` may be empty.
    #[must_use]
    pub fn define(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.defines.push((name.into(), value.into()));
        self
    }

    /// Keeps inputs of modules, as (module, port), as variables of their own. Otherwise Verilator writes what drives such an input into the code
    /// of each instance, and instances that could share code do not.
    #[must_use]
    pub fn separate(mut self, ports: Vec<(String, String)>) -> Self {
        self.separate = ports;
        self
    }

    /// Builds with waves.
    #[must_use]
    pub fn waves(mut self, waves: Waves) -> Self {
        self.waves = waves;
        self
    }

    /// Builds with line and toggle coverage.
    #[must_use]
    pub fn coverage(mut self, coverage: bool) -> Self {
        self.coverage = coverage;
        self
    }

    /// Name of the top module.
    pub fn top(&self) -> &str {
        &self.top
    }

    /// The sources as (name, text), in order.
    pub fn source_files(&self) -> &[(String, String)] {
        &self.sources
    }

    /// The ports, if they were given.
    pub fn port_list(&self) -> Option<&[PortSpec]> {
        self.ports.as_deref()
    }

    /// Name of the clock, if there is one.
    pub fn clock_name(&self) -> Option<&str> {
        self.clock.as_deref()
    }

    pub(crate) fn waves_format(&self) -> Waves {
        self.waves
    }

    pub(crate) fn define_list(&self) -> &[(String, String)] {
        &self.defines
    }

    pub(crate) fn has_coverage(&self) -> bool {
        self.coverage
    }

    pub(super) fn directions(&self) -> String {
        let lines = self.separate.iter().map(|(module, port)| format!("public_flat_rd -module \"{module}\" -var \"{port}\"\n"));
        format!("`verilator_config\n{}", lines.collect::<String>())
    }

    pub(super) fn verilator_arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> = VERILATOR_FLAGS.iter().map(ToString::to_string).collect();
        arguments.extend(["--top-module".into(), self.top.clone()]);
        match self.waves {
            Waves::Off => {}
            Waves::Fst => arguments.push("--trace-fst".into()),
            Waves::Vcd => arguments.push("--trace".into()),
        }
        if self.waves != Waves::Off {
            arguments.extend(["--trace-max-array".into(), "256".into(), "--trace-max-width".into(), "8192".into()]);
        }
        if self.coverage {
            arguments.push("--coverage".into());
        }
        for (name, value) in &self.defines {
            arguments.push(if value.is_empty() { format!("+define+{name}") } else { format!("+define+{name}={value}") });
        }
        arguments
    }
}
