//! Four linters stay silent on SnakeCharmer, for table sizes 1, 2, odd and default and every switch. `scripts/test.sh --full` adds every front end in these and double sizes, and
//! every block alone in all of them.

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

/// Sizes of 1, 2, odd, default, double, with windows, distances and widths to match.
fn sizes() -> [(&'static str, String); 5] {
    [
        (
            "one",
            all_tables(1)
                + "sc_max_intra_warp=1 sc_max_inter_pc=1 sc_max_inter_warp=1 sc_awt_window=1 sc_awt_samples=1 sc_awt_move_events=0 sc_zero_timer=1 sc_generation_bits=1 line_bytes=32 sc_register_bits=1",
        ),
        ("two", all_tables(2) + "sc_prt_age=2 line_bytes=64 sc_awt_window=2 sc_awt_move_events=1"),
        ("odd", all_tables(7) + "sc_prt_entries=13 sc_prt_age=100 sc_pc_bits=7 sc_awt_inherit=false sc_awt_doubling=false"),
        ("default", String::new()),
        (
            "double",
            "sc_warps=128 sc_patterns=128 sc_l1_awt_entries=128 sc_l2_awt_entries=32 sc_peb_entries=128 sc_prt_entries=128 sc_queue_depth=16 sc_trigger_depth=6 sc_degree=8 sc_prt_age=1024"
                .into(),
        ),
    ]
}

#[test]
fn tables_of_one_two_odd_and_default_sizes() {
    for (_, sets) in &sizes()[..4] {
        silent(sets, "snakecharmer");
    }
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
#[ignore = "some minutes: scripts/test.sh --full"]
fn full_sizes_of_every_front_end() {
    for (size, sets) in sizes() {
        for frontend in ["snake", "apogee", "external"] {
            silent(&format!("{sets} frontend={frontend}"), "snakecharmer");
            println!("{size}, {frontend}: silent");
        }
    }
}

#[test]
#[ignore = "some minutes: scripts/test.sh --full"]
fn full_sizes_of_every_block() {
    for (size, sets) in sizes() {
        for (name, _) in BLOCKS.iter().filter(|b| b.0 != "snakecharmer") {
            silent(&sets, name);
        }
        println!("{size}: every block alone is silent");
    }
}
