//! The page as a whole: complete, self-contained, well-formed and safe.

use hearth_report::page::*;

const NAN: f64 = f64::NAN;

fn setting(machine: &str, governor: &str, policy: &str) -> Setting {
    Setting { machine: machine.into(), governor: governor.into(), policy: policy.into() }
}

fn row(setting: Setting, speedup: Option<f64>) -> Row {
    let against = Setting { governor: "schedutil".into(), policy: "cfs".into(), ..setting.clone() };
    let estimate = |mean| Estimate { mean, low: mean - 0.01, high: mean + 0.01 };
    Row {
        against: speedup.map(|_| against),
        setting,
        runs: 10,
        time_s: 12.4,
        time_sd: 0.1,
        speedup: speedup.map(estimate),
        energy_j: 1130.0,
        energy_saving: speedup.map(|x| estimate(x / 2.0)),
        underload_per_s: 153.0,
        overload_core_ms: 3.0,
        inversion_core_ms: 40.0,
        cores_used: 23.0,
        sockets_used: 1.0,
        migrations: 6120.0,
        busy_ghz_mean: 3.1,
        wakeup_mean_us: 74.0,
    }
}

fn panel(setting: Setting, cores: u32, segments: u32) -> TimelinePanel {
    let length = 12.0 / f64::from(segments.max(1));
    let segment = |i: u32| Segment {
        row: i * 7 % cores,
        t0: f64::from(i) * length,
        t1: f64::from(i + 1) * length,
        ghz: 1.0 + (i * 13 % 29) as f32 / 10.0,
        busy: 1.0 - (i % 5) as f32 / 10.0,
    };
    TimelinePanel {
        setting,
        duration_s: 12.0,
        ghz_range: (1.0, 3.9),
        cores: (0..cores).map(|i| CoreRow { label: i.to_string(), socket: i / 32 }).collect(),
        segments: (0..segments).map(segment).collect(),
        underload: (0..3000).map(|i| (f64::from(i) * 0.004, f64::from(i % 5))).collect(),
    }
}

/// Two machines, two governors, three policies; `text` is woven into every string.
fn report(text: &str) -> Report {
    let with = |name: &str| format!("{name}{text}");
    let mut report = Report {
        title: with("title"),
        subtitle: with("subtitle"),
        workload: vec![(with("name"), with("value"))],
        notes: vec![with("note")],
        findings: vec![Finding {
            machine: with("E7"),
            sentence: with("Verdict"),
            rows: vec![["cfs", "1.00", "baseline", ""].map(with); 3],
        }],
        accuracy: with("Accuracy"),
        provenance: vec![(with("repeat"), with("hearth predict"))],
        ..Report::default()
    };
    for machine in ["E7", "5218"] {
        for governor in ["schedutil", "performance"] {
            for (i, policy) in ["cfs", "smove", "nest"].into_iter().enumerate() {
                let setting = setting(&with(machine), &with(governor), &with(policy));
                let speedup = (i > 0).then_some(i as f64 / 10.0);
                report.rows.push(row(setting.clone(), speedup));
                let residency = vec![(1.0, 300.0), (3.9, 700.0), (0.0, 10.0)];
                report.distributions.push(Distribution { setting: setting.clone(), residency });
                let mut panel = panel(setting, 64, 100);
                panel.cores[3].label = with("3");
                report.timelines.push(panel);
            }
        }
    }
    report
}

/// The page without style and scripts.
fn markup(page: &str) -> String {
    let mut markup = page.to_string();
    for (open, close) in [("<style", "</style>"), ("<script", "</script>")] {
        while let Some(start) = markup.find(open) {
            let end = start + markup[start..].find(close).expect("an end") + close.len();
            markup.replace_range(start..end, "");
        }
    }
    markup
}

fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
    &page[start..start + page[start..].find("</section>").unwrap()]
}

fn assert_well_formed(page: &str) {
    let markup = markup(page);
    for tag in [
        "main", "section", "div", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "dl", "dt", "dd",
        "p", "ul", "li", "ol", "details", "figure", "svg", "b", "small", "span", "strong",
    ] {
        let opened =
            markup.matches(&format!("<{tag}>")).count() + markup.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, markup.matches(&format!("</{tag}>")).count(), "<{tag}>");
    }
}

#[test]
fn every_result_appears_once_in_each_view() {
    let page = render(&report(""));
    assert_well_formed(&page);
    let table = section(&page, "numbers");
    assert_eq!(table.matches("<th scope=\"row\"").count(), 12);
    for group in
        ["E7 <span>schedutil", "E7 <span>performance", "5218 <span>schedutil", "5218 <span>performance"]
    {
        assert_eq!(table.matches(group).count(), 1, "{group}");
    }
    assert_eq!(table.matches("</i>nest</th>").count(), 4);
    let bars = section(&page, "bars");
    assert_eq!(bars.matches("<table").count(), 4, "speed-up and energy for two machines");
    assert_eq!(bars.matches("class=\"mark\"").count() % 2, 0);
    assert_eq!(section(&page, "frequencies").matches("role=\"img\"").count(), 12);
    assert_eq!(section(&page, "traces").matches("<canvas").count(), 12);
    let result = section(&page, "result");
    assert!(result.contains("<p>Verdict</p>") && result.contains("Accuracy"));
    assert_eq!(result.matches("<th scope=\"row\"").count(), 3);
    assert!(section(&page, "provenance").contains("hearth predict"));
    assert_eq!(table.matches(">74.0<").count(), 12);
    assert_eq!(page, render(&report("")), "the same report gives the same page");
}

#[test]
fn tables_have_headers_and_pictures_have_words() {
    let page = markup(&render(&report("")));
    let tables = page.matches("<table").count();
    assert_eq!(page.matches("<thead").count(), tables);
    assert_eq!(page.matches("<caption").count(), tables);
    assert_eq!(
        page.matches("<th ").count(),
        page.matches("scope=\"").count(),
        "each header says what it heads"
    );
    let pictures = page.matches("<svg").count() + page.matches("<canvas").count();
    let described = page.matches("aria-label=").count()
        + page.matches("<svg width=\"100%\" height=\"20\" aria-hidden").count();
    let hidden = ["18", "28"].map(|h| page.matches(&format!("height=\"{h}\" aria-hidden")).count());
    assert_eq!(pictures, described + hidden[0] + hidden[1]);
}

#[test]
fn the_page_needs_nothing_else() {
    let page = render(&report(""));
    for outside in ["://", " src=", " href=", "url(", "@import", "fetch(", "XMLHttpRequest", "import("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn hostile_text_stays_text() {
    let plain = render(&report("x"));
    for hostile in [
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "\" onmouseover=\"alert(1)\" x=\"",
        "' onclick='alert(1)",
        "--><!-- <!--<script>",
        "{{style}}{{script}}{{",
        "]]></style><style>*{display:none}",
        "&lt;b&gt; &amp;quot;",
        "a\0b\u{1b}[31m\u{202e}\u{2028}\n\r",
        "\\u003c/script>",
    ] {
        let page = render(&report(hostile));
        assert_well_formed(&page);
        // No tag, attribute, comment or quotation more than with harmless text.
        for mark in ["<", "\" ", "<script", "<!--", "-->"] {
            let (a, b) = (markup(&page).matches(mark).count(), markup(&plain).matches(mark).count());
            let escaped = if mark == "-->" { 0 } else { a };
            assert!(escaped <= b, "{mark} in {hostile}");
        }
        assert_eq!(page.matches('<').count(), plain.matches('<').count(), "{hostile}");
        assert!(!page.contains("\0") && !page.contains('\u{202e}'));
    }
}

#[test]
fn the_page_has_a_bounded_size() {
    let mut big = report("");
    for it in &mut big.timelines {
        *it = panel(it.setting.clone(), 160, 60_000);
    }
    let page = render(&big);
    assert!(page.len() < 5 << 20, "{} bytes", page.len());
    assert!(page.len() > 3 << 20, "the budget is used: {} bytes", page.len());
    assert!(page.contains("averaged over"));
}

#[test]
fn nothing_known_nothing_broken() {
    let empty = render(&Report::default());
    assert_well_formed(&empty);
    assert!(empty.contains("nothing was run"));

    let mut odd = report("");
    for (i, row) in odd.rows.iter_mut().enumerate() {
        let x = [NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, f64::MAX][i % 6];
        let estimate = Estimate { mean: x, low: -x, high: NAN };
        *row = Row {
            setting: row.setting.clone(),
            against: row.against.clone(),
            runs: 0,
            time_s: x,
            time_sd: x,
            speedup: Some(estimate),
            energy_j: x,
            energy_saving: Some(Estimate { mean: 0.1, low: x, high: x }),
            underload_per_s: x,
            migrations: x,
            ..Row::default()
        };
    }
    for it in &mut odd.distributions {
        it.residency = vec![(NAN, 1.0), (1.0, f64::INFINITY), (f64::INFINITY, NAN)];
    }
    odd.distributions[0].residency.clear();
    for (i, it) in odd.timelines.iter_mut().enumerate() {
        it.duration_s = [NAN, f64::INFINITY, 0.0, -3.0, 12.0, 1e-12][i % 6];
        it.ghz_range = (f32::NAN, f32::INFINITY);
        it.segments.push(Segment { row: u32::MAX, t0: NAN, t1: NAN, ghz: f32::NAN, busy: f32::NAN });
        it.segments.push(Segment { row: 0, t0: -1e300, t1: 1e300, ghz: f32::INFINITY, busy: 9.0 });
        it.underload.push((NAN, NAN));
    }
    odd.timelines[4].cores.clear();
    let page = render(&odd);
    assert_well_formed(&page);
    let page = markup(&page);
    for nonsense in ["NaN", "inf", "Inf"] {
        let at = page.find(nonsense);
        assert!(at.is_none(), "{}", &page[at.unwrap().saturating_sub(80)..]);
    }
}

#[test]
fn a_report_survives_json() {
    let mut it = report("é");
    it.rows[1].energy_j = NAN;
    it.rows[1].speedup = Some(Estimate { mean: 0.1, low: NAN, high: NAN });
    let text = serde_json::to_string(&it).unwrap();
    let back: Report = serde_json::from_str(&text).unwrap();
    assert!(back.rows[1].energy_j.is_nan());
    assert_eq!(render(&back), render(&it));
    assert_eq!(serde_json::from_str::<Report>("{}").unwrap(), Report::default());
}
