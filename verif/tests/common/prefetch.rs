//! Configurations of SnakeCharmer that differ in every respect.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use l1forge_config::{Config, Settings};

/// Names and settings: sizes of 1, 2, odd, default; every front end; controller, zero filter and each choice on and off.
pub const CONFIGS: &[(&str, &[&str])] = &[
    ("default", &[]),
    (
        "odd",
        &[
            "sc_warps=5",
            "sc_patterns=5",
            "sc_pc_bits=7",
            "sc_train_bits=9",
            "sc_stride_bits=5",
            "sc_anchor_period=33",
            "sc_max_intra_warp=5",
            "sc_max_inter_pc=3",
            "sc_max_inter_warp=13",
            "sc_reset_distance=2",
            "sc_degree=3",
            "sc_trigger_depth=3",
            "sc_queue_depth=3",
            "sc_zero_timer=7",
            "sc_awt_window=3",
            "sc_awt_move_events=2",
            "sc_awt_samples=5",
            "sc_l1_awt_entries=7",
            "sc_l2_awt_entries=3",
            "sc_generation_bits=1",
            "sc_peb_entries=5",
            "sc_prt_entries=7",
            "sc_prt_age=11",
            "sc_register_bits=5",
            "address_bits=24",
            "counter_bits=8",
            "reset_style=async_low",
        ],
    ),
    (
        "one",
        &[
            "sc_warps=1",
            "sc_patterns=1",
            "sc_pc_bits=4",
            "sc_train_bits=2",
            "sc_stride_bits=2",
            "sc_anchor_period=16",
            "sc_max_intra_warp=1",
            "sc_max_inter_pc=1",
            "sc_max_inter_warp=1",
            "sc_degree=1",
            "sc_trigger_depth=1",
            "sc_queue_depth=1",
            "sc_zero_timer=1",
            "sc_awt_window=1",
            "sc_awt_move_events=1",
            "sc_awt_samples=1",
            "sc_l1_awt_entries=1",
            "sc_l2_awt_entries=1",
            "sc_generation_bits=3",
            "sc_sgu_threshold=1",
            "sc_peb_entries=1",
            "sc_prt_entries=1",
            "sc_register_bits=1",
            "sc_sector_bytes=128",
            "sc_prt_age=1",
            "reset_style=sync_low",
        ],
    ),
    // One place in every table, but windows, distances, sectors and ages in which the order of two changes of that place shows.
    (
        "single",
        &[
            "frontend=external",
            "sc_warps=1",
            "sc_patterns=1",
            "sc_trigger_depth=1",
            "sc_queue_depth=1",
            "sc_zero_timer=6",
            "sc_awt_window=4",
            "sc_awt_move_events=2",
            "sc_awt_samples=5",
            "sc_l1_awt_entries=1",
            "sc_l2_awt_entries=1",
            "sc_awt_inter_warp_local=true",
            "sc_generation_bits=4",
            "sc_reset_distance=4",
            "sc_peb_entries=1",
            "sc_prt_entries=1",
            "sc_prt_age=6",
        ],
    ),
    (
        "two",
        &[
            "frontend=external",
            "sc_warps=2",
            "sc_patterns=2",
            "sc_pc_bits=64",
            "sc_max_intra_warp=2",
            "sc_max_inter_pc=255",
            "sc_max_inter_warp=2",
            "sc_degree=2",
            "sc_queue_depth=2",
            "sc_zero_timer=2",
            "sc_awt_window=2",
            "sc_awt_samples=2",
            "sc_l1_awt_entries=2",
            "sc_l2_awt_entries=2",
            "sc_awt_per_kind=false",
            "sc_awt_move_events=0",
            "sc_peb_entries=2",
            "sc_prt_entries=2",
            "sc_prt_replace=false",
            "sc_prt_age=7",
            "sc_sgu_threshold=5",
            "sc_sector_bytes=64",
        ],
    ),
    (
        "apogee",
        &[
            "frontend=apogee",
            "sc_patterns=6",
            "sc_max_intra_warp=6",
            "sc_warps=12",
            "sc_degree=11",
            "sc_awt_inter_warp_local=true",
            "sc_awt_inherit=false",
            "sc_awt_doubling=false",
            "sc_awt_step=3",
            "sc_awt_window=7",
            "sc_awt_samples=9",
            "sc_l1_awt_entries=12",
            "sc_peb_entries=9",
            "sc_prt_entries=12",
            "sc_prt_age=40",
            "sc_zero_timer=20",
            "address_bits=64",
            "line_bytes=32",
            "sc_sector_bytes=32",
            "reset_style=async_high",
        ],
    ),
    (
        "plain",
        &[
            "sc_controller=false",
            "sc_zero_filter=false",
            "sc_patterns=8",
            "sc_warps=16",
            "sc_reset_distance=3",
            "sc_prt_entries=16",
            "sc_peb_entries=8",
            "line_bytes=1024",
            "sc_sector_bytes=32",
            "counter_bits=64",
        ],
    ),
];

/// The configuration of some settings.
pub fn config(settings: &[&str]) -> Config {
    let mut s = Settings::preset("paper").unwrap();
    for set in settings {
        s.set(set).unwrap_or_else(|e| panic!("{e}"));
    }
    s.resolve().unwrap_or_else(|e| panic!("{e}"))
}

/// One of [`CONFIGS`].
pub fn named(name: &str) -> Config {
    config(CONFIGS.iter().find(|c| c.0 == name).unwrap_or_else(|| panic!("no configuration {name}")).1)
}

/// The heavy tests run too.
pub fn full() -> bool {
    std::env::var_os("L1FORGE_FULL").is_some_and(|v| !v.is_empty() && v != "0")
}
