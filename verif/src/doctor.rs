//! Which tools are there, in which versions, and how to get those that are not.

use std::fmt;

use crate::tools::{MissingTool, Tool, ToolInfo, Toolbox};

/// State of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolStatus {
    /// The tool.
    pub tool: Tool,
    /// Its name, package, minimal version and purpose.
    pub info: ToolInfo,
    /// The version line it prints, or why it is missing.
    pub found: Result<String, MissingTool>,
}

impl ToolStatus {
    /// Whether the version is older than the minimum; `false` for a missing tool and for a version that cannot be read.
    pub fn too_old(&self) -> bool {
        let Ok(line) = &self.found else { return false };
        match (version_in(line), version_in(self.info.minimum)) {
            (Some(found), Some(minimum)) => found < minimum,
            _ => false,
        }
    }

    /// Whether the tool can be used.
    pub fn usable(&self) -> bool {
        self.found.is_ok() && !self.too_old()
    }

    /// Whether this is a failure: a required tool that cannot be used.
    pub fn is_problem(&self) -> bool {
        self.info.required && !self.usable()
    }
}

impl fmt::Display for ToolStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ToolInfo { name, install, minimum, purpose, required, .. } = self.info;
        let need = if required { "required" } else { "optional" };
        match &self.found {
            Ok(version) if self.too_old() => {
                write!(f, "old      {name}: {version}; needs {minimum} ({need}: {purpose}); install: {install}")
            }
            Ok(version) => write!(f, "ok       {name}: {version}"),
            Err(error) => write!(f, "missing  {name}: {} ({need}: {purpose}); install: {install}", error.looked),
        }
    }
}

/// The state of all tools.
pub fn examine(tools: &Toolbox) -> Vec<ToolStatus> {
    Tool::ALL.iter().map(|&tool| ToolStatus { tool, info: tool.info(), found: tools.version(tool) }).collect()
}

/// The first number with a dot in a line, else the first number, as a list of its parts.
fn version_in(line: &str) -> Option<Vec<u32>> {
    let parse = |word: &str| -> Option<Vec<u32>> {
        let digits = word.trim_matches(|letter: char| !letter.is_ascii_digit());
        let parts: Option<Vec<u32>> = digits.split('.').map(|part| part.parse().ok()).collect();
        parts.filter(|parts| !parts.is_empty())
    };
    let words = || line.split(|letter: char| letter.is_whitespace() || matches!(letter, '(' | ')' | ',' | '-' | '+'));
    words().filter_map(parse).find(|parts| parts.len() > 1).or_else(|| words().find_map(parse))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_print() {
        for (line, version) in [
            ("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)", vec![5, 6]),
            ("g++ (Debian 12.2.0-14) 12.2.0", vec![12, 2, 0]),
            ("GNU Make 4.3", vec![4, 3]),
            ("ccache version 4.8+really4.7.5", vec![4, 8]),
            ("Icarus Verilog version 11.0 (stable) ()", vec![11, 0]),
            ("Yosys 0.23 (git sha1 7ce5011c24b)", vec![0, 23]),
            ("pyslang 12.1.0", vec![12, 1, 0]),
            ("2.0.17", vec![2, 0, 17]),
            ("Z3 version 4.8.12 - 64 bit", vec![4, 8, 12]),
            ("make 7", vec![7]),
        ] {
            assert_eq!(version_in(line), Some(version), "{line}");
        }
        assert_eq!(version_in("no version"), None);
    }

    fn status(found: Result<&str, ()>, tool: Tool) -> ToolStatus {
        let found = found.map(str::to_owned);
        let missing = Toolbox::from_env().with(tool, "/nonexistent/tool").find(tool).unwrap_err();
        ToolStatus { tool, info: tool.info(), found: found.map_err(|()| missing) }
    }

    #[test]
    fn old_and_missing_tools_are_told_apart() {
        let old = status(Ok("Verilator 4.228 2022-10-01"), Tool::Verilator);
        assert!(old.too_old() && !old.usable() && old.is_problem());
        assert!(old.to_string().starts_with("old      Verilator: Verilator 4.228"), "{old}");
        let new = status(Ok("Verilator 5.030 2024-10-27"), Tool::Verilator);
        assert!(new.usable() && !new.is_problem());
        let missing = status(Err(()), Tool::Verilator);
        assert!(missing.is_problem() && !missing.too_old());
        assert!(missing.to_string().contains("install: sudo apt-get install verilator"), "{missing}");
        // What is optional is no problem.
        let optional = status(Err(()), Tool::OpenRoad);
        assert!(!optional.usable() && !optional.is_problem());
    }

    #[test]
    fn all_tools_are_examined() {
        let report = examine(&Toolbox::from_env());
        assert_eq!(report.iter().map(|status| status.tool).collect::<Vec<_>>(), Tool::ALL);
        let verilator = &report[0];
        assert!(verilator.usable(), "{verilator}");
        // With an empty search path, nothing is there.
        let empty = Toolbox::from_env().with_path("/nonexistent");
        let cc = examine(&empty).into_iter().find(|status| status.tool == Tool::Make).unwrap();
        assert!(cc.is_problem());
    }
}
