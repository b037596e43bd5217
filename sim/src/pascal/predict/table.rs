//! Measurement files: CSV with device constants in leading comments, or JSON.
//!
//! ```text
//! # device = gb10
//! # workers_per_occupancy = 48
//! # block_bytes = 16384
//! # capacity_blocks = 1280
//! o,path,d,m,n,w,bytes
//! 1,tma,4,0,4096,1,67108864
//! ```
//!
//! The JSON form is `{"device": "gb10", "workers_per_occupancy": 48, ..., "rows": [{"o": 1, "path": "tma", ..., "bytes": [1, 2]}]}`; a list
//! of bytes is as many repeats. Both become the same table, so every check and every message is the same.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::pascal::error::InputError;

/// Constants and rows of text, each with the number of the line or list entry it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    constants: BTreeMap<String, (u64, String)>,
    columns: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    number: u64,
    cells: BTreeMap<String, String>,
}

impl Table {
    /// Reads CSV or JSON, whichever the first character that is not blank says.
    ///
    /// # Errors
    /// The text is neither, a header or a row is malformed, or there are no rows.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let table = if text.trim_start().starts_with(['{', '[']) { Self::parse_json(text) } else { Self::parse_csv(text) }?;
        if table.rows.is_empty() {
            return Err(InputError::new("rows", "no measurements"));
        }
        Ok(table)
    }

    fn parse_csv(text: &str) -> Result<Self, InputError> {
        let mut table = Self { constants: BTreeMap::new(), columns: Vec::new(), rows: Vec::new() };
        for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let line = line.trim();
            if let Some(comment) = line.strip_prefix('#') {
                if let Some((key, value)) = comment.split_once('=') {
                    table.constants.insert(key.trim().to_string(), (number, value.trim().to_string()));
                }
                continue;
            }
            if line.is_empty() {
                continue;
            }
            let cells: Vec<String> = line.split(',').map(|cell| cell.trim().to_string()).collect();
            if table.columns.is_empty() {
                if let Some(twice) = (1..cells.len()).find(|&i| cells[..i].contains(&cells[i])) {
                    return Err(InputError::new(cells[twice].clone(), "this column is there twice").at_row(number));
                }
                table.columns = cells;
            } else if cells.len() == table.columns.len() {
                table.rows.push(Row { number, cells: table.columns.iter().cloned().zip(cells).collect() });
            } else {
                let message = format!("{} cells, but the header has {} columns", cells.len(), table.columns.len());
                return Err(InputError::new("row", message).at_row(number));
            }
        }
        if table.columns.is_empty() {
            return Err(InputError::new("header", "no header line with column names"));
        }
        Ok(table)
    }

    fn parse_json(text: &str) -> Result<Self, InputError> {
        let value: Value = serde_json::from_str(text).map_err(|e| InputError::new("file", format!("not valid JSON: {e}")))?;
        let object = value.as_object().ok_or_else(|| InputError::new("file", "not a JSON object"))?;
        let mut table = Self { constants: BTreeMap::new(), columns: Vec::new(), rows: Vec::new() };
        for (key, value) in object.iter().filter(|(key, _)| *key != "rows") {
            let text = match value {
                Value::Array(list) => list.iter().map(scalar).collect::<Option<Vec<_>>>().map(|list| list.join(",")),
                value => scalar(value),
            };
            let text = text.ok_or_else(|| InputError::new(key.clone(), "must be a number, a text or a list of them"))?;
            table.constants.insert(key.clone(), (0, text));
        }
        let rows = object.get("rows").and_then(Value::as_array).ok_or_else(|| InputError::new("rows", "no list of rows"))?;
        for (number, row) in (1..).zip(rows) {
            let row = row.as_object().ok_or_else(|| InputError::new("rows", "not a JSON object").at_row(number))?;
            let mut cells = BTreeMap::new();
            let mut repeats = Vec::new();
            for (key, value) in row {
                if !table.columns.contains(key) {
                    table.columns.push(key.clone());
                }
                match value {
                    Value::Null => {}
                    Value::Array(list) if key == "bytes" => {
                        for value in list {
                            repeats.push(scalar(value).unwrap_or_default());
                        }
                        if list.is_empty() {
                            return Err(InputError::new(key.clone(), "an empty list").at_row(number));
                        }
                    }
                    value => {
                        let wrong = || InputError::new(key.clone(), "must be a number or a text").at_row(number);
                        cells.insert(key.clone(), scalar(value).ok_or_else(wrong)?);
                    }
                }
            }
            if repeats.is_empty() {
                table.rows.push(Row { number, cells });
            } else {
                table.rows.extend(repeats.into_iter().map(|bytes| {
                    let mut cells = cells.clone();
                    cells.insert("bytes".to_string(), bytes);
                    Row { number, cells }
                }));
            }
        }
        Ok(table)
    }

    /// Whether the table has a column of this name.
    pub fn has_column(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column == name)
    }

    /// The rows, after a check that every column is known and every required one is there.
    pub(super) fn rows(&self, required: &[&str], optional: &[&str]) -> Result<&[Row], InputError> {
        if let Some(unknown) = self.columns.iter().find(|c| !required.contains(&c.as_str()) && !optional.contains(&c.as_str())) {
            let message = format!("unknown column, the columns are {}", required.join(", "));
            return Err(InputError::new(unknown.clone(), message));
        }
        if let Some(missing) = required.iter().find(|name| !self.has_column(name)) {
            return Err(InputError::new(*missing, format!("missing column, the columns are {}", required.join(", "))));
        }
        Ok(&self.rows)
    }

    /// A constant as text; empty text counts as missing.
    pub(super) fn constant(&self, name: &str) -> Option<&str> {
        self.constants.get(name).map(|(_, text)| text.as_str()).filter(|text| !text.is_empty())
    }

    /// A required constant, read as a number.
    pub(super) fn constant_whole(&self, name: &str) -> Result<u64, InputError> {
        let text = self.constant(name).ok_or_else(|| InputError::new(name, "missing device constant"))?;
        whole(name, text).map_err(|e| self.locate(name, e))
    }

    /// Adds the line a constant came from.
    pub(super) fn locate(&self, name: &str, error: InputError) -> InputError {
        match self.constants.get(name) {
            Some((row, _)) if *row > 0 => error.at_row(*row),
            _ => error,
        }
    }
}

impl Row {
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn text(&self, name: &str) -> Result<&str, InputError> {
        match self.cells.get(name).map(String::as_str) {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(InputError::new(name, "missing").at_row(self.number)),
        }
    }

    pub fn whole(&self, name: &str) -> Result<u64, InputError> {
        whole(name, self.text(name)?).map_err(|e| e.at_row(self.number))
    }

    pub fn small(&self, name: &str) -> Result<u32, InputError> {
        let value = self.whole(name)?;
        u32::try_from(value).map_err(|_| InputError::new(name, format!("{value} is too large")).at_row(self.number))
    }

    pub fn positive(&self, name: &str) -> Result<f64, InputError> {
        let text = self.text(name)?;
        let value: f64 = text.parse().map_err(|_| InputError::new(name, format!("'{text}' is not a number")).at_row(self.number))?;
        crate::pascal::error::positive(name, value).map_err(|e| e.at_row(self.number))
    }
}

fn whole(name: &str, text: &str) -> Result<u64, InputError> {
    text.parse().map_err(|_| InputError::new(name, format!("'{text}' is not a whole number of at least 0")))
}

/// A JSON number or text as text.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.trim().to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_and_json_make_the_same_rows() {
        let csv = Table::parse("\u{feff}# device = x\n# remark\n\n a , bytes \n1, 2\n\n1, 3\n").unwrap();
        let json = Table::parse(r#" {"device": "x", "rows": [{"a": 1, "bytes": ["2", 3]}]}"#).unwrap();
        let values = |table: &Table| -> Vec<(u64, f64)> {
            table.rows(&["a", "bytes"], &[]).unwrap().iter().map(|r| (r.whole("a").unwrap(), r.positive("bytes").unwrap())).collect()
        };
        assert_eq!(values(&csv), [(1, 2.0), (1, 3.0)]);
        assert_eq!(values(&json), values(&csv));
        assert_eq!((csv.constant("device"), json.constant("device")), (Some("x"), Some("x")));
        assert_eq!(csv.rows.iter().map(Row::number).collect::<Vec<_>>(), [5, 7]);
    }

    #[test]
    fn every_mistake_names_its_field_and_row() {
        let error = |text: &str| {
            let read = |table: Table| -> Result<(), InputError> {
                for row in table.rows(&["a", "bytes"], &["repeat"])? {
                    row.small("a")?;
                    row.positive("bytes")?;
                }
                table.constant_whole("c").map(|_| ())
            };
            let error = Table::parse(text).and_then(read).unwrap_err();
            (error.field().to_string(), error.row())
        };
        let at = |field: &str, row: u64| (field.to_string(), Some(row));
        let in_file = |field: &str| (field.to_string(), None);
        assert_eq!(error(""), in_file("header"));
        assert_eq!(error("a,bytes\n"), in_file("rows"));
        assert_eq!(error("a,a\n1,2"), at("a", 1));
        assert_eq!(error("a\n1"), in_file("bytes"));
        assert_eq!(error("a,bytes,typo\n1,2,3"), in_file("typo"));
        assert_eq!(error("a,bytes\n1"), at("row", 2));
        assert_eq!(error("a,bytes\n,2"), at("a", 2));
        assert_eq!(error("a,bytes\nx,2"), at("a", 2));
        assert_eq!(error("a,bytes\n-1,2"), at("a", 2));
        assert_eq!(error("a,bytes\n9999999999,2"), at("a", 2));
        for bad in ["0", "-1", "nan", "inf", "x", ""] {
            assert_eq!(error(&format!("a,bytes\n1,2\n1,{bad}")), at("bytes", 3), "{bad}");
        }
        assert_eq!(error("a,bytes\n1,2"), in_file("c"));
        assert_eq!(error("# c = x\na,bytes\n1,2"), at("c", 1));
        assert_eq!(error("{"), in_file("file"));
        assert_eq!(error("[]"), in_file("file"));
        assert_eq!(error("{}"), in_file("rows"));
        assert_eq!(error(r#"{"rows": [1]}"#), at("rows", 1));
        assert_eq!(error(r#"{"rows": [{"a": 1, "bytes": []}]}"#), at("bytes", 1));
        assert_eq!(error(r#"{"rows": [{"a": 1, "bytes": 1}, {"a": 1, "bytes": [1, null]}]}"#), at("bytes", 2));
        assert_eq!(error(r#"{"rows": [{"a": {}, "bytes": 1}]}"#), at("a", 1));
        assert_eq!(error(r#"{"rows": [{"a": null, "bytes": 1}]}"#), at("a", 1));
        assert_eq!(error(r#"{"c": {}, "rows": [{"a": 1, "bytes": 1}]}"#), in_file("c"));
    }
}
