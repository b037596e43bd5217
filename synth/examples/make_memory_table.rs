//! Writes the embedded table of memories: `CACTI=PATH/cacti cargo run -p l1forge-synth --example make_memory_table`.

use l1forge_synth::memory::{BITS, Ports, ROWS, Shape, cacti};
use std::fmt::Write as _;
use std::path::Path;

fn main() -> anyhow::Result<()> {
    let Some(program) = std::env::var_os("CACTI") else { anyhow::bail!("CACTI is not set; see scripts/setup-cacti.sh") };
    let mut out = String::from(
        "# Memories by CACTI 7 (itrs-hp devices, 350 K, smallest area); area in um2, access time in ns, read energy in pJ, leakage in mW.\nrows,bits,ports,node_nm,area,access,read,leakage\n",
    );
    for rows in ROWS {
        for bits in BITS {
            for (ports, name) in [(Ports::OneRw, "1RW"), (Ports::OneROneW, "1R1W")] {
                for node in cacti::NODES {
                    let f = cacti::run(Path::new(&program), Shape { rows, bits, ports }, node)?;
                    writeln!(out, "{rows},{bits},{name},{node},{:.3},{:.5},{:.5},{:.6}", f.area_um2, f.access_ns, f.read_pj, f.leakage_mw)?;
                }
            }
        }
        eprintln!("{rows} rows");
    }
    std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("lib/cacti.csv"), out)?;
    Ok(())
}
