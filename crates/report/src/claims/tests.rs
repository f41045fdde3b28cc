use super::*;

fn found(machine: &str, value: f64, in_range: bool) -> MachineResult {
    MachineResult {
        machine: machine.into(),
        value,
        ci95: Some([value - 0.01, value + 0.01]),
        in_range,
        paper: "+5% or more".into(),
        ours: "o".into(),
        verdict: "yes".into(),
    }
}

fn page() -> Page {
    let claim = Claim {
        id: "X1-<b>".into(),
        half: "reported".into(),
        says: "nest & cfs".into(),
        what: "speed-up".into(),
        range: [0.05, f64::INFINITY],
        results: vec![found("a", 0.10, true), found("b", f64::NAN, false)],
    };
    let bars = Bars {
        series: vec!["nest".into()],
        groups: vec![("a".into(), vec![Some(Bar { value: 0.1, ci95: None })]), ("b".into(), vec![None])],
    };
    let curve = Curve {
        steps: vec![(0.0, 1.2), (0.1, 3.0)],
        unit: "GHz".into(),
        marks: vec![(0.2, "end".into())],
        end: 0.3,
    };
    let figure = |drawing| Figure { title: "Figure 5".into(), caption: "c".into(), drawing };
    Page {
        provenance: "made by hearth".into(),
        title: "T".into(),
        subtitle: "S".into(),
        score: vec![vec!["half".into()], vec!["reported".into()]],
        rule: "R".into(),
        sections: vec![Section { title: "P, 1".into(), claims: vec![claim] }],
        figures: vec![figure(Drawing::Bars(bars)), figure(Drawing::Curve(curve))],
        unasked: vec![UntestedClaim {
            id: "X2".into(),
            half: "choosing".into(),
            says: "s".into(),
            why: "needs <i>".into(),
        }],
    }
}

#[test]
fn all_parts_are_there_and_escaped() {
    let html = render(&page());
    for part in [
        "X1-&lt;b&gt;",
        "nest &amp; cfs",
        "needs &lt;i&gt;",
        "class=\"hit\"",
        "<tbody class=\"misses\">",
        "class=\"miss\"",
        "Figure 5",
        "class=\"curve\"",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("{{") && !html.contains("NaN") && !html.contains("inf"), "{html}");
    // One value is unknown: one dot.
    assert_eq!(html.matches("class=\"dot\"").count(), 1);
    assert!(!html.contains("<script"));
}

#[test]
fn an_open_range_reaches_the_end() {
    let claim = &page().sections[0].claims[0];
    let axis = strip::axis(claim);
    let svg = strip::strip(&axis, claim.range, &claim.results[0]);
    let number = |name: &str| -> f64 {
        let (_, rest) = svg.split_once(name).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    let (left, wide) = (number("class=\"range\" x=\""), number("y=\"3\" width=\""));
    assert!((left + wide - 300.0).abs() < 0.2, "{left} + {wide}");
    // 0.10 is inside of the band.
    assert!(number("cx=\"") > left);
}
