use super::*;
use std::collections::BTreeSet;

const VALID: &str = r#"[[claim]]
id = "a-b"
paper = "A paper, section 1"
says = "one is faster"
workload = "fork-wait:iterations=5"
machines = ["xeon-5218", "ryzen-3400g"]
subject = "nest:s_max=8ms,r_max=0 schedutil"
baseline = "cfs performance on xeon-5220"
metric = "speedup"
range = [0, 0.5]
until = { seconds = 0.3 }
than = { machine = "xeon-6130-2s", metric = "time_saved" }
"#;

fn parse(text: &str) -> Result<Book, Error> {
    Book::parse(&[("claims.toml", text)])
}

/// Replaces `from` by `to` in `VALID`, and expects an error whose message contains all of `says`.
#[track_caller]
fn rejected(from: &str, to: &str, says: &[&str]) {
    assert!(VALID.contains(from), "{from}");
    let Err(error) = parse(&VALID.replace(from, to)) else { panic!("{to} was accepted") };
    let said = format!("{error} {:?}", error.help());
    for part in says {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
}

#[test]
fn parses_a_claim() {
    let book = parse(VALID).unwrap();
    let [claim] = &book.claims[..] else { panic!("one claim") };
    assert_eq!((&*claim.id, claim.row(), &*claim.paper), ("a-b", "a", "A paper, section 1"));
    let machines: Vec<&str> = claim.machines.iter().map(|&m| book.machines.name(m)).collect();
    assert_eq!(machines, ["xeon-5218", "ryzen-3400g"]);
    let quantity = &claim.quantity;
    assert_eq!((&*quantity.workload, quantity.workloads.len()), ("fork-wait:iterations=5", 1));
    assert_eq!(book.workloads.name(quantity.workloads[0]), "fork-wait:iterations=5");
    assert_eq!((&quantity.metric, claim.range), (&Metric::Speedup, [0.0, 0.5]));
    assert_eq!(quantity.until, Some(Until::Seconds(0.3)));
    // s_max = 8ms is the default, so it is not shown.
    let nest = book.policies.get(quantity.subject.policy).policy();
    assert!(quantity.subject.params.shown(nest).eq([("r_max".to_owned(), "0".to_owned())]));
    assert_eq!(quantity.subject.machine, None);
    let baseline = quantity.baseline.as_ref().unwrap();
    assert_eq!((book.policies.name(baseline.policy), baseline.governor), ("cfs", Governor::Performance));
    assert_eq!(baseline.machine.map(|machine| book.machines.name(machine)), Some("xeon-5220"));
}

#[test]
fn what_is_subtracted_differs_in_what_than_says() {
    let book = parse(VALID).unwrap();
    let than = book.claims[0].than.as_ref().unwrap();
    assert_eq!((&than.metric, &than.until), (&Metric::TimeSaved, &Some(Until::Seconds(0.3))));
    let machine = |side: &Side| side.machine.map(|machine| book.machines.name(machine).to_owned());
    // A side that names its machine keeps it.
    assert_eq!(machine(&than.subject).as_deref(), Some("xeon-6130-2s"));
    assert_eq!(machine(than.baseline.as_ref().unwrap()).as_deref(), Some("xeon-5220"));
}

#[test]
fn metrics_with_an_argument() {
    let with = |metric: &str| {
        let text = VALID.replace("than =", "# ").replace("\"speedup\"", metric);
        parse(&text).map(|book| book.claims[0].quantity.metric.clone())
    };
    assert_eq!(with("{ above_ghz = 3.1 }").unwrap(), Metric::AboveGhz(3.1));
    assert_eq!(with("{ placed = [\"cfs\"] }").unwrap(), Metric::Placed(vec!["cfs".into()]));
    assert!(with("\"above_ghz\"").is_err() && with("{ cores = 3 }").is_err());
}

#[test]
fn a_group_is_several_workloads_in_the_world_of_the_file() {
    let head = "world = \"warm\"\n[groups]\nboth = [\"fork-wait:iterations=5\", \"fork-wait:iterations=6\"]\nnone = []\n";
    let with = |name: &str| parse(&(head.to_owned() + &VALID.replace("fork-wait:iterations=5", name)));
    let book = with("both").unwrap();
    let quantity = &book.claims[0].quantity;
    assert_eq!((&*quantity.workload, quantity.workloads.len()), ("both", 2));
    assert_eq!(quantity.world, World { warm: true, ..World::EMPTY });
    assert_eq!(parse(VALID).unwrap().claims[0].quantity.world, World::default());
    let said = |book: Result<Book, Error>| book.err().expect("an error").to_string();
    assert!(said(with("none")).contains("claims.toml:9: claim `a-b`: the group `none` has no workload"));
    assert!(said(parse(&format!("world = \"hot\"\n{VALID}"))).contains("`hot` is no part of the world"));
}

#[test]
fn shared_names_are_loaded_once() {
    let book = parse(&(VALID.to_owned() + &VALID.replace("id = \"a-b\"", "id = \"b\""))).unwrap();
    assert_eq!(book.claims.len(), 2);
    assert_eq!((book.workloads.0.len(), book.machines.0.len(), book.policies.0.len()), (1, 4, 2));
}

#[test]
fn unknown_names_are_errors() {
    rejected(
        "[\"xeon-5218",
        "[\"xeon-5128",
        &["claims.toml:6: claim `a-b`", "`xeon-5128`", "did you mean `xeon-5218`"],
    );
    rejected("\"nest:", "\"nset:", &["claims.toml:7: claim `a-b`", "`nset`", "did you mean `nest`"]);
    rejected("\"cfs ", "\"csf ", &["claims.toml:8:", "`csf`", "did you mean `cfs`"]);
    rejected("on xeon-5220", "on xeon-5202", &["claims.toml:8:", "`xeon-5202`", "did you mean `xeon-5220`"]);
    rejected("r_max", "rmax", &["claims.toml:7:", "no parameter `rmax`", "did you mean `r_max`"]);
    rejected("fork-wait:", "fork-wiat:", &["claims.toml:5:", "fork-wiat", "did you mean"]);
    rejected("iterations", "iteration", &["claims.toml:5:", "iteration"]);
    rejected("performance", "ondemand", &["claims.toml:8:", "ondemand", "schedutil"]);
    rejected("\"speedup\"", "\"speed\"", &["line 9", "speed", "energy_saving"]);
    rejected("xeon-6130-2s", "xeon-6130", &["claims.toml:12:", "`xeon-6130`"]);
}

#[test]
fn invalid_values_are_errors() {
    rejected("r_max=0", "r_max=many", &["claims.toml:7:", "`many`", "a whole number"]);
    rejected("r_max=0", "r_max=99999", &["claims.toml:7:", "nest.r_max", "between 0 and"]);
    rejected("r_max=0", "r_max", &["claims.toml:7:", "expected NAME=VALUE"]);
    rejected(" schedutil\"", "\"", &["claims.toml:7:", "is not a policy and a governor", "nest schedutil"]);
    rejected("[0, 0.5]", "[0.5, 0]", &["claims.toml:10: claim `a-b`", "[0.5, 0] is empty"]);
    rejected("[0, 0.5]", "[nan, 0]", &["claims.toml:10:", "is empty"]);
    rejected("[0, 0.5]", "[inf, inf]", &["claims.toml:10:", "is empty"]);
    rejected("[0, 0.5]", "[-inf, inf]", &["claims.toml:10:", "any value"]);
    rejected("[0, 0.5]", "[0]", &["line 10"]);
    rejected("seconds = 0.3", "seconds = 0", &["claims.toml:11:", "0 is not a positive number"]);
    rejected("seconds = 0.3", "exec = \"cc1\"", &["claims.toml:11:", "no program `cc1`"]);
    rejected("seconds = 0.3", "exit = \"worker\"", &["claims.toml:11:", "no thread `worker`"]);
    assert!(parse(&VALID.replace("[0, 0.5]", "[0, inf]")).is_ok());
}

#[test]
fn incomplete_claims_are_errors() {
    rejected("says = \"one is faster\"", "", &["missing field `says`"]);
    rejected("says", "say", &["line 4", "unknown field `say`"]);
    rejected("[\"xeon-5218\", \"ryzen-3400g\"]", "[]", &["claims.toml:6:", "no machine"]);
    rejected("ryzen-3400g", "xeon-5218", &["claims.toml:6:", "`xeon-5218` twice"]);
    rejected("id = \"a-b\"", "id = \"\"", &["claims.toml:2:", "empty"]);
    rejected("baseline", "# ", &["claims.toml:9:", "needs a baseline", "add baseline"]);
    rejected("\"speedup\"", "\"energy_saving\"", &["claims.toml:9:", "energy saved", "whole runs only"]);
    rejected("\"speedup\"", "\"deviation\"", &["claims.toml:8:", "standard deviation", "has no baseline"]);
    assert!(parse("").is_err() && parse("[[claims]]").is_err());
}

#[test]
fn ids_are_unique() {
    let Err(error) = parse(&(VALID.to_owned() + VALID)) else { panic!("accepted") };
    let said = format!("{error} {:?}", error.help());
    assert!(said.contains("claims.toml:14: claim `a-b`") && said.contains("another claim has it"), "{said}");
}

#[test]
fn a_row_is_asked_or_says_why_not() {
    let unasked = |id: &str, why: &str| {
        let entry = format!("[[unasked]]\nid = \"{id}\"\npaper = \"P\"\nsays = \"s\"\nwhy = \"{why}\"\n");
        parse(&(VALID.to_owned() + &entry))
    };
    let book = unasked("c", "It needs a recording.").unwrap();
    assert_eq!(book.unasked[0].why, "It needs a recording.");
    let said = |book: Result<Book, Error>| book.err().expect("an error").to_string();
    assert!(
        said(unasked("a", "It needs a recording."))
            .contains("claims.toml:14: claim `a`: a claim asks this row")
    );
    assert!(said(unasked("c", " ")).contains("does not say why"));
    let error = book.starting_with(&["c".into()]).err().expect("an error");
    assert_eq!(error.help().unwrap(), "c is not asked: It needs a recording.");
}

// ---- The papers' claims -----------------------------------------------------------------------------------

/// All rows of the papers: N of Nest, A of its artifact, F of Fewer Cores, T of
/// the thesis.
fn rows() -> Vec<String> {
    let numbered = |letter: char, count: u32| (1..=count).map(move |number| format!("{letter}{number}"));
    let mut rows: Vec<String> = numbered('N', 96).collect();
    rows.insert(62, "N62b".into());
    rows.extend(numbered('A', 6).chain(numbered('F', 36)).chain(numbered('T', 11)));
    rows
}

#[test]
fn every_row_of_the_papers_is_there() {
    let book = Book::built_in().unwrap();
    let known = book.claims.iter().map(Claim::row).chain(book.unasked.iter().map(UntestedClaim::row));
    let known: BTreeSet<&str> = known.collect();
    let rows = rows();
    assert_eq!(rows.len(), 150);
    assert_eq!(known, rows.iter().map(String::as_str).collect());
    // A row that is not asked has one entry, and is a whole row.
    assert!(book.unasked.iter().all(|unasked| unasked.id == unasked.row()));
    let asked: BTreeSet<&str> = book.claims.iter().map(Claim::row).collect();
    assert_eq!(asked.len() + book.unasked.len(), 150);
    assert!(asked.len() >= 110, "{}", asked.len());
}

#[test]
fn no_claim_repeats_another() {
    let book = Book::built_in().unwrap();
    for (index, claim) in book.claims.iter().enumerate() {
        let same = |other: &&Claim| {
            (other.row(), &other.machines, other.range) == (claim.row(), &claim.machines, claim.range)
                && other.quantity == claim.quantity
                && other.than == claim.than
        };
        assert!(!book.claims[..index].iter().any(|other| same(&other)), "{}", claim.id);
    }
}

#[test]
fn reasons_of_placements_exist() {
    let book = Book::built_in().unwrap();
    for quantity in book.claims.iter().flat_map(|claim| claim.than.iter().chain([&claim.quantity])) {
        let known = book.policies.get(quantity.subject.policy).policy().reasons();
        let used: &[String] = match &quantity.metric {
            Metric::Placed(reasons) => reasons,
            Metric::PerSecond(reason) => std::slice::from_ref(reason),
            _ => &[],
        };
        assert!(used.iter().all(|reason| known.contains(reason)), "{used:?}");
    }
}

/// The half of a row never changes: choosing by a row that was only reported would be fitting.
#[test]
fn the_halves_are_fixed() {
    let rows = rows();
    let choosing: Vec<&str> =
        rows.iter().map(String::as_str).filter(|row| Half::of(row) == Half::Choosing).collect();
    assert_eq!(choosing.join(" "), CHOOSING);
}

const CHOOSING: &str = "\
    N2 N3 N11 N14 N15 N18 N19 N24 N26 N27 N28 N30 N32 N35 N36 N37 N38 N39 N45 N46 N47 N48 N50 N51 N52 N53 N54 \
    N55 N56 N57 N62b N63 N64 N65 N67 N71 N72 N74 N77 N80 N82 N83 N84 N85 N87 N89 N90 N92 N95 A1 A2 A3 A5 F1 \
    F2 F3 F4 F6 F7 F8 F12 F13 F14 F16 F17 F18 F19 F20 F22 F23 F25 F27 F28 F29 F30 F32 F35 T1 T4 T5 T7 T8 T9 \
    T10 T11";

#[test]
fn claims_are_selected_by_the_beginning_of_their_id() {
    let book = Book::built_in().unwrap();
    let ids = |starts: &[&str]| {
        let starts: Vec<String> = starts.iter().map(|start| start.to_string()).collect();
        book.starting_with(&starts).map(|claims| claims.iter().map(|c| c.id.as_str()).collect::<Vec<_>>())
    };
    assert_eq!(ids(&[]).unwrap().len(), book.claims.len());
    assert_eq!(ids(&["F31"]).unwrap(), ["F31-smove-mkl"]);
    assert_eq!(ids(&["F31", "N3-"]).unwrap(), ["N3-sequential", "F31-smove-mkl"]);
    let error = ids(&["F31", "F31-smove-mlk"]).unwrap_err();
    assert!(error.help().is_some_and(|help| help.contains("`F31-smove-mkl`")));
}

#[test]
fn a_file_may_change_values_of_all_its_machines() {
    let key = "frequency.schedutil.invariant_khz=0";
    let text = format!("every_machine = \"{key}\"\n{VALID}");
    let book = parse(&text).unwrap();
    let changed = book.machines.get(book.claims[0].machines[0]);
    assert_eq!(book.machines.name(0), format!("xeon-5218:{key}"));
    assert_ne!(*changed, Machine::builtin("xeon-5218").unwrap());
    let error = parse(&format!("every_machine = \"nonsense=1\"\n{VALID}")).err().unwrap();
    assert!(error.to_string().contains("nonsense"), "{error}");
}
