//! Every block of SnakeCharmer can be generated at every size, and its storage is what the report says.

use l1forge_config::{Config, Settings};
use l1forge_hdl::rtl::Design;
use l1forge_hdl::snakecharmer::{BLOCKS, block, storage};

fn config(sets: &str) -> Config {
    let mut settings = Settings::default();
    sets.split_whitespace().for_each(|set| settings.set(set).unwrap());
    settings.resolve().unwrap_or_else(|e| panic!("{sets}: {e}"))
}

/// Configurations of many shapes: sizes 1, 2, odd, default, double, and every switch.
const SHAPES: &[&str] = &[
    "",
    "sc_warps=1 sc_patterns=1 sc_degree=1 sc_trigger_depth=1 sc_queue_depth=1 sc_l1_awt_entries=1 sc_l2_awt_entries=1 sc_peb_entries=1 sc_prt_entries=1 sc_max_intra_warp=1 sc_max_inter_pc=1 sc_max_inter_warp=1 sc_awt_window=1 sc_awt_samples=1 sc_awt_move_events=0 sc_zero_timer=1 sc_generation_bits=1 line_bytes=32 sc_register_bits=1",
    "sc_warps=2 sc_patterns=2 sc_degree=2 sc_trigger_depth=2 sc_queue_depth=2 sc_l1_awt_entries=2 sc_l2_awt_entries=2 sc_peb_entries=2 sc_prt_entries=2 sc_prt_age=2 line_bytes=64 sc_awt_window=2 sc_awt_move_events=1",
    "sc_warps=5 sc_patterns=7 sc_degree=3 sc_trigger_depth=3 sc_queue_depth=5 sc_l1_awt_entries=11 sc_l2_awt_entries=3 sc_peb_entries=9 sc_prt_entries=13 sc_prt_age=100 sc_pc_bits=7 sc_awt_inherit=false sc_awt_doubling=false",
    "sc_warps=3 sc_patterns=3 sc_prt_entries=3 sc_peb_entries=3 sc_awt_per_kind=false sc_prt_replace=false sc_prt_age=0 sc_zero_filter=false reset_style=async_low sc_stride_bits=5 sc_train_bits=5 address_bits=16",
    "sc_warps=4 sc_patterns=4 sc_prt_entries=4 sc_peb_entries=4 frontend=apogee sc_awt_inter_warp_local=true sc_degree=11 sc_train_bits=2",
    "sc_warps=8 sc_patterns=4 sc_prt_entries=4 sc_peb_entries=4 frontend=external sc_awt_step=16 sc_prt_age=0",
    "sc_warps=8 sc_patterns=4 sc_prt_entries=4 sc_peb_entries=4 sc_controller=false counter_bits=8 sc_sector_bytes=128 sc_prt_replace=false",
    "sc_warps=8 sc_patterns=4 sc_prt_entries=4 sc_peb_entries=4 frontend=external sc_controller=false sc_zero_filter=false",
    "sc_warps=128 sc_patterns=128 sc_l1_awt_entries=128 sc_l2_awt_entries=32 sc_peb_entries=128 sc_prt_entries=128 sc_queue_depth=16 sc_trigger_depth=8 sc_prt_age=4096",
];

#[test]
fn every_block_at_every_shape() {
    let mut faults = String::new();
    for sets in SHAPES {
        let config = config(sets);
        for (name, _) in BLOCKS {
            if let Err(e) = block(&config, name, 0).unwrap().and_then(Design::new) {
                faults += &format!("{sets}: {name}: {e}\n");
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(block(&config(""), "l3", 0).is_none());
}

#[test]
fn the_report_counts_every_flip_flop() {
    for sets in SHAPES {
        let config = config(sets);
        let design = Design::new(block(&config, "snakecharmer", 0).unwrap().unwrap()).unwrap();
        let counters = u64::from(config.counter_bits) * l1forge_hdl::snakecharmer::counters(&config).len() as u64;
        let report = storage(&config);
        assert_eq!(report.bits(), design.flip_flop_bits() - counters, "{sets}: {:#?}", report.structures);
    }
}

#[test]
fn default_storage_is_within_the_papers() {
    let report = storage(&config(""));
    assert!(report.bits() <= 2700 * 8, "{} bits", report.bits());
    assert!(storage(&config("frontend=apogee")).bits() < report.bits());
}
