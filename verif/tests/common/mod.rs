//! Shared by the integration tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod lanes;

use std::path::PathBuf;

use l1forge_verif::build::{Builder, Design};
use l1forge_verif::cache::Cache;
use l1forge_verif::tools::Toolbox;

/// Text of a Verilog fixture.
pub fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A design of one fixture file whose top module has the name of the file.
pub fn design(file: &str) -> Design {
    let top = file.split('.').next().unwrap();
    Design::new(top).source(file, fixture(file)).clock("clk")
}

/// A cache shared by the tests, in the folder of build products.
pub fn shared_builder() -> Builder {
    Builder::new(Cache::at(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("l1forge-cache")), Toolbox::from_env())
}

/// A cache of one test.
pub fn private_cache() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let cache = Cache::at(folder.path().join("cache"));
    (folder, cache)
}
