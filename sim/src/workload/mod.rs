//! Built-in workloads.
