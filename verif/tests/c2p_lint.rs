//! Four linters stay silent on the generated Verilog. The usual run takes small designs of many shapes; `scripts/test.sh --full` adds every SM count and filter size of
//! the specification.

use l1forge_config::Settings;
use l1forge_verif::block::design;
use l1forge_verif::lint::lint;
use l1forge_verif::tools::Toolbox;

fn silent(sets: &str) {
    let mut settings = Settings::preset("paper").unwrap();
    sets.split_whitespace().for_each(|set| settings.set(set).unwrap());
    let config = settings.resolve().unwrap_or_else(|e| panic!("{sets}: {e}"));
    let design = design(&config, "c2p_cache", 0).unwrap_or_else(|e| panic!("{sets}: {e}"));
    for report in lint(&Toolbox::from_env(), &design).unwrap_or_else(|e| panic!("{e}")) {
        assert!(report.ok, "{sets}: {} says\n{}", report.tool.info().name, report.output);
    }
}

#[test]
fn small_designs_of_many_shapes() {
    for sets in [
        "sms=2 banks=1 hash_bits=1 hashes=1 mask_bits=0 copies=1",
        "sms=3 hash_bits=1536 copies=3 lookup_ports=2 banks=16 engines=4 update_bytes=16",
        "sms=4 hash_bits=512 copies=1 lookup_ports=1 banks=8 engines=4 update_bytes=16 copy_choice=any",
        "sms=3 copies=3 copy_choice=any merge_rows=true banks=8 update_bytes=16 engines=5 queries_per_sm=3",
        "sms=4 engines=3 engine_pipelined=false banks=8 update_bytes=16 debug_port=true",
        "sms=4 reset_style=async_low lookup_latency=5 probe_limit=2 banks=8 hashes=0 queries_per_sm=1",
        "sms=5 probe_queue_depth=1 answer_queue_depth=1 probe_timeout=1 answer_timeout=1 update_queue_depth=2 banks=8 fill_drop=false update_lanes=3",
    ] {
        silent(sets);
    }
}

#[test]
fn every_block_alone() {
    let mut settings = Settings::preset("paper").unwrap();
    for set in ["sms=3", "banks=8", "update_bytes=16", "engines=5"] {
        settings.set(set).unwrap();
    }
    let config = settings.resolve().unwrap();
    for name in l1forge_sim::c2p::BLOCKS.iter().filter(|b| **b != "c2p_cache") {
        let design = design(&config, name, 0).unwrap();
        for report in lint(&Toolbox::from_env(), &design).unwrap_or_else(|e| panic!("{e}")) {
            assert!(report.ok, "{name}: {} says\n{}", report.tool.info().name, report.output);
        }
    }
}

#[test]
#[ignore = "many minutes: scripts/test.sh --full"]
fn full_list_of_sizes() {
    // m = 1280 ... 20480 bits in all, with tag mask and without; k = 1, 2, 4, 8.
    for m in [1280, 2560, 5120, 10240, 20480] {
        for k in [1, 2, 4, 8] {
            let hashes = k - 1;
            silent(&format!("sms=3 engines=6 copies=1 mask_bits=1024 hashes={hashes} hash_bits={}", if k == 1 { 0 } else { m - 1024 }));
            silent(&format!("sms=3 engines=6 copies=1 mask_bits=0 hashes={k} hash_bits={m}"));
        }
    }
    for copies in 1..=4 {
        silent(&format!("sms=8 copies={copies}"));
        silent(&format!("sms=8 copies={copies} copy_choice=any"));
        silent(&format!("sms=8 copies={copies} lookup_ports={}", 5 - copies));
    }
    for engines in [32, 64, 80, 128, 160] {
        silent(&format!("sms=64 engines={engines}"));
    }
    for sms in [2, 3, 8, 16, 20, 32, 64, 80, 108, 132, 256] {
        silent(&format!("sms={sms}"));
    }
}
