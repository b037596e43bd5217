//! Small configurations that differ in every respect.

use l1forge_config::{Config, Settings};

/// Names and settings: SM counts that are odd or no power of two, copies < k, row counts that are no power of two, every copy choice,
/// with and without merged rows, engines of all kinds, few engines, every reset style.
pub const CONFIGS: &[(&str, &[&str])] = &[
    (
        "odd",
        &[
            "sms=3",
            "queries_per_sm=3",
            "mask_bits=0",
            "hashes=2",
            "hash_bits=96",
            "banks=8",
            "copies=1",
            "lookup_ports=1",
            "merge_rows=true",
            "engines=3",
            "update_engines=1",
            "engine_pipelined=false",
            "engine_latency=3",
            "update_bytes=8",
            "update_queue_depth=2",
            "fill_queue_depth=1",
            "fill_drop=false",
            "refresh_period=40",
            "stream_timeout=10",
            "probe_queue_depth=2",
            "answer_queue_depth=3",
            "probe_timeout=5",
            "answer_timeout=9",
            "probe_limit=2",
            "counter_bits=8",
            "reset_style=async_low",
            "id_bits=4",
            "l1_bytes=1024",
            "l2_latency=20",
        ],
    ),
    (
        "any",
        &[
            "sms=5",
            "queries_per_sm=1",
            "banks=16",
            "hash_bits=1024",
            "copies=3",
            "copy_choice=any",
            "engines=4",
            "update_engines=2",
            "lookup_latency=4",
            "update_bytes=32",
            "update_lanes=3",
            "address_bits=40",
            "debug_port=true",
            "reset_style=sync_low",
            "l1_bytes=2048",
            "l2_latency=40",
            "refresh_period=200",
            "stream_timeout=30",
        ],
    ),
    (
        "wide",
        &[
            "sms=8",
            "hash=independent",
            "lookup_ports=3",
            "hash_bits=320",
            "l1_bytes=2048",
            "l2_latency=60",
            "engine_latency=4",
            "answer_timeout=20",
            "probe_timeout=16",
            "counter_bits=64",
            "stream_timeout=60",
        ],
    ),
    (
        "tiny",
        &[
            "sms=2",
            "queries_per_sm=4",
            "hashes=0",
            "banks=32",
            "engines=2",
            "update_engines=1",
            "update_bytes=16",
            "update_lanes=1",
            "probe_queue_depth=1",
            "answer_queue_depth=1",
            "probe_timeout=4",
            "answer_timeout=16",
            "refresh_period=1",
            "stream_timeout=2",
            "id_bits=2",
            "address_bits=20",
            "reset_style=async_high",
            "l1_bytes=1024",
            "l2_latency=10",
        ],
    ),
    (
        "merge",
        &[
            "sms=7",
            "hashes=7",
            "banks=64",
            "hash_bits=192",
            "copies=4",
            "copy_choice=any",
            "merge_rows=true",
            "engines=3",
            "update_engines=2",
            "engine_pipelined=false",
            "lookup_latency=3",
            "update_lanes=4",
            "probe_limit=1",
            "debug_port=true",
            "floorplan=[[0,0],[5,1],[-2,3],[1,1],[4,4],[0,7],[1,0]]",
            "address_bits=64",
            "l1_bytes=2048",
            "l2_latency=30",
            "queries_per_sm=3",
        ],
    ),
    (
        "four",
        &[
            "sms=4",
            "banks=16",
            "hash_bits=512",
            "mask_bits=0",
            "hashes=3",
            "copies=2",
            "engines=6",
            "update_engines=3",
            "line_bytes=32",
            "engine_latency=3",
            "update_bytes=64",
            "update_lanes=5",
            "fill_queue_depth=3",
            "fill_drop=false",
            "probe_timeout=7",
            "answer_timeout=12",
            "answer_queue_depth=2",
            "l1_bytes=1024",
            "l2_latency=30",
            "refresh_period=60",
            "stream_timeout=12",
            "debug_port=true",
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
