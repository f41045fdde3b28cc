//! Reads `cases.toml`: the cases, expanded by policy, and the shapes of guests.

use hearth_vm::{Acceleration, Topology, Wish};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The newest kernel.
pub const LATEST: &str = "latest";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    guests: BTreeMap<String, Shape>,
    case: Vec<Entry>,
}

/// What a guest has besides the kernel.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    cpus: u16,
    /// Each has its own last-level cache.
    #[serde(default = "one")]
    sockets: u16,
    /// Hardware threads of a physical core.
    #[serde(default = "one")]
    smt: u16,
    /// Exit latencies of its idle states in µs; none: it has no cpuidle.
    #[serde(default)]
    idle_us: Vec<u16>,
    /// Kernel parameters.
    #[serde(default)]
    pub append: String,
    /// Its time is the number of executed instructions.
    #[serde(default)]
    counted: bool,
}

impl Shape {
    pub fn topology(&self) -> Topology {
        let wish = Wish {
            cpus: Some(self.cpus),
            sockets: Some(self.sockets),
            smt: Some(self.smt),
            ..Wish::default()
        };
        Topology { idle_us: self.idle_us.clone(), ..Topology::new(wish).expect("a topology") }
    }

    /// How many times its time limit a case may take on the host.
    pub fn patience(&self) -> u64 {
        if self.counted { 10 } else { 1 }
    }

    /// Foreign architectures are emulated one CPU at a time. With more CPUs than the host has cores, 1,000 threads stall
    /// an arm64 kernel in its spin locks.
    pub fn acceleration(&self, foreign: bool) -> Acceleration {
        if self.counted || foreign { Acceleration::Counted } else { Acceleration::Auto }
    }
}

/// A case as the file has it. `cases.toml` explains the fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    policies: Option<Policies>,
    #[serde(default)]
    script: Option<String>,
    #[serde(default)]
    run: Option<String>,
    #[serde(default)]
    host: Option<String>,
    #[serde(default)]
    expect: Vec<String>,
    #[serde(default)]
    expect_not: Vec<String>,
    #[serde(default)]
    status: i32,
    #[serde(default = "minute")]
    timeout: u64,
    #[serde(default)]
    all: bool,
    #[serde(default = "latest")]
    kernels: Vec<String>,
    #[serde(default)]
    arm64: bool,
    #[serde(default = "plain")]
    guest: String,
    #[serde(default)]
    counts: bool,
    #[serde(default)]
    costs: bool,
    #[serde(default)]
    warns: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Policies {
    All(All),
    Some(Vec<String>),
}

#[derive(Deserialize)]
enum All {
    #[serde(rename = "all")]
    All,
}

fn one() -> u16 {
    1
}

fn minute() -> u64 {
    60
}

fn latest() -> Vec<String> {
    vec![LATEST.into()]
}

fn plain() -> String {
    "plain".into()
}

/// A case to run: one policy, one kernel.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub kernel: String,
    /// `$POLICY`, and `$NEXT`: the policy after it in the list.
    pub policy: Option<(String, String)>,
    /// Shell commands for the guest.
    pub run: Option<String>,
    /// The last line must be `end`.
    pub ends: bool,
    /// Shell commands for the host, in the same folder, after `run`.
    pub host: Option<String>,
    pub expect: Vec<String>,
    pub expect_not: Vec<String>,
    pub status: i32,
    /// In seconds.
    pub timeout: u64,
    /// Only for a run that tests everything.
    pub all: bool,
    pub arm64: bool,
    pub guest: String,
    /// The loader's counts are compared with `verifier.toml`.
    pub counts: bool,
    /// What it measured is compared with `cost.toml`.
    pub costs: bool,
    /// The function of the kernel that may warn.
    pub warns: Option<String>,
}

impl Case {
    /// The kernel and the guest that it runs in; no guest if all of it runs on the host.
    pub fn place(&self) -> (&str, Option<&str>) {
        (&self.kernel, self.run.as_ref().map(|_| self.guest.as_str()))
    }
}

/// The built-in policies.
fn built_in() -> Vec<String> {
    let files = std::fs::read_dir(hearth_tests::root().join("policies")).expect("policies");
    let names = files.filter_map(|file| {
        file.expect("a file").file_name().to_str()?.strip_suffix(".ipa").map(str::to_owned)
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// The cases of the file, and the shapes of their guests.
pub fn read(file: &Path) -> (Vec<Case>, BTreeMap<String, Shape>) {
    let text = std::fs::read_to_string(file).expect("the list of cases");
    let File { guests, case: entries } =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let cases: Vec<Case> = entries.iter().flat_map(expand).collect();
    for case in &cases {
        assert!(guests.contains_key(&case.guest), "{}: there is no guest '{}'", case.name, case.guest);
    }
    (cases, guests)
}

/// One case for each policy and kernel.
fn expand(entry: &Entry) -> Vec<Case> {
    let policies = match &entry.policies {
        None => vec![],
        Some(Policies::All(All::All)) => built_in(),
        Some(Policies::Some(names)) => names.clone(),
    };
    let next = |number: usize| policies[(number + 1) % policies.len()].clone();
    let pairs = policies.iter().enumerate().map(|(number, policy)| Some((policy.clone(), next(number))));
    let pairs: Vec<_> = if policies.is_empty() { vec![None] } else { pairs.collect() };
    let mut cases = Vec::new();
    for kernel in &entry.kernels {
        for policy in &pairs {
            let name = match policy {
                Some((policy, next)) => entry.name.replace("$POLICY", policy).replace("$NEXT", next),
                None => entry.name.clone(),
            };
            cases.push(Case {
                name,
                kernel: kernel.clone(),
                policy: policy.clone(),
                run: entry.script.as_ref().map(|script| format!("sh \"$S\"/{script}")).or(entry.run.clone()),
                ends: entry.script.is_some(),
                host: entry.host.clone(),
                expect: entry.expect.clone(),
                expect_not: entry.expect_not.clone(),
                status: entry.status,
                timeout: entry.timeout,
                all: entry.all || kernel != LATEST,
                arm64: entry.arm64,
                guest: entry.guest.clone(),
                counts: entry.counts,
                costs: entry.costs,
                warns: entry.warns.clone(),
            });
        }
    }
    cases
}
