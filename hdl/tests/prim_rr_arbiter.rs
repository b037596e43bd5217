//! The arbiter against a model that walks the requesters one by one.

mod common;

use common::sim::{Rand, Step, check};
use l1forge_hdl::prim::{Lock, rr_arbiter};
use l1forge_hdl::rtl::{Bits, ResetStyle, RtlOptions, index_width};

const SIZES: [u32; 7] = [1, 2, 3, 5, 8, 64, 100];

#[test]
fn grants_follow_the_cyclic_order() {
    for n in SIZES {
        for lock in [Lock::No, Lock::UntilReady] {
            let mut r = Rand(u64::from(n));
            let (mut last, mut locked) = (n - 1, false);
            let mut req = Bits::zero(n);
            let mut steps = Vec::new();
            for t in 0..400 {
                let density = [5, 50, 95, 100][t / 100];
                for i in 0..n {
                    let keep = lock == Lock::UntilReady && locked && i == last;
                    req.set(i, keep || r.chance(density));
                }
                let winner = if locked { Some(last) } else { (1..=n).map(|k| (last + k) % n).find(|i| req.bit(*i)) };
                let ready = r.chance(60);
                let mut gnt = Bits::zero(n);
                if let Some(w) = winner {
                    gnt.set(w, true);
                }
                let mut s = Step::default()
                    .set("req_i", req.clone())
                    .expect("gnt_o", gnt)
                    .expect("idx_o", Bits::from_u64(index_width(n), u64::from(winner.unwrap_or(0))))
                    .expect("any_o", Bits::from_u64(1, u64::from(winner.is_some())));
                if lock == Lock::UntilReady {
                    s = s.set("ready_i", Bits::from_u64(1, u64::from(ready)));
                }
                steps.push(s);
                if let Some(w) = winner {
                    last = w;
                }
                locked = n > 1 && lock == Lock::UntilReady && winner.is_some() && !ready;
            }
            check(&rr_arbiter(RtlOptions::default(), n, lock).unwrap(), &steps);
        }
    }
}

#[test]
fn linters_are_silent() {
    for n in SIZES {
        for lock in [Lock::No, Lock::UntilReady] {
            let reset = if n % 2 == 0 { ResetStyle::SyncHigh } else { ResetStyle::AsyncLow };
            common::assert_silent(&rr_arbiter(RtlOptions { reset }, n, lock).unwrap());
        }
    }
}
