//! A small reader of Liberty text: statements with their places, so that cells can be looked at and copied without a tree of the
//! millions of numbers that a full library holds.

use anyhow::{Context as _, bail};
use std::ops::Range;

/// One statement of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'a> {
    /// Its name: `area`, `pin`, `cell`.
    pub name: &'a str,
    /// Value of a simple attribute or arguments of a complex one or of a group, quotes removed.
    pub value: String,
    /// Text range of the body, without braces, when it is a group.
    pub body: Option<Range<usize>>,
    /// Text range of the whole statement.
    pub range: Range<usize>,
}

/// Line number of a byte offset, from 1.
pub fn line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1
}

/// The statements of `range` of a Liberty text.
///
/// # Errors
/// The text is not Liberty; the message begins with the line number.
pub fn statements(text: &str, range: Range<usize>) -> anyhow::Result<Vec<Statement<'_>>> {
    let mut scanner = Scanner { text, at: range.start, end: range.end };
    let mut list = Vec::new();
    while let Some(statement) = scanner.statement().with_context(|| format!("line {}", line(text, scanner.at)))? {
        list.push(statement);
    }
    Ok(list)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    end: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        (self.at < self.end).then(|| self.text.as_bytes()[self.at])
    }

    /// Skips blanks, comments and line continuations, and line ends where `lines` is set.
    fn blanks(&mut self, lines: bool) -> anyhow::Result<()> {
        while let Some(b) = self.peek() {
            match b {
                b'\n' if !lines => break,
                b if b.is_ascii_whitespace() => self.at += 1,
                b'\\' => {
                    self.at += 1;
                    while self.peek().is_some_and(|b| b.is_ascii_whitespace() && b != b'\n') {
                        self.at += 1;
                    }
                    if self.peek() == Some(b'\n') {
                        self.at += 1;
                    }
                }
                b'/' if self.text[self.at..self.end].starts_with("/*") => {
                    let rest = &self.text[self.at..self.end];
                    self.at += rest.find("*/").context("a comment is not closed")? + 2;
                }
                b'/' if self.text[self.at..self.end].starts_with("//") => {
                    while self.peek().is_some_and(|b| b != b'\n') {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// Skips a string; stands on the opening quote.
    fn string(&mut self) -> anyhow::Result<()> {
        self.at += 1;
        while let Some(b) = self.peek() {
            self.at += if b == b'\\' { 2 } else { 1 };
            if b == b'"' {
                return Ok(());
            }
        }
        bail!("a string is not closed")
    }

    /// Moves behind the bracket that closes the one before, strings and comments skipped.
    fn close(&mut self, open: u8, close: u8) -> anyhow::Result<()> {
        let mut depth = 1;
        while let Some(b) = self.peek() {
            match b {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'/' if self.text[self.at..self.end].starts_with("/*") => {
                    self.blanks(true)?;
                    continue;
                }
                b if b == open => depth += 1,
                b if b == close => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
        bail!("`{}` is not closed", open as char)
    }

    fn statement(&mut self) -> anyhow::Result<Option<Statement<'a>>> {
        self.blanks(true)?;
        while self.peek() == Some(b';') {
            self.at += 1;
            self.blanks(true)?;
        }
        let start = self.at;
        if self.peek().is_none() {
            return Ok(None);
        }
        while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
            self.at += 1;
        }
        let name = &self.text[start..self.at];
        if name.is_empty() {
            let found = self.text[start..self.end].chars().next().unwrap_or(' ');
            bail!("expected the name of an attribute or group, found `{found}`");
        }
        self.blanks(true)?;
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                self.blanks(false)?;
                let from = self.at;
                while let Some(b) = self.peek() {
                    match b {
                        b'"' => self.string()?,
                        b';' | b'\n' | b'}' => break,
                        b'/' if self.text[self.at..self.end].starts_with("/*") => break,
                        _ => self.at += 1,
                    }
                }
                let value = plain(&self.text[from..self.at.min(self.end)]);
                Ok(Some(Statement { name, value, body: None, range: start..self.at.min(self.end) }))
            }
            Some(b'(') => {
                self.at += 1;
                let from = self.at;
                self.close(b'(', b')')?;
                let value = plain(&self.text[from..self.at - 1]);
                self.blanks(true)?;
                if self.peek() != Some(b'{') {
                    if self.peek() == Some(b';') {
                        self.at += 1;
                    }
                    return Ok(Some(Statement { name, value, body: None, range: start..self.at }));
                }
                self.at += 1;
                let from = self.at;
                self.close(b'{', b'}').with_context(|| format!("group `{name} ({value})`"))?;
                Ok(Some(Statement { name, value, body: Some(from..self.at - 1), range: start..self.at }))
            }
            _ => bail!("`{name}` is followed by neither `:` nor `(`"),
        }
    }
}

/// A value without quotes, line continuations and outer blanks.
fn plain(value: &str) -> String {
    let kept: String = value.chars().filter(|c| !matches!(c, '"' | '\\' | '\n' | '\r')).collect();
    kept.trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_every_kind() {
        let text = "/* c */ a : 1.5; b (\"x\", \\\n 2);\n c : \"(A & !B)\"\n g (n) { s : \"}\"; /* } */ h () { } } d : 3 }";
        let list = statements(text, 0..text.len() - 1).unwrap();
        let seen: Vec<_> = list.iter().map(|s| (s.name, s.value.as_str(), s.body.is_some())).collect();
        assert_eq!(seen, [("a", "1.5", false), ("b", "x,  2", false), ("c", "(A & !B)", false), ("g", "n", true), ("d", "3", false)]);
        let inner = statements(text, list[3].body.clone().unwrap()).unwrap();
        assert_eq!(inner.iter().map(|s| s.name).collect::<Vec<_>>(), ["s", "h"]);
    }

    #[test]
    fn broken_text_names_the_line() {
        for (text, why) in [("a : 1;\ncell (x) {\n area : 1;", "not closed"), ("\n= 3", "found `=`"), ("a : 1;\nb 3", "neither")] {
            let error = format!("{:#}", statements(text, 0..text.len()).unwrap_err());
            assert!(error.contains(why) && error.starts_with("line "), "{error}");
        }
    }
}
