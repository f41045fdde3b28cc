//! Named views: TOML files that say what the viewer shows and how.

use serde::{Deserialize, Serialize};
use std::path::Path;

/// One view. The page has a default for each missing field.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    pub name: String,
    #[serde(default)]
    pub rows: Rows,
    #[serde(default)]
    pub group: Vec<Group>,
    #[serde(default)]
    pub colour: Colour,
    #[serde(default)]
    pub marks: Vec<Mark>,
    #[serde(default)]
    pub strips: Vec<Strip>,
    #[serde(default)]
    pub filter: Filter,
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($word:ident),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { #[default] $($word),* }
    )*};
}

words! {
    /// What a row stands for.
    Rows { Core, Thread, Process, Program }
    /// How rows of cores are grouped.
    Group { Socket, Llc, Physical }
    Colour { Frequency, Queue, Thread, Process, Reason }
    Mark { Overload, Inversion, Fork, Exec, Exit, Migrate, Wakeup, Place }
    Strip { Underload, Runnable, CoresUsed, Sets, Power }
}

/// The threads that are drawn in full colour.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traced: Option<bool>,
    /// A regular expression that the name must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<Vec<u32>>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("{path}: {message}")]
    Parse { path: String, message: String },
}

/// Limit of a view file's size.
const MOST_BYTES: u64 = 64 << 10;

impl View {
    /// A view file with most keys.
    pub const EXAMPLE: &str = r#"name = "waiting"
rows = "core"                     # core, thread, process, program
group = ["socket", "llc"]         # socket, llc, physical
colour = "queue"                  # frequency, queue, thread, process, reason
marks = ["overload", "wakeup"]    # overload, inversion, fork, exec, exit, migrate, wakeup, place
strips = ["runnable"]             # underload, runnable, cores_used, sets, power"#;

    /// Reads and checks a view file.
    pub fn read(path: &Path) -> Result<View, Error> {
        let shown = path.display().to_string();
        let failed = |source| Error::Read { path: shown.clone(), source };
        let length = std::fs::metadata(path).map_err(failed)?.len();
        if length > MOST_BYTES {
            let message = format!("not a view file: it has {length} bytes; the limit is {MOST_BYTES}");
            return Err(Error::Parse { path: shown, message });
        }
        View::parse(&std::fs::read_to_string(path).map_err(failed)?, &shown)
    }

    fn parse(text: &str, path: &str) -> Result<View, Error> {
        let failed = |message: String| Error::Parse { path: path.into(), message };
        let view: View = toml::from_str(text).map_err(|error| failed(error.to_string().trim_end().into()))?;
        if view.name.is_empty() || !view.name.chars().all(|c| c.is_alphanumeric() || "-_ ".contains(c)) {
            return Err(failed(format!(
                "the name '{}' may only contain letters, digits, spaces, '-' and '_'",
                view.name
            )));
        }
        if let Some(name) = &view.filter.name {
            regex_lite::Regex::new(name)
                .map_err(|error| failed(format!("filter.name is not a regular expression: {error}")))?;
        }
        Ok(view)
    }

    /// The views that come with Hearth.
    pub fn built_in() -> Vec<View> {
        BUILT_IN.iter().filter_map(|(name, text)| View::parse(text, name).ok()).collect()
    }
}

const BUILT_IN: [(&str, &str); 5] = [
    ("frequency", include_str!("../../views/frequency.toml")),
    ("queue", include_str!("../../views/queue.toml")),
    ("threads", include_str!("../../views/threads.toml")),
    ("placement", include_str!("../../views/placement.toml")),
    ("nest", include_str!("../../views/nest.toml")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_views_are_sound() {
        for (name, text) in BUILT_IN {
            assert_eq!(
                View::parse(text, name).map(|view| view.name).map_err(|e| e.to_string()),
                Ok(name.into())
            );
        }
        assert_eq!(View::built_in().len(), BUILT_IN.len());
    }

    #[test]
    fn the_example_is_sound() {
        assert_eq!(View::parse(View::EXAMPLE, "x").map(|view| view.name).ok().as_deref(), Some("waiting"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| View::parse(text, "my.toml").unwrap_err().to_string();
        assert!(
            error("name = 'x'\ncolour = 'red'")
                .contains("unknown variant `red`, expected one of `frequency`")
        );
        assert!(error("name = 'x'\ncolor = 'queue'").contains("unknown field `color`"));
        assert!(error("rows = 'core'").contains("missing field `name`"));
        assert!(error("name = '../x'").contains("may only contain letters"));
        assert!(
            error("name = 'x'\n[filter]\nname = '('").contains("filter.name is not a regular expression")
        );
    }
}
