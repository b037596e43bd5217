//! Helpers of the integration tests.
#![allow(dead_code)]

pub mod formal;
pub mod lint;
pub mod property;
pub mod sim;

use l1forge_hdl::rtl::{Design, Module};
use std::rc::Rc;

/// Lints a module and everything below it with all tools; panics with their output unless all are silent.
pub fn assert_silent(module: &Rc<Module>) {
    let design = Design::new(module.clone()).unwrap_or_else(|e| panic!("{e}"));
    let output = lint::lint(&design.files(), design.top());
    if !output.is_empty() {
        let text: String = design.files().iter().map(|(n, t)| format!("=== {n}\n{t}")).collect();
        panic!("{text}\n{output}");
    }
}
