//! Tables for people.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, Width, presets};
pub use hearth_study::statistics::number;
use ratatui::crossterm::terminal;
use std::io::IsTerminal;

/// A column: its title, and the text of a row's cell.
pub type Column<R> = (&'static str, fn(&R) -> String);

/// A titled table with a line for each row; see [`Plain`] for `text`.
pub fn table<R>(text: usize, columns: &[Column<R>], rows: impl IntoIterator<Item = R>) -> String {
    let mut table = Plain::new(text);
    table.head(&columns.iter().map(|(title, _)| *title).collect::<Vec<_>>());
    for row in rows {
        table.row(&columns.iter().map(|(_, cell)| cell(&row)).collect::<Vec<_>>());
    }
    table.render()
}

/// A table without borders. The first `text` columns are aligned left, the others, numbers, right.
pub struct Plain {
    table: Table,
    text: usize,
    gap: u16,
}

impl Plain {
    pub fn new(text: usize) -> Self {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        Plain { table, text, gap: 2 }
    }

    /// Sets the titles, with a rule below them.
    pub fn head(&mut self, titles: &[&str]) {
        // The preset of the rule separates columns with a blank.
        self.table.load_preset("     --            ");
        self.gap = 1;
        self.table.set_header(self.cells(titles));
    }

    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        self.table.add_row(self.cells(cells));
    }

    fn cells<S: AsRef<str>>(&self, texts: &[S]) -> Vec<Cell> {
        let side = |column| if column < self.text { CellAlignment::Left } else { CellAlignment::Right };
        texts.iter().enumerate().map(|(i, text)| Cell::new(text.as_ref()).set_alignment(side(i))).collect()
    }

    /// The table as text, which ends with a newline. Cells fold where it would be wider than the terminal.
    pub fn render(self) -> String {
        self.render_within(terminal_width())
    }

    /// Makes each column as wide as its longest word, or wider.
    fn keep_words(&mut self) {
        let columns = self.table.column_count();
        let rows: Vec<&Row> = self.table.header().into_iter().chain(self.table.row_iter()).collect();
        let longest = |column| {
            let cells = rows.iter().filter_map(|row| row.cell_iter().nth(column));
            let words = |cell: &Cell| cell.content().split(' ').map(|word| word.chars().count()).max();
            cells.filter_map(words).max().unwrap_or(0) as u16
        };
        let longest: Vec<u16> = (0..columns).map(longest).collect();
        for (column, longest) in self.table.column_iter_mut().zip(longest) {
            let width = longest + column.padding_width();
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
        }
    }

    fn render_within(mut self, width: Option<u16>) -> String {
        let columns = self.table.column_count();
        for (i, column) in self.table.column_iter_mut().enumerate() {
            column.set_padding((0, if i + 1 == columns { 0 } else { self.gap }));
        }
        let lines = |table: &Table| -> Vec<String> {
            table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
        };
        let text = lines(&self.table);
        match width.filter(|width| text.iter().any(|line| line.chars().count() > usize::from(*width))) {
            None => text.concat(),
            Some(width) => {
                self.keep_words();
                self.table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
                lines(&self.table).concat()
            }
        }
    }
}

/// The columns that a table may take: those of COLUMNS, or of the terminal. Files and pipes get whole lines, and so do
/// terminals that do not know their size, as serial lines.
fn terminal_width() -> Option<u16> {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let of_terminal =
        || std::io::stdout().is_terminal().then(|| terminal::size().ok()).flatten().map(|size| size.0);
    columns.or_else(of_terminal).filter(|&columns| columns > 0)
}

/// A share in per cent, with its sign.
pub fn percent(share: f64) -> String {
    format!("{:+.1}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_a_sign() {
        assert_eq!((percent(0.1234), percent(-0.05)), ("+12.3%".into(), "-5.0%".into()));
    }

    #[test]
    fn what_is_too_wide_folds() {
        let table = || {
            let mut table = Plain::new(1);
            table.head(&["what holds", "seconds"]);
            table.row(&["a stolen thread goes to the thief", "0.04"]);
            table
        };
        let folded = table().render_within(Some(30));
        assert!(folded.lines().all(|line| line.chars().count() <= 30), "{folded}");
        let words = |text: &str| {
            let mut words: Vec<_> =
                text.split_whitespace().filter(|word| !word.starts_with('-')).map(str::to_owned).collect();
            words.sort_unstable();
            words
        };
        assert_eq!(words(&folded), words(&table().render_within(None)), "words stay whole");
        assert_eq!(table().render_within(Some(100)), table().render_within(None));
    }

    #[test]
    fn text_to_the_left_and_numbers_to_the_right() {
        let mut table = Plain::new(1);
        table.head(&["name", "n"]);
        table.row(&["a", "1"]);
        table.row(&["longer", "1000"]);
        assert_eq!(table.render(), "name       n\n------------\na          1\nlonger  1000\n");
        let mut table = Plain::new(2);
        table.row(&["a", "b"]);
        table.row(&["longer", "c"]);
        assert_eq!(table.render(), "a       b\nlonger  c\n");
    }
}
