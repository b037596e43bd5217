//! CACTI 7: its configuration file for one memory, and its answer.

use super::{Figures, Ports, Shape};
use anyhow::{Context as _, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// Nodes that CACTI has and that the tables use, in nm.
pub const NODES: [u32; 2] = [32, 22];

/// The configuration file of one memory: one bank, smallest area within 60 % of the shortest delay, high-performance devices, 350 K.
pub fn configuration(shape: Shape, node: u32) -> String {
    let block = shape.bits.div_ceil(8).max(1);
    let (rw, r, w) = match shape.ports {
        Ports::OneRw => (1, 0, 0),
        Ports::OneROneW => (0, 1, 1),
    };
    format!(
        "-size (bytes) {size}
-block size (bytes) {block}
-output/input bus width {width}
-read-write port {rw}
-exclusive read port {r}
-exclusive write port {w}
-technology (u) {technology:.3}
{FIXED}",
        size = block * shape.rows,
        width = block * 8,
        technology = f64::from(node) / 1000.0,
    )
}

const FIXED: &str = "-associativity 1
-single ended read ports 0
-UCA bank count 1
-cache type \"ram\"
-tag size (b) \"default\"
-access mode (normal, sequential, fast) - \"normal\"
-Data array cell type - \"itrs-hp\"
-Data array peripheral type - \"itrs-hp\"
-Tag array cell type - \"itrs-hp\"
-Tag array peripheral type - \"itrs-hp\"
-operating temperature (K) 350
-design objective (weight delay, dynamic power, leakage power, cycle time, area) 0:0:0:0:100
-deviate (delay, dynamic power, leakage power, cycle time, area) 60:100000:100000:100000:1000000
-NUCAdesign objective (weight delay, dynamic power, leakage power, cycle time, area) 100:100:0:0:100
-NUCAdeviate (delay, dynamic power, leakage power, cycle time, area) 10:10000:10000:10000:10000
-Optimize ED or ED^2 (ED, ED^2, NONE): \"NONE\"
-Array Power Gating - \"false\"
-WL Power Gating - \"false\"
-CL Power Gating - \"false\"
-Bitline floating - \"false\"
-Interconnect Power Gating - \"false\"
-Power Gating Performance Loss 0.01
-page size (bits) 8192
-burst length 8
-internal prefetch width 8
-Cache model (NUCA, UCA)  - \"UCA\"
-NUCA bank count 0
-Wire signaling (fullswing, lowswing, default) - \"Global_30\"
-Wire inside mat - \"semi-global\"
-Wire outside mat - \"semi-global\"
-Interconnect projection - \"conservative\"
-Core count 8
-Cache level (L2/L3) - \"L3\"
-Add ECC - \"false\"
-Print level (DETAILED, CONCISE) - \"CONCISE\"
-Print input parameters - \"false\"
-Force cache config - \"false\"
-Ndwl 1
-Ndbl 1
-Nspd 0
-Ndcm 1
-Ndsam1 0
-Ndsam2 0
-dram_type \"DDR3\"
-io state \"WRITE\"
-addr_timing 1.0
-mem_density 4 Gb
-bus_freq 800 MHz
-duty_cycle 1.0
-activity_dq 1.0
-activity_ca 0.5
-num_dq 72
-num_dqs 18
-num_ca 25
-num_clk 2
-num_mem_dq 2
-mem_data_width 8
-rtt_value 10000
-ron_value 34
-tflight_value
-num_bobs 1
-capacity 80
-num_channels_per_bob 1
-first metric \"Cost\"
-second metric \"Bandwidth\"
-third metric \"Energy\"
-DIMM model \"ALL\"
-mirror_in_bob \"F\"
";

/// Runs CACTI for one memory. One that it finds no organisation for, as of a few short rows, is counted as one of twice the rows.
///
/// # Errors
/// It cannot be started or gives no answer for this shape.
pub fn run(program: &Path, shape: Shape, node: u32) -> anyhow::Result<Figures> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("memory.cfg");
    let program = program.canonicalize().with_context(|| format!("CACTI={}: no such program", program.display()))?;
    // CACTI looks for its technology files in the folder that it is started in.
    let home = program.parent().unwrap_or(Path::new("."));
    let mut rows = shape.rows.max(64u64.div_ceil(shape.bits.div_ceil(8).max(1)));
    for _ in 0..5 {
        std::fs::write(&file, configuration(Shape { rows, ..shape }, node))?;
        let output = Command::new(&program).arg("-infile").arg(&file).current_dir(home).stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("CACTI={}: cannot be started", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if text.contains("no valid data array") {
            rows *= 2;
            continue;
        }
        return parse(&text).with_context(|| format!("CACTI={}: {rows} rows of {} bits at {node} nm", program.display(), shape.bits));
    }
    bail!("CACTI={}: no organisation for {} rows of {} bits at {node} nm", program.display(), shape.rows, shape.bits)
}

/// Reads the figures off what CACTI prints.
fn parse(text: &str) -> anyhow::Result<Figures> {
    let after = |label: &str| text.lines().find_map(|l| l.trim().strip_prefix(label)?.trim_start_matches(':').trim().to_string().into());
    let value = |label: &str| -> anyhow::Result<f64> {
        let found: String = after(label).with_context(|| format!("no `{label}` in its output"))?;
        found.parse().with_context(|| format!("`{label}`: `{found}`"))
    };
    let size: String = after("Cache height x width (mm)").context("no size in its output")?;
    let Some((height, width)) = size.split_once(" x ") else { bail!("size `{size}`") };
    Ok(Figures {
        area_um2: height.trim().parse::<f64>()? * width.trim().parse::<f64>()? * 1e6,
        access_ns: value("Access time (ns)")?,
        read_pj: value("Total dynamic read energy per access (nJ)")? * 1e3,
        leakage_mw: value("Total leakage power of a bank (mW)")? + value("Total gate leakage power of a bank (mW)")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The embedded table against CACTI itself, where `CACTI` names it.
    #[test]
    fn embedded_table_is_what_cacti_says() {
        let Some(program) = std::env::var_os("CACTI").filter(|v| !v.is_empty()) else {
            eprintln!("skipped: CACTI is not set");
            return;
        };
        for (rows, bits, ports, node) in
            [(80, 64, Ports::OneROneW, 32), (80, 64, Ports::OneRw, 22), (16, 8, Ports::OneRw, 32), (512, 256, Ports::OneROneW, 22)]
        {
            let shape = Shape { rows, bits, ports };
            let now = run(Path::new(&program), shape, node).unwrap();
            let (table, origin) = crate::memory::figures(None, shape, node).unwrap();
            assert_eq!(origin, crate::memory::Origin::Table);
            for (a, b) in [
                (now.area_um2, table.area_um2),
                (now.access_ns, table.access_ns),
                (now.read_pj, table.read_pj),
                (now.leakage_mw, table.leakage_mw),
            ] {
                assert!((a - b).abs() <= 1e-3 * b, "{shape:?} at {node} nm: {now:?}, table {table:?}");
            }
        }
    }

    #[test]
    fn answer_is_read() {
        let text = "    Access time (ns): 0.135671\n    Total dynamic read energy per access (nJ): 0.000639878
    Total leakage power of a bank (mW): 0.211214\n    Total gate leakage power of a bank (mW): 0.0379324
    Cache height x width (mm): 0.0527585 x 0.0239693\n";
        let f = parse(text).unwrap();
        assert!((f.area_um2 - 1264.58).abs() < 0.01 && (f.read_pj - 0.639_878).abs() < 1e-9 && (f.leakage_mw - 0.249_146_4).abs() < 1e-9);
        assert!(parse("Segmentation fault").is_err());
        assert!(configuration(Shape { rows: 80, bits: 64, ports: Ports::OneROneW }, 32).starts_with("-size (bytes) 640\n"));
    }
}
