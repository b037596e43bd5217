//! Four linters stay silent on the generated Verilog. The usual run takes small designs of many shapes; `L1FORGE_FULL=1` adds every SM count and filter size of
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

fn full() -> bool {
    std::env::var_os("L1FORGE_FULL").is_some()
}

#[test]
fn small_designs_of_many_shapes() {
    for sets in [
        "sms=2 banks=1 hash_bits=1 hashes=1 mask_bits=0 copies=1",
        "sms=3 hash_bits=1536 copies=3 banks=16 engines=4 update_bytes=16",
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
fn full_list_of_sizes() {
    if !full() {
        println!("not run: set L1FORGE_FULL=1 (scripts/test.sh --full)");
        return;
    }
    for m in ["hash_bits=256", "hash_bits=1536", "hash_bits=4096", "hash_bits=9216", "hash_bits=19456"] {
        for k in ["hashes=0 hash_bits=0", "hashes=1", "hashes=3", "hashes=7"] {
            silent(&format!("sms=3 engines=6 {m} {k}"));
        }
    }
    for sets in ["mask_bits=0 hashes=4", "copies=1", "copies=2", "copies=3", "copies=4", "engines=32", "engines=160"] {
        silent(&format!("sms=8 {sets}"));
    }
    for sms in [2, 3, 8, 16, 20, 32, 64, 80, 108, 132, 256] {
        silent(&format!("sms={sms}"));
    }
}
