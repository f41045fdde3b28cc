//! What a cycle of a load takes under a policy, compared with `cost.toml`.

use crate::counts::clang;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// By how many percent a cost may differ from the stored one: what else a guest does is not the same in two runs. A fork
/// finds more or fewer cores that sleep, and reads files that the host may keep it waiting for: 34,000 to 69,000 were seen. Some
/// ticks balance: 2,024 to 3,173 were seen.
const MAY_DIFFER: [(&str, f64); 4] = [("idle", 4.0), ("busy", 4.0), ("fork", 50.0), ("tick", 60.0)];

/// How much more where another kernel or compiler made the stored costs.
const ELSEWHERE: f64 = 5.0;

/// Instructions of a cycle, by load.
type Loads = BTreeMap<String, u64>;

/// Those of the objects that one compiler made, by kernel and policy.
#[derive(Serialize, Deserialize, Default)]
struct Costs {
    clang: String,
    kernels: BTreeMap<String, BTreeMap<String, Loads>>,
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel/cost.toml")
}

fn stored() -> Costs {
    toml::from_str(&std::fs::read_to_string(file()).expect("the stored costs")).expect("costs")
}

/// Compares the costs that a case left in `folder`: `POLICY.cost`, with lines `LOAD INSTRUCTIONS`. A policy may not take
/// more than is stored, nor less, since the table would hide the next change. `BLESS=1` stores them.
pub fn compare(kernel: &str, folder: &Path) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).expect("the folder of the case");
    let mut files = entries.map(|entry| entry.expect("a file").path());
    let file = files.find(|path| path.extension().is_some_and(|end| end == "cost"));
    let Some(file) = file else { return Err("the case left no costs".into()) };
    let policy = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let text = std::fs::read_to_string(&file).expect("costs");
    let load = |line: &str| {
        let (load, cost) = line.split_once(' ')?;
        Some((load.to_owned(), cost.parse().ok()?))
    };
    let costs: Option<Loads> = text.lines().map(load).collect();
    match costs.filter(|costs| !costs.is_empty()) {
        Some(costs) => compare_loads(kernel, policy, costs),
        None => Err(format!("{policy}: these are no costs: {text}")),
    }
}

fn compare_loads(kernel: &str, policy: &str, costs: Loads) -> Result<(), String> {
    let (mut stored, clang) = (stored(), clang());
    if std::env::var_os("BLESS").is_some() {
        if stored.clang != clang {
            stored = Costs { clang, ..Costs::default() };
        }
        stored.kernels.entry(kernel.into()).or_default().entry(policy.into()).or_default().extend(costs);
        std::fs::write(self::file(), toml::to_string(&stored).expect("TOML")).expect("cost.toml");
        return Ok(());
    }
    let here = stored.kernels.get(kernel).filter(|_| stored.clang == clang);
    let before = here.or(stored.kernels.values().next_back()).and_then(|policies| policies.get(policy));
    let compare = |(load, cost): (&String, &u64)| {
        let Some(stored) = before.and_then(|loads| loads.get(load)) else {
            return Some(format!("{policy}, {load}: {cost} instructions, and none are stored"));
        };
        let changed = 100.0 * (*cost as f64 / *stored as f64 - 1.0);
        let may = MAY_DIFFER.iter().find(|(of, _)| of == load).map_or(0.0, |(_, percent)| *percent);
        let may = if here.is_some() { may } else { may * ELSEWHERE };
        (changed.abs() > may).then(|| {
            format!(
                "{policy}, {load}: {cost} instructions, not {stored} ({changed:+.1}%; {may}% are allowed)"
            )
        })
    };
    let wrong: Vec<String> = costs.iter().filter_map(compare).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let how = "If this is intended, run BLESS=1 HEARTH_TEST_ALL=1 scripts/kernels 'costs what it did' and review the changes \
               of cost.toml";
    Err(wrong.into_iter().chain([how.into()]).collect::<Vec<_>>().join("\n"))
}
