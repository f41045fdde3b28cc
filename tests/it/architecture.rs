//! The invariants of ARCHITECTURE.md.

use hearth_tests::root;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates of each group, in the order of ARCHITECTURE.md.
fn groups() -> Vec<(String, Vec<String>)> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let (_, table) = page.split_once("\n| crate | contents |\n|---|---|\n").expect("a table of crates");
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for row in table.lines().take_while(|line| line.starts_with('|')) {
        let first = row.split('|').nth(1).expect("a cell").trim();
        if let Some(group) = first.strip_prefix("**") {
            groups.push((group.trim_end_matches('*').to_owned(), Vec::new()));
        } else {
            groups.last_mut().expect("a group").1.push(first.trim_matches('`').to_owned());
        }
    }
    groups
}

fn metadata(more: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(more)
        .current_dir(root())
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The crates below `crates/`: folder, and the folders of the crates of this repository that it uses, apart from tests.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata["packages"].as_array().expect("packages");
    let place = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        manifest.parent().expect("a folder").strip_prefix(root()).expect("a member").to_owned()
    };
    let places: BTreeMap<&str, PathBuf> =
        packages.iter().map(|package| (package["name"].as_str().expect("a name"), place(package))).collect();
    let name = |place: &Path| match place.strip_prefix("crates") {
        Ok(name) => name.display().to_string(),
        Err(_) => place.display().to_string(),
    };
    let uses = |package: &Value| {
        let used = package["dependencies"].as_array().expect("dependencies").iter();
        let used = used.filter(|dependency| dependency["kind"] != "dev");
        used.filter_map(|dependency| places.get(dependency["name"].as_str()?))
            .map(|place| name(place))
            .collect()
    };
    let product = packages.iter().filter(|package| place(package).starts_with("crates"));
    product.map(|package| (name(&place(package)), uses(package))).collect()
}

#[test]
fn every_crate_uses_its_own_group_and_those_above() {
    let (groups, crates) = (groups(), crates());
    let listed: Vec<&String> = groups.iter().flat_map(|(_, crates)| crates).collect();
    let unique: BTreeSet<&String> = listed.iter().copied().collect();
    assert_eq!(listed.len(), unique.len(), "a crate is listed twice");
    assert_eq!(unique, crates.keys().collect(), "ARCHITECTURE.md and crates/ differ");
    let group = |name: &String| groups.iter().position(|(_, crates)| crates.contains(name));
    for (name, uses) in &crates {
        for used in uses {
            let (above, own) = (group(used), group(name));
            assert!(above.is_some() && above <= own, "{name} may not use {used}: see ARCHITECTURE.md");
        }
    }
}

/// All packages that a package is built from.
fn built_from(metadata: &Value, package: &str) -> BTreeSet<String> {
    let nodes = metadata["resolve"]["nodes"].as_array().expect("nodes");
    let names: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()
        .expect("packages")
        .iter()
        .map(|package| (package["id"].as_str().expect("an id"), package["name"].as_str().expect("a name")))
        .collect();
    let (mut found, mut waiting) = (BTreeSet::new(), Vec::new());
    waiting.extend(names.iter().find(|(_, name)| **name == package).map(|(id, _)| *id));
    assert!(!waiting.is_empty(), "there is no {package}");
    while let Some(id) = waiting.pop() {
        if found.insert(id) {
            let node = nodes.iter().find(|node| node["id"] == id).expect("a node");
            for dependency in node["deps"].as_array().expect("dependencies") {
                let kinds = dependency["dep_kinds"].as_array().expect("kinds");
                if kinds.iter().any(|kind| kind["kind"] != "dev") {
                    waiting.push(dependency["pkg"].as_str().expect("an id"));
                }
            }
        }
    }
    found.into_iter().map(|id| names[id].to_owned()).collect()
}

#[test]
fn only_the_viewer_and_the_program_link_a_web_server() {
    let metadata = metadata(&[]);
    for name in crates().keys() {
        let package = if name == "hearth" { "hearth-sched".to_owned() } else { format!("hearth-{name}") };
        let parts = built_from(&metadata, &package);
        let serves = parts.contains("tokio") || parts.contains("axum");
        assert_eq!(serves, ["view", "hearth"].contains(&name.as_str()), "{name}: tokio or axum");
    }
    let wheel = metadata["packages"].as_array().expect("packages").iter().find(|package| {
        package["manifest_path"]
            .as_str()
            .is_some_and(|path| Path::new(path) == root().join("python/Cargo.toml"))
    });
    let wheel = wheel.and_then(|package| package["name"].as_str()).expect("the wheel");
    assert!(!built_from(&metadata, wheel).contains("tokio"), "the wheel links tokio");
}

#[test]
fn policies_run_without_the_recorder() {
    assert!(!built_from(&metadata(&[]), "hearth-scx").contains("hearth-recorder"));
}

/// The files of the repository below these folders.
fn files(below: &[&str]) -> Vec<PathBuf> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--"])
        .args(below)
        .current_dir(root())
        .output()
        .expect("git");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let files: Vec<PathBuf> = text.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
    assert!(!files.is_empty(), "{below:?}");
    // A file may be removed, but not yet from the index.
    files.into_iter().filter(|path| root().join(path).is_file()).collect()
}

/// The code of a Rust or C file: without comments and without what follows `#[cfg(test)]`.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(root().join(path)).expect("a text");
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let comment = |line: &&str| ["//", "/*", "*"].iter().any(|start| line.trim_start().starts_with(start));
    text.lines().filter(|line| !comment(line)).collect::<Vec<_>>().join("\n")
}

fn is(path: &Path, extensions: &[&str]) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|one| extensions.contains(&one))
}

#[test]
fn simulator_and_runtime_name_no_policy() {
    let names: Vec<String> = files(&["policies/*.ipa"])
        .iter()
        .filter(|path| path.parent() == Some(Path::new("policies")))
        .filter_map(|path| path.file_stem()?.to_str().map(str::to_owned))
        .collect();
    assert!(names.contains(&"nest".into()));
    for path in files(&["crates/sim/src", "runtime"]).iter().filter(|path| is(path, &["rs", "c", "h"])) {
        let code = code(path);
        let words = code.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
        for word in words {
            assert!(!names.iter().any(|name| name == word), "{} names the policy {word}", path.display());
        }
    }
}

#[test]
fn the_product_does_not_read_the_laboratory() {
    let product =
        ["crates", "tests", "python", "web", "runtime", "policies", "machines", "packaging", "editors"];
    let reads = ["rs", "c", "h", "py", "ts", "mjs", "toml", "sh", "js"];
    for path in files(&product) {
        if !is(&path, &reads) || path.starts_with("tests/it/architecture.rs") {
            continue;
        }
        let text = fs::read_to_string(root().join(&path)).expect("a text");
        for name in ["lab/", "hearth_lab", "hearth-lab"] {
            let mut found = text.match_indices(name);
            let before = |at: usize| text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
            assert!(!found.any(|(at, _)| before(at)), "{} names {name}", path.display());
        }
    }
}

/// A file that no `mod` names is not compiled, and its tests do not run.
#[test]
fn every_rust_file_is_compiled() {
    let all: BTreeSet<PathBuf> = files(&["crates", "tests", "python", "fuzz", "lab"])
        .into_iter()
        .filter(|path| is(path, &["rs"]) && !path.ends_with("build.rs"))
        .collect();
    let metadata = metadata(&["--no-deps"]);
    let targets = metadata["packages"].as_array().expect("packages").iter();
    let targets = targets.flat_map(|package| package["targets"].as_array().expect("targets").clone());
    let mut waiting: Vec<PathBuf> = targets
        .filter_map(|target| {
            let path = Path::new(target["src_path"].as_str()?);
            path.strip_prefix(root()).ok().map(Path::to_owned)
        })
        .collect();
    let mut compiled: BTreeSet<PathBuf> = waiting.iter().cloned().collect();
    let roots = compiled.clone();
    while let Some(path) = waiting.pop() {
        let text = fs::read_to_string(root().join(&path)).unwrap_or_default();
        let included = text.split("include!(\"").skip(1).filter_map(|rest| rest.split('"').next());
        let included = included.map(|file| normal(&path.parent().expect("a folder").join(file)));
        for module in modules(&text, &path, roots.contains(&path)).into_iter().chain(included) {
            if all.contains(&module) && compiled.insert(module.clone()) {
                waiting.push(module);
            }
        }
    }
    let lost: Vec<_> = all.difference(&compiled).collect();
    assert!(lost.is_empty(), "no `mod` names these files: {lost:#?}");
}

/// Where the modules that a file declares may lie. Modules in braces have a folder of their own.
fn modules(text: &str, path: &Path, is_root: bool) -> Vec<PathBuf> {
    let folder = path.parent().expect("a folder");
    let stem = path.file_stem().expect("a name");
    let own = if is_root || stem == "mod" { folder.to_owned() } else { folder.join(stem) };
    let (mut found, mut named, mut inside) = (Vec::new(), None, Vec::new());
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        inside.retain(|(at, _): &(usize, String)| *at < indent);
        if let Some(rest) = line.strip_prefix("#[path = \"") {
            named = rest.split('"').next().map(|file| folder.join(file));
            continue;
        }
        let declared =
            line.split_once("mod ").filter(|(before, _)| before.is_empty() || before.starts_with("pub"));
        let Some((_, rest)) = declared else { continue };
        let name = rest.trim_end_matches([';', '{', ' ']).to_owned();
        if rest.ends_with('{') {
            inside.push((indent, name));
            continue;
        }
        let below = inside.iter().fold(own.clone(), |folder, (_, name)| folder.join(name));
        match named.take() {
            Some(file) => found.push(normal(&file)),
            None => found.extend([below.join(format!("{name}.rs")), below.join(&name).join("mod.rs")]),
        }
    }
    found
}

/// The path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}
