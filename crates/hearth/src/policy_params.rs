//! Policies for the kernel, with their parameters as `sim` takes them.

use crate::failure::Failure;
use crate::policy_file;
use hearth_base::suggest::closest;
use hearth_ipanema::diagnostic::render_all;
use hearth_ipanema::ir;
use hearth_scx::{Error, Policy};
use std::io::IsTerminal;
use std::path::Path;
use std::str::FromStr;

/// `NAME|FILE[:NAME=VALUE,...]`, with more parameters beside it.
#[derive(clap::Args)]
pub struct PolicyArgs {
    /// A policy: a built-in one (`hearth list policies`), or the path of an .ipa file; with
    /// `:NAME=VALUE,...` appended, under these parameters
    #[arg(value_name = "POLICY[:PARAMS]")]
    policy: String,

    /// A parameter: `s_max=4ticks`, `attachment=false`. Repeatable
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<Param>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub name: String,
    pub value: String,
}

impl FromStr for Param {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                Ok(Param { name: name.trim().into(), value: value.trim().into() })
            }
            _ => Err(format!("`{text}` is not of the form NAME=VALUE")),
        }
    }
}

impl PolicyArgs {
    /// The policy, and a value for each of its parameters.
    pub fn load(&self) -> Result<(Policy, Vec<i64>), Failure> {
        let (ir, values) = self.compiled()?;
        Ok((Policy::new(&ir), values))
    }

    /// The compiled policy, and its parameters with their values.
    pub fn load_ir(&self) -> Result<(ir::Policy, Vec<(String, i64)>), Failure> {
        let (ir, values) = self.compiled()?;
        let names: Vec<String> = ir.params.iter().map(|param| param.name.clone()).collect();
        Ok((ir, names.into_iter().zip(values).collect()))
    }

    fn compiled(&self) -> Result<(ir::Policy, Vec<i64>), Failure> {
        // A file may have a colon in its name.
        let (source, params) = match self.policy.split_once(':') {
            Some(parts) if !Path::new(&self.policy).exists() => parts,
            _ => (self.policy.as_str(), ""),
        };
        let appended = params.split(',').filter(|param| !param.trim().is_empty()).map(Param::from_str);
        let appended = appended.collect::<Result<Vec<_>, _>>().map_err(Failure::usage)?;
        let ir = compile_ir(source)?;
        let policy = Policy::new(&ir);
        let mut values = policy.initial();
        // Said twice: the last one counts.
        for Param { name, value } in appended.iter().chain(&self.params) {
            let (index, value) = policy.value(name, value).map_err(|error| param(error, &policy))?;
            values[index] = value;
        }
        Ok((ir, values))
    }
}

/// Compiles a policy, and shows what the compiler has to say.
pub fn compile(name_or_path: &str) -> Result<Policy, Failure> {
    Ok(Policy::new(&compile_ir(name_or_path)?))
}

/// The same, before anything is made of it.
pub fn compile_ir(name_or_path: &str) -> Result<ir::Policy, Failure> {
    let colour = std::io::stderr().is_terminal();
    let compiled = policy_file::compile_named(name_or_path)?.map_err(|failed| {
        eprint!("{}", render_all(&failed.diagnostics, &failed.sources, colour));
        Failure::quiet()
    })?;
    eprint!("{}", render_all(&compiled.warnings, &compiled.sources, colour));
    Ok(compiled.ir)
}

fn param(error: Error, policy: &Policy) -> Failure {
    let near = match &error {
        Error::UnknownParam { name, .. } => closest(name, policy.params.iter().map(|p| p.name.as_str())),
        _ => None,
    };
    let failure = Failure::usage(&error);
    near.map_or_else(|| Failure::usage(&error), |near| failure.help(format_args!("did you mean `{near}`?")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(policy: &str, params: &[&str]) -> Result<(Policy, Vec<i64>), Failure> {
        let params = params.iter().map(|param| param.parse().unwrap()).collect();
        PolicyArgs { policy: policy.into(), params }.load()
    }

    #[test]
    fn parameters_appended_and_beside() {
        let (policy, values) = args("nest:r_max=0, s_max=4ticks", &["r_max=3", "attachment = off"]).unwrap();
        let value = |name: &str| values[policy.params.iter().position(|p| p.name == name).unwrap()];
        assert_eq!((value("r_max"), value("s_max"), value("attachment")), (3, 16_000_000, 0));
        assert!(args("nest:r_max", &[]).is_err());
        assert!(args("nest", &["rmax=1"]).is_err());
        assert!(args("nest", &["r_max=-1"]).is_err());
        assert!("nest".parse::<Param>().is_err());
    }
}
