//! The l1forge command.

fn main() {}
