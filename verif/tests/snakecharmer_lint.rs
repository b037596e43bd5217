//! Four linters stay silent on SnakeCharmer, for table sizes 1, 2, odd and default and every switch. `L1FORGE_FULL=1` adds double sizes and every block alone.

use l1forge_config::{Config, Settings};
use l1forge_hdl::snakecharmer::{BLOCKS, block};
use l1forge_verif::build::Design;
use l1forge_verif::lint::lint;
use l1forge_verif::tools::Toolbox;

/// The structures whose sizes are swept.
const TABLES: [&str; 9] = [
    "sc_warps",
    "sc_patterns",
    "sc_trigger_depth",
    "sc_queue_depth",
    "sc_l1_awt_entries",
    "sc_l2_awt_entries",
    "sc_peb_entries",
    "sc_prt_entries",
    "sc_degree",
];

fn config(sets: &str) -> Config {
    let mut settings = Settings::default();
    sets.split_whitespace().for_each(|set| settings.set(set).unwrap());
    settings.resolve().unwrap_or_else(|e| panic!("{sets}: {e}"))
}

fn silent(sets: &str, name: &str) {
    let module = block(&config(sets), name, 0).unwrap().unwrap_or_else(|e| panic!("{sets}: {e}"));
    let files = l1forge_hdl::rtl::Design::new(module).unwrap_or_else(|e| panic!("{sets}: {e}")).files();
    for report in lint(&Toolbox::from_env(), &Design::new(name).sources(files)).unwrap_or_else(|e| panic!("{e}")) {
        assert!(report.ok, "{sets}: {name}: {} says\n{}", report.tool.info().name, report.output);
    }
}

fn all_tables(size: u32) -> String {
    TABLES.iter().map(|t| format!("{t}={size} ")).collect()
}

fn full() -> bool {
    std::env::var_os("L1FORGE_FULL").is_some()
}

#[test]
fn tables_of_one_two_and_odd_sizes() {
    silent(
        &(all_tables(1)
            + "sc_max_intra_warp=1 sc_max_inter_pc=1 sc_max_inter_warp=1 sc_awt_window=1 sc_awt_samples=1 sc_awt_move_events=0 sc_zero_timer=1 sc_generation_bits=1 line_bytes=32 sc_register_bits=1"),
        "snakecharmer",
    );
    silent(&(all_tables(2) + "sc_prt_age=2 line_bytes=64 sc_awt_window=2 sc_awt_move_events=1"), "snakecharmer");
    silent(&(all_tables(7) + "sc_prt_entries=13 sc_prt_age=100 sc_pc_bits=7 sc_awt_inherit=false sc_awt_doubling=false"), "snakecharmer");
}

#[test]
fn every_switch_and_front_end() {
    for sets in [
        "sc_awt_per_kind=false sc_prt_replace=false sc_prt_age=0 sc_zero_filter=false reset_style=async_low sc_stride_bits=5 sc_train_bits=5 address_bits=16",
        "frontend=apogee sc_awt_inter_warp_local=true sc_train_bits=2",
        "frontend=external sc_awt_step=16 sc_prt_age=0",
        "sc_controller=false counter_bits=8 sc_sector_bytes=128 sc_prt_replace=false",
        "frontend=external sc_controller=false sc_zero_filter=false",
    ] {
        silent(&(all_tables(4) + sets), "snakecharmer");
    }
}

#[test]
fn default_sizes() {
    silent("", "snakecharmer");
}

#[test]
fn double_sizes_and_every_block_alone() {
    if !full() {
        println!("not run: set L1FORGE_FULL=1 (scripts/test.sh --full)");
        return;
    }
    silent(
        "sc_warps=128 sc_patterns=128 sc_l1_awt_entries=128 sc_l2_awt_entries=32 sc_peb_entries=128 sc_prt_entries=128 sc_queue_depth=16 sc_trigger_depth=8 sc_prt_age=4096",
        "snakecharmer",
    );
    silent("frontend=apogee", "snakecharmer");
    for (name, _) in BLOCKS {
        for size in [1, 3, 4] {
            silent(&all_tables(size), name);
        }
    }
}
