//! The obligations of policies, as a table, and how much of the theory is proved:
//! `cargo run -p hearth-prove --example obligations nest cfs:invariants theory`
#[path = "../tests/it/common/mod.rs"]
mod common;
fn main() {
    for arg in std::env::args().skip(1) {
        if arg == "theory" {
            println!("{:#?}", hearth_prove::prove_theory(&hearth_prove::Options::default()).unwrap());
            continue;
        }
        let (name, wanted) = arg.split_once(':').unwrap_or((&arg, ""));
        let properties: Vec<_> =
            hearth_prove::Property::ALL.into_iter().filter(|p| p.name().starts_with(wanted)).collect();
        let start = std::time::Instant::now();
        let policy = if name.ends_with(".ipa") { common::policy_of(name) } else { common::policy(name) };
        let report = common::proved(&policy, &properties);
        for o in &report.obligations {
            println!(
                "{:12} {:12} {:70} {:6.2}s {:?}",
                o.obligation.property.name(),
                o.obligation.id.about,
                o.obligation.id.what,
                o.seconds,
                o.verdict
            );
        }
        println!("{name}: {:?}, holds: {}\n", start.elapsed(), report.holds());
    }
}
