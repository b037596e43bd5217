//! `lead` and `pipeline`: when workers may drift, and when hits pull them back.

use std::path::PathBuf;

use clap::Args;
use l1forge_sim::pascal::simulate::Lru;
use l1forge_sim::pascal::{
    InputError, LeadTracker, ProgressHistory, Scan, SteadyPipeline, capacity_for_lead, check_capacity, copies_in_flight, lead_for_capacity,
    sharpness_witness,
};
use serde_json::{Value, json};

use super::input::{line, read};
use super::{Outcome, Report};

/// Arguments of `lead`.
#[derive(Debug, Args)]
pub struct LeadArgs {
    /// The lead this capacity tolerates
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    capacity: Option<u64>,
    /// The capacity this lead needs
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true, conflicts_with = "order")]
    lead: Option<u64>,
    /// Distinct blocks of other traffic in every reuse interval
    #[arg(long, value_name = "X", default_value_t = 0, allow_negative_numbers = true)]
    other_blocks: u64,
    /// An interleaving that loses sharing one block below the threshold, for the lead given
    #[arg(long, requires = "lead")]
    witness: bool,
    /// Measure an interleaving: a file of worker numbers, one per request, separated by blanks or lines
    #[arg(long, value_name = "FILE", requires = "blocks")]
    order: Option<PathBuf>,
    /// Blocks N of the ring of the interleaving; all workers start at block 0
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    blocks: Option<u64>,
    /// Workers of the interleaving; without it, one more than the largest number in the file
    #[arg(long, value_name = "M", allow_negative_numbers = true, requires = "order")]
    workers: Option<usize>,
}

impl LeadArgs {
    pub(super) fn report(&self) -> Result<Report, InputError> {
        if self.capacity.is_none() && self.lead.is_none() && self.order.is_none() {
            return Err(InputError::new("capacity", "give --capacity, --lead or --order"));
        }
        let mut document = serde_json::Map::new();
        document.insert("other_blocks".to_string(), json!(self.other_blocks));
        let mut text = String::new();
        let mut outcome = Outcome::Success;
        if let Some(capacity) = self.capacity {
            let capacity = check_capacity(capacity)?;
            let lead = lead_for_capacity(capacity, self.other_blocks);
            document.insert("capacity".to_string(), json!(capacity));
            document.insert("tolerated_lead".to_string(), json!(lead));
            line(&mut text, &format!("C = {capacity} tolerates"), format!("a lead of {lead} requests"));
        }
        if let Some(lead) = self.lead {
            let needed = capacity_for_lead(lead, self.other_blocks);
            document.insert("lead".to_string(), json!(lead));
            document.insert("needed_capacity".to_string(), json!(needed));
            line(&mut text, &format!("a lead of {lead} needs"), format!("{needed} blocks"));
            if self.witness {
                let witness = self.witness(lead, &mut text, &mut outcome)?;
                document.insert("witness".to_string(), witness);
            }
        }
        if let Some(path) = &self.order {
            let measured = self.measure(path, &mut text, &mut outcome)?;
            document.insert("order".to_string(), measured);
        }
        Ok(Report { outcome, ..Report::new(Value::Object(document), text) })
    }

    fn witness(&self, lead: u64, text: &mut String, outcome: &mut Outcome) -> Result<Value, InputError> {
        if lead > 1 << 20 {
            return Err(InputError::new("lead", format!("{lead} makes no witness, legal values are 2 to {}", 1 << 20)));
        }
        let order = sharpness_witness(lead as usize)?;
        // Just room for the theorem: N >= 2 lead.
        let blocks = 2 * lead + 1;
        let last_hits = |capacity: u64| -> Result<bool, InputError> {
            let mut cache = Lru::new(blocks, capacity)?;
            let mut tracker = LeadTracker::new(2)?;
            Ok(order.iter().fold(false, |_, &worker| cache.access((tracker.request(worker) % blocks) as u32)))
        };
        let (below, at) = (last_hits(2 * lead - 2)?, last_hits(2 * lead - 1)?);
        if below || !at {
            *outcome = Outcome::CheckFailed;
        }
        let word = |hit| if hit { "hits" } else { "misses" };
        let found = format!("the last request {} with {} blocks, {} with {}", word(below), 2 * lead - 2, word(at), 2 * lead - 1);
        line(text, "witness of two workers", found);
        Ok(json!({"order": order, "blocks": blocks, "hits_below_threshold": below, "hits_at_threshold": at}))
    }

    fn measure(&self, path: &std::path::Path, text: &mut String, outcome: &mut Outcome) -> Result<Value, InputError> {
        let name = path.display().to_string();
        let (order, workers) = self.read_order(path).map_err(|e| e.in_file(&name))?;
        let blocks = self.blocks.unwrap_or(0);
        let scan = Scan::new(blocks, vec![0; workers])?;
        let mut history = ProgressHistory::new(&scan);
        let mut tracker = LeadTracker::new(workers)?;
        let mut farthest = 0;
        let mut requests = Vec::with_capacity(order.len());
        for &worker in &order {
            let first = tracker.progress().iter().max() <= tracker.progress().get(worker);
            let position = tracker.request(worker);
            let (block, distance) = history.request(worker);
            requests.push(block as u32);
            // A follower reuses what a leader fetched; a first request on a later lap is no follower's.
            if let (false, Some(distance)) = (first, distance) {
                farthest = farthest.max(distance);
            }
            debug_assert_eq!(position % blocks, block);
        }
        let lead = tracker.lead();
        let progress = tracker.progress().iter().max().copied().unwrap_or(0);
        let needed = capacity_for_lead(lead, self.other_blocks);
        let mut found = json!({
            "requests": order.len(),
            "workers": workers,
            "blocks": blocks,
            "lead": lead,
            "needed_capacity": needed,
            "farthest_follower_reuse": farthest,
            "positions": progress,
        });
        line(text, "requests, workers", format!("{}, {workers}", order.len()));
        line(text, "lead", format!("{lead} requests, safe from {needed} blocks"));
        line(text, "this interleaving", format!("needs {} blocks to keep all sharing", farthest + 1));
        if let Some(capacity) = self.capacity {
            let mut cache = Lru::new(blocks, capacity)?;
            let fills = requests.iter().filter(|&&block| !cache.access(block)).count() as u64;
            found["fills"] = json!(fills);
            line(text, "LRU fills", format!("{fills} for {progress} positions"));
            // Theorem 5, where it speaks.
            if capacity >= needed && capacity < blocks && fills != progress {
                *outcome = Outcome::CheckFailed;
            }
        }
        Ok(found)
    }

    fn read_order(&self, path: &std::path::Path) -> Result<(Vec<usize>, usize), InputError> {
        let content = read(path, "order")?;
        let mut order: Vec<usize> = Vec::new();
        let limit = self.workers.unwrap_or(l1forge_sim::pascal::MAX_WORKERS);
        for (row, text) in (1..).zip(content.lines()) {
            let text = text.split('#').next().unwrap_or_default();
            for word in text.split([',', ' ', '\t']).filter(|word| !word.is_empty()) {
                let worker: usize = word.parse().ok().filter(|worker| *worker < limit).ok_or_else(|| {
                    let message = format!("'{word}' is not a worker, legal values are 0 to {}", limit.saturating_sub(1));
                    InputError::new("order", message).at_row(row)
                })?;
                order.push(worker);
            }
        }
        let largest = order.iter().max().ok_or_else(|| InputError::new("order", "no requests"))?;
        Ok((order.clone(), self.workers.unwrap_or(largest + 1)))
    }
}

/// Arguments of `pipeline`.
#[derive(Debug, Args)]
pub struct PipelineArgs {
    /// Prefetch depth d: 2 or more, or 0 for the synchronous path
    #[arg(long, short, value_name = "D", allow_negative_numbers = true)]
    depth: u32,
    /// Serial service of a block, alpha, in any unit of time
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    alpha: f64,
    /// Latency of a copy that hits plus the service, beta on a hit
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    beta_hit: f64,
    /// Latency of a copy that misses plus the service, beta on a miss
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    beta_miss: f64,
}

impl PipelineArgs {
    pub(super) fn report(&self) -> Result<Report, InputError> {
        let r = copies_in_flight(self.depth)?;
        let steady = SteadyPipeline::new(r, self.alpha, self.beta_hit, self.beta_miss)?;
        let hidden = self.beta_miss <= steady.cover();
        let document = json!({
            "copies_in_flight": r,
            "theta": steady.cover(),
            "time_per_block_miss": steady.time_per_block_missing(),
            "time_per_block_hit": steady.time_per_block_hitting(),
            "recovery_per_block": steady.recovery_per_block(),
            "hidden": hidden,
        });
        let mut text = String::new();
        line(&mut text, "copies in flight r", r);
        line(&mut text, "Theta = r alpha", steady.cover());
        line(&mut text, "time per block, missing", steady.time_per_block_missing());
        line(&mut text, "time per block, hitting", steady.time_per_block_hitting());
        line(&mut text, "recovery per block G_d", steady.recovery_per_block());
        let verdict = if hidden { "yes: hits repair no gap" } else { "no: hits win back time" };
        line(&mut text, "miss latency hidden", verdict);
        Ok(Report::new(document, text))
    }
}
