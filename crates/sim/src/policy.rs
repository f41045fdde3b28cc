//! A policy, ready to run: built in, or compiled from a user's `.ipa` file.

use crate::compile;
use crate::error::PolicyError;
use crate::saakm::{self, PolicyTable};
use hearth_ipanema::Unit;
use std::ffi::{CStr, c_char};
use std::path::Path;

include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

/// A tunable of a policy.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: String,
    /// The comment at its declaration.
    pub doc: String,
    pub unit: Unit,
    pub min: i64,
    pub max: i64,
    pub initial: i64,
    offset: u32,
}

pub struct Policy {
    name: String,
    table: *const PolicyTable,
    parameters: Vec<Parameter>,
    reasons: Vec<String>,
    sets: Vec<String>,
    /// Keeps the code of `table` in memory.
    _library: Option<libloading::Library>,
}

// SAFETY: the table is constant, and its handlers keep no state of their own.
unsafe impl Send for Policy {}
// SAFETY: as for Send.
unsafe impl Sync for Policy {}

impl Policy {
    /// The policies that need no compiler.
    pub fn names() -> &'static [&'static str] {
        &hearth_ipanema::builtin::NAMES
    }

    /// A built-in policy's name, or the path of an `.ipa` file, which is compiled with the C
    /// compiler of the system (`$CC`, or `cc`).
    pub fn load(name_or_path: &str) -> Result<Policy, PolicyError> {
        if let Some(table) = builtin_table(name_or_path) {
            // SAFETY: linked into this program, emitted for this ABI.
            return unsafe { Policy::from_table(table, None) };
        }
        let path = Path::new(name_or_path);
        if path.extension().is_none_or(|e| e != "ipa") && !path.exists() {
            return Err(PolicyError::Unknown {
                name: name_or_path.to_owned(),
                known: Self::names().join(", "),
            });
        }
        let (library, table) = compile::shared_object(path)?;
        // SAFETY: `library` holds the table's code, and is kept.
        unsafe { Policy::from_table(table, Some(library)) }
    }

    /// # Safety
    /// `table` must be one that the Ipanema compiler emitted, and live as long as `library`.
    unsafe fn from_table(
        table: *const PolicyTable,
        library: Option<libloading::Library>,
    ) -> Result<Policy, PolicyError> {
        // SAFETY: promised by the caller; so are all pointers in the table.
        unsafe {
            let t = &*table;
            let name = text(t.name);
            if t.abi != saakm::ABI {
                let what =
                    format!("it was made for version {} of SaaKM, this is version {}", t.abi, saakm::ABI);
                return Err(PolicyError::Load { name, what });
            }
            let parameters = slice(t.params, t.nr_params)
                .iter()
                .map(|p| Parameter {
                    name: text(p.name),
                    doc: text(p.doc),
                    unit: match p.unit {
                        0 => Unit::Bool,
                        1 => Unit::Int,
                        2 => Unit::Time,
                        3 => Unit::Frequency,
                        _ => Unit::Load,
                    },
                    min: p.min,
                    max: p.max,
                    initial: p.initial,
                    offset: p.offset,
                })
                .collect();
            let texts = |list, count| slice(list, count).iter().map(|s| text(*s)).collect();
            Ok(Policy {
                parameters,
                reasons: texts(t.reasons, t.nr_reasons),
                sets: texts(t.sets, t.nr_sets),
                name,
                table,
                _library: library,
            })
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Names of the reasons for a placement, by number.
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// Names of the policy's core sets, by number.
    pub fn sets(&self) -> &[String] {
        &self.sets
    }

    /// Its handlers.
    pub fn table(&self) -> &PolicyTable {
        // SAFETY: valid as long as the library, which self keeps.
        unsafe { &*self.table }
    }

    /// For each ready queue of a core: sorted by key?
    pub(crate) fn queues_ordered(&self) -> impl Iterator<Item = bool> {
        let table = self.table();
        // SAFETY: as in `from_table`.
        unsafe { slice(table.queues, table.nr_queues) }.iter().map(|q| q.ordered != 0)
    }

    /// A setting for a run, from text: `2ticks`, `8ms`, `true`, `5`. Bounds are checked.
    pub fn setting(&self, name: &str, value: &str) -> Result<Setting, PolicyError> {
        let parameter = self.parameters.iter().find(|p| p.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.parameters.iter().map(|p| p.name.as_str()).collect();
            PolicyError::UnknownParam {
                policy: self.name.clone(),
                name: name.to_owned(),
                known: known.join(", "),
            }
        })?;
        let number = parameter.unit.parse(value).ok_or_else(|| PolicyError::ParamSyntax {
            policy: self.name.clone(),
            name: name.to_owned(),
            text: value.to_owned(),
            expected: parameter.unit.expected().to_owned(),
        })?;
        if number < parameter.min || number > parameter.max {
            return Err(PolicyError::ParamRange {
                policy: self.name.clone(),
                name: name.to_owned(),
                value: value.to_owned(),
                min: parameter.unit.show(parameter.min),
                max: parameter.unit.show(parameter.max),
            });
        }
        Ok(Setting {
            name: name.to_owned(),
            value: number,
            shown: parameter.unit.show(number),
            offset: parameter.offset,
        })
    }
}

/// A parameter's value for one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub name: String,
    pub value: i64,
    /// The value with its unit.
    pub shown: String,
    pub(crate) offset: u32,
}

unsafe fn text(s: *const c_char) -> String {
    if s.is_null() {
        return String::new();
    }
    // SAFETY: a string of the policy's table.
    unsafe { CStr::from_ptr(s) }.to_string_lossy().into_owned()
}

unsafe fn slice<'a, T>(data: *const T, count: u32) -> &'a [T] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: an array of the policy's table with its own count.
    unsafe { std::slice::from_raw_parts(data, count as usize) }
}
