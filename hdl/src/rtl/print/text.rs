//! Pieces of text: literals, ranges, line breaks, comments.

use super::super::bits::Bits;

/// Longest line.
pub(super) const WRAP: usize = 110;
/// Verilator refuses replications of more bits than this.
const MAX_REPL: u32 = 8192;

/// `{n{text}}`, nested where a linter limits the size; `width` is the width of `text`.
pub(super) fn repl_text(n: u32, width: u32, text: &str) -> String {
    let per = (MAX_REPL / width.max(1)).max(1);
    if n == 1 {
        return text.to_owned();
    }
    if n <= per || per == 1 {
        return format!("{{{n}{{{text}}}}}");
    }
    let (full, rest) = (n / per, n % per);
    let block = format!("{{{per}{{{text}}}}}");
    if rest == 0 {
        return format!("{{{full}{{{block}}}}}");
    }
    let head = if full == 1 { block } else { format!("{{{full}{{{block}}}}}") };
    format!("{{{head}, {}}}", repl_text(rest, width, text))
}

pub(super) fn lit_text(b: &Bits) -> String {
    let w = b.width();
    if w > MAX_REPL && (b.is_zero() || b.is_ones()) {
        return repl_text(w, 1, if b.is_zero() { "1'b0" } else { "1'b1" });
    }
    b.to_string()
}

/// A constant that selects bits: binary or hexadecimal.
pub(super) fn mask_text(b: &Bits) -> String {
    let w = b.width();
    if w > 16 || b.is_zero() || b.is_ones() {
        return lit_text(b);
    }
    let digits: String = (0..w).rev().map(|i| if b.bit(i) { '1' } else { '0' }).collect();
    format!("{w}'b{digits}")
}

/// A value of many bits whose parts matter: hexadecimal.
pub(super) fn table_text(b: &Bits) -> String {
    let w = b.width();
    if w <= 8 || w > 128 || b.is_zero() || b.is_ones() { lit_text(b) } else { format!("{w}'h{}", b.to_hex()) }
}

pub(super) fn range_text(width: u32) -> String {
    if width == 1 { String::new() } else { format!("[{}:0]", width - 1) }
}

/// `reg [7:0] ` or `reg `.
pub(super) fn typed(what: &str, width: u32) -> String {
    if width == 1 { format!("{what} ") } else { format!("{what} {} ", range_text(width)) }
}

/// Appends lines, indented and broken at blanks; safe for Verilog without string literals.
pub(super) fn wrap_into(out: &mut String, indent: usize, text: &str, prefix: &str) {
    for line in text.split('\n') {
        let code = line.trim_start();
        if code.is_empty() {
            out.push_str(prefix.trim_end());
            out.push('\n');
            continue;
        }
        let start = " ".repeat(indent + line.len() - code.len()) + prefix;
        let hang = if prefix.is_empty() { "    " } else { "" };
        // A comment at the end of a line of code stays in one piece.
        let (code, tail) = match code.find("  // ") {
            Some(i) if prefix.is_empty() => code.split_at(i),
            _ => (code, ""),
        };
        out.push_str(&start);
        let (mut col, mut line_start) = (start.len(), out.len());
        let mut comma = None;
        for (i, word) in code.split(' ').enumerate() {
            if i > 0 && col + 1 + word.len() > WRAP {
                // Lists break between their elements if that does not leave the line half empty.
                let rest = match comma {
                    Some(at) if prefix.is_empty() && at > line_start + WRAP / 3 => out.split_off(at),
                    _ => String::new(),
                };
                out.push('\n');
                out.push_str(&start);
                out.push_str(hang);
                line_start = out.len();
                let rest = rest.trim_start();
                out.push_str(rest);
                col = start.len() + hang.len() + rest.len();
                if !rest.is_empty() {
                    out.push(' ');
                    col += 1;
                }
                comma = None;
            } else if i > 0 {
                out.push(' ');
                col += 1;
            }
            out.push_str(word);
            col += word.len();
            if word.ends_with(',') {
                comma = Some(out.len());
            }
        }
        out.push_str(tail);
        out.push('\n');
    }
}

pub(super) fn comment_into(out: &mut String, indent: usize, text: &str) {
    for line in text.trim().lines() {
        wrap_into(out, indent, line, "// ");
    }
}

/// Name without the prefix and suffix that tell its role.
pub(super) fn base_name(name: &str) -> String {
    let n = name.strip_prefix("u_").unwrap_or(name);
    ["_o", "_i", "_q", "_d", "_A", "_M", "_C"].iter().find_map(|s| n.strip_suffix(s)).unwrap_or(n).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replications_stay_below_the_limit_of_linters() {
        assert_eq!(repl_text(3, 2, "x"), "{3{x}}");
        assert_eq!(repl_text(65536, 1, "1'b0"), "{8{{8192{1'b0}}}}");
        assert_eq!(repl_text(8193, 1, "a"), "{{8192{a}}, a}");
        assert_eq!(repl_text(20000, 1, "a"), "{{2{{8192{a}}}}, {3616{a}}}");
    }

    #[test]
    fn long_lines_break_at_blanks() {
        let mut s = String::new();
        wrap_into(&mut s, 4, &vec!["abcdefghi"; 30].join(" "), "");
        assert!(s.lines().count() == 3 && s.lines().all(|l| l.len() <= WRAP));
        assert!(s.lines().nth(1).unwrap().starts_with("        a"));
    }
}
