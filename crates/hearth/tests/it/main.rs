//! Tests of the command line: results, errors, exit statuses.

mod bad_input;
mod docs;
mod extract;
mod foreign;
mod generated;
mod kills;
mod messages;
mod modelcheck;
mod new;
mod overlay;
mod picture;
mod play;
mod processes;
mod reproduce;
mod schedule;

use hearth_trace::{CoreInfo, Energy, Header, Recording, Source, Trace};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn hearth(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hearth"))
        .current_dir(folder)
        .env_remove("RUST_BACKTRACE")
        .args(args)
        .output()
        .expect("hearth starts")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Asserts that hearth exited with this status, printed all of this on standard error, and nothing on standard
/// output.
#[track_caller]
fn failed(output: &Output, status: i32, expected: &[&str]) {
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{errors}");
    for part in expected {
        assert!(errors.contains(part), "`{part}` is not in:\n{errors}");
    }
    assert!(!errors.contains("hearth has a bug"), "{errors}");
    assert_eq!(text(&output.stdout), "");
}

/// Runs hearth in an empty folder and asserts that it fails and leaves the folder empty.
#[track_caller]
fn fails(args: &[&str], status: i32, expected: &[&str]) {
    let folder = folder();
    failed(&hearth(folder.path(), args), status, expected);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "a file was left behind");
}

/// Runs hearth, which must succeed, and returns its standard output.
#[track_caller]
fn printed(folder: &Path, args: &[&str]) -> String {
    let output = hearth(folder, args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[track_caller]
fn json(folder: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&printed(folder, args)).expect("one JSON document")
}

const SMALL: &str = "fork-wait:iterations=5";

#[test]
fn every_verb_has_help() {
    let folder = folder();
    let help = text(&hearth(folder.path(), &["--help"]).stdout);
    let verbs: Vec<&str> = help
        .lines()
        .take_while(|line| *line != "Options:")
        .filter(|line| line.starts_with("  ") && !line.starts_with("    "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(verbs.len() > 30, "{help}");
    for verb in verbs {
        let output = hearth(folder.path(), &["help", verb]);
        assert!(output.status.success() && !output.stdout.is_empty(), "{verb}");
    }
}

#[test]
fn without_a_verb_the_usage_is_printed() {
    let folder = folder();
    let output = hearth(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("Usage: hearth"));
}

#[test]
fn misspelt_names() {
    fails(&["simm"], 2, &["unrecognized subcommand", "sim"]);
    fails(&["sim", "--workload", SMALL, "--machine", "xeon-5218", "--polcy", "cfs"], 2, &["--policy"]);
    fails(&["sim", "-w", SMALL, "-m", "xeon-5128"], 1, &["xeon-5128", "did you mean `xeon-5218`"]);
    fails(&["sim", "-w", SMALL, "-m", "xeon-5218", "-p", "nset"], 1, &["nset", "did you mean `nest`"]);
    fails(&["sim", "-w", "confgure", "-m", "xeon-5218"], 1, &["confgure", "did you mean `configure`"]);
    fails(&["sim", "-w", SMALL, "-m", "xeon-5218", "-g", "ondemand"], 2, &["ondemand", "schedutil"]);
    fails(&["check", "nset"], 1, &["nset", "did you mean `nest`"]);
}

#[test]
fn impossible_parameters() {
    let sim = |param: &'static str| ["sim", "-w", SMALL, "-m", "xeon-5218", "-p", "nest", "--param", param];
    fails(&sim("nest.r_max=many"), 1, &["`many`", "nest.r_max", "a whole number"]);
    fails(&sim("nest.r_max=100000"), 1, &["nest.r_max", "between 0 and"]);
    fails(&sim("nest.s_max=8"), 1, &["nest.s_max", "such as"]);
    fails(&sim("nest.rmax=5"), 1, &["no parameter `rmax`", "did you mean `r_max`"]);
    fails(&sim("smove.delay=50us"), 2, &["smove", "not simulated", "--policy smove"]);
    fails(&sim("nest"), 2, &["POLICY.NAME=VALUE"]);
    fails(&["sim", "-w", SMALL, "-m", "xeon-5218", "-p", "nest:fast"], 2, &["NAME=VALUE"]);
    fails(&["sim", "-w", SMALL, "-m", "xeon-5218", "--runs", "0"], 2, &["--runs"]);
    fails(&["sim", "-w", SMALL, "-m", "xeon-5218", "--noise", "99"], 2, &["between 0 and 50"]);
    fails(&["sim", "-w", "fork-wait:iterations=none", "-m", "xeon-5218"], 1, &["iterations"]);
}

#[test]
fn missing_and_wrong_files() {
    fails(&["report", "none.trace"], 1, &["none.trace", "No such file"]);
    fails(&["report", env!("CARGO_BIN_EXE_hearth")], 1, &["not a trace"]);
    fails(&["predict", "none.trace", "-m", "xeon-5218"], 1, &["none.trace", "No such file"]);
    fails(&["sim", "-w", "./none.json", "-m", "xeon-5218"], 1, &["none.json", "No such file"]);
    fails(&["sim", "-w", SMALL, "-m", "none.toml"], 1, &["none.toml", "No such file"]);
    fails(&["sim", "-w", SMALL, "-m", "xeon-5218", "-p", "none.ipa"], 1, &["none.ipa", "No such file"]);
    fails(&["check", "none.ipa"], 1, &["none.ipa", "No such file"]);
    fails(&["fmt", "none.ipa"], 1, &["none.ipa", "No such file"]);
    fails(&["build", "none.ipa"], 1, &["none.ipa", "No such file"]);
}

#[test]
fn unwritable_outputs_are_reported_before_the_work() {
    let sim = |flag: &'static str, path: &'static str| ["sim", "-w", SMALL, "-m", "xeon-5218", flag, path];
    fails(&sim("--report", "no/such/folder.html"), 1, &["no/such", "mkdir -p no/such"]);
    fails(&sim("--report", "."), 1, &["is a folder"]);
    fails(&["record", "-o", "no/such/t.trace", "--", "true"], 125, &["mkdir -p no/such"]);
}

#[test]
fn output_requires_exactly_one_run() {
    fails(
        &["sim", "-w", SMALL, "-m", "xeon-5218", "-p", "cfs", "-p", "nest", "-o", "t.trace"],
        2,
        &["--output", "2 are selected", "--report"],
    );
}

#[test]
fn a_recording_needs_a_command() {
    fails(&["record"], 2, &["nothing to record", "record -a"]);
    fails(&["predict", "-m", "xeon-5218"], 2, &["COMMAND"]);
    let twice = ["predict", "--repeat", "2", "-m", "xeon-5218", "-p", "cfs", "-o", "t.trace", "--", "true"];
    fails(&twice, 2, &["--output", "2 are selected"]);
    fails(&["predict", "--repeat", "2", "none.trace"], 2, &["--repeat", "cannot be used with"]);
}

#[test]
fn the_documented_fields_are_there() {
    let folder = folder();
    let args =
        ["sim", "-w", SMALL, "-m", "xeon-5218", "-p", "cfs", "-p", "nest:r_max=0", "--runs", "2", "--json"];
    let document = json(folder.path(), &args);
    assert_eq!(document["schema"], "hearth.predict/1");
    for key in ["name", "origin", "threads", "steps", "cycles", "delay_s", "notes"] {
        assert!(document["workload"].get(key).is_some(), "workload.{key}");
    }
    let runs = document["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 4);
    for key in "machine governor policy params seed time_s energy_j underload_per_s overload_core_ms \
                inversion_core_ms cores_used sockets_used migrations busy_ghz_mean events wall_s trace_hash summary"
        .split_whitespace()
    {
        assert!(runs.iter().all(|run| run.get(key).is_some_and(|value| !value.is_null())), "runs[].{key}");
    }
    let policies: Vec<_> = runs.iter().map(|run| (run["policy"].clone(), run["seed"].clone())).collect();
    assert_eq!(
        policies,
        [("cfs", 1), ("cfs", 2), ("nest", 1), ("nest", 2)].map(|(p, s)| (p.into(), s.into()))
    );
    assert_eq!(runs[3]["params"], serde_json::json!({ "r_max": "0" }));
    let comparisons = document["comparisons"].as_array().expect("comparisons");
    assert_eq!(comparisons.len(), 1);
    for key in
        "machine governor policy params baseline baseline_governor baseline_params speedup speedup_ci95 \
                energy_saving energy_saving_ci95"
            .split_whitespace()
    {
        assert!(comparisons[0].get(key).is_some_and(|value| !value.is_null()), "comparisons[].{key}");
    }
    let book =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/json.md")).expect("the book");
    let verdict = &document["verdicts"][0];
    for object in [&document["workload"], &runs[0], &comparisons[0], verdict, &document["provenance"]] {
        for key in object.as_object().expect("an object").keys() {
            assert!(book.contains(&format!("`{key}`")), "{key} is not in docs/src/json.md");
        }
    }
    // The definition in docs/src/json.md.
    let mean = |policy: &str| {
        let times: Vec<f64> = runs
            .iter()
            .filter(|run| run["policy"] == policy)
            .map(|run| run["time_s"].as_f64().unwrap())
            .collect();
        times.iter().sum::<f64>() / times.len() as f64
    };
    let speedup = comparisons[0]["speedup"].as_f64().unwrap();
    assert!((speedup - (mean("cfs") / mean("nest") - 1.0)).abs() < 1e-9);
}

#[test]
fn the_same_seed_gives_the_same_trace_on_any_number_of_threads() {
    let folder = folder();
    let hashes = |jobs: &str| {
        let document = json(
            folder.path(),
            &["sim", "-w", SMALL, "-m", "ryzen-3400g", "--runs", "3", "--jobs", jobs, "--json"],
        );
        let runs = document["runs"].as_array().expect("runs").clone();
        runs.into_iter().map(|run| run["trace_hash"].clone()).collect::<Vec<_>>()
    };
    let one = hashes("1");
    assert_eq!(one, hashes("4"));
    assert_ne!(one[0], one[1], "another seed gives another trace");
}

#[test]
fn a_simulated_trace_can_be_measured_and_predicted_again() {
    let folder = folder();
    let sim = ["sim", "-w", SMALL, "-m", "xeon-5218", "-p", "nest", "-o", "t.trace", "--json"];
    let run = json(folder.path(), &sim)["runs"][0].clone();
    let report = json(folder.path(), &["report", "t.trace", "--json"]);
    assert_eq!(report["schema"], "hearth.report/1");
    let summary = &report["traces"][0]["summary"];
    for key in ["underload_per_s", "cores_used", "migrations", "busy_ghz_mean", "energy_j"] {
        assert_eq!(summary[key], run[key], "{key}");
    }
    let both = text(&hearth(folder.path(), &["report", "t.trace", "t.trace"]).stdout);
    assert!(both.contains("speed-up +0.0%"), "{both}");
    let again = json(folder.path(), &["predict", "t.trace", "-m", "xeon-5218", "-p", "cfs", "--json"]);
    assert_eq!(again["runs"].as_array().map(Vec::len), Some(15), "three governors");
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["t.trace"], "nothing else is left behind");
}

/// Asserts that all latencies of a document have a mean and no percentiles. Returns their number.
#[track_caller]
fn means_only(document: &Value) -> usize {
    match document {
        Value::Array(list) => list.iter().map(means_only).sum(),
        Value::Object(object) => object
            .iter()
            .map(|(name, value)| match value.as_object().filter(|_| name == "wakeup_latency_us") {
                Some(latency) => {
                    let known = latency.iter().filter(|(_, value)| value.is_number());
                    assert!(known.map(|(name, _)| name).eq(["count", "mean"]), "{latency:?}");
                    1
                }
                None => means_only(value),
            })
            .sum(),
        _ => 0,
    }
}

#[test]
fn a_simulation_has_no_percentiles_of_latencies() {
    let folder = folder();
    let sim = ["sim", "-w", SMALL, "-m", "xeon-e7-8870v4", "-p", "cfs", "--runs", "1"];
    let report = ["report", "t.trace", "--by", "process", "--wakers"];
    let with = |args: &[&'static str], more: &[&'static str]| [args, more].concat();
    let made = printed(folder.path(), &with(&sim, &["-o", "t.trace", "--report", "p.html"]));
    let page = fs::read_to_string(folder.path().join("p.html")).expect("the page");
    let measured = printed(folder.path(), &report);
    let csv = printed(folder.path(), &with(&report[..2], &["--csv"]));
    for (what, mean) in [(&made, "wake-up"), (&page, "mean, µs"), (&measured, "mean (µs)"), (&csv, "mean")]
    {
        assert!(what.contains(mean), "{what}");
        for percentile in ["median", "99%", "99.9%", "longest (µs)"] {
            assert!(!what.contains(percentile), "{percentile}: {what}");
        }
    }
    assert_eq!(means_only(&json(folder.path(), &with(&sim, &["--json"]))), 1);
    assert!(
        means_only(&json(folder.path(), &with(&report, &["--by", "10ms", "--by", "thread", "--json"]))) > 6
    );
    let two = json(folder.path(), &["report", "t.trace", "t.trace", "--json"]);
    assert_eq!(means_only(&two), 3, "of both, and their ratios");
}

/// Two simulations in `a.trace` and `b.trace`.
fn two_traces() -> tempfile::TempDir {
    let folder = folder();
    for (policy, name) in [("cfs", "a.trace"), ("nest", "b.trace")] {
        let sim =
            ["sim", "-w", "hackbench:groups=1", "-m", "ryzen-3400g", "-p", policy, "--runs", "1", "-o", name];
        assert!(hearth(folder.path(), &sim).status.success());
    }
    folder
}

#[test]
fn report_breaks_a_trace_down() {
    let folder = two_traces();
    let args = "report a.trace b.trace --json --by 10ms --by process --by thread --wakers --inversions 3 --overloads 3";
    let report = json(folder.path(), &args.split(' ').collect::<Vec<_>>());
    let load = "cpu_s runs preemptions wakeups wakeup_latency_us waiting_ms overload_ms migrations ghz_mean";
    let documented = [
        (
            "/by_interval/rows/0",
            "begin_s length_s events busy_core_s busy_ghz_mean underload_per_s overload_core_ms inversion_core_ms \
             inversions cores_used wakeups wakeup_latency_us context_switches migrations",
        ),
        ("/by_process/0", &*format!("process pid threads traced {load}")),
        ("/by_thread/0", &*format!("thread tid pid name traced {load}")),
        (
            "/wakers/0",
            "waker waker_pid wakee wakee_pid wakeups wakeup_latency_us same_core smt llc numa machine",
        ),
        ("/inversions", "count core_ms longest"),
        ("/inversions/longest/0", "begin_s ms core ghz thread name runs idle_core idle_ghz"),
        ("/overloads", "count ms core_ms longest"),
        ("/overloads/longest/0", "begin_s ms core_ms overloaded idle most_waiting waited"),
        ("/overloads/longest/0/overloaded/0", "core runnable"),
        ("/overloads/longest/0/waited/0", "thread name"),
    ];
    for (path, names) in documented {
        let value = report["traces"][0].pointer(path).unwrap_or_else(|| panic!("{path}"));
        let mut names: Vec<&str> = names.split_whitespace().collect();
        let mut ours: Vec<&String> = value.as_object().expect(path).keys().collect();
        names.sort();
        ours.sort();
        assert_eq!(ours, names, "{path}");
    }
    let ratios = &report["comparison"]["ratios"];
    let summary = |trace: usize| report["traces"][trace]["summary"]["busy_core_s"].as_f64().unwrap();
    let ratio = ratios["summary"]["busy_core_s"].as_f64().expect("a ratio");
    assert!((ratio - summary(1) / summary(0)).abs() < 1e-12, "{ratio}");
    for part in ["by_process", "wakers"] {
        assert!(ratios[part].as_array().is_some_and(|rows| !rows.is_empty()), "{part}");
    }
    assert_eq!(ratios["by_interval"]["rows"][0]["begin_s"], 0.0);
    assert_eq!(ratios["by_thread"], Value::Null, "threads have no counterparts");

    let args: Vec<&str> = args.split(' ').filter(|arg| *arg != "--json").collect();
    let said = text(&hearth(folder.path(), &args).stdout);
    for part in [
        "×",
        "intervals of 0.01 s",
        "processes",
        "second: threads",
        "who woke whom",
        "longest frequency",
        "longest overloads",
    ] {
        assert!(said.contains(part), "{part} is not in:\n{said}");
    }
}

#[test]
fn a_table_as_csv() {
    let folder = two_traces();
    let csv = |args: &[&str]| {
        let output = hearth(folder.path(), &[&["report", "a.trace", "--csv"], args].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let whole = csv(&[]);
    assert!(whole.len() == 2 && whole[0].contains("wakeup_latency_us.p99_9"), "{whole:?}");
    assert!(csv(&["b.trace"])[2].starts_with("second,"));
    assert!(csv(&["--by", "process"])[0].contains("cpu_s"));
    let many = hearth(folder.path(), &["report", "a.trace", "--csv", "--wakers", "--by", "second"]);
    assert_eq!(many.status.code(), Some(2));
}

/// A process chooses its name. Tables, also as CSV, have no control characters of it; JSON has the name.
#[test]
fn names_do_not_control_the_terminal() {
    let folder = folder();
    let name = "\u{1b}[2J\u{9b}1m\u{2699}\u{fe0f}";
    let workload = serde_json::json!({
        "hearth_workload": 1, "name": "w", "origin": "test",
        "threads": [{ "name": name, "ops": [{ "run": 1_000_000 }] }],
    });
    std::fs::write(folder.path().join("w.json"), workload.to_string()).unwrap();
    let sim = ["sim", "-w", "./w.json", "-m", "xeon-5218", "-p", "cfs", "--runs", "1", "-o", "w.trace"];
    printed(folder.path(), &sim);
    let control = |c: char| c.is_control() && c != '\n';
    for more in [&["--by=thread"][..], &["--wakers"], &["--by=thread", "--csv"]] {
        let table = printed(folder.path(), &[&["report", "w.trace"], more].concat());
        assert!(table.contains("[2J") && !table.contains(control), "{more:?}: {table:?}");
    }
    let threads = json(folder.path(), &["report", "w.trace", "--by=thread", "--json"]).to_string();
    assert!(threads.contains(&serde_json::to_string(name).unwrap()), "{threads}");
}

#[test]
fn a_picture_is_drawn() {
    let folder = two_traces();
    let output = hearth(folder.path(), &["report", "a.trace", "b.trace", "--plot", "p.svg"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let svg = fs::read_to_string(folder.path().join("p.svg")).unwrap();
    assert!(svg.contains("Underload: cfs, schedutil") && svg.contains("Underload: nest, schedutil"));
    fails(&["report", "a.trace", "--plot", "p.pdf"], 1, &["p.pdf", ".svg"]);
}

#[test]
fn impossible_reports_and_queries() {
    fails(&["report", "a.trace", "--by", "core"], 2, &["--by", "100ms"]);
    fails(&["report", "a.trace", "--by", "1s", "--by", "2s"], 2, &["--by", "one length"]);
    fails(&["query", "none.trace", "SELECT 1"], 1, &["none.trace"]);
    fails(&["query", "none.trace"], 2, &["QUERY"]);
    let folder = two_traces();
    let fine = hearth(folder.path(), &["report", "a.trace", "--by", "1us"]);
    assert!(fine.status.success(), "a short trace can be cut finely: {}", text(&fine.stderr));
}

/// python/tests tests the queries in DuckDB.
#[test]
fn the_tables_of_a_trace_can_be_printed() {
    let folder = two_traces();
    let sql = text(&hearth(folder.path(), &["query", "a.trace", "--sql"]).stdout);
    assert!(
        sql.contains("CREATE OR REPLACE VIEW slices") && sql.contains("/a.trace/events/*.parquet'"),
        "{sql}"
    );
    let output = Command::new(env!("CARGO_BIN_EXE_hearth"))
        .current_dir(folder.path())
        .env("HEARTH_PYTHON", "no-such-python")
        .args(["query", "a.trace", "SELECT 1"])
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("apt install python3-venv"), "{said}");
}

/// `report` reads all events; `view` reads none before a request.
#[track_caller]
fn refused(folder: &tempfile::TempDir, what: &str) {
    for verb in [&["report"][..], &["view", "--no-open"]] {
        let output = hearth(folder.path(), &[verb, &["t.trace"]].concat());
        assert_eq!(output.status.code(), Some(1), "{verb:?}: {what}");
        assert!(text(&output.stderr).contains("t.trace"), "{verb:?}: {what}");
    }
}

#[test]
fn a_damaged_trace_is_refused() {
    let folder = folder();
    let sim = ["sim", "-w", SMALL, "-m", "xeon-5218", "-p", "cfs", "-o", "t.trace"];
    assert!(hearth(folder.path(), &sim).status.success());
    for file in ["trace.json", "cores.parquet", "threads.parquet", "events/000000.parquet"] {
        let path = folder.path().join("t.trace").join(file);
        let whole = fs::read(&path).unwrap();
        for length in [whole.len() - 1, whole.len() / 2, 20, 3, 0] {
            fs::write(&path, &whole[..length]).unwrap();
            refused(&folder, &format!("{file}, {length} bytes"));
        }
        fs::remove_file(&path).unwrap();
        refused(&folder, &format!("no {file}"));
        fs::write(&path, &whole).unwrap();
    }
    assert!(hearth(folder.path(), &["report", "t.trace"]).status.success());
}

#[test]
fn a_report_is_written_whole() {
    let folder = folder();
    let sim = ["sim", "-w", SMALL, "-m", "ryzen-3400g", "-p", "cfs", "-p", "nest", "--report", "page.html"];
    let output = hearth(folder.path(), &sim);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("ryzen-3400g") && page.contains("nest") && page.trim_end().ends_with("</html>"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_user_policy_with_the_name_of_a_built_in_one() {
    let folder = folder();
    let source = text(&fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies/slocal.ipa")).unwrap());
    // Both policies have the same name on purpose: the output must distinguish them.
    fs::write(folder.path().join("mine.ipa"), source).unwrap();
    let document = json(
        folder.path(),
        &["sim", "-w", SMALL, "-m", "ryzen-3400g", "-p", "slocal", "-p", "mine.ipa", "--runs", "1", "--json"],
    );
    let runs = document["runs"].as_array().unwrap();
    assert_eq!((&runs[0]["policy"], &runs[1]["policy"]), (&"slocal".into(), &"mine.ipa".into()));
    assert_eq!(runs[0]["trace_hash"], runs[1]["trace_hash"], "the same policy, built in and compiled here");
}

#[test]
fn a_policy_with_errors() {
    let folder = folder();
    fs::write(
        folder.path().join("bad.ipa"),
        "policy bad extends cfs { on tick (thread t) { t => nowhere; } }",
    )
    .unwrap();
    let output = hearth(folder.path(), &["check", "bad.ipa"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(said.contains("bad.ipa") && said.contains("nowhere") && said.contains("error"), "{said}");
    let output = hearth(folder.path(), &["check", "bad.ipa", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "hearth.check/1");
    assert_eq!(document["files"][0]["policy"], Value::Null);
    assert_eq!(document["files"][0]["diagnostics"][0]["place"]["line"], 1);
    for verb in [&["build", "bad.ipa"][..], &["sim", "-w", SMALL, "-m", "ryzen-3400g", "-p", "bad.ipa"]] {
        let output = hearth(folder.path(), verb);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()), "{verb:?}");
        assert!(text(&output.stderr).contains("nowhere"), "{verb:?}");
    }
}

#[test]
fn formatting() {
    let folder = folder();
    let path = folder.path().join("p.ipa");
    fs::write(&path, "policy p extends cfs{param x:int in 0..9=3;}").unwrap();
    let output = hearth(folder.path(), &["fmt", "--check", "p.ipa"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("not formatted: p.ipa"));
    assert!(hearth(folder.path(), &["fmt", "p.ipa"]).status.success());
    assert!(hearth(folder.path(), &["fmt", "--check", "p.ipa"]).status.success());
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
    fs::write(&path, "policy {").unwrap();
    assert_eq!(hearth(folder.path(), &["fmt", "p.ipa"]).status.code(), Some(1));
    assert_eq!(fs::read_to_string(&path).unwrap(), "policy {", "what cannot be parsed is left alone");
}

/// Runs hearth with a text on standard input.
fn with_input(folder: &Path, args: &[&str], input: &str) -> Output {
    let path = folder.join("input");
    fs::write(&path, input).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
    command.current_dir(folder).args(args).stdin(fs::File::open(path).expect("the file"));
    command.output().expect("hearth starts")
}

#[test]
fn a_dash_is_standard_input_or_output() {
    let folder = folder();
    let printed_of = |args: &[&str], input: &str| {
        let output = with_input(folder.path(), args, input);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let policy = "policy p extends cfs{param x:int in 0..9=3;}";
    let formatted = printed_of(&["fmt", "-"], policy);
    assert_eq!(formatted.lines().count(), 3);
    assert_eq!(printed_of(&["fmt", "-"], &formatted), formatted);
    // A file stays as it is, whatever a terminal would make of it.
    let odd = "/// a \u{2699}\u{fe0f} b\u{200d}c \u{94d} \u{202e}\n".to_owned() + &formatted;
    assert_eq!(printed_of(&["fmt", "-"], &odd), odd);
    assert!(printed_of(&["check", "-"], policy).contains("policy `p` is sound"));
    assert!(printed_of(&["build", "-"], policy).contains("SAAKM_POLICY(p,"));
    assert_eq!(printed_of(&["build", "-", "-o", "-"], policy), printed_of(&["build", "-"], policy));

    let simulated = [
        "sim",
        "-w",
        SMALL,
        "-m",
        "ryzen-3400g",
        "-p",
        "-",
        "--param",
        "p.x=4",
        "--runs",
        "1",
        "-o",
        "t.trace",
    ];
    assert!(printed_of(&simulated, policy).contains("p:x=4"));
    let workload = printed_of(&["extract", "t.trace", "-o", "-"], "");
    let sim = ["sim", "-w", "-", "-m", "ryzen-3400g", "-p", "cfs", "--runs", "1", "--json"];
    let document: Value = serde_json::from_str(&printed_of(&sim, &workload)).expect("JSON");
    assert_eq!(document["runs"].as_array().map(Vec::len), Some(1));
    // A trace is a folder.
    let simulate = ["sim", "-w", SMALL, "-m", "ryzen-3400g", "-p", "cfs", "--runs", "1", "-o", "-"];
    let refused = with_input(folder.path(), &simulate, "");
    assert!(text(&refused.stderr).contains("a trace is a folder, and cannot be printed"));
    assert!(!folder.path().join("-").exists());
}

#[test]
fn build_writes_c_and_json() {
    let folder = folder();
    let emit = |what: &str| text(&hearth(folder.path(), &["build", "nest", "--emit", what]).stdout);
    assert!(emit("c").contains("SAAKM_POLICY(nest,"));
    for what in ["ir", "ast"] {
        assert!(serde_json::from_str::<Value>(&emit(what)).is_ok(), "{what}");
    }
    let output = hearth(folder.path(), &["build", "nest", "-o", "nest.c"]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert_eq!(fs::read_to_string(folder.path().join("nest.c")).unwrap(), emit("c"));
}

#[test]
fn the_reader_may_close_the_pipe_early() {
    let script = format!("'{}' list workloads | true", env!("CARGO_BIN_EXE_hearth"));
    let output = Command::new("sh").args(["-c", &script]).output().expect("a shell");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_prediction_says_where_it_comes_from_and_how_sure_it_is() {
    let folder = folder();
    for (seed, name) in [("1", "a.trace"), ("2", "b.trace")] {
        let sim = ["sim", "-w", SMALL, "-m", "ryzen-3400g", "-p", "cfs", "--seed", seed, "-o", name];
        assert!(hearth(folder.path(), &sim).status.success());
    }
    let args = "predict a.trace b.trace -m xeon-5218 -p eevdf -p nest --runs 2 --all --report p.html";
    let args: Vec<&str> = args.split(' ').collect();
    let page = || {
        let said = printed(folder.path(), &args);
        (said, fs::read_to_string(folder.path().join("p.html")).expect("the page"))
    };
    let (said, first) = page();
    for part in [
        "over 2 recordings",
        "wake-up",
        "xeon-5218, schedutil",
        "\nAccuracy: ",
        "\nNext: hearth report a.trace\n",
    ] {
        assert!(said.contains(part), "{part} is not in:\n{said}");
    }
    for part in ["Where this comes from", "hearth predict a.trace b.trace -m xeon-5218", "1 to 2", "mean, µs"]
    {
        assert!(first.contains(part), "{part}");
    }
    assert_eq!(page().1, first, "the same command gives the same page");
    let document = json(folder.path(), &[&args[..], &["--json"]].concat());
    let verdict = &document["verdicts"][0];
    assert!(verdict["recordings_ci95"].is_array() && verdict["seeds_ci95"].is_array(), "{verdict}");
    assert_eq!(document["provenance"]["seeds"], serde_json::json!([1, 2]));
    assert_eq!(document["provenance"]["world"], "handovers,sched_ext");
    assert_eq!(document["runs"][2]["recording"], 1);
    assert!(document["answer"]["sentence"].as_str().is_some_and(|text| text.starts_with("xeon-5218: ")));
}

/// The machine differs between hosts: it is there, and so are two servers.
#[test]
fn without_a_machine_this_one_and_two_servers_are_predicted() {
    let folder = folder();
    let sim = ["sim", "-w", SMALL, "-m", "ryzen-3400g", "-p", "cfs", "-o", "t.trace"];
    assert!(hearth(folder.path(), &sim).status.success());
    let output = hearth(folder.path(), &["predict", "t.trace", "-p", "eevdf", "-p", "nest", "--runs", "2"]);
    let (said, noted) = (text(&output.stdout), text(&output.stderr));
    assert!(noted.contains("this machine is ") && noted.contains("the nearest built-in machine"), "{noted}");
    for part in ["this machine: ", "xeon-5218: ", "xeon-6130-4s: "] {
        assert!(said.contains(part), "{part} is not in:\n{said}");
    }
}

#[test]
fn a_report_says_where_the_time_goes() {
    let folder = two_traces();
    let said = printed(folder.path(), &["report", "a.trace"]);
    assert!(said.contains("where the time goes") && said.contains("its longest waits"), "{said}");
    let path = &json(folder.path(), &["report", "a.trace", "--json"])["traces"][0]["critical_path"];
    let sum: f64 = ["run_s", "ready_s", "wait_s"].map(|part| path[part].as_f64().expect(part)).iter().sum();
    assert!((sum - path["total_s"].as_f64().expect("a length")).abs() < 1e-6, "{path}");
    assert_eq!(path["longest"].as_array().map(Vec::len), Some(5));
    let without = printed(folder.path(), &["report", "a.trace", "--waits", "0"]);
    assert!(!without.contains("where the time goes"));
}

#[test]
fn a_report_shows_measured_energy_and_where_it_was_recorded() {
    let folder = folder();
    let energy = Energy { package_uj: 11_000_000, cores_uj: Some(8_100_000), dram_uj: None };
    let recording = |energy: Option<Energy>| Recording {
        command: vec!["make".into()],
        kernel: "6.12.0".into(),
        begin_s: 86_400,
        host: "build7".into(),
        energy: energy.map(Box::new),
        ..Recording::default()
    };
    for (name, energy) in [("measured.trace", Some(energy)), ("not.trace", None)] {
        let header = Header {
            source: Source::Recorded(recording(energy)),
            machine: "Xeon".into(),
            cores: vec![CoreInfo::default()],
            duration: 2_000_000_000,
            energy_uj: energy.map_or(0, |energy| energy.total_uj()),
            ..Header::default()
        };
        Trace { header, events: Vec::new() }.write(folder.path().join(name)).expect("a trace");
    }
    let words = |args: &[&str]| printed(folder.path(), args).split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words(&["report", "measured.trace"]);
    for part in [
        "recorded: 2.00 s on build7 (Xeon), Linux 6.12.0, 1970-01-02T00:00:00Z",
        "energy (J) 11.0 packages 11.0 of which cores 8.10 memory - power (W) 5.50",
    ] {
        assert!(said.contains(part), "{part} is not in:\n{said}");
    }
    let said = words(&["report", "not.trace"]);
    assert!(said.contains("energy was not measured") && !said.contains("packages"), "{said}");
    let both = json(folder.path(), &["report", "measured.trace", "not.trace", "--json"]);
    assert_eq!(both["traces"][0]["energy"]["cores_uj"], 8_100_000);
    assert_eq!(both["traces"][1].get("energy"), None);
    assert_eq!(both["traces"][0]["recorded"]["host"], "build7");
}

/// Where the kernel has no sched_ext, nothing is run.
#[test]
fn trying_needs_sched_ext() {
    fails(&["try", "nset", "--", "true"], 1, &["did you mean `nest`"]);
    fails(&["try", "nest"], 2, &["<COMMAND>"]);
    fails(&["try", "--runs", "3", "--", "true"], 2, &["between 4 and 100"]);
    if !Path::new("/sys/kernel/sched_ext").exists() {
        fails(&["try", "--", "touch", "ran"], 1, &["no sched_ext", "help: "]);
    }
}

/// Without the rights to record, hearth must fail with 125. Otherwise it must return the command's status.
#[test]
fn recording() {
    let folder = folder();
    let output = hearth(folder.path(), &["record", "-o", "t.trace", "--", "sh", "-c", "/bin/true; exit 7"]);
    let said = text(&output.stderr);
    if output.status.code() == Some(125) {
        assert!(said.starts_with("error: "), "{said}");
        assert!(!folder.path().join("t.trace").exists());
        return hearth_tests::skip(&said);
    }
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains("sh ended with exit status: 7"), "{said}");
    let report = json(folder.path(), &["report", "t.trace", "--json"]);
    assert!(report["traces"][0]["summary"]["context_switches"].as_u64() > Some(0));
    let recorded = &report["traces"][0]["recorded"];
    assert!(recorded["date"].as_str().is_some_and(|date| date.ends_with('Z')), "{recorded}");
    assert!(said.contains("energy: "), "{said}");
    assert_eq!(hearth(folder.path(), &["record", "--", "/no/such/command"]).status.code(), Some(127));

    let again = hearth(folder.path(), &["record", "-o", "t.trace", "--", "true"]);
    assert!(again.status.success() && text(&again.stderr).contains("t.trace.old"), "{}", text(&again.stderr));
    assert_eq!(
        json(folder.path(), &["report", "t.trace.old", "--json"])["traces"][0]["summary"],
        report["traces"][0]["summary"]
    );
    fs::remove_dir_all(folder.path().join("t.trace.old")).expect("the old trace");
    fs::write(folder.path().join("t.trace.old"), "a diary").expect("a file");
    failed(
        &hearth(folder.path(), &["record", "-o", "t.trace", "--", "true"]),
        125,
        &["t.trace.old already exists"],
    );
}

/// Two recordings of a command are kept, under new names, and predicted.
#[test]
fn predicted_recordings_are_kept() {
    let folder = folder();
    fs::write(folder.path().join("sh.trace"), "not mine").expect("a file");
    let args =
        ["predict", "--repeat", "2", "-m", "xeon-5218", "-p", "eevdf", "-p", "nest", "--runs", "2", "--json"];
    let output = hearth(folder.path(), &[&args[..], &["--", "sh", "-c", "/bin/true; exit 7"]].concat());
    if output.status.code() == Some(125) {
        return hearth_tests::skip(&text(&output.stderr));
    }
    assert_eq!(output.status.code(), Some(7));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let recordings = document["provenance"]["recordings"].as_array().expect("recordings");
    let paths: Vec<_> = recordings.iter().map(|recording| recording["path"].as_str()).collect();
    assert_eq!(paths, [Some("sh-2.trace"), Some("sh-3.trace")]);
    let repeat = "hearth predict -m xeon-5218 -p eevdf -p nest --runs 2 --json sh-2.trace sh-3.trace";
    assert_eq!(document["provenance"]["command"], repeat);
    let again: Vec<&str> = repeat.split(' ').skip(1).collect();
    assert_eq!(json(folder.path(), &again)["verdicts"], document["verdicts"]);
    assert_eq!(fs::read_to_string(folder.path().join("sh.trace")).expect("the file"), "not mine");
}

/// The detected values differ between machines; the file must be usable on all.
#[test]
fn the_detected_machine_can_be_simulated() {
    let folder = folder();
    let detected = hearth(folder.path(), &["machine", "detect", "-o", "mine.toml"]);
    assert!(detected.status.success(), "{}", text(&detected.stderr));
    let args = ["sim", "--machine", "mine.toml", "--workload", SMALL, "--policy", "cfs", "--json"];
    assert_eq!(json(folder.path(), &args)["runs"][0]["policy"], "cfs");
    assert!(hearth(folder.path(), &["machine", "show", "mine.toml"]).status.success());
    fails(&["machine", "detect", "--cores", "x"], 2, &["give cores as in `0-3,8`"]);
    fails(&["machine", "show", "ryzen-4650"], 1, &["did you mean `ryzen-4650g`?"]);
}

#[test]
fn transition_latency_is_measured_and_drawn() {
    let folder = folder();
    let args = "ftl --rounds 3 --busy 20ms --idle 20ms --quiet 5ms --json --plot ftl.svg";
    let report = json(folder.path(), &args.split(' ').collect::<Vec<_>>());
    assert_eq!(report["schema"], "hearth.ftl/1");
    assert_eq!(report["up"]["curve"].as_array().map(Vec::len), Some(200));
    let svg = fs::read_to_string(folder.path().join("ftl.svg")).expect("the picture");
    assert!(svg.starts_with("<svg"));
    fails(&["ftl", "--core", "4000000"], 1, &["may not use core 4000000", "choose one of"]);
    fails(&["ftl", "--rounds", "0"], 1, &["0 rounds; give 1 to 10000"]);
    fails(&["ftl", "--plot", "."], 1, &["is a folder"]);
}
