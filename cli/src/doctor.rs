//! `l1forge doctor`: which tools are there.

use crate::common::print_json;
use crate::failure::CheckFailed;
use l1forge_verif::doctor::examine;
use l1forge_verif::tools::Toolbox;

/// Lists the tools; fails when a required one is missing or too old.
pub fn run(json: bool) -> anyhow::Result<()> {
    let tools = examine(&Toolbox::from_env());
    if json {
        let list: Vec<_> = tools
            .iter()
            .map(|t| {
                serde_json::json!({
                    "name": t.info.name, "required": t.info.required, "purpose": t.info.purpose, "minimum": t.info.minimum,
                    "install": t.info.install, "version": t.found.as_ref().ok(), "usable": t.usable(),
                })
            })
            .collect();
        print_json(&list)?;
    } else {
        for tool in &tools {
            say!("{tool}");
        }
    }
    let missing: Vec<_> = tools.iter().filter(|t| t.is_problem()).map(|t| t.info.name).collect();
    if missing.is_empty() { Ok(()) } else { Err(CheckFailed(format!("missing or too old: {}", missing.join(", "))).into()) }
}
