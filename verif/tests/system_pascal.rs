//! PASCAL end to end with the RTL in the loop: the whole memory path, one access at a time, the generated Verilog as its sharing scheme.

use l1forge_config::{Config, Settings};
use l1forge_sim::c2p::C2pCache;
use l1forge_sim::pascal::{Allocation, PolicyBound, Scan, to_f64};
use l1forge_sim::system::scan::{Serial, rounds};
use l1forge_sim::system::scheme::C2p;
use l1forge_sim::system::{Scheme, SystemParameters};
use l1forge_verif::block::design;
use l1forge_verif::build::Builder;
use l1forge_verif::rtl_block::RtlBlock;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// One SM for each worker; L1s of one line.
fn config(sms: u32) -> Config {
    let mut s = Settings::default();
    s.set_sms(sms).unwrap();
    for a in ["l1_bytes=1024", "line_bytes=1024", "l1_ways=1", "l2_latency=2", "refresh_period=300"] {
        s.set(a).unwrap();
    }
    s.resolve().unwrap()
}

/// Fills of the RTL are those of the model, never below the policy bound of all caches together, and no output ever differs.
fn scans(sms: u32, cases: u64) {
    let c = config(sms);
    let p = SystemParameters { mshrs: 1, network_latency: 0, dram_latency: 1, dram_bytes_per_cycle: 1024, ..SystemParameters::default() };
    let library = Builder::from_env().build(&design(&c, "c2p_cache", 0).unwrap()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(u64::from(sms));
    for case in 0..cases {
        let blocks = rng.random_range(3 * u64::from(sms)..=6 * u64::from(sms));
        let phases = (0..sms).map(|_| rng.random_range(0..blocks)).collect();
        let (scan, capacity) = (Scan::new(blocks, phases).unwrap(), rng.random_range(1..=u64::from(sms)));
        let block = RtlBlock::new(&c, &library, Box::new(C2pCache::new(&c)), case).unwrap();
        let verdict = block.verdict();
        let what = format!("{sms} SMs, case {case}: N = {blocks}, C = {capacity}, phases {:?}", scan.phases());
        let run = |sharing| {
            let mut serial = Serial::new(&c, &p, capacity, sharing).unwrap();
            let fills = rounds(&mut serial, blocks, scan.phases(), blocks).unwrap();
            (fills, serial.finish().unwrap().0.remote_hits)
        };
        let rtl = run(Box::new(C2p::with_block(&c, &p, Box::new(block))));
        assert_eq!(verdict.borrow_mut().take(), None, "{what}");
        assert_eq!(rtl, run(Scheme::C2p.build(&c, &p)), "{what}: RTL, model");
        let all = capacity + 2 * u64::from(sms);
        let bound = blocks as f64 * to_f64(&PolicyBound::new(&scan).misses_per_round(all, Allocation::Bypass));
        let fills: u64 = rtl.0.iter().sum();
        assert!(fills as f64 + 1e-6 >= bound, "{what}: {fills} fills, bound {bound}");
        println!("{what}: {fills} fills, bound {bound:.1}, {} remote hits", rtl.1);
    }
}

#[test]
fn ten_scans_of_8_sms() {
    scans(8, 10);
}

#[test]
#[ignore = "minutes: scripts/test.sh --full"]
fn full_ten_scans_of_16_sms() {
    scans(16, 10);
}
