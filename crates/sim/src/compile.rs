//! A user's `.ipa` file becomes native code: Ipanema compiler, then the system's C compiler.

use crate::error::PolicyError;
use crate::saakm::PolicyTable;
use hearth_ipanema::syntax::Source;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// What emitted code is compiled against, by name relative to `runtime/`.
const HEADERS: &[(&str, &str)] = &[
    ("saakm.h", include_str!("../../../runtime/saakm.h")),
    ("host/saakm_host.h", include_str!("../../../runtime/host/saakm_host.h")),
    ("saakm_inline.h", include_str!("../../../runtime/saakm_inline.h")),
    ("host/saakm_access.h", include_str!("../../../runtime/host/saakm_access.h")),
    ("host/saakm_effects.h", include_str!("../../../runtime/host/saakm_effects.h")),
];

/// Where the compiler finds the policy at `path`, whose text is `text`, and what it extends: a file
/// beside it (`NAME.ipa`), else a built-in policy. The policy itself is known by its path.
pub fn beside(path: &str, text: String) -> impl Fn(&str) -> Option<Source> {
    let path = path.to_owned();
    move |wanted: &str| {
        if wanted == path {
            return Some(Source { name: path.clone(), text: text.clone() });
        }
        let base = Path::new(&path).with_file_name(format!("{wanted}.ipa"));
        let text = fs::read_to_string(&base).ok()?;
        Some(Source { name: base.display().to_string(), text })
    }
}

/// Compiles the policy at `path` and loads it.
pub fn shared_object(path: &Path) -> Result<(libloading::Library, *const PolicyTable), PolicyError> {
    let name = path.display().to_string();
    let text =
        fs::read_to_string(path).map_err(|source| PolicyError::Read { path: path.to_owned(), source })?;
    let compiled = hearth_ipanema::compile(&beside(&name, text), &name)
        .map_err(|failed| PolicyError::Source { rendered: failed.to_string() })?;
    let c = hearth_ipanema::emit::c(&compiled.ir);
    let failed = |what: String| PolicyError::Load { name: name.clone(), what };
    let folder = tempfile::tempdir().map_err(|e| failed(format!("no temporary folder: {e}")))?;
    let object = folder.path().join("policy.so");
    write_sources(folder.path(), &c)
        .map_err(|e| failed(format!("cannot write to the temporary folder: {e}")))?;

    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let output = Command::new(&compiler)
        .args(["-std=gnu11", "-O2", "-fwrapv", "-fPIC", "-shared", "-I"])
        .arg(folder.path())
        .arg("-o")
        .arg(&object)
        .arg(folder.path().join("policy.c"))
        .output()
        .map_err(|source| PolicyError::NoCompiler { name: name.clone(), compiler, source })?;
    if !output.status.success() {
        let output = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(PolicyError::Compiler { name, output });
    }
    // SAFETY: code that our compiler emitted; it has no constructors.
    unsafe {
        let library = libloading::Library::new(&object).map_err(|e| failed(e.to_string()))?;
        let table =
            *library.get::<*const PolicyTable>(b"saakm_policy\0").map_err(|e| failed(e.to_string()))?;
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
