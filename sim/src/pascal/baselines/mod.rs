//! The cache models PASCAL is compared with (PASCAL section 5; specification section 7).

pub mod che;
pub mod sdcm;
