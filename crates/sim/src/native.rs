//! Native code of policies: linked in for built-in policies, compiled by the system's C compiler for others.

use crate::error::BuildError;
use crate::saakm::{self, PolicyTable};
use hearth_base::cache::{Cache, Key};
use hearth_base::environment;
use hearth_policy::Policy;
use libloading::Library;
use std::ffi::{CStr, c_char};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::{fs, io};

include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

/// The headers of emitted code, by path relative to `runtime/`.
const HEADERS: &[(&str, &str)] = &[
    ("saakm.h", include_str!("../../../runtime/saakm.h")),
    ("host/saakm_host.h", include_str!("../../../runtime/host/saakm_host.h")),
    ("saakm_inline.h", include_str!("../../../runtime/saakm_inline.h")),
    ("host/saakm_access.h", include_str!("../../../runtime/host/saakm_access.h")),
    ("host/saakm_effects.h", include_str!("../../../runtime/host/saakm_effects.h")),
];

/// Flags of the C compiler.
const FLAGS: [&str; 5] = ["-std=gnu11", "-O2", "-fwrapv", "-fPIC", "-shared"];

/// Number of objects that are kept, of some 30 KB each. The larger feature model has 2,496 products.
const MOST: usize = 4_000;

/// A policy and its native code.
pub struct Native {
    policy: Policy,
    table: *const PolicyTable,
    /// The offset of each parameter in the policy's state, in words.
    params: Vec<usize>,
    /// Keeps the code of `table` in memory.
    _library: Option<Library>,
}

// SAFETY: the table is constant, and its handlers keep no state of their own.
unsafe impl Send for Native {}
// SAFETY: as above.
unsafe impl Sync for Native {}

impl Native {
    /// Uses the linked-in code of a built-in policy, and compiles any other with `$CC` or `cc`.
    ///
    /// # Errors
    /// If there is no C compiler, it fails, or the code does not match the policy.
    pub fn build(policy: Policy) -> Result<Native, BuildError> {
        let linked_in = builtin_table(policy.name()).filter(|_| policy.is_builtin());
        let (library, table) = match linked_in {
            Some(table) => (None, table),
            None => {
                let (library, table) = compile(&policy)?;
                (Some(library), table)
            }
        };
        // SAFETY: the Ipanema compiler emitted the table, and `library` keeps it loaded.
        let params = unsafe { check(&*table, &policy) };
        let params = params.map_err(|what| BuildError::Load { name: policy.name().to_owned(), what })?;
        Ok(Native { policy, table, params, _library: library })
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    pub fn name(&self) -> &str {
        self.policy.name()
    }

    /// The policy's handlers and tables.
    pub fn table(&self) -> &PolicyTable {
        // SAFETY: `self` keeps the library loaded.
        unsafe { &*self.table }
    }

    /// Writes the values of all parameters into the policy's state.
    pub(crate) fn set_params(&self, state: &mut [u64], values: &[i64]) {
        for (at, value) in self.params.iter().zip(values) {
            state[*at] = *value as u64;
        }
    }

    /// For each ready queue of a core, whether it is sorted by key.
    pub(crate) fn queues_ordered(&self) -> impl Iterator<Item = bool> {
        let table = self.table();
        // SAFETY: the table has this number of queues.
        unsafe { slice(table.queues, table.nr_queues) }.iter().map(|q| q.ordered != 0)
    }
}

/// Checks that the table has this ABI version and matches the policy. Returns the offset of each parameter in
/// the policy's state, in words.
///
/// # Safety
/// The Ipanema compiler must have emitted the table.
unsafe fn check(table: &PolicyTable, policy: &Policy) -> Result<Vec<usize>, String> {
    if table.abi != saakm::ABI {
        return Err(format!(
            "it uses version {} of the SaaKM ABI; expected version {}",
            table.abi,
            saakm::ABI
        ));
    }
    // SAFETY: promised by the caller; so are all pointers in the table.
    unsafe {
        let texts = |list, count| slice(list, count).iter().map(|s| text(*s)).collect::<Vec<String>>();
        if text(table.name) != policy.name()
            || texts(table.reasons, table.nr_reasons) != policy.reasons()
            || texts(table.sets, table.nr_sets) != policy.set_names()
        {
            return Err("its name, reasons or core sets differ from its source".into());
        }
        param_offsets(slice(table.params, table.nr_params), policy, table.state_size)
    }
}

/// # Safety
/// Names must be null or strings.
unsafe fn param_offsets(
    table: &[saakm::Param],
    policy: &Policy,
    state_size: u64,
) -> Result<Vec<usize>, String> {
    if table.len() != policy.params().len() {
        return Err(format!("it has {} parameters, its source has {}", table.len(), policy.params().len()));
    }
    let offset = |(row, param): (&saakm::Param, &hearth_policy::Param)| {
        // SAFETY: promised by the caller.
        let same = unsafe { text(row.name) } == param.name
            && (row.min, row.max, row.initial) == (param.min, param.max, param.initial);
        let fits = row.offset % 8 == 0 && u64::from(row.offset) + 8 <= state_size;
        match same && fits {
            true => Ok(row.offset as usize / 8),
            false => Err(format!("its parameter `{}` differs from its source", param.name)),
        }
    };
    table.iter().zip(policy.params()).map(offset).collect()
}

/// Compiles the policy to a shared object, or takes it from the cache, and loads it.
fn compile(policy: &Policy) -> Result<(Library, *const PolicyTable), BuildError> {
    let name = policy.name().to_owned();
    let failed = |what: String| BuildError::Load { name: name.clone(), what };
    let (c, compiler) = (policy.c(), environment::variable("CC").unwrap_or_else(|| "cc".into()));
    let compiler = compiler.to_string_lossy().into_owned();
    let headers = HEADERS.iter().map(|(_, text)| *text);
    let texts = headers.chain(FLAGS).chain([&*c, version(&compiler)]);
    let (cache, key) = (Cache::of_user("native", "so", MOST), Key::of(texts.map(str::as_bytes)));
    if cache.read(key).is_some() {
        return load(&cache.path(key), policy.name()).map_err(failed);
    }
    let folder = tempfile::tempdir().map_err(|e| failed(format!("cannot create a temporary folder: {e}")))?;
    let object = folder.path().join("policy.so");
    write_sources(folder.path(), &c)
        .map_err(|e| failed(format!("cannot write to the temporary folder: {e}")))?;
    let output = Command::new(&compiler)
        .args(FLAGS)
        .arg("-I")
        .arg(folder.path())
        .arg("-o")
        .arg(&object)
        .arg(folder.path().join("policy.c"))
        .output()
        .map_err(|source| BuildError::NoCompiler { name: name.clone(), compiler, source })?;
    if !output.status.success() {
        let output = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(BuildError::Compiler { name, output });
    }
    // Without a cache, the next run compiles again.
    let _ = fs::read(&object).and_then(|object| cache.keep(key, &object));
    load(&object, policy.name()).map_err(failed)
}

/// What the compiler says about itself: an update may change the code.
fn version(compiler: &str) -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    let ask = || {
        let output = Command::new(compiler).arg("--version").output().map(|output| output.stdout);
        format!("{compiler} {}", String::from_utf8_lossy(&output.unwrap_or_default()))
    };
    VERSION.get_or_init(ask)
}

fn load(object: &Path, name: &str) -> Result<(Library, *const PolicyTable), String> {
    // SAFETY: the Ipanema compiler emitted the code, which has no constructors.
    unsafe {
        let library = Library::new(object).map_err(|e| e.to_string())?;
        // TinyCC knows no alias of data.
        let own = format!("saakm_policy_{}\0", name.replace('-', "_"));
        let table = library.get::<*const PolicyTable>(b"saakm_policy\0");
        let table = *table.or_else(|_| library.get(own.as_bytes())).map_err(|e| e.to_string())?;
        Ok((library, table))
    }
}

fn write_sources(folder: &Path, c: &str) -> io::Result<()> {
    fs::create_dir(folder.join("host"))?;
    for (name, text) in HEADERS {
        fs::write(folder.join(name), text)?;
    }
    fs::write(folder.join("policy.c"), c)
}

/// # Safety
/// `s` must be null or a string.
unsafe fn text(s: *const c_char) -> String {
    if s.is_null() {
        return String::new();
    }
    // SAFETY: promised by the caller.
    unsafe { CStr::from_ptr(s) }.to_string_lossy().into_owned()
}

/// # Safety
/// `data` must be null or point to `count` elements.
unsafe fn slice<'a, T>(data: *const T, count: u32) -> &'a [T] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(data, count as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_policy::load;
    use std::ffi::CString;
    use std::ptr;

    /// The parameter table that the Ipanema compiler would emit.
    fn rows(policy: &Policy) -> (Vec<CString>, Vec<saakm::Param>) {
        let names: Vec<CString> =
            policy.params().iter().map(|param| CString::new(&*param.name).unwrap()).collect();
        let rows = names.iter().zip(policy.params()).zip((0..).step_by(8));
        let rows = rows.map(|((name, param), offset)| saakm::Param {
            name: name.as_ptr(),
            doc: ptr::null(),
            unit: 0,
            offset,
            min: param.min,
            max: param.max,
            initial: param.initial,
        });
        let rows = rows.collect();
        (names, rows)
    }

    #[test]
    fn mismatched_parameters_are_an_error() {
        let nest = load("nest").unwrap();
        let count = nest.params().len();
        let size = 8 * count as u64;
        let try_with = |change: &dyn Fn(&mut Vec<saakm::Param>)| {
            let (_names, mut rows) = rows(&nest);
            change(&mut rows);
            // SAFETY: the names are strings.
            unsafe { param_offsets(&rows, &nest, size) }
        };
        assert_eq!(try_with(&|_| ()), Ok((0..count).collect()));
        assert!(try_with(&|rows| rows.swap(0, 1)).is_err(), "another order");
        assert!(try_with(&|rows| rows.truncate(3)).is_err(), "fewer");
        assert!(try_with(&|rows| rows[2].max += 1).is_err(), "another bound");
        assert!(try_with(&|rows| rows[2].initial += 1).is_err(), "another initial value");
        assert!(try_with(&|rows| rows[2].offset += 4).is_err(), "not aligned");
        assert!(try_with(&|rows| rows[2].offset = size as u32).is_err(), "after the end of the state");
    }

    #[test]
    fn code_of_another_policy_is_an_error() {
        let table = Native::build(load("cfs").unwrap()).unwrap();
        // SAFETY: the Ipanema compiler emitted the table.
        let checked = unsafe { check(table.table(), &load("slocal").unwrap()) };
        assert!(checked.is_err_and(|what| what.contains("differ from its source")));
    }
}
