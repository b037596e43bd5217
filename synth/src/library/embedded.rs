//! The embedded library: Liberty text made from a table of facts about ASAP7 cells.

use anyhow::{Context as _, bail};
use std::fmt::Write as _;

/// The table of facts.
pub const TABLE: &str = include_str!("../../lib/asap7_rvt.csv");

/// The Liberty text that [`liberty`] makes of [`TABLE`], as committed.
pub const LIBERTY: &str = include_str!("../../lib/l1forge_asap7.lib");

/// Suffix of the cell names of the table.
pub const SUFFIX: &str = "_ASAP7_75t_R";

struct Row<'a>(Vec<&'a str>);

impl Row<'_> {
    fn list(&self, column: usize) -> Vec<&str> {
        self.0[column].split(' ').filter(|s| !s.is_empty()).collect()
    }
}

/// Liberty text of a table of facts.
///
/// # Errors
/// A line does not have the columns of the header.
pub fn liberty(table: &str) -> anyhow::Result<String> {
    let mut lines = table.lines().filter(|l| !l.starts_with('#'));
    let columns = lines.next().context("an empty table")?.split(',').count();
    let mut out = String::from(HEADER);
    for line in lines {
        let row = Row(line.split(',').collect());
        if row.0.len() != columns {
            bail!("`{line}`: {} columns instead of {columns}", row.0.len());
        }
        cell(&mut out, &row)?;
    }
    out.push_str("}\n");
    Ok(out)
}

const HEADER: &str = "/* Made by `cargo run -p l1forge-synth --example make_library` from synth/lib/asap7_rvt.csv; do not edit.
   Facts about ASAP7 cells (RVT, TT, 0.7 V, 25 C). ASAP7: copyright 2020 Lawrence T. Clark, Vinay Vashishtha, or Arizona State
   University; BSD-3-Clause. Delays are the worst arc of a cell. */
library (l1forge_asap7) {
  delay_model : table_lookup;
  time_unit : \"1ps\";
  capacitive_load_unit (1, ff);
  voltage_unit : \"1V\";
  current_unit : \"1mA\";
  pulling_resistance_unit : \"1kohm\";
  leakage_power_unit : \"1pW\";
  nom_process : 1;
  nom_temperature : 25;
  nom_voltage : 0.7;
  default_max_transition : 320;
  input_threshold_pct_rise : 50;
  input_threshold_pct_fall : 50;
  output_threshold_pct_rise : 50;
  output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 10;
  slew_lower_threshold_pct_fall : 10;
  slew_upper_threshold_pct_rise : 90;
  slew_upper_threshold_pct_fall : 90;
  lu_table_template (delay_3x3) {
    variable_1 : input_net_transition;
    variable_2 : total_output_net_capacitance;
    index_1 (\"10, 40, 160\");
    index_2 (\"0.72, 5.76, 46.08\");
  }
";

const TABLES: [(&str, usize); 4] = [("cell_rise", 12), ("cell_fall", 13), ("rise_transition", 14), ("fall_transition", 15)];

fn cell(out: &mut String, row: &Row) -> anyhow::Result<()> {
    let (name, area, leakage, output, function) = (row.0[0], row.0[1], row.0[2], row.0[4], row.0[5]);
    let sequential = row.list(6);
    let _ = writeln!(out, "  cell ({name}{SUFFIX}) {{\n    area : {area};\n    cell_leakage_power : {leakage};");
    let term = |key: &str| sequential.iter().find_map(|s| s.strip_prefix(&format!("{key}=")));
    if !sequential.is_empty() {
        out.push_str("    ff (IQN, IQNN) {\n");
        for key in ["clocked_on", "next_state", "clear", "preset"] {
            if let Some(value) = term(key) {
                let _ = writeln!(out, "      {key} : \"{value}\";");
            }
        }
        if term("clear").is_some() && term("preset").is_some() {
            out.push_str("      clear_preset_var1 : L;\n      clear_preset_var2 : L;\n");
        }
        out.push_str("    }\n");
    }
    let clock = term("clocked_on").unwrap_or("");
    let mut pins = Vec::new();
    for input in row.list(3) {
        let (pin, capacitance) = input.split_once(':').with_context(|| format!("{name}: input `{input}` without capacitance"))?;
        pins.push(pin);
        let _ = writeln!(out, "    pin ({pin}) {{\n      direction : input;\n      capacitance : {capacitance};");
        if pin == clock {
            out.push_str("      clock : true;\n");
        } else if pin == "D" && !clock.is_empty() {
            for (kind, column) in [("setup_rising", 7), ("hold_rising", 8)] {
                let _ = writeln!(out, "      timing () {{\n        related_pin : \"{clock}\";\n        timing_type : {kind};");
                for edge in ["rise_constraint", "fall_constraint"] {
                    let _ = writeln!(out, "        {edge} (scalar) {{ values (\"{}\"); }}", row.0[column]);
                }
                out.push_str("      }\n");
            }
        }
        out.push_str("    }\n");
    }
    let _ = writeln!(out, "    pin ({output}) {{\n      direction : output;\n      function : \"{function}\";");
    if !row.0[9].is_empty() {
        let _ = writeln!(out, "      max_capacitance : {};", row.0[9]);
    }
    let related: Vec<&str> = if clock.is_empty() { pins } else { vec![clock] };
    for pin in related {
        let _ = writeln!(out, "      timing () {{\n        related_pin : \"{pin}\";");
        if clock.is_empty() {
            let _ = writeln!(out, "        timing_sense : {};", sense(function, pin));
        } else {
            out.push_str("        timing_type : rising_edge;\n        timing_sense : non_unate;\n");
        }
        for (table, column) in TABLES {
            let _ = writeln!(out, "        {table} (delay_3x3) {{");
            let _ = writeln!(out, "          index_1 (\"{}\");", row.list(10).join(", "));
            let _ = writeln!(out, "          index_2 (\"{}\");", row.list(11).join(", "));
            let values: Vec<String> = row.list(column).chunks(3).map(|c| format!("\"{}\"", c.join(", "))).collect();
            let _ = writeln!(out, "          values ({});\n        }}", values.join(", "));
        }
        out.push_str("      }\n");
    }
    out.push_str("    }\n  }\n");
    Ok(())
}

/// How an output follows an input: by the signs with which it stands in a sum of products.
fn sense(function: &str, pin: &str) -> &'static str {
    let bytes = function.as_bytes();
    let (mut positive, mut negative) = (false, false);
    for (at, _) in function.match_indices(pin) {
        let name = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        if name(bytes.get(at + pin.len())) || (at > 0 && name(bytes.get(at - 1))) {
            continue;
        }
        if at > 0 && bytes[at - 1] == b'!' { negative = true } else { positive = true }
    }
    match (positive, negative) {
        (true, false) => "positive_unate",
        (false, true) => "negative_unate",
        _ => "non_unate",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_library_is_the_one_of_the_table() {
        assert!(liberty(TABLE).unwrap() == LIBERTY, "run: cargo run -p l1forge-synth --example make_library");
    }

    #[test]
    fn signs() {
        assert_eq!(sense("(A1*!B)+(A2*!B)", "A1"), "positive_unate");
        assert_eq!(sense("(A1*!B)+(A2*!B)", "B"), "negative_unate");
        assert_eq!(sense("(A*!B)+(!A*B)", "A"), "non_unate");
    }

    #[test]
    fn a_short_row_is_an_error() {
        assert!(liberty("cell,area\nX,1,2\n").is_err());
    }
}
