//! Co-simulation of generated Verilog.
