//! Ready/valid channels: a transfer happens in every cycle in which valid and ready are both 1.
//!
//! The two ends have different types, and connecting uses them up: a channel cannot be connected backwards or twice.

use super::expr::Expr;
use super::instance::Connect;
use super::module::ModuleBuilder;
use super::operand::Operand;

/// What a channel carries: named fields.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Payload {
    fields: Vec<(String, u32)>,
}

impl Payload {
    /// No fields yet.
    pub fn new() -> Self {
        Payload::default()
    }

    /// Adds a field of `width` bits.
    #[track_caller]
    pub fn field(mut self, name: &str, width: u32) -> Self {
        assert!(width >= 1, "field {name} of no bits");
        assert!(!self.fields.iter().any(|f| f.0 == name), "field {name} twice");
        self.fields.push((name.to_owned(), width));
        self
    }

    /// Names and widths of the fields.
    pub fn fields(&self) -> &[(String, u32)] {
        &self.fields
    }

    /// Bits of all fields together.
    pub fn width(&self) -> u32 {
        self.fields.iter().map(|f| f.1).sum()
    }
}

/// Signals of a channel, whichever end.
#[derive(Debug)]
struct Wires {
    name: String,
    payload: Payload,
    valid: Expr,
    ready: Expr,
    fields: Vec<Expr>,
}

impl Wires {
    #[track_caller]
    fn field(&self, name: &str) -> &Expr {
        let i = self.payload.fields.iter().position(|f| f.0 == name);
        let Some(i) = i else { panic!("channel {} has no field {name}", self.name) };
        &self.fields[i]
    }
}

/// The end of a channel where data comes out: read valid and fields, drive ready.
#[derive(Debug)]
pub struct Source(Wires);

/// The end of a channel where data goes in: drive valid and fields, read ready.
#[derive(Debug)]
pub struct Sink(Wires);

impl Source {
    /// Data is offered.
    pub fn valid(&self) -> &Expr {
        &self.0.valid
    }

    /// A field of the data.
    #[track_caller]
    pub fn field(&self, name: &str) -> &Expr {
        self.0.field(name)
    }

    /// All fields as one value, the first in the low bits.
    pub fn packed(&self) -> Expr {
        Expr::concat_lsb_first(&self.0.fields)
    }

    /// What the channel carries.
    pub fn payload(&self) -> &Payload {
        &self.0.payload
    }

    /// Drives ready; the result is 1 in cycles with a transfer.
    #[track_caller]
    pub fn accept(self, m: &mut ModuleBuilder, ready: impl Operand) -> Expr {
        let ready = ready.to_expr(1);
        m.assign(&self.0.ready, &ready);
        self.0.valid & ready
    }

    /// Valid, the net of ready to be driven, and the fields, for connections that go elsewhere.
    pub fn into_signals(self) -> (Expr, Expr, Vec<Expr>) {
        (self.0.valid, self.0.ready, self.0.fields)
    }
}

impl Sink {
    /// The other side takes data.
    pub fn ready(&self) -> &Expr {
        &self.0.ready
    }

    /// What the channel carries.
    pub fn payload(&self) -> &Payload {
        &self.0.payload
    }

    /// Drives valid and every field by name; the result is 1 in cycles with a transfer.
    #[track_caller]
    pub fn send(self, m: &mut ModuleBuilder, valid: impl Operand, fields: &[(&str, &Expr)]) -> Expr {
        for (name, _) in fields {
            self.0.field(name);
        }
        assert!(fields.len() == self.0.fields.len(), "channel {} has {} fields, {} given", self.0.name, self.0.fields.len(), fields.len());
        for (name, value) in fields {
            m.assign(self.0.field(name), *value);
        }
        self.drive_valid(m, valid)
    }

    /// Drives valid and all fields from one value, the first field in the low bits; the result is 1 in cycles with a transfer.
    #[track_caller]
    pub fn send_packed(self, m: &mut ModuleBuilder, valid: impl Operand, data: impl Into<Expr>) -> Expr {
        let data = data.into();
        let w = self.0.payload.width();
        assert!(data.width() == w, "channel {} carries {w} bits, given {}", self.0.name, data.width());
        let mut lo = 0;
        for f in &self.0.fields {
            m.assign(f, data.bits(lo, f.width()));
            lo += f.width();
        }
        self.drive_valid(m, valid)
    }

    #[track_caller]
    fn drive_valid(self, m: &mut ModuleBuilder, valid: impl Operand) -> Expr {
        let valid = valid.to_expr(1);
        m.assign(&self.0.valid, &valid);
        valid & self.0.ready
    }

    /// The nets of valid and of the fields to be driven, and ready, for connections that go elsewhere.
    pub fn into_signals(self) -> (Expr, Expr, Vec<Expr>) {
        (self.0.valid, self.0.ready, self.0.fields)
    }
}

impl ModuleBuilder {
    /// A channel into the module: inputs `<name>_valid_i` and `<name>_<field>_i`, output `<name>_ready_o`.
    ///
    /// ```
    /// use l1forge_hdl::rtl::{ModuleBuilder, Payload};
    /// let request = Payload::new().field("addr", 32).field("id", 4);
    /// let mut m = ModuleBuilder::new("gate");
    /// let open = m.input("open_i", 1, "let requests pass");
    /// let from = m.channel_in("req", &request, "request");
    /// let to = m.channel_out("out", &request, "request that passed");
    /// let (valid, ready) = (from.valid() & &open, to.ready() & &open);
    /// to.send_packed(&mut m, valid, from.packed());
    /// from.accept(&mut m, ready);
    /// let text = m.finish()?.verilog();
    /// assert!(text.contains("assign out_addr_o = req_addr_i;"));
    /// # Ok::<(), l1forge_hdl::rtl::RtlError>(())
    /// ```
    #[track_caller]
    pub fn channel_in(&mut self, name: &str, payload: &Payload, doc: &str) -> Source {
        let valid = self.input(&format!("{name}_valid_i"), 1, &format!("{doc}: offered"));
        let ready = self.output(&format!("{name}_ready_o"), 1, &format!("{doc}: taken"));
        let field = |(f, w): &(String, u32)| self.input(&format!("{name}_{f}_i"), *w, &format!("{doc}: {f}"));
        let fields = payload.fields.iter().map(field).collect();
        Source(Wires { name: name.to_owned(), payload: payload.clone(), valid, ready, fields })
    }

    /// A channel out of the module: outputs `<name>_valid_o` and `<name>_<field>_o`, input `<name>_ready_i`.
    #[track_caller]
    pub fn channel_out(&mut self, name: &str, payload: &Payload, doc: &str) -> Sink {
        let valid = self.output(&format!("{name}_valid_o"), 1, &format!("{doc}: offered"));
        let ready = self.input(&format!("{name}_ready_i"), 1, &format!("{doc}: taken"));
        let field = |(f, w): &(String, u32)| self.output(&format!("{name}_{f}_o"), *w, &format!("{doc}: {f}"));
        let fields = payload.fields.iter().map(field).collect();
        Sink(Wires { name: name.to_owned(), payload: payload.clone(), valid, ready, fields })
    }

    /// A channel inside the module: nets `<name>_valid`, `<name>_ready` and `<name>_<field>`, as its two ends.
    #[track_caller]
    pub fn channel(&mut self, name: &str, payload: &Payload) -> (Sink, Source) {
        let valid = self.net(&format!("{name}_valid"), 1);
        let ready = self.net(&format!("{name}_ready"), 1);
        let field = |(f, w): &(String, u32)| self.net(&format!("{name}_{f}"), *w);
        let fields: Vec<Expr> = payload.fields.iter().map(field).collect();
        let wires = || Wires {
            name: name.to_owned(),
            payload: payload.clone(),
            valid: valid.clone(),
            ready: ready.clone(),
            fields: fields.clone(),
        };
        (Sink(wires()), Source(wires()))
    }

    /// Joins two channels of the same payload.
    #[track_caller]
    pub fn join(&mut self, from: Source, to: Sink) {
        assert!(
            from.0.payload == to.0.payload,
            "channel {} carries {:?}, channel {} {:?}",
            from.0.name,
            from.0.payload.fields,
            to.0.name,
            to.0.payload.fields
        );
        self.assign(&to.0.valid, &from.0.valid);
        for (t, f) in to.0.fields.iter().zip(&from.0.fields) {
            self.assign(t, f);
        }
        self.assign(&from.0.ready, &to.0.ready);
    }
}

impl Connect {
    /// Feeds the input channel `name` of the instance.
    #[track_caller]
    pub fn feed(&mut self, name: &str, from: Source) -> &mut Self {
        self.connect(&format!("{name}_valid_i"), from.0.valid);
        self.connect(&format!("{name}_ready_o"), from.0.ready);
        for ((f, _), e) in from.0.payload.fields.iter().zip(&from.0.fields) {
            self.connect(&format!("{name}_{f}_i"), e);
        }
        self
    }

    /// Lets the output channel `name` of the instance drive a channel.
    #[track_caller]
    pub fn drain(&mut self, name: &str, to: Sink) -> &mut Self {
        self.connect(&format!("{name}_valid_o"), to.0.valid);
        self.connect(&format!("{name}_ready_i"), to.0.ready);
        for ((f, _), e) in to.0.payload.fields.iter().zip(&to.0.fields) {
            self.connect(&format!("{name}_{f}_o"), e);
        }
        self
    }
}
