//! The RTL builder.
