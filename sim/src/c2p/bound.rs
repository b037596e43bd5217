//! The bound on the time of a miss.

use super::sizes::Sizes;
use l1forge_config::Config;

/// Most cycles from the cycle in which a miss is accepted to the one in which its outcome is taken, when outcome and L2
/// ports are always ready, whatever the L1s do; the formula of docs/blocks/c2p_cache.md.
pub fn miss_bound(c: &Config) -> u64 {
    let z = Sizes::new(c);
    let q = u64::from(c.queries_per_sm);
    let group = z.n.div_ceil(z.m) as u64;
    let e = if c.engine_pipelined { 1 } else { u64::from(c.engine_latency) };
    let encode = q * group * e + e + u64::from(c.engine_latency);
    let ports = z.n * z.v;
    let requesters =
        if z.any_copy { ports } else { (0..z.c).map(|copy| (0..ports).filter(|&p| z.copy_of_port(p) == copy).count()).max().unwrap_or(0) };
    let share = z.k.div_ceil(z.v) as u64;
    let grants = if share == 1 { 2 * q - 1 } else { 2 * share * (3 * q - 2) };
    let lookup = grants * requesters as u64 + u64::from(c.lookup_latency);
    let probe = [c.probe_timeout, c.answer_timeout, c.probe_queue_depth, c.answer_queue_depth].map(u64::from).iter().sum::<u64>();
    let others = u64::from(c.sms) - 1;
    let probes = if c.probe_limit == 0 { others } else { others.min(c.probe_limit.into()) };
    encode + lookup + probes * (q + 1 + probe + 2) + 3 * q + 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c2p::tests::config;

    #[test]
    fn paper() {
        // Encode 2*1*1 + 1 + 2, lookup 3*64 + 2, 63 probes of 2 + 1 + 32 + 64 + 4 + 8 + 2, end 6 + 4.
        assert_eq!(miss_bound(&config(&[])), 5 + 194 + 63 * 113 + 10);
    }

    #[test]
    fn other_terms() {
        // 5 SMs on 2 shared engines of 3 cycles; k = 2, C = 1: 10 requesters; 2 probes at most.
        let sets = ["sms=5", "engines=4", "update_engines=2", "engine_pipelined=false", "engine_latency=3", "queries_per_sm=1"];
        let more = ["hashes=1", "copies=1", "probe_limit=2", "lookup_latency=5"];
        assert_eq!(miss_bound(&config(&[&sets[..], &more].concat())), (3 * 3 + 3 + 3) + (10 + 5) + 2 * (1 + 1 + 108 + 2) + 7);
        // With any copy all ports meet at one arbiter.
        let sets = ["sms=5", "copy_choice=any"];
        assert_eq!(miss_bound(&config(&sets)), (2 + 1 + 2) + (3 * 20 + 2) + 4 * 113 + 10);
    }
}
