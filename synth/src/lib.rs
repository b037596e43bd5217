//! Synthesis reports.
