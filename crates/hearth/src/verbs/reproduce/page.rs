//! The results as a page.

use super::{figures, print, words};
use crate::provenance;
use hearth_report::claims::{Claim, MachineResult, Page, Section, UntestedClaim, render};
use hearth_study::reproduction::{ClaimResult, Reproduction};

/// The page of all claims.
pub fn page(reproduction: &Reproduction) -> String {
    let mut sections: Vec<Section> = Vec::new();
    for claim in &reproduction.claims {
        // "Nest, section 5.2, figure 5" belongs to "Nest, section 5.2".
        let title = claim.paper.split(", ").take(2).collect::<Vec<_>>().join(", ");
        match sections.iter_mut().find(|section| section.title == title) {
            Some(section) => section.claims.push(shown(claim)),
            None => sections.push(Section { title, claims: vec![shown(claim)] }),
        }
    }
    let unasked = reproduction.unasked.iter().map(|row| UntestedClaim {
        id: row.id.into(),
        half: row.half.to_string(),
        says: format!("{} ({})", row.says, row.paper),
        why: row.why.into(),
    });
    let head = print::COLUMNS.map(str::to_owned).to_vec();
    let score = [head].into_iter().chain(print::scores(reproduction).into_iter().map(Vec::from));
    render(&Page {
        title: "The papers' claims, and what Hearth simulates".into(),
        subtitle: "Each claim's range as a band, our mean as a dot, its 95% confidence interval as a line. The dashed line is 0.".into(),
        provenance: provenance::line(),
        score: score.collect(),
        rule: print::runs(reproduction),
        sections,
        figures: figures::all(reproduction),
        unasked: unasked.collect(),
    })
}

fn shown(claim: &ClaimResult) -> Claim {
    let found = claim.results.iter().map(|found| MachineResult {
        machine: words::machine(found).into(),
        value: found.value,
        ci95: found.ci95,
        in_range: found.in_range,
        paper: words::range(claim),
        ours: words::value(claim, found),
        verdict: words::verdict(claim, found).trim_start_matches("no, ").trim_start_matches("yes").into(),
    });
    Claim {
        id: claim.id.into(),
        half: claim.half.to_string(),
        says: format!("{} ({})", claim.says, claim.paper),
        what: words::quantity(claim),
        range: claim.range,
        results: found.collect(),
    }
}
