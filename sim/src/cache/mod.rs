//! Cache models: L1 and L2.
