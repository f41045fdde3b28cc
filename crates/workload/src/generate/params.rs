//! Declaration of generator parameters, and their values in a specification.

use std::fmt::Write;

use hearth_base::suggest::closest;

/// A generator parameter, always an integer.
#[derive(Debug)]
pub struct Param {
    pub name: &'static str,
    pub default: u64,
    pub min: u64,
    pub max: u64,
    /// Unit: `us`, `%`, `threads`; empty for a number without unit.
    pub unit: &'static str,
    pub doc: &'static str,
}

/// Seed parameter, shared by all generators with random numbers.
pub(super) const SEED: Param = Param::new("seed", 1, 0, u64::MAX, "", "random seed");

/// Values of a generator's parameters.
#[derive(Debug)]
pub(super) struct Args {
    params: &'static [Param],
    values: Vec<u64>,
}

impl Args {
    /// Parses `key=value,key=value`. The error says what is wrong and what is allowed.
    pub fn parse(params: &'static [Param], settings: &str) -> Result<Args, String> {
        let mut args = Args { params, values: params.iter().map(|p| p.default).collect() };
        let mut seen = vec![false; params.len()];
        for setting in settings.split(',').map(str::trim).filter(|s| !s.is_empty()) {
            let (key, value) = setting
                .split_once('=')
                .ok_or_else(|| format!("`{setting}` is not of the form key=value{}", listing(params)))?;
            let (key, value) = (key.trim(), value.trim());
            let index =
                params.iter().position(|p| p.name == key).ok_or_else(|| unknown_param(params, key))?;
            if std::mem::replace(&mut seen[index], true) {
                return Err(format!("`{key}` is given twice"));
            }
            args.values[index] = params[index].value(value)?;
        }
        Ok(args)
    }

    /// Value of a declared parameter.
    pub fn get(&self, name: &str) -> u64 {
        let index = self.params.iter().position(|p| p.name == name);
        // Generators query only declared parameters; a test builds every generator.
        self.values[index.expect("the parameter is declared")]
    }

    /// Value of a parameter that counts elements of the graph, whose declared maximum fits.
    pub fn count(&self, name: &str) -> u32 {
        u32::try_from(self.get(name)).expect("the declared maximum of a count fits in 32 bits")
    }

    /// Full specification including defaults, so that a later change of a default does not change
    /// the meaning of a file's origin.
    pub fn spec(&self, name: &str) -> String {
        let mut spec = name.to_string();
        for (index, (param, value)) in self.params.iter().zip(&self.values).enumerate() {
            let _ = write!(spec, "{}{}={value}", if index == 0 { ':' } else { ',' }, param.name);
        }
        spec
    }
}

impl Param {
    pub(super) const fn new(
        name: &'static str,
        default: u64,
        min: u64,
        max: u64,
        unit: &'static str,
        doc: &'static str,
    ) -> Param {
        Param { name, default, min, max, unit, doc }
    }

    fn value(&self, text: &str) -> Result<u64, String> {
        let value: u64 = text
            .replace('_', "")
            .parse()
            .map_err(|_| format!("{}={text}: not an integer from {} to {}", self.name, self.min, self.max))?;
        match (self.min..=self.max).contains(&value) {
            true => Ok(value),
            false => Err(format!("{}={text}: must be from {} to {}", self.name, self.min, self.max)),
        }
    }
}

fn unknown_param(params: &[Param], key: &str) -> String {
    let mut text = format!("no parameter is called `{key}`");
    if let Some(near) = closest(key, params.iter().map(|p| p.name)) {
        let _ = write!(text, "; did you mean `{near}`?");
    }
    text + &listing(params)
}

fn listing(params: &[Param]) -> String {
    let mut text = "\nparameters:".to_string();
    for Param { name, default, unit, doc, .. } in params {
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        let _ = write!(text, "\n  {:<22} {doc}", format!("{name}={default}{unit}"));
    }
    text
}
