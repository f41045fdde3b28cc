//! Policies on the command line: arguments and diagnostics.

use crate::arguments;
use crate::failure::Failure;
use crate::output;
use hearth_ipanema::diagnostic::{Diagnostic, render_all};
use hearth_ipanema::syntax::Sources;
use hearth_policy::{Assignment, Policy, Settings, Spec};

/// `NAME|FILE[:NAME=VALUE,...]` and `--param`.
#[derive(clap::Args)]
pub struct PolicyArgs {
    /// A policy: the name of a built-in one (`hearth list policies`), or the path of an .ipa file. May be
    /// followed by parameters: `:NAME=VALUE,...`
    #[arg(value_name = "POLICY[:PARAMS]", value_parser = arguments::policy)]
    policy: Spec,

    /// Set a parameter of the policy: `s_max=4ticks`, `attachment=false`. Repeatable
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<Assignment>,
}

impl PolicyArgs {
    /// The name or path of the policy.
    pub fn source(&self) -> &str {
        &self.policy.source
    }

    /// The policy with all its parameters, as the argument is written.
    pub fn spec(&self) -> String {
        let params: Vec<String> = (self.policy.params.iter().chain(&self.params))
            .map(|param| format!("{}={}", param.name, param.value))
            .collect();
        if params.is_empty() {
            self.policy.source.clone()
        } else {
            format!("{}:{}", self.policy.source, params.join(","))
        }
    }

    /// The nearest base of the policy, with those of the settings that are of its parameters.
    pub fn base(&self, policy: &Policy, settings: &Settings) -> Option<(Policy, Settings)> {
        let base = hearth_policy::base(&self.policy.source, policy)?;
        let mut shared = Settings::default();
        for (name, value) in settings.shown(policy) {
            // The change may have added the parameter, or its values.
            let _ = shared.set(&base, &name, &value);
        }
        Some((base, shared))
    }

    /// Loads the policy and prints its warnings. `--param` overrides a parameter after the policy's name.
    pub fn load(&self) -> Result<(Policy, Settings), Failure> {
        let policy = load(&self.policy.source)?;
        let settings = Settings::parse(&policy, self.policy.params.iter().chain(&self.params))
            .map_err(|error| Failure::from(error).status(2))?;
        Ok((policy, settings))
    }
}

/// Loads a policy and prints its warnings.
pub fn load(name_or_path: &str) -> Result<Policy, Failure> {
    let policy = hearth_policy::load(name_or_path)?;
    let colours = output::has_colours(&std::io::stderr());
    output::error_diagnostics(&render_all(policy.warnings(), policy.sources(), colours));
    Ok(policy)
}

/// Fails if the diagnostics of a text contain errors.
pub fn syntax_errors(name: &str, text: &str, diagnostics: &[Diagnostic]) -> Result<(), Failure> {
    if !diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(());
    }
    let mut sources = Sources::new();
    sources.add(name, text);
    Err(Failure::diagnostics(diagnostics, &sources))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(policy: &str, params: &[&str]) -> Result<(Policy, Settings), Failure> {
        let params = params.iter().map(|param| param.parse().unwrap()).collect();
        PolicyArgs { policy: policy.parse().unwrap(), params }.load()
    }

    #[test]
    fn param_overrides_parameters_after_the_name() {
        let (policy, settings) =
            args("nest:r_max=0, s_max=4ticks", &["r_max=3", "attachment = off"]).unwrap();
        let expected = [("attachment", "false"), ("r_max", "3"), ("s_max", "16ms")];
        assert!(settings.shown(&policy).eq(expected.map(|(n, v)| (n.to_owned(), v.to_owned()))));
        assert!(args("nest", &["rmax=1"]).is_err());
        assert!(args("nest", &["r_max=-1"]).is_err());
    }
}
