//! SQL views of a trace, for DuckDB.

use std::path::Path;

/// Shared with the Python package.
const VIEWS: &str = include_str!("../../../../python/hearth/views.sql");

/// Definitions of the views of the trace in `folder`, an absolute path. `None` if the path is not UTF-8, because
/// SQL cannot name it.
pub fn sql_views(folder: &Path) -> Option<String> {
    Some(VIEWS.replace("{trace}", &quoted(folder.to_str()?)))
}

/// Escapes a path for a SQL string that DuckDB interprets as a glob pattern.
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
    fn quotes_and_glob_characters_are_escaped() {
        assert_eq!(quoted("/a b/it's; DROP"), "/a b/it''s; DROP");
        assert_eq!(quoted("/a*[1]?"), "/a[*][[]1][?]");
    }
}
