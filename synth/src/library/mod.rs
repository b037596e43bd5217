//! Standard cell libraries: the embedded one, or any Liberty files, plain or gzip, several merged.

pub mod embedded;
pub mod liberty;

use anyhow::{Context as _, bail};
use liberty::{Statement, line, statements};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

/// What a cell remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Combinational,
    /// A flip-flop.
    FlipFlop,
    /// A latch or clock gate.
    Latch,
}

/// A pin of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Pin {
    /// Name.
    pub name: String,
    /// Output (or inout) pin.
    pub output: bool,
    /// Capacitance of an input, in the library's unit.
    pub capacitance: f64,
    /// Function of an output, blanks removed.
    pub function: Option<String>,
}

/// A standard cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Area in um2.
    pub area: f64,
    /// What it remembers.
    pub kind: Kind,
    /// Signal pins.
    pub pins: Vec<Pin>,
}

/// A library, ready for the tools.
#[derive(Debug, Clone)]
pub struct Library {
    /// Name of the (first) library.
    pub name: String,
    /// One Liberty text with all cells.
    pub text: String,
    /// Cells by name.
    pub cells: BTreeMap<String, Cell>,
}

impl Library {
    /// The embedded library.
    ///
    /// # Errors
    /// None for the committed library.
    pub fn embedded() -> anyhow::Result<Self> {
        Self::of_texts(&[("embedded library".into(), embedded::LIBERTY.into())], "embedded library")
    }

    /// A list, separated by commas, of `asap7`, which is the embedded library, and paths of Liberty files, plain or gzip, merged in that order.
    ///
    /// # Errors
    /// A name is empty; a file cannot be read or is not Liberty; no cells, no flip-flop or no inverter.
    pub fn load(list: &str) -> anyhow::Result<Self> {
        let names: Vec<&str> = list.split(',').map(str::trim).collect();
        if names.contains(&"") {
            bail!(
                "--library \"{list}\": a name is empty; legal are asap7 (the embedded library) and paths of Liberty files, separated by commas"
            );
        }
        let text = |name: &&str| match *name {
            "asap7" => Ok(("--library asap7".to_string(), embedded::LIBERTY.into())),
            path => read(Path::new(path)),
        };
        let texts: Vec<(String, String)> = names.iter().map(text).collect::<anyhow::Result<_>>()?;
        Self::of_texts(&texts, &format!("--library {list}"))
    }

    /// Merges Liberty texts, each with its name in messages: header of the first, cells and templates of all. `whole` is the name of all together.
    fn of_texts(texts: &[(String, String)], whole: &str) -> anyhow::Result<Self> {
        let mut merged = String::new();
        let mut name = String::new();
        let mut cells = BTreeMap::new();
        let mut templates = BTreeSet::new();
        let mut units = BTreeMap::new();
        for (number, (origin, text)) in texts.iter().enumerate() {
            let top = statements(text, 0..text.len()).with_context(|| origin.clone())?;
            let library = top.iter().find(|s| s.name == "library" && s.body.is_some());
            let library = library.with_context(|| format!("{origin}: no `library (NAME) {{ }}` in it"))?;
            let body = library.body.clone().unwrap_or_default();
            if number == 0 {
                name.clone_from(&library.value);
                merged += &format!("library ({name}) {{\n");
            }
            for s in statements(text, body).with_context(|| origin.clone())? {
                if UNITS.contains(&s.name) {
                    let first = units.entry(s.name).or_insert_with(|| s.value.clone());
                    if plain_unit(first) != plain_unit(&s.value) {
                        let at = line(text, s.range.start);
                        bail!(
                            "{origin}:{at}: {} is {}, in a library before it {first}; only libraries with the same units are merged",
                            s.name,
                            s.value
                        );
                    }
                }
                let wanted = match (s.name, s.body.is_some()) {
                    ("cell", true) => {
                        let new = cells.insert(s.value.clone(), cell(text, &s).with_context(|| format!("{origin}: cell {}", s.value))?);
                        if new.is_some() {
                            bail!("{origin}:{}: cell {} is there twice", line(text, s.range.start), s.value);
                        }
                        true
                    }
                    (_, true) => templates.insert((s.name.to_string(), s.value.clone())) || number == 0,
                    _ => number == 0,
                };
                if wanted {
                    merged += "  ";
                    merged += &text[s.range.clone()];
                    merged += if s.body.is_some() || text[s.range.clone()].ends_with(';') { "\n" } else { ";\n" };
                }
            }
        }
        merged += "}\n";
        let library = Self { name, text: merged, cells };
        library.check().with_context(|| whole.to_string())?;
        Ok(library)
    }

    fn check(&self) -> anyhow::Result<()> {
        if self.cells.is_empty() {
            bail!("the library {} has no cells", self.name);
        }
        if !self.cells.values().any(|c| c.kind == Kind::FlipFlop) {
            bail!(
                "the library {} has no flip-flop among its {} cells; give the file with the sequential cells too",
                self.name,
                self.cells.len()
            );
        }
        if self.inverter().is_none() {
            bail!("the library {} has no inverter among its {} cells; give the file with the inverters too", self.name, self.cells.len());
        }
        // Netlists are compared by area, and the gate equivalent divides by one.
        let wrong = self.cells.iter().find(|(_, c)| !(0.0..1e9).contains(&c.area));
        if let Some((name, cell)) = wrong {
            bail!("the library {}: cell {name} has the area {}; legal are 0 to 1e9 um2", self.name, cell.area);
        }
        if self.gate_equivalent() == 0.0 || self.inverter().is_some_and(|c| c.1.area == 0.0) {
            bail!("the library {}: its smallest inverter or NAND has no area", self.name);
        }
        Ok(())
    }

    /// The smallest cell with one output and `inputs` inputs whose function is one of `functions`.
    fn smallest(&self, inputs: usize, functions: &[&str]) -> Option<(&str, &Cell)> {
        let fits = |c: &&Cell| {
            let (outs, ins): (Vec<&Pin>, Vec<&Pin>) = c.pins.iter().partition(|p| p.output);
            let [out] = outs.as_slice() else { return false };
            let Some(function) = &out.function else { return false };
            let mut plain: String = function.chars().filter(|c| !matches!(c, '(' | ')')).collect();
            for (number, pin) in ins.iter().enumerate() {
                plain = plain.replace(&pin.name, ["a", "b"].get(number).copied().unwrap_or("?"));
            }
            c.kind == Kind::Combinational && ins.len() == inputs && functions.contains(&plain.as_str())
        };
        let cells = self.cells.iter().filter(|(_, c)| fits(c));
        cells.min_by(|a, b| a.1.area.total_cmp(&b.1.area)).map(|(n, c)| (n.as_str(), c))
    }

    /// The smallest inverter.
    pub fn inverter(&self) -> Option<(&str, &Cell)> {
        self.smallest(1, &["!a", "a'"])
    }

    /// The smallest buffer.
    pub fn buffer(&self) -> Option<(&str, &Cell)> {
        self.smallest(1, &["a"])
    }

    /// Area of one gate equivalent, the smallest two-input NAND; the inverter when there is none.
    pub fn gate_equivalent(&self) -> f64 {
        let nand = self.smallest(2, &["!a+!b", "!a|!b", "!a*b", "!a&b", "!a b", "a*b'", "a b'", "!b+!a", "!b|!a"]);
        nand.or_else(|| self.inverter()).map_or(1.0, |c| c.1.area)
    }
}

/// Units of figures that are read or handed on.
const UNITS: [&str; 2] = ["time_unit", "capacitive_load_unit"];

/// A unit in one form: `1.0, fF` and `1,ff` are the same.
fn plain_unit(value: &str) -> Vec<String> {
    let plain = |part: &str| part.trim().parse::<f64>().map_or_else(|_| part.trim().to_ascii_lowercase(), |n| n.to_string());
    value.split(',').map(plain).collect()
}

/// Longest Liberty file that is read; those of a process have some hundred million bytes.
const MOST_BYTES: u64 = 2 << 30;

/// Name in messages and text of a Liberty file. What it is packed with is read off its first bytes, not off its name.
fn read(path: &Path) -> anyhow::Result<(String, String)> {
    let cannot = || format!("--library {}: cannot read it", path.display());
    let mut bytes = Vec::new();
    std::fs::File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)).with_context(cannot)?;
    let mut text = String::new();
    let packed = bytes.starts_with(&[0x1f, 0x8b]);
    if packed {
        flate2::read::MultiGzDecoder::new(bytes.as_slice()).take(MOST_BYTES + 1).read_to_string(&mut text).with_context(cannot)?;
    } else {
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    if bytes.len().max(text.len()) as u64 > MOST_BYTES {
        bail!("--library {}: it has more than {MOST_BYTES} bytes", path.display());
    }
    if text.trim().is_empty() {
        bail!("--library {}: the file is empty", path.display());
    }
    let misnamed = !packed && path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    Ok((format!("--library {}{}", path.display(), if misnamed { ": it is not gzip, and read as plain text" } else { "" }), text))
}

fn cell(text: &str, statement: &Statement) -> anyhow::Result<Cell> {
    let mut cell = Cell { area: 0.0, kind: Kind::Combinational, pins: Vec::new() };
    for s in statements(text, statement.body.clone().unwrap_or_default())? {
        match s.name {
            "area" => cell.area = s.value.parse().with_context(|| format!("line {}: area `{}`", line(text, s.range.start), s.value))?,
            "ff" | "ff_bank" => cell.kind = Kind::FlipFlop,
            "latch" | "latch_bank" | "statetable" => cell.kind = Kind::Latch,
            "pin" => {
                let mut pin = Pin { name: s.value.clone(), output: false, capacitance: 0.0, function: None };
                for p in statements(text, s.body.clone().unwrap_or_default())? {
                    match p.name {
                        "direction" => pin.output = p.value != "input",
                        "capacitance" => pin.capacitance = p.value.parse().unwrap_or(0.0),
                        "function" => pin.function = Some(p.value.chars().filter(|c| !c.is_whitespace()).collect()),
                        _ => {}
                    }
                }
                cell.pins.push(pin);
            }
            _ => {}
        }
    }
    Ok(cell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const SMALL: &str = "library (s) { lu_table_template (t) { } \
        cell (FF) { area : 2; ff (Q, QN) { } pin (D) { direction : input; } pin (Q) { direction : output; function : \"Q\"; } } }";
    const INV: &str = "library (i) { lu_table_template (u) { } \
        cell (INV) { area : 1.5; pin (A) { direction : input; capacitance : 0.5; } pin (Y) { direction : output; function : \"!A\"; } } }";

    #[test]
    fn the_embedded_library_has_what_mapping_needs() {
        let library = Library::embedded().unwrap();
        assert_eq!(library.cells.len(), 60);
        assert_eq!(library.inverter().unwrap().0, "INVx1_ASAP7_75t_R");
        assert_eq!(library.buffer().unwrap().0, "HB1xp67_ASAP7_75t_R");
        assert!((library.gate_equivalent() - 0.05832).abs() < 1e-9);
        assert_eq!(library.cells["DFFHQNx1_ASAP7_75t_R"].kind, Kind::FlipFlop);
        assert!(library.cells.values().all(|c| c.kind != Kind::Latch), "a latch must stay unmapped");
    }

    #[test]
    fn files_are_merged_plain_and_gzip() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a.lib"), folder.path().join("b.lib.gz"));
        std::fs::write(&a, SMALL).unwrap();
        let mut gz = flate2::write::GzEncoder::new(std::fs::File::create(&b).unwrap(), flate2::Compression::fast());
        gz.write_all(INV.as_bytes()).unwrap();
        gz.finish().unwrap();
        let library = Library::load(&format!("{},{}", a.display(), b.display())).unwrap();
        assert_eq!(library.cells.keys().collect::<Vec<_>>(), ["FF", "INV"]);
        assert!((library.cells["INV"].area - 1.5).abs() < 1e-12);
        // The merged text is Liberty again, with both templates.
        let again = Library::of_texts(&[("merged".into(), library.text.clone())], "merged").unwrap();
        assert_eq!(again.cells, library.cells);
        assert!(library.text.contains("template (t)") && library.text.contains("template (u)"));
    }

    #[test]
    fn bad_libraries_have_one_message() {
        let load = |text: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), text).unwrap();
            format!("{:#}", Library::load(file.path().to_str().unwrap()).unwrap_err())
        };
        assert!(load("").contains("empty"));
        assert!(load("library (x) {").contains("not closed"));
        assert!(load("library (x) { }").contains("no cells"));
        assert!(load(INV).contains("no flip-flop"));
        assert!(load(SMALL).contains("no inverter"));
        assert!(format!("{:#}", Library::load("/nonexistent.lib").unwrap_err()).contains("/nonexistent.lib"));
    }

    #[test]
    fn the_embedded_library_is_merged_with_files() {
        let folder = tempfile::tempdir().unwrap();
        let (more, twice) = (folder.path().join("more.lib"), folder.path().join("twice.lib"));
        std::fs::write(&more, INV).unwrap();
        std::fs::write(&twice, INV.replace("(INV)", "(INVx1_ASAP7_75t_R)")).unwrap();
        let library = Library::load(&format!("asap7,{}", more.display())).unwrap();
        assert_eq!((library.cells.len(), library.name.as_str()), (61, Library::embedded().unwrap().name.as_str()));
        assert!(library.text.contains("cell (INV)"));
        let reversed = Library::load(&format!("{}, asap7", more.display())).unwrap();
        assert_eq!((reversed.cells, reversed.name.as_str()), (library.cells, "i"));
        for (unit, legal) in [
            ("time_unit : \"1ps\";", true),
            ("time_unit : \"1ns\";", false),
            ("capacitive_load_unit (1.0, fF);", true),
            ("capacitive_load_unit (1, pf);", false),
        ] {
            std::fs::write(&more, INV.replacen('{', &format!("{{\n{unit}"), 1)).unwrap();
            let merged = Library::load(&format!("asap7,{}", more.display())).map_err(|e| format!("{e:#}"));
            let named = format!("--library {}:2: {}", more.display(), unit.split(' ').next().unwrap());
            assert!(
                if legal { merged.is_ok() } else { merged.as_ref().is_err_and(|e| e.starts_with(&named)) },
                "{unit}: {:?}",
                merged.err()
            );
        }
        let error = format!("{:#}", Library::load(&format!("asap7,{}", twice.display())).unwrap_err());
        assert_eq!(error, format!("--library {}:1: cell INVx1_ASAP7_75t_R is there twice", twice.display()));
    }

    /// What is wrong is said once: the file, the line, what is legal.
    #[test]
    fn messages_name_a_file_once() {
        let folder = tempfile::tempdir().unwrap();
        let message = |name: &str, text: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let path = path.to_str().unwrap();
            let error = format!("{:#}", Library::load(path).unwrap_err());
            assert_eq!(error.matches(path).count(), 1, "{error}");
            error.strip_prefix(&format!("--library {path}: ")).expect(&error).to_string()
        };
        assert!(message("a.lib", b"library (x) {\n= }").starts_with("line 2: expected the name"));
        assert!(message("a.lib", b"cell (x) { }").starts_with("no `library"));
        assert!(message("a.lib", INV.as_bytes()).starts_with("the library i has no flip-flop"));
        let error = message("a.lib", INV.replace("1.5", "big").as_bytes());
        assert!(error.starts_with("cell INV: line 1: area `big`"), "{error}");
        assert!(message("a.lib.gz", b"PK\x03\x04").starts_with("it is not gzip"));
        let cut = message("b.lib.gz", &[0x1f, 0x8b, 8, 0]);
        assert!(cut.starts_with("cannot read it"), "{cut}");
        for list in ["", ",", "asap7,", " ", "asap7,,x.lib"] {
            let error = format!("{:#}", Library::load(list).unwrap_err());
            assert!(error.starts_with(&format!("--library \"{list}\": a name is empty; legal are asap7")), "{error}");
        }
    }
}
