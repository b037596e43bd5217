//! Choices that hold for a whole design.

/// How registers are reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ResetStyle {
    /// Asynchronous, active low: `always @(posedge clk_i or negedge rst_ni)`.
    #[default]
    AsyncLow,
    /// Asynchronous, active high.
    AsyncHigh,
    /// Synchronous, active low.
    SyncLow,
    /// Synchronous, active high.
    SyncHigh,
    /// No reset port: registers start with an initial value (FPGA).
    None,
}

impl ResetStyle {
    /// True for both asynchronous styles.
    pub fn is_async(self) -> bool {
        matches!(self, ResetStyle::AsyncLow | ResetStyle::AsyncHigh)
    }

    /// True if the reset acts while its port is 1.
    pub fn active_high(self) -> bool {
        matches!(self, ResetStyle::AsyncHigh | ResetStyle::SyncHigh)
    }

    /// Name of the reset port: `rst_i`, or `rst_ni` if active low.
    pub fn port_name(self) -> &'static str {
        if self.active_high() { "rst_i" } else { "rst_ni" }
    }

    pub(crate) fn describe(self) -> &'static str {
        match self {
            ResetStyle::AsyncLow => "reset, asynchronous, active low",
            ResetStyle::AsyncHigh => "reset, asynchronous, active high",
            ResetStyle::SyncLow => "reset, synchronous, active low",
            ResetStyle::SyncHigh => "reset, synchronous, active high",
            ResetStyle::None => "no reset",
        }
    }
}

/// Choices that hold for a whole design, given to every module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RtlOptions {
    /// Reset style of all registers.
    pub reset: ResetStyle,
}

impl RtlOptions {
    /// Starts a module with these options.
    #[track_caller]
    pub fn module(self, name: &str) -> super::ModuleBuilder {
        super::ModuleBuilder::with_options(name, self)
    }
}
