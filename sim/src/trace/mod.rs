//! Accel-Sim trace reading.
