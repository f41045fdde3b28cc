//! Tables of numbers of one trace, or of two traces side by side.

use crate::table::{Plain, number};

#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    Text(String),
    Count(u64),
    Number(f64),
    Unknown,
}

impl Cell {
    pub fn known(value: Option<f64>) -> Cell {
        value.map_or(Cell::Unknown, Cell::Number)
    }

    /// A number that identifies something.
    pub fn number(value: Option<u32>) -> Cell {
        value.map_or(Cell::Unknown, |number| Cell::Text(number.to_string()))
    }

    pub fn text(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Number(value) => number(*value),
            Cell::Unknown => "-".into(),
        }
    }

    fn value(&self) -> Option<f64> {
        match self {
            Cell::Count(count) => Some(*count as f64),
            Cell::Number(value) => Some(*value),
            _ => None,
        }
    }

    /// `other` divided by this one: `×0.52`.
    pub fn ratio(&self, other: &Cell) -> String {
        match (self.value(), other.value()) {
            (Some(0.0), Some(0.0)) => "×1.00".into(),
            (Some(a), Some(b)) if a != 0.0 => format!("×{}", number(b / a)),
            _ => "-".into(),
        }
    }
}

/// A column: its title, and a row's cell.
pub type Column<R> = (&'static str, fn(&R) -> Cell);

/// A table whose first `keys` cells identify a row.
pub struct Sheet {
    pub title: String,
    pub keys: usize,
    pub titles: Vec<&'static str>,
    pub rows: Vec<Vec<Cell>>,
}

impl Sheet {
    pub fn new<R>(
        title: String,
        keys: usize,
        columns: &[Column<R>],
        rows: impl IntoIterator<Item = R>,
    ) -> Sheet {
        let cells = |row: R| columns.iter().map(|(_, cell)| cell(&row)).collect();
        let titles = columns.iter().map(|(title, _)| *title).collect();
        Sheet { title, keys, titles, rows: rows.into_iter().map(cells).collect() }
    }

    /// Removes the columns with these titles.
    pub fn drop(&mut self, titles: &[&str]) {
        let keep: Vec<bool> = self.titles.iter().map(|title| !titles.contains(title)).collect();
        let mut kept = keep.iter();
        self.titles.retain(|_| *kept.next().unwrap_or(&true));
        for row in &mut self.rows {
            let mut kept = keep.iter();
            row.retain(|_| *kept.next().unwrap_or(&true));
        }
    }

    /// The first `most` rows as text.
    pub fn one(&self, most: usize) -> String {
        let mut table = Plain::new(self.keys);
        table.head(&self.titles);
        for row in self.rows.iter().take(most) {
            table.row(&row.iter().map(Cell::text).collect::<Vec<_>>());
        }
        self.titled(table, most)
    }

    /// The first `most` rows as text, each with the row of the same keys in `other`, and their ratios.
    pub fn two(&self, other: &Sheet, most: usize) -> String {
        let mut table = Plain::new(self.keys + 1);
        let mut titles = self.titles.clone();
        titles.insert(self.keys, "");
        table.head(&titles);
        let texts = |cells: &[Cell]| cells.iter().map(Cell::text).collect::<Vec<_>>();
        let line =
            |key: Vec<String>, what: &str, values: Vec<String>| [key, vec![what.into()], values].concat();
        let no_key = vec![String::new(); self.keys];
        for row in self.rows.iter().take(most) {
            let (key, values) = row.split_at(self.keys);
            table.row(&line(texts(key), "first", texts(values)));
            if let Some(found) = other.rows.iter().find(|other| other.starts_with(key)) {
                let theirs = &found[self.keys..];
                table.row(&line(no_key.clone(), "second", texts(theirs)));
                let ratios = values.iter().zip(theirs).map(|(a, b)| a.ratio(b)).collect();
                table.row(&line(no_key.clone(), "ratio", ratios));
            }
        }
        self.titled(table, most)
    }

    fn titled(&self, table: Plain, most: usize) -> String {
        let left = self.rows.len().saturating_sub(most);
        let more = if left > 0 { format!("({left} more)\n") } else { String::new() };
        format!("\n{}\n\n{}{more}", self.title, table.render())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(rows: &[(&str, u64)]) -> Sheet {
        let columns: [Column<&(&str, u64)>; 3] = [
            ("name", |row| Cell::Text(row.0.into())),
            ("n", |row| Cell::Count(row.1)),
            ("x", |_| Cell::Unknown),
        ];
        Sheet::new("T".into(), 1, &columns, rows)
    }

    #[test]
    fn rows_of_two_traces_are_found_by_name() {
        let (a, b) = (sheet(&[("cc1", 4), ("sh", 1), ("ld", 0)]), sheet(&[("cc1", 2), ("ld", 3)]));
        let expected = "\nT\n\n\
            name          n  x\n\
            ------------------\n\
            cc1  first    4  -\n\
            \x20    second   2  -\n\
            \x20    ratio  ×0.500  -\n";
        let text = a.two(&b, 1);
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace('-', "");
        assert_eq!(squeeze(&text), squeeze(&(expected.to_owned() + "(2 more)")), "{text}");
        assert!(a.one(9).contains("sh") && !a.one(9).contains("more"));
    }

    #[test]
    fn ratios_of_what_is_known() {
        let (zero, two) = (Cell::Count(0), Cell::Number(2.0));
        assert_eq!(two.ratio(&Cell::Count(3)), "×1.50");
        assert_eq!(
            (zero.ratio(&two), zero.ratio(&zero), two.ratio(&zero)),
            ("-".into(), "×1.00".into(), "×0.00".into())
        );
        assert_eq!(Cell::Unknown.ratio(&two), "-");
    }
}
