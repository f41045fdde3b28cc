//! What the tests of several crates need: whether everything is to be tested, and what a test says that cannot run.

use proptest::prelude::*;
use std::io::Write;

/// Whether this run tests everything (`make test-all`), not only what fits into a quarter of an hour.
pub fn everything() -> bool {
    std::env::var_os("HEARTH_TEST_ALL").is_some()
}

/// Number of inputs of a property test: `quick` in `make test`, `all` in `make test-all`; `HEARTH_TIMES` times as many, for
/// a test that is run alone for hours.
///
/// # Panics
///
/// If `HEARTH_TIMES` is no number.
pub fn cases(quick: u32, all: u32) -> u32 {
    let times = std::env::var("HEARTH_TIMES").unwrap_or_else(|_| "1".into());
    let times: u32 = times.parse().unwrap_or_else(|_| panic!("HEARTH_TIMES={times} is no number"));
    times * if everything() { all } else { quick }
}

/// Reports that the calling test cannot run here, and why. `make test` repeats it in its last lines.
///
/// # Panics
///
/// In CI (`CI=true`), where a test that does not run is a failure.
pub fn skip(why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{test} did not run: {why}");
    eprintln!("skipped: {test}: {why}");
    if let Some(file) = std::env::var_os("HEARTH_SKIPPED") {
        let mut file =
            std::fs::OpenOptions::new().create(true).append(true).open(file).expect("the list of skips");
        writeln!(file, "{test}: {why}").expect("the list of skips");
    }
}

/// Whether all `programs` are in PATH. If not, the calling test is [skipped](skip), and `package` says what to install.
pub fn has(programs: &[&str], package: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = |program: &&&str| !std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    match programs.iter().find(found) {
        Some(program) => {
            skip(&format!("{program} is not installed (scripts/need {package})"));
            false
        }
        None => true,
    }
}

/// The folder of a set of pinned Python packages that `scripts/need NAME` installs. Without it, the calling test is
/// [skipped](skip).
pub fn packages(name: &str) -> Option<std::path::PathBuf> {
    let folder = root().join("out/tools").join(name);
    if folder.join(".installed").is_file() {
        return Some(folder);
    }
    skip(&format!("out/tools/{name} is missing (scripts/need {name})"));
    None
}

/// The root of the repository.
pub fn root() -> &'static std::path::Path {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is a folder of the repository")
}

/// Compares `text` with the golden file `path` of the repository. `SNAPSHOTS=overwrite` rewrites the file.
///
/// # Panics
///
/// If they differ, or the file is missing or not UTF-8.
#[track_caller]
pub fn golden(path: impl AsRef<std::path::Path>, text: &str) {
    let expected = snapbox::Data::read_from(&root().join(path), None).raw();
    snapbox::assert_data_eq!(snapbox::Data::text(text).raw(), expected);
}

/// Text of what ends, opens or changes something in C, WhyML, HTML, SQL or a terminal, and of other characters.
pub fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        prop::sample::select(vec![
            "*/",
            "/*",
            "*\\",
            "\\*",
            "*)",
            "(*",
            "??/",
            "\u{1b}[2J",
            "\u{202e}",
            "</script>"
        ])
        .prop_map(str::to_owned),
        "[*/\\\\?()\"'<>&\n\r\t -]{0,4}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}
