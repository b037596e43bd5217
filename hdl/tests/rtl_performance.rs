//! Large designs build and print fast: wide buses, arrays of hundreds of instances, long concatenations.

use l1forge_hdl::rtl::{Bits, Design, Expr, ModuleBuilder};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

fn build() -> Design {
    let n = 256;
    let mut m = ModuleBuilder::new("lane");
    m.clock_reset();
    let a = m.input("a_i", n, "bits");
    let y = m.output("y_o", n, "bits, later");
    let any = m.output("any_o", 1, "some bit");
    let q = m.reg("q_q", n);
    q.next(&a);
    m.assign(&y, &q);
    m.assign(&any, a.reduce_or());
    let lane = m.finish().unwrap();

    let mut m = ModuleBuilder::new("wide");
    m.clock_reset();
    let bus = m.input("bus_i", n * n, "65,536 bits");
    let out = m.output("out_o", n * n, "65,536 bits");
    let any = m.output("any_o", n, "a bit per lane");
    let mixed = m.output("mixed_o", n * n, "65,536 bits");
    let count = m.output("count_o", 17, "set bits");
    // Four concatenations of 65,536 items: the bits in other orders.
    let mut turned = bus.clone();
    for k in 0..4 {
        let step = [257, 4099, 21, 40_503][k];
        let items = (0..n * n).map(|i| turned.bit((i * step + k as u32) % (n * n)));
        turned = m.wire(&format!("turned_{k}"), Expr::concat_lsb_first(items));
    }
    let lanes = m.instance_array("u_lane", &lane, n, |i, g| {
        i.connect("a_i", turned.elem(g, n)).connect("any_o", any.bit(g));
    });
    let by_row = m.net("by_row", n * n);
    m.comb_for("r", n, |p, r| {
        p.for_loop("c", n, |p, c| p.set(by_row.bit(c * n + r), bus.bit(r * n + c)));
    });
    m.assign(&out, lanes.get("y_o"));
    m.assign(&mixed, &by_row ^ Bits::ones(n * n));
    m.assign(&count, bus.popcount());
    Design::new(m.finish().unwrap()).unwrap()
}

/// Time this thread has run, which other programs on the machine do not change; wall-clock time where Linux does not tell.
fn cpu_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    let wall = START.get_or_init(Instant::now).elapsed();
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = stat.and_then(|s| s.split(' ').next()?.parse().ok());
    ns.map_or(wall, Duration::from_nanos)
}

#[test]
fn building_and_printing_is_fast() {
    let best = (0..3)
        .map(|_| {
            let start = cpu_time();
            let design = build();
            let bytes: usize = design.files().iter().map(|f| f.1.len()).sum();
            assert!(bytes > 3_000_000);
            cpu_time() - start
        })
        .min()
        .unwrap();
    println!("{best:?}");
    let limit = if cfg!(debug_assertions) { Duration::from_secs(3) } else { Duration::from_millis(300) };
    assert!(best < limit, "{best:?}");
}

#[test]
fn output_is_the_same_in_every_run() {
    assert!(build().files() == build().files());
}
