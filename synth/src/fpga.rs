//! LUTs and flip-flops of units for Xilinx UltraScale+.

use crate::flow::unit::Unit;
use crate::flow::{Design, Flow, Target};
use serde::Serialize;
use std::collections::BTreeMap;

/// Figures of one module (all instances), or of the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Module; empty for the whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Instances.
    pub instances: u64,
    /// LUT1 to LUT6, inverters that a LUT would hold included.
    pub luts: u64,
    /// Flip-flops.
    pub flip_flops: u64,
    /// Carry chains of eight bits.
    pub carries: u64,
    /// Wide multiplexers (MUXF7, F8, F9).
    pub wide_muxes: u64,
    /// LUTs of one instance, the largest when variants differ.
    pub luts_each: u64,
}

/// The whole and every module, largest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Fpga {
    /// LUTs of the whole.
    pub luts: u64,
    /// Flip-flops of the whole.
    pub flip_flops: u64,
    /// Every module, its own cells.
    pub blocks: Vec<Count>,
}

/// Counts a design that was mapped for the FPGA.
pub fn count(design: &Design) -> Fpga {
    let mut blocks: BTreeMap<&str, Count> = BTreeMap::new();
    let mut fpga = Fpga::default();
    for (unit, mapped) in design.units.iter().zip(&design.mapped) {
        let block = blocks.entry(&unit.module).or_insert_with(|| Count { name: unit.module.clone(), ..Count::default() });
        block.instances += unit.instances;
        let mut each = 0;
        for (kind, n) in &mapped.cells {
            let all = n * unit.instances;
            if (kind.starts_with("LUT") && kind.len() == 4) || kind == "INV" {
                block.luts += all;
                each += n;
            } else if ["FDRE", "FDSE", "FDCE", "FDPE"].contains(&kind.trim_end_matches("_1")) {
                block.flip_flops += all;
            } else if kind.starts_with("CARRY") {
                block.carries += all;
            } else if kind.starts_with("MUXF") {
                block.wide_muxes += all;
            }
        }
        block.luts_each = block.luts_each.max(each);
    }
    fpga.blocks = blocks.into_values().collect();
    fpga.luts = fpga.blocks.iter().map(|b| b.luts).sum();
    fpga.flip_flops = fpga.blocks.iter().map(|b| b.flip_flops).sum();
    fpga.blocks.sort_by(|a, b| b.luts.cmp(&a.luts).then_with(|| a.name.cmp(&b.name)));
    fpga
}

/// LUTs of one instance of `module` among `units`, the largest of its variants, mapped by themselves; own cells, without sub-modules. `None`
/// when there is no such module.
///
/// # Errors
/// Yosys fails.
pub fn luts_of(flow: &Flow, units: &[Unit], module: &str) -> anyhow::Result<Option<u64>> {
    let variants: Vec<Unit> = units.iter().filter(|u| u.module == module).cloned().collect();
    let fpga = count(&flow.map(variants, module, &Target::Fpga)?);
    Ok(fpga.blocks.first().map(|b| b.luts_each))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luts_and_flip_flops_of_all_instances() {
        let (mut design, _) = crate::report::tests::design();
        let i = design.units.iter().position(|u| u.name == "leaf").unwrap();
        design.mapped[i].cells = [("LUT6", 3), ("LUT2", 1), ("INV", 1), ("FDRE", 2), ("FDSE_1", 1), ("CARRY8", 1), ("MUXF7", 2)]
            .map(|(k, n)| (k.to_string(), n))
            .into();
        let fpga = count(&design);
        let leaf = fpga.blocks.iter().find(|b| b.name == "leaf").unwrap();
        assert_eq!((leaf.luts, leaf.flip_flops, leaf.carries, leaf.wide_muxes, leaf.luts_each), (20, 12, 4, 8, 5));
        assert_eq!(fpga.luts, 20);
    }
}
