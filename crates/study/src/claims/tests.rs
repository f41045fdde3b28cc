use super::*;

const VALID: &str = r#"[[claim]]
id = "a"
paper = "A paper, section 1"
says = "one is faster"
workload = "fork-wait:iterations=5"
machines = ["xeon-5218", "ryzen-3400g"]
subject = { policy = "nest", governor = "schedutil", params = { s_max = "8ms", r_max = "0" } }
baseline = { policy = "cfs", governor = "performance" }
metric = "speedup"
range = [0, 0.5]
"#;

fn parse(text: &str) -> Result<Book, Error> {
    Book::parse("claims.toml", text)
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
    assert_eq!((&*claim.id, &*claim.paper, &*claim.says), ("a", "A paper, section 1", "one is faster"));
    assert_eq!(book.workloads.name(claim.workload), "fork-wait:iterations=5");
    let machines: Vec<&str> = claim.machines.iter().map(|&m| book.machines.name(m)).collect();
    assert_eq!(machines, ["xeon-5218", "ryzen-3400g"]);
    assert_eq!((claim.metric, claim.range), (Metric::Speedup, [0.0, 0.5]));
    // s_max = 8ms is the default, so it is not shown.
    let nest = book.policies.get(claim.subject.policy).policy();
    assert!(claim.subject.params.shown(nest).eq([("r_max".to_owned(), "0".to_owned())]));
    let baseline = claim.baseline.as_ref().unwrap();
    assert_eq!((book.policies.name(baseline.policy), baseline.governor), ("cfs", Governor::Performance));
}

#[test]
fn shared_names_are_loaded_once() {
    let book = parse(&(VALID.to_owned() + &VALID.replace("id = \"a\"", "id = \"b\""))).unwrap();
    assert_eq!(book.claims.len(), 2);
    assert_eq!((book.workloads.0.len(), book.machines.0.len(), book.policies.0.len()), (1, 2, 2));
}

#[test]
fn unknown_names_are_errors() {
    rejected(
        "xeon-5218",
        "xeon-5128",
        &["claims.toml:6: claim `a`", "`xeon-5128`", "did you mean `xeon-5218`"],
    );
    rejected("\"nest\"", "\"nset\"", &["claims.toml:7: claim `a`", "`nset`", "did you mean `nest`"]);
    rejected("\"cfs\"", "\"csf\"", &["claims.toml:8:", "`csf`", "did you mean `cfs`"]);
    rejected("r_max", "rmax", &["claims.toml:7:", "no parameter `rmax`", "did you mean `r_max`"]);
    rejected("fork-wait:", "fork-wiat:", &["claims.toml:5:", "fork-wiat", "did you mean"]);
    rejected("iterations", "iteration", &["claims.toml:5:", "iteration"]);
    rejected("performance", "ondemand", &["line 8", "ondemand", "schedutil"]);
    rejected("\"speedup\"", "\"speed\"", &["line 9", "speed", "energy_saving"]);
}

#[test]
fn invalid_values_are_errors() {
    rejected("r_max = \"0\"", "r_max = \"many\"", &["claims.toml:7:", "`many`", "a whole number"]);
    rejected("r_max = \"0\"", "r_max = \"99999\"", &["claims.toml:7:", "nest.r_max", "between 0 and"]);
    rejected("r_max = \"0\"", "r_max = 0", &["line 7", "expected a string"]);
    rejected("[0, 0.5]", "[0.5, 0]", &["claims.toml:10: claim `a`", "[0.5, 0] is empty"]);
    rejected("[0, 0.5]", "[nan, 0]", &["claims.toml:10:", "is empty"]);
    rejected("[0, 0.5]", "[0, inf]", &["claims.toml:10:", "both finite"]);
    rejected("[0, 0.5]", "[0]", &["line 10"]);
}

#[test]
fn incomplete_claims_are_errors() {
    rejected("says = \"one is faster\"", "", &["missing field `says`"]);
    rejected("says", "say", &["line 4", "unknown field `say`"]);
    rejected("[\"xeon-5218\", \"ryzen-3400g\"]", "[]", &["claims.toml:6:", "no machine"]);
    rejected("ryzen-3400g", "xeon-5218", &["claims.toml:6:", "`xeon-5218` twice"]);
    rejected("id = \"a\"", "id = \"\"", &["claims.toml:2:", "empty"]);
    assert!(parse("").is_err() && parse("[[claims]]").is_err());
}

#[test]
fn ids_are_unique() {
    let Err(error) = parse(&(VALID.to_owned() + VALID)) else { panic!("accepted") };
    let said = format!("{error} {:?}", error.help());
    assert!(said.contains("claims.toml:12: claim `a`") && said.contains("another claim has it"), "{said}");
}

#[test]
fn overload_is_the_only_metric_without_a_baseline() {
    rejected("\"speedup\"", "\"overload\"", &["claims.toml:8:", "no baseline", "remove the baseline"]);
    let alone = "baseline = { policy = \"cfs\", governor = \"performance\" }\n";
    rejected(alone, "", &["claims.toml:8:", "needs a baseline", "add baseline"]);
    let book = parse(&VALID.replace(alone, "").replace("\"speedup\"", "\"overload\"")).unwrap();
    assert!(book.claims[0].baseline.is_none());
}

#[test]
fn the_papers_claims_are_valid() {
    assert!(Book::built_in().unwrap().claims.len() > 10);
}

#[test]
fn claims_are_selected_by_the_beginning_of_their_id() {
    let book = Book::built_in().unwrap();
    let ids = |starts: &[&str]| {
        let starts: Vec<String> = starts.iter().map(|start| start.to_string()).collect();
        book.starting_with(&starts).map(|claims| claims.iter().map(|c| c.id.as_str()).collect::<Vec<_>>())
    };
    assert_eq!(ids(&[]).unwrap().len(), book.claims.len());
    assert_eq!(ids(&["smove-mkl"]).unwrap(), ["smove-mkl"]);
    assert_eq!(ids(&["smove-mk", "slocal-f"]).unwrap(), ["slocal-fork-wait", "smove-mkl"]);
    let error = ids(&["smove-mkl", "smov-mkl"]).unwrap_err();
    assert!(error.help().is_some_and(|help| help.contains("`smove-mkl`")));
}
