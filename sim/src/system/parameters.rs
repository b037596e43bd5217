//! Sizes and speeds of the memory path that are no keys of the hardware configuration.

use l1forge_config::Config;
use serde::{Deserialize, Serialize};

use crate::ParameterError;

/// Sizes, latencies and widths of the memory path. What the hardware configuration already has (L1 size and ways, remote tag and return
/// latency, unloaded L2 latency, L2 requests per cycle) comes from there.
///
/// The papers' tables of these values were lost with their text; the defaults are those of a V100-class chip (80 SMs, 900 GB/s at 1.4 GHz,
/// 6 MiB of L2), which both hardware papers build on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemParameters {
    /// Thread blocks an SM works on at once, 1..=32.
    pub resident_blocks: u32,
    /// Lines an SM may have in flight, 1..=65536 and at most 2^`id_bits`.
    pub mshrs: u32,
    /// Cycles from an L1 hit to its data, 1..=1024.
    pub l1_latency: u32,
    /// Instructions an SM issues in a cycle, over all its warps, 1..=16.
    pub issue_width: u32,
    /// Cycles between two dependent instructions of a warp, 1..=64.
    pub instruction_cycles: u32,
    /// Memory instructions of one warp in flight at once, 1..=8, as long as no other instruction lies between them.
    pub loads_per_warp: u32,
    /// Requests that wait in an SM for the interconnect, 1..=4096.
    pub request_queue: u32,
    /// Cycles through the interconnect, each way, 0..=1024; at most half of `l2_latency`.
    pub network_latency: u32,
    /// Cycles a line occupies the port of its SM, to or from the interconnect, 1..=256 (4: 32 bytes a cycle).
    pub line_cycles: u32,
    /// Cycles a line from another L1 occupies the port of its requester, 1..=256.
    pub far_line_cycles: u32,
    /// Bytes of the L2, a multiple of `l2_banks * l2_ways` lines.
    pub l2_bytes: u64,
    /// Ways of an L2 set, 1..=4096, LRU; 0: fully associative.
    pub l2_ways: u32,
    /// Banks of the L2, 1..=1024.
    pub l2_banks: u32,
    /// Cycles a read or write of a line occupies its bank, 1..=64 (2: 64 bytes a cycle).
    pub l2_bank_cycles: u32,
    /// Cycles an L2 miss waits for DRAM without contention, 0..=10000.
    pub dram_latency: u32,
    /// Bytes DRAM moves in a cycle, 1..=65536.
    pub dram_bytes_per_cycle: u32,
    /// SMs of a cluster of ATA and CCD, 2..=256.
    pub cluster: u32,
    /// ATA: L1 lookups of a cluster in a cycle, 1..=256.
    pub ata_lookups: u32,
    /// ATA: misses that wait for the aggregated tags; more go to L2, 1..=1024.
    pub ata_queue: u32,
    /// ATA: cycles of a lookup in the aggregated tags, 1..=256.
    pub ata_latency: u32,
    /// CCD: cycles of a broadcast in the cluster, 1..=256.
    pub ccd_broadcast_latency: u32,
    /// CCD: broadcasts that wait in a cluster; more go to L2, 1..=1024.
    pub ccd_queue: u32,
    /// CCD: one in so many pruned misses is broadcast all the same, so that a counter can recover, 0..=65535; 0: none.
    pub ccd_sample: u32,
    /// RING: cycles of a hop, 1..=64.
    pub ring_hop: u32,
    /// RING: misses of an SM that wait for a free place on the ring; more go to L2, 1..=1024.
    pub ring_queue: u32,
    /// C2P: cycles a probe waits for the port of its L1 before it goes before the SM's own lookups, 1..=65535 (1: in turn).
    pub probe_wait: u32,
    /// C2P: a line from another L1 is notified like one from L2.
    pub notify_remote_fills: bool,
    /// Registers of an SM that are idle for prefetched lines, 0..=1024; more than `sc_prt_entries` count as so many.
    pub idle_registers: u32,
    /// Prefetches look for their line in other L1s, as misses do.
    pub prefetch_shared: bool,
    /// Of 100 stretches of memory so many are all zero, for the zero filter, 0..=100.
    pub zero_percent: u32,
    /// Lines of such a stretch, 1..=65536.
    pub zero_lines: u32,
}

impl Default for SystemParameters {
    fn default() -> Self {
        Self {
            resident_blocks: 4,
            mshrs: 64,
            l1_latency: 28,
            issue_width: 4,
            instruction_cycles: 2,
            loads_per_warp: 4,
            request_queue: 16,
            network_latency: 60,
            line_cycles: 4,
            far_line_cycles: 4,
            l2_bytes: 6 << 20,
            l2_ways: 16,
            l2_banks: 32,
            l2_bank_cycles: 2,
            dram_latency: 220,
            dram_bytes_per_cycle: 640,
            cluster: 8,
            ata_lookups: 4,
            ata_queue: 16,
            ata_latency: 4,
            ccd_broadcast_latency: 4,
            ccd_queue: 8,
            ccd_sample: 32,
            ring_hop: 2,
            ring_queue: 8,
            probe_wait: 1,
            notify_remote_fills: true,
            idle_registers: 64,
            prefetch_shared: true,
            zero_percent: 0,
            zero_lines: 96,
        }
    }
}

impl SystemParameters {
    /// # Errors
    /// A value outside its range, or one that does not fit the configuration.
    pub fn check(&self, config: &Config) -> Result<(), ParameterError> {
        let ids = 1_u64 << config.id_bits;
        let half = u64::from(config.l2_latency / 2);
        let ranges: [(&'static str, u64, u64, u64); 23] = [
            ("system.resident_blocks", self.resident_blocks.into(), 1, 32),
            ("system.mshrs", self.mshrs.into(), 1, ids),
            ("system.l1_latency", self.l1_latency.into(), 1, 1024),
            ("system.issue_width", self.issue_width.into(), 1, 16),
            ("system.instruction_cycles", self.instruction_cycles.into(), 1, 64),
            ("system.loads_per_warp", self.loads_per_warp.into(), 1, 8),
            ("system.request_queue", self.request_queue.into(), 1, 4096),
            ("system.network_latency", self.network_latency.into(), 0, half.min(1024)),
            ("system.line_cycles", self.line_cycles.into(), 1, 256),
            ("system.far_line_cycles", self.far_line_cycles.into(), 1, 256),
            ("system.l2_ways", self.l2_ways.into(), 0, 4096),
            ("system.l2_banks", self.l2_banks.into(), 1, 1024),
            ("system.l2_bank_cycles", self.l2_bank_cycles.into(), 1, 64),
            ("system.dram_latency", self.dram_latency.into(), 0, 10_000),
            ("system.dram_bytes_per_cycle", self.dram_bytes_per_cycle.into(), 1, 1 << 16),
            ("system.cluster", self.cluster.into(), 2, 256),
            ("system.ata_lookups", self.ata_lookups.into(), 1, 256),
            ("system.ata_queue", self.ata_queue.into(), 1, 1024),
            ("system.ata_latency", self.ata_latency.into(), 1, 256),
            ("system.ccd_broadcast_latency", self.ccd_broadcast_latency.into(), 1, 256),
            ("system.ccd_queue", self.ccd_queue.into(), 1, 1024),
            ("system.ring_hop", self.ring_hop.into(), 1, 64),
            ("system.ring_queue", self.ring_queue.into(), 1, 1024),
        ];
        for (key, value, least, most) in ranges {
            ParameterError::check(key, value, least, most)?;
        }
        ParameterError::check("system.probe_wait", self.probe_wait.into(), 1, 65_535)?;
        ParameterError::check("system.ccd_sample", self.ccd_sample.into(), 0, 65_535)?;
        ParameterError::check("system.idle_registers", self.idle_registers.into(), 0, 1024)?;
        ParameterError::check("system.zero_percent", self.zero_percent.into(), 0, 100)?;
        ParameterError::check("system.zero_lines", self.zero_lines.into(), 1, 65_536)?;
        let grain = u64::from(config.line_bytes) * u64::from(self.l2_banks) * u64::from(self.l2_ways.max(1));
        if self.l2_bytes == 0 || !self.l2_bytes.is_multiple_of(grain) || self.l2_lines_per_bank(config) > 1 << 20 || self.l2_bytes > 4 << 30
        {
            let legal =
                format!("a multiple of line_bytes * l2_banks * l2_ways = {grain}, at most 1048576 lines a bank and 4294967296 bytes");
            return Err(ParameterError::new("system.l2_bytes", self.l2_bytes, legal));
        }
        Ok(())
    }

    /// Lines of one L2 bank.
    pub fn l2_lines_per_bank(&self, config: &Config) -> u64 {
        self.l2_bytes / u64::from(config.line_bytes) / u64::from(self.l2_banks)
    }

    /// Sets one value by name.
    ///
    /// # Errors
    /// An unknown name, or a value of the wrong type.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ParameterError> {
        let mut all = serde_json::to_value(&*self).unwrap_or_else(|e| unreachable!("plain numbers: {e}"));
        let name = format!("system.{key}");
        let legal = match all.get(key) {
            Some(known) if known.is_boolean() => "true or false",
            Some(_) => "a whole number, 0 or more",
            None => {
                let names: Vec<&str> = all.as_object().into_iter().flatten().map(|(k, _)| k.as_str()).collect();
                return Err(ParameterError::new(name, value, format!("system. with one of {}", names.join(", "))));
            }
        };
        all[key] = serde_json::from_str(value).unwrap_or_default();
        *self = serde_json::from_value(all).map_err(|_| ParameterError::new(name, value, legal))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_set_by_name_and_checked() {
        let config = l1forge_config::Settings::default().resolve().unwrap();
        let mut p = SystemParameters::default();
        p.check(&config).unwrap();
        p.set("mshrs", "32").unwrap();
        p.set("notify_remote_fills", "false").unwrap();
        assert_eq!((p.mshrs, p.notify_remote_fills), (32, false));
        assert!(p.set("mshr", "3").unwrap_err().to_string().contains("resident_blocks"));
        for (key, value, message) in [
            ("mshrs", "many", "system.mshrs = many: legal is a whole number, 0 or more"),
            ("mshrs", "-1", "system.mshrs = -1: legal is a whole number, 0 or more"),
            ("notify_remote_fills", "1", "system.notify_remote_fills = 1: legal is true or false"),
        ] {
            assert_eq!(p.set(key, value).unwrap_err().to_string(), message);
        }
        assert_eq!(p.mshrs, 32);
        for (key, value) in [("mshrs", "65"), ("l2_bytes", "1000"), ("network_latency", "101"), ("loads_per_warp", "9"), ("l2_banks", "0")]
        {
            let mut p = SystemParameters::default();
            p.set(key, value).unwrap();
            assert!(p.check(&config).unwrap_err().to_string().contains(key), "{key}");
        }
    }
}
