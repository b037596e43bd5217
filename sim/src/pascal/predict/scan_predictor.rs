//! One prediction: Algorithm 1 of the paper (PASCAL section 4; specification section 6.8).

use super::anchor::{Points, anchored};
use super::calibration::{FamilyData, ScanCalibration, SizeData};
use super::certificate::{Assumptions, Certificate, SizeBound};
use super::class::execution_class;
use super::encoding::{decode, encode};
use super::metrics::Accuracy;
use super::options::EtaInterpolation;
use super::table::Table;
use crate::pascal::error::{InputError, positive};
use crate::pascal::scan::check_blocks;

/// The target of a prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The device; if given, it must be the calibrated one.
    pub device: Option<String>,
    /// The kernel binary; if given, it must be the calibrated one.
    pub binary: Option<String>,
    /// Resident thread blocks per streaming multiprocessor.
    pub o: u32,
    /// Load path.
    pub path: String,
    /// Prefetch depth.
    pub d: u32,
    /// Compute per block.
    pub m: u32,
    /// Scan length N in blocks.
    pub blocks: u64,
    /// Number of scans W, above 0; it need not be whole.
    pub scans: f64,
    /// Assumptions of the error bound.
    pub assumptions: Assumptions,
}

/// Which coordinates of a target were outside the calibrated range and held at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clamped {
    /// The number of scans.
    pub scans: bool,
    /// The compute per block.
    pub compute: bool,
    /// The scan length.
    pub blocks: bool,
}

/// The transfer at one calibrated scan size.
#[derive(Debug, Clone, PartialEq)]
pub struct SizePrediction {
    /// The calibrated scan length.
    pub blocks: u64,
    /// Its weight in the result; the weights sum to 1.
    pub weight: f64,
    /// The two references that bracket the target's compute; equal at a reference or outside the range.
    pub bracket: (u32, u32),
    /// Linear interpolation of the encoded value.
    pub linear: f64,
    /// The prior.
    pub prior: f64,
    /// The anchored value between the two.
    pub encoded: f64,
}

/// A predicted traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Workers M.
    pub workers: u64,
    /// Fills per round.
    pub k: f64,
    /// Fill-equivalent miss rate, fills per request.
    pub rho: f64,
    /// Fill bytes over the whole run.
    pub traffic_bytes: f64,
    /// Rounds of the run, N W.
    pub rounds: f64,
    /// The execution class of the target.
    pub class: u8,
    /// The encoded value that was decoded, for [`EtaInterpolation::Decoded`] the encoding of the result.
    pub encoded: f64,
    /// The one or two scan sizes used.
    pub sizes: Vec<SizePrediction>,
    /// What was outside the calibrated range.
    pub clamped: Clamped,
    /// The error bound; `None` outside the calibrated range, where the theory says nothing, and where no curvature is known.
    pub certificate: Option<Certificate>,
}

impl ScanCalibration {
    /// Predicts the traffic of a target.
    ///
    /// # Errors
    /// The target is outside the contract: another device or binary, an unknown family, an execution class without a reference at a needed
    /// scan size, or a scan length or number of scans that is illegal.
    pub fn predict(&self, query: &Query) -> Result<Prediction, InputError> {
        self.device.accepts(query.device.as_deref(), query.binary.as_deref())?;
        check_blocks(query.blocks)?;
        positive("scans", query.scans)?;
        let assumptions = query.assumptions.checked()?;
        let family = self.family(query)?;
        let workers = self.device.workers_per_occupancy * u64::from(query.o);
        let class = execution_class(query.m);
        let epsilon = self.options.epsilon;

        let mut clamped = Clamped::default();
        let mut sizes = Vec::with_capacity(2);
        let mut bounds = Vec::with_capacity(2);
        let (adjacent, outside) = self.adjacent(family, query.blocks);
        clamped.blocks = outside;
        for (size, weight) in adjacent {
            let transfer = self.transfer(family, size, class, query)?;
            clamped.compute |= transfer.compute_clamped;
            clamped.scans |= transfer.scans_clamped;
            bounds.push(transfer.bound);
            sizes.push(SizePrediction { weight, ..transfer.size });
        }

        let average = |value: &dyn Fn(&SizePrediction) -> f64| sizes.iter().map(|size| size.weight * value(size)).sum::<f64>();
        let (encoded, k) = match self.options.eta {
            EtaInterpolation::Encoded => {
                let encoded = average(&|size| size.encoded);
                (encoded, decode(encoded, workers, 1.0, epsilon))
            }
            EtaInterpolation::Decoded => {
                let k = average(&|size| decode(size.encoded, workers, 1.0, epsilon));
                (encode(k.ln(), epsilon), k)
            }
        };
        let inside = clamped == Clamped::default();
        let certificate = if inside { Certificate::new(&bounds, encoded, assumptions, &self.options) } else { None };
        let rounds = query.blocks as f64 * query.scans;
        Ok(Prediction {
            workers,
            k,
            rho: k / workers as f64,
            traffic_bytes: k * self.device.block_bytes as f64 * rounds,
            rounds,
            class,
            encoded,
            sizes,
            clamped,
            certificate,
        })
    }

    /// How well the calibration predicts its own references: each one is left out in turn, at every scan length, and predicted at its
    /// horizons from the others. References at the ends of their class are not left out, nothing brackets them.
    ///
    /// # Errors
    /// None in practice: the remaining references make a legal calibration.
    pub fn leave_one_out(&self) -> Result<Accuracy, InputError> {
        let mut accuracy = Accuracy::default();
        for data in &self.families {
            for left_out in data.interior_compute() {
                let others = data.references().filter(|reference| reference.m != left_out).cloned().collect();
                let rest = Self::new(self.device.clone(), self.options, vec![(data.family.clone(), others)])?;
                for reference in data.references().filter(|reference| reference.m == left_out) {
                    for (&scans, &log_wk) in reference.horizons.iter().zip(&reference.log_wk) {
                        let query = Query {
                            device: None,
                            binary: None,
                            o: data.family.o,
                            path: data.family.path.clone(),
                            d: data.family.d,
                            m: left_out,
                            blocks: reference.n,
                            scans,
                            assumptions: Assumptions::default(),
                        };
                        accuracy.add(rest.predict(&query)?.k, log_wk.exp() / scans);
                    }
                }
            }
        }
        Ok(accuracy)
    }

    fn family(&self, query: &Query) -> Result<&FamilyData, InputError> {
        let wanted = (query.o, query.path.as_str(), query.d);
        let found = self.families.iter().find(|data| (data.family.o, data.family.path.as_str(), data.family.d) == wanted);
        found.ok_or_else(|| {
            let known: Vec<String> = self.families.iter().map(|data| data.family.to_string()).collect();
            let message =
                format!("o={} path={} d={} is not calibrated, the families are: {}", query.o, query.path, query.d, known.join("; "));
            InputError::new("family", message)
        })
    }

    /// The calibrated sizes next to a scan length and their weights, linear in C / N; and whether the length is outside all of them.
    fn adjacent<'a>(&self, family: &'a FamilyData, blocks: u64) -> (Vec<(&'a SizeData, f64)>, bool) {
        let sizes = &family.sizes;
        let after = sizes.partition_point(|size| size.n < blocks);
        match (after.checked_sub(1).map(|i| &sizes[i]), sizes.get(after)) {
            (_, Some(size)) if size.n == blocks => (vec![(size, 1.0)], false),
            (Some(below), Some(above)) => {
                let eta = |n: u64| self.device.capacity_blocks as f64 / n as f64;
                let weight = (eta(blocks) - eta(above.n)) / (eta(below.n) - eta(above.n));
                (vec![(below, weight), (above, 1.0 - weight)], false)
            }
            (Some(only), None) | (None, Some(only)) => (vec![(only, 1.0)], true),
            (None, None) => unreachable!("a family has at least one size"),
        }
    }

    fn transfer(&self, family: &FamilyData, size: &SizeData, class: u8, query: &Query) -> Result<Transfer, InputError> {
        let epsilon = self.options.epsilon;
        let in_class: Vec<_> = size.references.iter().filter(|reference| reference.class == class).collect();
        if in_class.is_empty() {
            let there: Vec<String> = size.references.iter().map(|r| format!("{} (class {})", r.frozen.m, r.class)).collect();
            let message = format!(
                "execution class {class} of m={} has no reference in family {} at N={}; references there: {}",
                query.m,
                family.family,
                size.n,
                there.join(", ")
            );
            return Err(InputError::new("m", message));
        }
        let encoded = |reference: &&super::calibration::Prepared| {
            (f64::from(reference.frozen.m), encode(reference.curve.log_k(query.scans), epsilon))
        };
        let points: Vec<(f64, f64)> = in_class.iter().map(encoded).collect();
        let everything: Vec<(f64, f64)>;
        let family_points = if self.options.anchor == super::options::Anchor::FamilyLinear {
            everything = size.references.iter().map(|reference| encoded(&reference)).collect();
            Points::new(&everything)
        } else {
            Points::new(&points)
        };
        let points = Points::new(&points);
        let at = f64::from(query.m);
        let linear = points.linear_with_bracket(at);
        let prior = points.prior(at, family_points, &self.options);
        let (low, high) = linear.bracket;
        let width = points.coordinate(high) - points.coordinate(low);

        // A relative error of the traffic becomes an error of the encoded value through the slope of the encoding.
        let scattered = |index: usize| {
            let reference = in_class[index];
            let ratio = reference.curve.log_k(query.scans).exp();
            let slope = if ratio > 1.0 { ratio / (ratio - 1.0 + epsilon) } else { 1.0 / epsilon };
            slope * scatter_at(&reference.frozen.horizons, &reference.frozen.scatter, query.scans)
        };
        Ok(Transfer {
            compute_clamped: linear.clamped,
            scans_clamped: in_class[low].curve.clamps(query.scans) || in_class[high].curve.clamps(query.scans),
            bound: SizeBound {
                width,
                prior_offset: (prior - linear.value).abs(),
                curvature: points.curvature(),
                reference_error: scattered(low).max(scattered(high)),
            },
            size: SizePrediction {
                blocks: size.n,
                weight: 1.0,
                bracket: (in_class[low].frozen.m, in_class[high].frozen.m),
                linear: linear.value,
                prior,
                encoded: anchored(prior, linear.value, self.options.lambda),
            },
        })
    }
}

impl Table {
    /// The targets of a table with columns `o,path,d,m,n,w`, each with its row; everything else as in `template`.
    ///
    /// # Errors
    /// A column or a cell is missing or not a number.
    pub fn targets(&self, template: &Query) -> Result<Vec<(u64, Query)>, InputError> {
        let target = |row: &super::table::Row| {
            let query = Query {
                o: row.small("o")?,
                path: row.text("path")?.to_string(),
                d: row.small("d")?,
                m: row.small("m")?,
                blocks: row.whole("n")?,
                scans: row.positive("w")?,
                ..template.clone()
            };
            Ok((row.number(), query))
        };
        self.rows(&["o", "path", "d", "m", "n", "w"], &[])?.iter().map(target).collect()
    }
}

struct Transfer {
    size: SizePrediction,
    bound: SizeBound,
    compute_clamped: bool,
    scans_clamped: bool,
}

/// The scatter of the repeats at the horizons around `horizon`.
fn scatter_at(horizons: &[f64], scatter: &[f64], horizon: f64) -> f64 {
    let horizon = horizon.clamp(horizons[0], horizons[horizons.len() - 1]);
    let above = horizons.partition_point(|&w| w < horizon);
    let below = if horizons[above] == horizon { above } else { above - 1 };
    scatter[below].max(scatter[above])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scatter_is_that_of_the_horizons_around() {
        let at = |w| scatter_at(&[1.0, 4.0, 16.0], &[0.1, 0.3, 0.2], w);
        assert_eq!([0.5, 1.0, 2.0, 4.0, 5.0, 16.0, 99.0].map(at), [0.1, 0.1, 0.3, 0.3, 0.3, 0.2, 0.2]);
    }
}
