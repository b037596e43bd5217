//! Named signals: ports, wires, registers, parameters.

use super::bits::Bits;
use super::expr::{Expr, Loc};
use std::cell::RefCell;

/// What a signal is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SigKind {
    Input,
    Output,
    Clock,
    Reset,
    Wire,
    Reg,
    /// `parameter`, overridable per instance.
    Param,
    /// `localparam`.
    LocalParam,
}

impl SigKind {
    /// With its article, for messages.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            SigKind::Input => "an input",
            SigKind::Output => "an output",
            SigKind::Clock => "the clock",
            SigKind::Reset => "the reset",
            SigKind::Wire => "a wire",
            SigKind::Reg => "a register",
            SigKind::Param | SigKind::LocalParam => "a parameter",
        }
    }
}

/// One update of a register: `if (cond) target <= value`.
pub(crate) struct Update {
    pub(crate) cond: Option<Expr>,
    /// The register or a part of it.
    pub(crate) target: Expr,
    pub(crate) value: Expr,
    pub(crate) loc: Loc,
}

pub(crate) struct Signal {
    pub(crate) module: u64,
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) width: u32,
    pub(crate) kind: SigKind,
    pub(crate) loc: Loc,
    pub(crate) doc: RefCell<String>,
    /// Value of a parameter, reset value of a register.
    pub(crate) value: RefCell<Option<Bits>>,
    pub(crate) updates: RefCell<Vec<Update>>,
}
