//! A Liberty model of the memory macros of a design.

use crate::memory::Memory;
use std::fmt::Write as _;

/// Setup time of the inputs in ps: that of a large flip-flop of the library.
const SETUP_PS: f64 = 15.0;

/// Liberty text with one cell per shape. Data are there after the access time at 22 nm, not scaled, so on the slow side.
pub fn liberty(memories: &[Memory]) -> String {
    let mut s = String::from(
        "library (l1forge_macros) {
  delay_model : table_lookup;
  time_unit : \"1ps\";
  capacitive_load_unit (1, ff);
  voltage_unit : \"1V\";
  current_unit : \"1mA\";
  nom_process : 1;
  nom_temperature : 25;
  nom_voltage : 0.7;
  input_threshold_pct_rise : 50;
  input_threshold_pct_fall : 50;
  output_threshold_pct_rise : 50;
  output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 10;
  slew_lower_threshold_pct_fall : 10;
  slew_upper_threshold_pct_rise : 90;
  slew_upper_threshold_pct_fall : 90;
",
    );
    let mut widths: Vec<u64> = memories.iter().flat_map(|m| [m.bits, address(m.rows)]).collect();
    widths.sort_unstable();
    widths.dedup();
    for w in widths {
        let _ = writeln!(
            s,
            "  type (bus{w}) {{ base_type : array; data_type : bit; bit_width : {w}; bit_from : {}; bit_to : 0; downto : true; }}",
            w - 1
        );
    }
    for m in memories {
        let access = m.estimates.iter().find(|e| e.node_nm == 22 && e.ports == m.ports).map_or(0.0, |e| e.figures.access_ns * 1e3);
        let _ = writeln!(s, "  cell ({}_{}x{}) {{\n    area : {:.3};", m.name, m.rows, m.bits, m.area_um2 / m.instances.max(1) as f64);
        s += "    pin (clk_i) { direction : input; clock : true; capacitance : 1.0; }\n";
        let setup: String = ["setup_rising", "hold_rising"]
            .iter()
            .map(|kind| {
                let value = if *kind == "setup_rising" { SETUP_PS } else { 0.0 };
                format!(
                    " timing () {{ related_pin : \"clk_i\"; timing_type : {kind}; rise_constraint (scalar) {{ values (\"{value}\"); }} fall_constraint (scalar) {{ values (\"{value}\"); }} }}"
                )
            })
            .collect();
        for pin in ["re_i", "we_i"] {
            let _ = writeln!(s, "    pin ({pin}) {{ direction : input; capacitance : 1.0;{setup} }}");
        }
        for (bus, width) in [("raddr_i", address(m.rows)), ("waddr_i", address(m.rows)), ("wdata_i", m.bits), ("wmask_i", m.bits)] {
            let _ = writeln!(s, "    bus ({bus}) {{ bus_type : bus{width}; direction : input; capacitance : 1.0;{setup} }}");
        }
        let tables: String = [("cell_rise", access), ("cell_fall", access), ("rise_transition", 20.0), ("fall_transition", 20.0)]
            .iter()
            .map(|(t, v)| format!(" {t} (scalar) {{ values (\"{v:.1}\"); }}"))
            .collect();
        let _ = writeln!(
            s,
            "    bus (rdata_o) {{ bus_type : bus{}; direction : output; max_capacitance : 46; timing () {{ related_pin : \"clk_i\"; timing_type : rising_edge;{tables} }} }}\n  }}",
            m.bits
        );
    }
    s + "}\n"
}

/// Bits of an address.
fn address(rows: u64) -> u64 {
    u64::from(64 - rows.saturating_sub(1).leading_zeros()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::liberty::statements;

    #[test]
    fn is_liberty_with_the_widths_of_the_shape() {
        let memory = crate::memory::report(None, "sram_1r1w", 80, 64, 4).unwrap();
        let text = liberty(&[memory]);
        let top = statements(&text, 0..text.len()).unwrap();
        let inside = statements(&text, top[0].body.clone().unwrap()).unwrap();
        assert!(inside.iter().any(|s| s.name == "cell" && s.value == "sram_1r1w_80x64"));
        assert!(text.contains("type (bus7)") && text.contains("bus (rdata_o) { bus_type : bus64;"), "{text}");
    }
}
