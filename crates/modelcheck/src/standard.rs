//! The standard scenarios: files compiled into the crate.

use crate::scenario::{Scenario, ScenarioError};

/// `("name", text of scenarios/name.toml)`.
macro_rules! scenario {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../scenarios/", $name, ".toml")))
    };
}

/// Name and text of each standard scenario. Searches for a counterexample begin with the smallest.
const SCENARIOS: &[(&str, &str)] = &[
    scenario!("wake-2"),
    scenario!("fast-2"),
    scenario!("exit-2"),
    scenario!("fork-2"),
    scenario!("yield-2"),
    scenario!("yields-2"),
    scenario!("ticks-2"),
    scenario!("held-2"),
    scenario!("turns-1"),
    scenario!("yields-1"),
    scenario!("turns-2"),
    scenario!("four-2"),
    scenario!("long-1"),
    scenario!("uneven-3"),
    scenario!("timers-2"),
    scenario!("pinned-3"),
    scenario!("behind-3"),
    scenario!("mixed-3"),
    scenario!("stuck-3"),
    scenario!("pairs-4"),
    scenario!("spread-4"),
    scenario!("dies-4"),
    scenario!("offline-4"),
    scenario!("crowd-4"),
    scenario!("allowed-4"),
    scenario!("wakers-3"),
    scenario!("forks-3"),
    scenario!("thieves-3"),
    scenario!("sleepers-3"),
    scenario!("ticks-3"),
    scenario!("wakers-4"),
    scenario!("victims-4"),
    scenario!("balance-4"),
];

impl Scenario {
    /// The standard scenario of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Scenario, ScenarioError> {
        let Some((name, text)) = SCENARIOS.iter().find(|(known, _)| *known == name) else {
            let known = SCENARIOS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            return Err(ScenarioError::Unknown(name.to_owned(), known));
        };
        Ok(read(name, text))
    }
}

/// All standard scenarios.
pub fn all() -> Vec<Scenario> {
    SCENARIOS.iter().map(|(name, text)| read(name, text)).collect()
}

fn read(name: &str, text: &str) -> Scenario {
    Scenario::from_toml(name, text).unwrap_or_else(|error| panic!("scenarios/{name}.toml: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_valid_and_have_unique_names() {
        let all = all();
        for (index, scenario) in all.iter().enumerate() {
            assert_eq!(scenario.check(), Ok(()), "{}", scenario.name);
            assert!(!all[..index].iter().any(|other| other.name == scenario.name));
            assert_eq!(Scenario::named(&scenario.name).as_ref(), Ok(scenario));
        }
        let folder =
            std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios")).expect("files");
        assert_eq!(folder.count(), all.len());
        let unknown = Scenario::named("nowhere").expect_err("no such scenario").to_string();
        assert!(unknown.contains("wake-2"), "{unknown}");
    }
}
