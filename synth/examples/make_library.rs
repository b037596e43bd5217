//! Writes the embedded Liberty library from the table of facts: `cargo run -p l1forge-synth --example make_library`.

use l1forge_synth::library::embedded;
use std::path::Path;

fn main() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("lib");
    let table = std::fs::read_to_string(folder.join("asap7_rvt.csv"))?;
    std::fs::write(folder.join("l1forge_asap7.lib"), embedded::liberty(&table)?)?;
    Ok(())
}
