//! The constants of a stand-in device.

use std::str::FromStr;

use crate::pascal::clusters::CLUSTER_GAP;
use crate::pascal::error::InputError;
use crate::pascal::pipeline::copies_in_flight;
use crate::pascal::predict::{Device, execution_class};
use crate::pascal::scan::check_capacity;

/// The load path of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadPath {
    /// Loads that the worker waits for; prefetch depth 0.
    Sync,
    /// Asynchronous copies into `d >= 2` buffers.
    Tma,
}

impl LoadPath {
    /// The name in calibration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Tma => "tma",
        }
    }

    /// Checks a depth and returns the copies in flight.
    ///
    /// # Errors
    /// A synchronous path with a depth, or an asynchronous one with a depth below 2 or above 64.
    pub fn copies(self, depth: u32) -> Result<usize, InputError> {
        match (self, depth) {
            (Self::Sync, 0) | (Self::Tma, 2..=64) => copies_in_flight(depth),
            (Self::Sync, _) => Err(InputError::new("d", format!("{depth} on the sync path, legal is 0 only"))),
            (Self::Tma, _) => Err(InputError::new("d", format!("{depth} on the tma path, legal values are 2 to 64"))),
        }
    }
}

impl FromStr for LoadPath {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        match text {
            "sync" => Ok(Self::Sync),
            "tma" => Ok(Self::Tma),
            _ => Err(InputError::new("path", format!("'{text}' is not a load path, legal values are sync and tma"))),
        }
    }
}

/// The constants of a stand-in device. All times are picoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    /// Its name in calibration files.
    pub name: String,
    /// Streaming multiprocessors: workers per unit of occupancy.
    pub multiprocessors: u64,
    /// Capacity of the shared LRU cache, in blocks.
    pub capacity_blocks: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Serial memory service of a block: what a worker needs per block without compute. Co-resident workers share it.
    pub service: u64,
    /// One unit of compute per block. Co-resident workers share it.
    pub compute: u64,
    /// The loop tail of each execution class.
    pub tail: [u64; 3],
    /// Latency of a copy that hits.
    pub hit: u64,
    /// Latency of a copy that misses, on an idle DRAM.
    pub miss: u64,
    /// Time the DRAM is busy with one block: the inverse of its bandwidth.
    pub dram: u64,
    /// Groups of multiprocessors at different distances from the memory.
    pub groups: u64,
    /// Lasting extra memory service of the furthest group. Fixed for a device, unlike the jitter.
    pub skew: u64,
    /// Largest deviation of the memory service, up or down. Compute does not jitter.
    pub jitter: u64,
    /// Blocks for which a worker keeps a deviation before it draws another.
    pub jitter_blocks: u64,
    /// The gap up to which two positions count as one phase cluster, in blocks.
    pub cluster_blocks: u64,
}

impl StandIn {
    /// Names of the devices that [`by_name`](Self::by_name) knows.
    pub const NAMES: [&str; 4] = ["gb10-like", "thor-like", "gb10-quarter", "thor-quarter"];

    /// A device with the worker count, capacity, DRAM bandwidth and first-wave times of the paper's GB10.
    ///
    /// 48 multiprocessors, 20 MiB of 16 KiB blocks, 273 GB/s. Without compute a block takes 924, 462 and 424 ns at depth 2, 3 and 4.
    pub fn gb10_like() -> Self {
        Self {
            name: "gb10-like".to_string(),
            multiprocessors: 48,
            capacity_blocks: 1280,
            block_bytes: 16384,
            service: 424_000,
            compute: 200_000,
            tail: [0, 30_000, 80_000],
            hit: 250_000,
            miss: 500_000,
            dram: 60_000,
            groups: 8,
            skew: 25_000,
            jitter: 25_000,
            jitter_blocks: 128,
            cluster_blocks: CLUSTER_GAP,
        }
    }

    /// A device with the worker count and capacity of the paper's Jetson Thor: fewer workers, more room, the same DRAM.
    pub fn thor_like() -> Self {
        Self {
            name: "thor-like".to_string(),
            multiprocessors: 20,
            capacity_blocks: 2048,
            service: 300_000,
            compute: 140_000,
            tail: [0, 20_000, 60_000],
            hit: 220_000,
            miss: 460_000,
            groups: 5,
            skew: 18_000,
            jitter: 18_000,
            ..Self::gb10_like()
        }
    }

    /// The device at a quarter of the size: four times fewer, four times larger blocks, and the drift of four times fewer blocks.
    ///
    /// Scan lengths of a quarter behave alike and take a quarter of the simulation time.
    #[must_use]
    pub fn quarter(&self) -> Self {
        Self {
            name: self.name.replace("-like", "-quarter"),
            capacity_blocks: self.capacity_blocks / 4,
            block_bytes: self.block_bytes * 4,
            jitter_blocks: self.jitter_blocks / 4,
            cluster_blocks: self.cluster_blocks / 4,
            ..self.clone()
        }
    }

    /// A device by its name.
    ///
    /// # Errors
    /// The name is not in [`NAMES`](Self::NAMES).
    pub fn by_name(name: &str) -> Result<Self, InputError> {
        let all = [Self::gb10_like(), Self::thor_like(), Self::gb10_like().quarter(), Self::thor_like().quarter()];
        all.into_iter().find(|device| device.name == name).ok_or_else(|| {
            let message = format!("'{name}' is not a stand-in device, legal values are {}", Self::NAMES.join(", "));
            InputError::new("device", message)
        })
    }

    /// Checks the constants.
    ///
    /// # Errors
    /// A count is 0 or too large, a miss is faster than a hit, or the jitter exceeds the service it applies to.
    pub fn check(&self) -> Result<(), InputError> {
        let limit = 1 << 40;
        for (name, value) in [("service", self.service), ("hit", self.hit), ("miss", self.miss), ("dram", self.dram)] {
            if value > limit {
                return Err(InputError::new(name, format!("{value} ps is too long, the limit is {limit}")));
            }
        }
        if self.service == 0 {
            return Err(InputError::new("service", "0 ps, a block must take some time"));
        }
        if self.compute > limit || self.tail.iter().any(|&tail| tail > limit) {
            return Err(InputError::new("compute", format!("too long, the limit is {limit} ps")));
        }
        if self.miss < self.hit {
            return Err(InputError::new("miss", format!("{} ps, but a hit takes {} ps", self.miss, self.hit)));
        }
        if self.jitter >= self.service {
            return Err(InputError::new("jitter", format!("{} ps, it must be below the service of {} ps", self.jitter, self.service)));
        }
        if self.jitter_blocks == 0 {
            return Err(InputError::new("jitter_blocks", "0 blocks, at least 1 is needed"));
        }
        if self.groups == 0 || self.groups > 1 << 20 {
            return Err(InputError::new("groups", format!("{}, legal values are 1 to {}", self.groups, 1 << 20)));
        }
        if self.skew > limit {
            return Err(InputError::new("skew", format!("{} ps is too long, the limit is {limit}", self.skew)));
        }
        if self.multiprocessors == 0 || self.multiprocessors > 4096 {
            let message = format!("{}, legal values are 1 to 4096", self.multiprocessors);
            return Err(InputError::new("multiprocessors", message));
        }
        if self.block_bytes == 0 || self.block_bytes > 1 << 30 {
            return Err(InputError::new("block_bytes", format!("{}, legal values are 1 to {}", self.block_bytes, 1 << 30)));
        }
        check_capacity(self.capacity_blocks).map_err(|e| InputError::new("capacity_blocks", e.message()))?;
        Ok(())
    }

    /// The serial service of a block without jitter: alpha of the recurrence.
    pub fn alpha(&self, occupancy: u32, compute: u32) -> u64 {
        let tail = self.tail[usize::from(execution_class(compute))];
        u64::from(occupancy) * (self.service + u64::from(compute) * self.compute + tail)
    }

    /// The lasting extra service of a multiprocessor: none in the first group, [`skew`](Self::skew) in the last, growing with the square
    /// of the distance in between.
    pub fn skew_of(&self, multiprocessor: u64) -> u64 {
        let (group, last) = (multiprocessor % self.groups, self.groups - 1);
        if last == 0 { 0 } else { self.skew * group * group / (last * last) }
    }

    /// The constants a calibration of this device records.
    pub fn calibrated(&self) -> Device {
        Device {
            name: self.name.clone(),
            binary: None,
            workers_per_occupancy: self.multiprocessors,
            block_bytes: self.block_bytes,
            capacity_blocks: self.capacity_blocks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pascal::SteadyPipeline;

    #[test]
    fn first_wave_times_are_those_of_the_paper_but_for_depth_two() {
        let device = StandIn::gb10_like();
        let alpha = device.alpha(1, 0);
        let time = |depth: u32| {
            let r = LoadPath::Tma.copies(depth).unwrap();
            let steady = SteadyPipeline::new(r, alpha as f64, (device.hit + alpha) as f64, (device.miss + alpha) as f64).unwrap();
            (steady.time_per_block_missing() / 1e3, steady.recovery_per_block() / 1e3)
        };
        assert_eq!(time(2).0, 924.0);
        assert_eq!(time(3), (462.0, 38.0));
        assert_eq!(time(4), (424.0, 0.0));
    }

    #[test]
    fn the_service_grows_with_occupancy_compute_and_tail() {
        let device = StandIn::gb10_like();
        assert_eq!(device.alpha(1, 0), 424_000);
        assert_eq!(device.alpha(2, 5), 2 * (424_000 + 5 * 200_000 + 30_000));
        assert_eq!(device.alpha(1, 7), 424_000 + 7 * 200_000 + 80_000);
    }

    #[test]
    fn the_skew_is_fixed_per_group() {
        let device = StandIn::gb10_like();
        let skews: Vec<u64> = (0..10).map(|sm| device.skew_of(sm)).collect();
        assert_eq!(skews, [0, 510, 2040, 4591, 8163, 12_755, 18_367, 25_000, 0, 510]);
        assert_eq!(StandIn { groups: 1, ..device }.skew_of(5), 0);
    }

    #[test]
    fn every_named_device_is_legal() {
        for name in StandIn::NAMES {
            let device = StandIn::by_name(name).unwrap();
            assert_eq!(device.name, name);
            device.check().unwrap();
        }
        assert_eq!(StandIn::by_name("gb10").unwrap_err().field(), "device");
        assert_eq!("tms".parse::<LoadPath>().unwrap_err().field(), "path");
        assert_eq!(LoadPath::Sync.copies(2).unwrap_err().field(), "d");
        assert_eq!(LoadPath::Tma.copies(1).unwrap_err().field(), "d");
    }

    #[test]
    fn illegal_constants_are_refused() {
        let field = |change: &dyn Fn(&mut StandIn)| {
            let mut device = StandIn::gb10_like();
            change(&mut device);
            device.check().unwrap_err().field().to_string()
        };
        assert_eq!(field(&|d| d.service = 0), "service");
        assert_eq!(field(&|d| d.miss = 1), "miss");
        assert_eq!(field(&|d| d.jitter = d.service), "jitter");
        assert_eq!(field(&|d| d.jitter_blocks = 0), "jitter_blocks");
        assert_eq!(field(&|d| d.groups = 0), "groups");
        assert_eq!(field(&|d| d.skew = u64::MAX), "skew");
        assert_eq!(field(&|d| d.multiprocessors = 0), "multiprocessors");
        assert_eq!(field(&|d| d.block_bytes = 0), "block_bytes");
        assert_eq!(field(&|d| d.capacity_blocks = 0), "capacity_blocks");
        assert_eq!(field(&|d| d.compute = u64::MAX), "compute");
        assert_eq!(field(&|d| d.dram = u64::MAX), "dram");
    }
}
