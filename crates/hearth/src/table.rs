//! Tables for people.

use comfy_table::{Cell, CellAlignment, Table, presets};
pub use hearth_study::statistics::number;

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

    /// The table as text, which ends with a newline.
    pub fn render(mut self) -> String {
        let columns = self.table.column_count();
        for (i, column) in self.table.column_iter_mut().enumerate() {
            column.set_padding((0, if i + 1 == columns { 0 } else { self.gap }));
        }
        self.table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
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
