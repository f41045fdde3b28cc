//! The instructions that the verifier processed, compared with those in `verifier.toml`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Most instructions that a program may need where no counts are stored: half of the kernel's limit.
const LIMIT: u64 = 500_000;

/// Counts by policy and program.
type Policies = BTreeMap<String, BTreeMap<String, u64>>;

/// Those of one compiler, by kernel.
#[derive(Serialize, Deserialize, Default)]
struct Counts {
    clang: String,
    kernels: BTreeMap<String, Policies>,
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel/verifier.toml")
}

fn stored() -> Counts {
    toml::from_str(&std::fs::read_to_string(file()).expect("the stored counts")).expect("counts")
}

/// The first line of `clang --version`, for the clang that made the objects.
pub fn clang() -> String {
    let clang = Command::new(hearth_tests::root().join("scripts/clang")).output().expect("scripts/clang");
    let clang = String::from_utf8_lossy(&clang.stdout).trim().to_owned();
    let version = Command::new(clang).arg("--version").output().expect("the clang that made the objects");
    String::from_utf8_lossy(&version.stdout).lines().next().unwrap_or_default().to_owned()
}

/// Compares the counts that a case left in `folder`: `POLICY.counts`, numbers without names (of a running policy), or
/// `POLICY.verified.json`, of `hearth build --verify`. They must be equal to the stored ones of this clang and `kernel`,
/// so that no count approaches the kernel's limit unnoticed. `BLESS=1` stores those with names.
pub fn compare(kernel: &str, folder: &Path) -> Result<(), String> {
    let mut compared = false;
    for entry in std::fs::read_dir(folder).expect("the folder of the case") {
        let path = entry.expect("a file").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(policy) = name.strip_suffix(".counts") {
            let text = std::fs::read_to_string(&path).expect("counts");
            let numbers = text.split_whitespace().map(|number| number.parse().expect("a number"));
            compare_numbers(kernel, policy, numbers.collect())?;
        } else if let Some(policy) = name.strip_suffix(".verified.json") {
            compare_programs(kernel, policy, programs(&path))?;
        } else {
            continue;
        }
        compared = true;
    }
    if compared { Ok(()) } else { Err("the case left no counts".into()) }
}

/// Counts by program.
fn programs(file: &Path) -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(file).expect("the programs of a policy");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let count = |program: &serde_json::Value| {
        Some((program["name"].as_str()?.to_owned(), program["processed"].as_u64()?))
    };
    json["programs"]
        .as_array()
        .expect("programs")
        .iter()
        .map(|program| count(program).expect("a count"))
        .collect()
}

fn compare_numbers(kernel: &str, policy: &str, mut counts: Vec<u64>) -> Result<(), String> {
    let stored = stored();
    let Some(policies) = stored.kernels.get(kernel).filter(|_| stored.clang == clang()) else {
        return below_limit(policy, counts.iter().max());
    };
    let mut before: Vec<u64> =
        policies.get(policy).map(|programs| programs.values().copied().collect()).unwrap_or_default();
    counts.sort_unstable();
    before.sort_unstable();
    if counts == before {
        return Ok(());
    }
    Err(format!(
        "{policy}: the verifier processed {counts:?} instructions, not {before:?}.\nIf this is intended, run \
        BLESS=1 HEARTH_TEST_ALL=1 scripts/kernels 'accepts every policy' and review the changes of verifier.toml"
    ))
}

fn compare_programs(kernel: &str, policy: &str, programs: BTreeMap<String, u64>) -> Result<(), String> {
    let (mut stored, clang) = (stored(), clang());
    if std::env::var_os("BLESS").is_some() {
        if stored.clang != clang {
            stored = Counts { clang, ..Counts::default() };
        }
        stored.kernels.entry(kernel.to_owned()).or_default().insert(policy.to_owned(), programs);
        std::fs::write(file(), toml::to_string(&stored).expect("TOML"))
            .expect("verifier.toml can be written");
        return Ok(());
    }
    let Some(policies) = stored.kernels.get(kernel).filter(|_| stored.clang == clang) else {
        return below_limit(policy, programs.values().max());
    };
    let before = policies.get(policy).cloned().unwrap_or_default();
    let changed = programs.iter().filter(|(program, count)| before.get(*program) != Some(*count));
    let mut lines: Vec<String> = changed
        .map(|(program, count)| {
            format!("{policy}, {program}: {count} instructions processed, not {:?}", before.get(program))
        })
        .collect();
    let gone = before.keys().filter(|program| !programs.contains_key(*program));
    lines.extend(gone.map(|program| format!("{policy}: there is no program {program}")));
    if lines.is_empty() { Ok(()) } else { Err(lines.join("\n")) }
}

fn below_limit(policy: &str, largest: Option<&u64>) -> Result<(), String> {
    match largest {
        Some(count) if *count < LIMIT => Ok(()),
        count => Err(format!("{policy}: the verifier processed {count:?} instructions of one program")),
    }
}
