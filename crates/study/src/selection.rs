//! What a user names: machines, governors, policies and parameters, as text.

use hearth_machine::Governor;
use std::path::Path;
use std::str::FromStr;

/// What to simulate, by name. [`Matrix::load`](crate::Matrix::load) loads it.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Names of built-in machines, or paths of machine files.
    pub machines: Vec<String>,
    pub governors: Vec<Governor>,
    /// Without any: all built-in policies.
    pub policies: Vec<PolicySpec>,
    pub params: Vec<Param>,
}

/// A policy under parameters: `NAME|FILE[:NAME=VALUE,...]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicySpec {
    pub source: String,
    pub params: Vec<(String, String)>,
}

impl FromStr for PolicySpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A file may have a colon in its name.
        let (source, params) = match text.split_once(':') {
            Some(parts) if !Path::new(text).exists() => parts,
            _ => (text, ""),
        };
        let params = params
            .split(',')
            .filter(|param| !param.is_empty())
            .map(|param| {
                let (name, value) = param
                    .split_once('=')
                    .ok_or_else(|| format!("`{param}` is not of the form NAME=VALUE"))?;
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            })
            .collect::<Result<_, String>>()?;
        Ok(PolicySpec { source: source.to_owned(), params })
    }
}

/// A parameter of a policy, wherever the policy is named: `POLICY.NAME=VALUE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    pub policy: String,
    pub name: String,
    pub value: String,
}

impl FromStr for Param {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').and_then(|(path, value)| {
            let (policy, name) = path.rsplit_once('.')?;
            Some(Param {
                policy: policy.trim().to_owned(),
                name: name.trim().to_owned(),
                value: value.trim().to_owned(),
            })
        });
        parts.ok_or_else(|| "it is not of the form POLICY.NAME=VALUE, such as nest.s_max=4ticks".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_with_parameters() {
        let spec: PolicySpec = "nest:r_max=0, s_max=4ticks".parse().unwrap();
        assert_eq!(spec.source, "nest");
        let expected = [("r_max", "0"), ("s_max", "4ticks")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(spec.params, expected);
        assert!("cfs".parse::<PolicySpec>().unwrap().params.is_empty());
        assert!("cfs:fast".parse::<PolicySpec>().is_err());
    }

    #[test]
    fn parameters() {
        let param: Param = "my.policy.delay = 50us".parse().unwrap();
        assert_eq!((&*param.policy, &*param.name, &*param.value), ("my.policy", "delay", "50us"));
        assert!("nest=5".parse::<Param>().is_err());
        assert!("nest.r_max".parse::<Param>().is_err());
    }
}
