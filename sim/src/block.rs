//! What a cycle-accurate model shows to a co-simulation: named ports, an evaluation, a clock edge.

/// One port of a block: `count` elements of `bits` bits, packed with element 0 in the low bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Name of the port of the Verilog module.
    pub name: String,
    /// Width of one element, in bits; may exceed 64.
    pub bits: u32,
    /// Number of elements.
    pub count: u32,
    /// For outputs: the name of the output or input with the same number of elements whose element must be non-zero for
    /// this port's element to mean anything. `None`: the port always means something.
    pub valid: Option<String>,
}

impl Port {
    /// A port of `count` elements of `bits` bits that always means something.
    pub fn new(name: &str, bits: u32, count: u32) -> Self {
        Self { name: name.into(), bits, count, valid: None }
    }

    /// The same port, meaningful only where port `valid` is non-zero.
    pub fn when(mut self, valid: &str) -> Self {
        self.valid = Some(valid.into());
        self
    }

    /// 64-bit words that hold one element.
    pub fn words(&self) -> usize {
        self.bits.div_ceil(64) as usize
    }
}

/// The values of some ports: for each, its elements one after the other, [`Port::words`] words each, low word first.
/// Bits above an element's width are 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signals {
    ports: Vec<Port>,
    data: Vec<Vec<u64>>,
}

impl Signals {
    /// All zero.
    pub fn new(ports: &[Port]) -> Self {
        let data = ports.iter().map(|p| vec![0; p.words() * p.count as usize]).collect();
        Self { ports: ports.to_vec(), data }
    }

    /// The ports, in order.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// Position of a port.
    ///
    /// # Panics
    /// No port has that name.
    pub fn index(&self, name: &str) -> usize {
        self.ports.iter().position(|p| p.name == name).unwrap_or_else(|| panic!("no port {name}"))
    }

    /// All words of port number `port`.
    pub fn words(&self, port: usize) -> &[u64] {
        &self.data[port]
    }

    /// All words of port number `port`, to write.
    pub fn words_mut(&mut self, port: usize) -> &mut [u64] {
        &mut self.data[port]
    }

    /// Element `element` of port number `port`, when elements fit one word.
    pub fn get(&self, port: usize, element: usize) -> u64 {
        debug_assert!(self.ports[port].bits <= 64);
        self.data[port][element]
    }

    /// Sets element `element` of port number `port`, when elements fit one word.
    pub fn set(&mut self, port: usize, element: usize, value: u64) {
        let bits = self.ports[port].bits;
        debug_assert!(bits <= 64 && (bits == 64 || value >> bits == 0), "{} = {value:#x}", self.ports[port].name);
        self.data[port][element] = value;
    }
}

/// A cycle-accurate model of one generated module.
///
/// In each cycle [`Block::eval`] is called one or more times, with inputs that may still change; then [`Block::clock`] once
/// with the final inputs. Clock and reset are not ports: a new model is in the state after reset.
pub trait Block {
    /// Name of the Verilog module.
    fn name(&self) -> &str;
    /// Inputs, in the order of the module, without clock and reset.
    fn inputs(&self) -> Vec<Port>;
    /// Outputs, in the order of the module.
    fn outputs(&self) -> Vec<Port>;
    /// Computes all outputs from state and inputs.
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals);
    /// Moves the state over one clock edge.
    fn clock(&mut self, inputs: &Signals);
}

impl<B: Block + ?Sized> Block for Box<B> {
    fn name(&self) -> &str {
        (**self).name()
    }
    fn inputs(&self) -> Vec<Port> {
        (**self).inputs()
    }
    fn outputs(&self) -> Vec<Port> {
        (**self).outputs()
    }
    fn eval(&mut self, inputs: &Signals, outputs: &mut Signals) {
        (**self).eval(inputs, outputs);
    }
    fn clock(&mut self, inputs: &Signals) {
        (**self).clock(inputs);
    }
}
