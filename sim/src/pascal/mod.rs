//! PASCAL: the analytical model of shared-cache traffic.
