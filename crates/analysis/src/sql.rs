//! SQL that makes tables of a trace, for DuckDB.

use std::path::Path;

/// The Python package has them too.
const VIEWS: &str = include_str!("../../../python/hearth/views.sql");

/// Definitions of the tables of the trace in `folder`, an absolute path. `None`: the path is not UTF-8, and
/// SQL cannot name it.
pub fn sql_views(folder: &Path) -> Option<String> {
    Some(VIEWS.replace("{trace}", &quoted(folder.to_str()?)))
}

/// For the inside of a string in SQL that DuckDB takes as a pattern of file names.
fn quoted(path: &str) -> String {
    let mut quoted = String::new();
    for c in path.chars() {
        match c {
            '*' | '?' | '[' => quoted.extend(['[', c, ']']),
            '\'' => quoted.push_str("''"),
            c => quoted.push(c),
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_only_paths() {
        assert_eq!(quoted("/a b/it's; DROP"), "/a b/it''s; DROP");
        assert_eq!(quoted("/a*[1]?"), "/a[*][[]1][?]");
    }
}
