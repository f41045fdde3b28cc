//! SQL views of a trace, for DuckDB.

use hearth_base::escape::sql_path;
use std::path::Path;

/// Shared with the Python package.
const VIEWS: &str = include_str!("../../../../python/hearth/views.sql");

/// Definitions of the views of the trace in `folder`, an absolute path. `None` if the path is not UTF-8, because
/// SQL cannot name it.
pub fn sql_views(folder: &Path) -> Option<String> {
    Some(VIEWS.replace("{trace}", &sql_path(folder.to_str()?)))
}
