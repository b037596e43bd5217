//! Reading the paths that OpenSTA reports.

use anyhow::Context as _;
use serde::Serialize;

/// Kinds of paths, in the order of the reports.
pub const KINDS: [&str; 4] = ["register to register", "input to register", "register to output", "input to output"];

/// The worst path of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Path {
    /// Kind.
    pub kind: &'static str,
    /// Where it starts.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// Cells on it.
    pub levels: usize,
    /// Delay in ps, setup included, budgets of the outside not.
    pub delay_ps: f64,
    /// Slack in ps.
    pub slack_ps: f64,
    /// Shortest clock period in ps, budgets scaled with it.
    pub achievable_clock_ps: f64,
}

/// Reads the worst path of each kind off a log.
pub fn paths(log: &str, clock: f64) -> anyhow::Result<Vec<Path>> {
    let mut list = Vec::new();
    for kind in KINDS {
        let start = format!("l1forge paths {kind}\n");
        let Some((_, rest)) = log.split_once(&start) else { continue };
        let text = rest.split("l1forge ").next().unwrap_or_default();
        if let Some(path) = path(kind, text, clock).with_context(|| format!("paths from {kind}"))? {
            list.push(path);
        }
    }
    Ok(list)
}

fn path(kind: &'static str, text: &str, clock: f64) -> anyhow::Result<Option<Path>> {
    // A number column and the words after it.
    let number = |label: &str| -> Option<f64> {
        let line = text.lines().find(|l| l.contains(label))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let name = |label: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(label));
        line.and_then(|l| l.split_whitespace().next()).unwrap_or_default().to_string()
    };
    let Some(slack) = text.lines().find(|l| l.trim_end().ends_with("slack (MET)") || l.trim_end().ends_with("slack (VIOLATED)")) else {
        return Ok(None); // no path, or none that is constrained
    };
    let slack_ps: f64 = slack.split_whitespace().next().unwrap_or_default().parse().with_context(|| format!("slack `{slack}`"))?;
    let outside = number("input external delay").unwrap_or(0.0).abs() + number("output external delay").unwrap_or(0.0).abs();
    let delay_ps = clock - slack_ps - outside;
    let budget = 1.0 - outside / clock;
    let arrival = text.split("data arrival time").next().unwrap_or_default();
    let through = |l: &&str| l.trim_end().ends_with(')') && l.contains('/') && !l.trim_start().starts_with("0.000");
    let cells = arrival.lines().filter(through).count();
    Ok(Some(Path {
        kind,
        from: name("Startpoint: "),
        to: name("Endpoint: "),
        levels: cells,
        delay_ps,
        slack_ps,
        achievable_clock_ps: if budget > 0.0 { delay_ps / budget } else { f64::INFINITY },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read() {
        let log = "l1forge paths register to register\nNo paths found.\nl1forge paths input to register
Startpoint: a_i (input port clocked by clk)
Endpoint: _5_ (rising edge-triggered flip-flop clocked by clk)
Path Group: clk
Path Type: max

   Delay     Time   Description
-----------------------------------------------------------
   0.000    0.000   clock clk (rise edge)
   0.000    0.000   clock network delay (ideal)
 200.000  200.000 ^ input external delay
   0.000  200.000 ^ a_i (in)
  15.000  215.000 v _3_/Y (INVx1_ASAP7_75t_R)
   0.000  215.000 v _5_/D (DFFHQNx1_ASAP7_75t_R)
          215.000   data arrival time

 600.000  600.000   clock clk (rise edge)
   0.000  600.000   clock network delay (ideal)
   0.000  600.000   clock reconvergence pessimism
          600.000 ^ _5_/CLK (DFFHQNx1_ASAP7_75t_R)
 -10.000  590.000   library setup time
          590.000   data required time
-----------------------------------------------------------
          590.000   data required time
         -215.000   data arrival time
-----------------------------------------------------------
          375.000   slack (MET)

l1forge done
";
        let list = paths(log, 600.0).unwrap();
        assert_eq!(list.len(), 1);
        let p = &list[0];
        assert_eq!((p.kind, p.from.as_str(), p.to.as_str()), ("input to register", "a_i", "_5_"));
        assert_eq!(p.levels, 1);
        assert!((p.delay_ps - 25.0).abs() < 1e-9 && (p.achievable_clock_ps - 37.5).abs() < 1e-9, "{p:?}");
    }
}
