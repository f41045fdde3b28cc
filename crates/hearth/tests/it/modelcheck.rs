//! `hearth modelcheck`: properties over time, and scenarios in files.

use crate::{failed, folder, hearth, json, printed, text};
use std::fs;

/// Each core that looks for a thread preempts all others, which then look for a thread.
const STORM: &str = "policy storm extends cfs-cwc-flat {
    on schedule (core c) { for (core o in online) if (o != c) preempt(o); super; }
}";
const LIFO: &str = "policy lifo extends cfs-cwc-flat {
    on enqueue (thread t, core c) { t.vruntime = 0ms - now; t.home = c; }
}";
const SELFISH: &str = "policy selfish extends cfs-cwc-flat {
    on balance (core c) { if (now < c.next) return; c.next = now + interval; pull(c, waiting); }
}";

#[test]
fn refuted_properties_over_time_replay() {
    for (policy, scenario, property, phrase) in [
        (STORM, "ticks-2", "livelock", "repeat for ever"),
        (LIFO, "turns-1", "waiting", "for 24 ticks"),
        (SELFISH, "sleepers-3", "conservation", "after each core has balanced"),
    ] {
        let folder = folder();
        fs::write(folder.path().join("mine.ipa"), policy).expect("a file");
        let args =
            ["modelcheck", "mine.ipa", "-s", scenario, "--property", property, "-o", "found.json", "--json"];
        let output = hearth(folder.path(), &args);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(found["scenarios"][0]["violation"]["violation"]["property"], property);
        let replay = json(
            folder.path(),
            &["sim", "--schedule", "found.json", "--policy", "mine.ipa", "-o", "a.trace", "--json"],
        );
        assert!(replay["violation"]["what"].as_str().expect("a sentence").contains(phrase), "{replay}");
    }
}

#[test]
fn what_is_not_decided_does_not_hold() {
    let folder = folder();
    let few = printed(folder.path(), &["modelcheck", "cfs", "-s", "fork-2", "--max-states", "100"]);
    assert!(few.contains("undecided: more than 100 states") && !few.contains("holds"), "{few}");
    let short = printed(folder.path(), &["modelcheck", "cfs-cwc", "-s", "held-2"]);
    assert!(short.contains("Bounded waiting is not checked"), "{short}");
    let short = printed(folder.path(), &["modelcheck", "cfs-cwc", "-s", "held-2", "--property", "cwc"]);
    assert!(short.trim_end().ends_with("holds"), "{short}");
}

#[test]
fn overlapping_balances_are_optional() {
    let folder = folder();
    let args = ["modelcheck", "ule-cwc", "-s", "forks-3", "--property", "conservation"];
    printed(folder.path(), &args);
    assert_eq!(hearth(folder.path(), &[&args[..], &["--overlap"]].concat()).status.code(), Some(1));
}

#[test]
fn scenarios_are_read_from_files() {
    let folder = folder();
    let folder = folder.path();
    let text = "cores = [1]\nticks = 30\nthread = [{ on = 0, does = [\"forever\"] }, { on = 0 }]";
    fs::write(folder.join("two.toml"), text).expect("a file");
    let printed = printed(folder, &["modelcheck", "cfs-cwc", "--scenario", "two.toml"]);
    assert!(printed.contains("two ") && printed.trim_end().ends_with("holds"), "{printed}");

    fs::write(folder.join("bad.toml"), text.replace("forever", "spin")).expect("a file");
    let output = hearth(folder, &["modelcheck", "cfs-cwc", "-s", "bad.toml"]);
    failed(&output, 1, &["bad.toml: line 3", "`spin`", "a scenario looks like this"]);
    failed(&hearth(folder, &["modelcheck", "cfs-cwc", "-s", "none.toml"]), 1, &["none.toml", "No such file"]);
    failed(&hearth(folder, &["modelcheck", "cfs-cwc", "-s", "none"]), 2, &["`none`", "wake-2"]);
}

/// A change that brings violations of eventual conservation to a policy that violates work conservation.
#[test]
fn what_the_change_broke_comes_first() {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("mine.ipa"), "policy mine extends cfs { on balance (core c) { } }")
        .expect("a file");
    let args = ["modelcheck", "mine.ipa", "-s", "sleepers-3", "-s", "uneven-3", "-s", "balance-4"];
    let output = hearth(folder, &args);
    assert_eq!(output.status.code(), Some(1));
    let printed = text(&output.stdout);
    for line in [
        "the change of `cfs` brings these: uneven-3, balance-4",
        "the base `cfs` has these too: sleepers-3",
        "--all shows the 2 longer schedules too.",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}:\n{printed}");
    }
    let schedules = |printed: &str| printed.matches("\n=> ").count();
    assert_eq!(schedules(&printed), 1, "{printed}");
    assert!(printed.contains("=> eventual conservation"), "{printed}");
    let all = text(&hearth(folder, &[&args[..], &["--all"]].concat()).stdout);
    assert_eq!(schedules(&all), 3, "{all}");
    assert!(all.find("=> eventual") < all.find("=> concurrent"), "{all}");
}
