//! Development helper.
use l1forge_verif::{block, build::Builder, lockstep::Session, top};
use l1forge_sim::c2p::environment::{Profile, random};
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut s = l1forge_config::Settings::preset("paper").unwrap();
    for a in &args[2..] { s.set(a).unwrap(); }
    let c = s.resolve().unwrap();
    let d = block::design(&c, "c2p_cache", 0).unwrap();
    let b = Builder::from_env();
    let t = std::time::Instant::now();
    let seed: u64 = args[1].parse().unwrap();
    b.build(&d).unwrap();
    println!("build {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let r = Session::new(&b, &d, seed).reset(block::reset_of(&c)).run(|i, seed| {
        let tags: Vec<u64> = (0..400).map(|x| x * 7919 % 100_000).collect();
        top::bench(&c, i, Profile::random(), Box::new(random(tags, 0.1, 0.02, seed)), seed, top::End::Cycles(args[0].parse().unwrap()))
    }, None);
    match r {
        Ok(o) => println!("ok {} cycles {:?} {:?}", o.report.cycles, t.elapsed(), o.bench.rtl_counters()),
        Err(e) => println!("FAIL {e}"),
    }
}
