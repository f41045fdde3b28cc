//! The command-line syntax of policies and parameters.

use std::path::Path;
use std::str::FromStr;

/// `NAME=VALUE`: a value for a parameter. The policy is named elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub name: String,
    pub value: String,
}

/// `NAME|FILE[:NAME=VALUE,...]`: a policy and values for its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// A name or path, for [`load`](crate::load).
    pub source: String,
    pub params: Vec<Assignment>,
}

/// `POLICY.NAME=VALUE`: a value for a parameter of one of several policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedAssignment {
    /// The policy's declared name.
    pub policy: String,
    pub assignment: Assignment,
}

/// Why a text cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    #[error("expected NAME=VALUE, not `{0}`")]
    Assignment(String),
    #[error("expected POLICY.NAME=VALUE, such as nest.s_max=4ticks")]
    ScopedAssignment,
}

impl FromStr for Assignment {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                Ok(Assignment { name: name.trim().into(), value: value.trim().into() })
            }
            _ => Err(SpecError::Assignment(text.into())),
        }
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        // The name of a file may contain a colon.
        let (source, params) = match text.split_once(':') {
            Some(parts) if !Path::new(text).exists() => parts,
            _ => (text, ""),
        };
        let params = params.split(',').filter(|param| !param.trim().is_empty());
        let params = params.map(Assignment::from_str).collect::<Result<_, _>>()?;
        Ok(Spec { source: source.into(), params })
    }
}

impl FromStr for ScopedAssignment {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let Assignment { name, value } = text.parse().map_err(|_| SpecError::ScopedAssignment)?;
        // The name of a policy may contain a dot, that of a parameter may not.
        let (policy, name) = name.rsplit_once('.').ok_or(SpecError::ScopedAssignment)?;
        let assignment = Assignment { name: name.trim().into(), value };
        Ok(ScopedAssignment { policy: policy.trim().into(), assignment })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assignment(name: &str, value: &str) -> Assignment {
        Assignment { name: name.into(), value: value.into() }
    }

    #[test]
    fn policies_with_parameters() {
        let spec: Spec = "nest:r_max=0, s_max = 4ticks".parse().unwrap();
        assert_eq!(spec.source, "nest");
        assert_eq!(spec.params, [assignment("r_max", "0"), assignment("s_max", "4ticks")]);
        for none in ["cfs", "cfs:", "cfs: ,"] {
            assert_eq!(none.parse::<Spec>().unwrap(), Spec { source: "cfs".into(), params: Vec::new() });
        }
        assert_eq!("cfs:fast".parse::<Spec>(), Err(SpecError::Assignment("fast".into())));
        assert!("cfs:=1".parse::<Spec>().is_err());
    }

    #[test]
    fn a_file_may_have_a_colon_in_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a:b.ipa");
        let text = path.to_str().unwrap();
        assert!(text.parse::<Spec>().is_err());
        std::fs::write(&path, "").unwrap();
        assert_eq!(text.parse::<Spec>().unwrap(), Spec { source: text.into(), params: Vec::new() });
    }

    #[test]
    fn parameters_of_one_among_several_policies() {
        let param: ScopedAssignment = "my.policy.delay = 50us".parse().unwrap();
        assert_eq!(param.policy, "my.policy");
        assert_eq!(param.assignment, assignment("delay", "50us"));
        assert!("nest=5".parse::<ScopedAssignment>().is_err());
        assert!("nest.r_max".parse::<ScopedAssignment>().is_err());
    }
}
