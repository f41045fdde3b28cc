//! BPF objects: a policy's C, compiled with the BPF runtime.
//!
//! An object is compiled once and cached under a hash of its sources: in the user's cache, or in advance as
//! `NAME.bpf.o` with `NAME.bpf.o.hash` in the library folder. With the latter, a machine needs no clang to run
//! policies. A virtual machine of `hearth vm` also has the objects that its host offered ([`offer`]).
//!
//! Objects are the same for all architectures. clang reads the kernel's types of one of them; libbpf adapts the object
//! to the running kernel's. With the types of another architecture, clang makes the same instructions.

use crate::error::Error;
use crate::library::{self, Library};
use hearth_base::cache::{Cache, Key};
use hearth_base::{environment, file, paths};
use hearth_policy::Policy;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names of clang that are tried, in order. The first contains the oldest accepted version.
const CLANGS: &str = include_str!("../../../runtime/clang");

/// Flags that contain no path. clang must not turn loops over memory into calls of memset or memcpy, which BPF does
/// not have.
const FLAGS: [&str; 14] = [
    "-target",
    "bpf",
    "-mcpu=v4",
    "-g",
    "-O2",
    "-fwrapv",
    "-fno-builtin-memset",
    "-fno-builtin-memcpy",
    "-fno-builtin-memmove",
    "-Wall",
    "-Wno-compare-distinct-pointer-types",
    "-Wno-unused-function",
    "-Wno-address-of-packed-member",
    "-D__TARGET_ARCH_x86",
];
/// Folder of the kernel's types among the headers.
const TYPES: &str = "arch/x86";

/// Number of objects that are kept, of some 1.5 MB each.
const MOST: usize = 100;

/// Folder of a virtual machine with the objects that its host offers. Only root can make it.
const OFFERED: &str = "/run/hearth/objects";

/// Variant of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    Run,
    /// Runs one handler at a time, and logs them (see [`crate::log`]).
    Log,
}

impl Purpose {
    /// Flag in addition to [`FLAGS`].
    fn flag(self) -> Option<&'static str> {
        match self {
            Purpose::Run => None,
            Purpose::Log => Some("-DSAAKM_CONFORMANCE"),
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Purpose::Run => "bpf.o",
            Purpose::Log => "log.bpf.o",
        }
    }
}

/// The object of a policy: prebuilt, offered by the host, from the cache, or compiled now.
///
/// # Errors
/// There is no library folder, clang or header; or clang rejects the C.
pub fn for_policy(policy: &Policy, purpose: Purpose) -> Result<Vec<u8>, Error> {
    let library = library::find()?;
    let sources = key_of_sources(policy, &library, purpose)?;
    find(policy, &library, purpose, sources, || ())
}

/// Writes the object of a policy into `folder`, which a virtual machine sees as `/run/hearth/objects`. So the guest, which
/// may be emulated, does not compile it. Calls `compiling` if this host has to.
///
/// # Errors
/// As [`for_policy`]; or the file cannot be written.
pub fn offer(
    policy: &Policy,
    purpose: Purpose,
    folder: &Path,
    compiling: impl FnOnce(),
) -> Result<(), Error> {
    let library = library::find()?;
    let sources = key_of_sources(policy, &library, purpose)?;
    let object = find(policy, &library, purpose, sources, compiling)?;
    let path = folder.join(offered_name(sources));
    file::write(&path, &object).map_err(Error::file("write", &path))
}

fn find(
    policy: &Policy,
    library: &Library,
    purpose: Purpose,
    sources: Key,
    compiling: impl FnOnce(),
) -> Result<Vec<u8>, Error> {
    let offered = || fs::read(Path::new(OFFERED).join(offered_name(sources))).ok();
    if let Some(object) = prebuilt(policy, library, purpose, sources).or_else(offered) {
        return Ok(object);
    }
    let clang = Clang::find()?;
    let (cache, key) = (Cache::of_user("bpf", "bpf.o", MOST), with_clang(sources, &clang));
    if let Some(object) = cache.read(key) {
        return Ok(object);
    }
    compiling();
    let object = compile(policy, library, &clang, purpose)?;
    // If the cache cannot be written, the next call compiles again.
    let _ = cache.keep(key, &object);
    Ok(object)
}

/// The name depends on the content, because a guest remembers for a day what a file of the host contains.
fn offered_name(sources: Key) -> String {
    format!("{sources}.bpf.o")
}

/// Compiles a policy into a file, and writes the hash of its sources to `FILE.hash`.
///
/// # Errors
/// As [`for_policy`]; or a file cannot be written.
pub fn build(policy: &Policy, purpose: Purpose, path: &Path) -> Result<(), Error> {
    let library = library::find()?;
    let key = key_of_sources(policy, &library, purpose)?;
    let object = compile(policy, &library, &Clang::find()?, purpose)?;
    file::write(path, &object).map_err(Error::file("write", path))?;
    let beside = hash_file(path);
    file::write(&beside, format!("{key}\n").as_bytes()).map_err(Error::file("write", &beside))
}

/// The folder of verifier logs and of work.
///
/// # Errors
/// The folder cannot be made.
pub fn folder() -> Result<PathBuf, Error> {
    let folder = paths::cache("verifier");
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .map_err(Error::file("make the folder", &folder))?;
    Ok(folder)
}

fn hash_file(object: &Path) -> PathBuf {
    let mut name = object.as_os_str().to_owned();
    name.push(".hash");
    name.into()
}

fn prebuilt(policy: &Policy, library: &Library, purpose: Purpose, sources: Key) -> Option<Vec<u8>> {
    let path = library.objects.join(format!("{}.{}", policy.name(), purpose.extension()));
    let hash = fs::read_to_string(hash_file(&path)).ok()?;
    (hash.trim() == sources.to_string()).then(|| fs::read(path).ok()).flatten()
}

/// The policy's C, the files of the runtime, the flags, and the pinned headers.
fn key_of_sources(policy: &Policy, library: &Library, purpose: Purpose) -> Result<Key, Error> {
    let mut parts: Vec<Vec<u8>> = vec![policy.c().as_bytes().into()];
    parts.extend(FLAGS.into_iter().chain(purpose.flag()).map(|flag| flag.as_bytes().into()));
    for file in sources(&library.runtime)? {
        let name = file.strip_prefix(&library.runtime).unwrap_or(&file);
        parts.push(name.as_os_str().as_encoded_bytes().into());
        parts.push(fs::read(&file).map_err(Error::file("read", &file))?);
    }
    Ok(Key::of(parts.iter().map(Vec::as_slice)))
}

fn with_clang(sources: Key, clang: &Clang) -> Key {
    Key::of([sources.to_string().as_bytes(), clang.version.as_bytes()])
}

/// The C files in `runtime` and `runtime/bpf`, sorted, and the lock file that pins the headers of other projects.
fn sources(runtime: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for folder in [runtime.to_owned(), runtime.join("bpf")] {
        for entry in fs::read_dir(&folder).map_err(Error::file("read", &folder))? {
            let path = entry.map_err(Error::file("read", &folder))?.path();
            if path.extension().is_some_and(|extension| extension == "h" || extension == "c") {
                files.push(path);
            }
        }
    }
    let pins = runtime.join("bpf/headers/Cargo.lock");
    files.extend(pins.is_file().then_some(pins));
    files.sort();
    Ok(files)
}

/// A clang that is new enough to compile policies.
#[derive(Debug)]
struct Clang {
    program: OsString,
    /// First line of `--version`.
    version: String,
}

impl Clang {
    /// `$CLANG`, or the first of [`CLANGS`] in the search path that is new enough.
    fn find() -> Result<Clang, Error> {
        let named = environment::variable("CLANG");
        let programs = named.map_or_else(|| clangs().map(OsString::from).collect(), |name| vec![name]);
        let (mut too_old, needed) = (None, oldest_clang());
        for program in &programs {
            let Ok(output) = Command::new(program).arg("--version").output() else { continue };
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let version = text.lines().next().unwrap_or_default().to_owned();
            match major(&version) {
                Some(major) if major >= needed => return Ok(Clang { program: program.clone(), version }),
                _ => too_old = Some((program.to_string_lossy().into_owned(), version)),
            }
        }
        Err(match too_old {
            Some((program, version)) => Error::OldClang { program, version, needed },
            None => {
                let tried = programs.iter().map(|p| p.to_string_lossy().into_owned()).collect();
                Error::NoClang { tried, needed }
            }
        })
    }
}

fn clangs() -> impl Iterator<Item = &'static str> {
    CLANGS.lines().filter(|line| !line.starts_with('#'))
}

fn oldest_clang() -> u32 {
    let first = clangs().next().and_then(|name| name.strip_prefix("clang-")?.parse().ok());
    first.expect("runtime/clang begins with clang-VERSION")
}

/// Major version: `Debian clang version 19.1.7 (3)` → 19.
fn major(version: &str) -> Option<u32> {
    let (_, number) = version.split_once("clang version ")?;
    number.split('.').next()?.parse().ok()
}

fn compile(policy: &Policy, library: &Library, clang: &Clang, purpose: Purpose) -> Result<Vec<u8>, Error> {
    let include = &library.include;
    if !include.join("scx/common.bpf.h").is_file() {
        return Err(Error::NoHeaders { folder: include.clone() });
    }
    let work = Scratch::new(folder()?)?;
    let c = work.0.join(format!("{}.c", policy.name()));
    let object = work.0.join("policy.bpf.o");
    fs::write(&c, policy.c()).map_err(Error::file("write", &c))?;
    let mut command = Command::new(&clang.program);
    command.args(FLAGS).args(purpose.flag());
    for folder in [
        include.clone(),
        include.join(TYPES),
        include.join("bpf-compat"),
        library.runtime.clone(),
        library.runtime.join("bpf"),
        work.0.clone(),
    ] {
        command.arg("-I").arg(folder);
    }
    // Debug information without this machine's paths, so that the object is reproducible.
    for (folder, name) in [(&work.0, "policy"), (&library.runtime, "runtime"), (include, "include")] {
        let mut map = OsString::from("-ffile-prefix-map=");
        map.push(folder);
        map.push("=");
        map.push(name);
        command.arg(map);
    }
    command.arg(format!("-DSAAKM_POLICY_FILE=\"{}.c\"", policy.name()));
    command.arg("-c").arg(library::main(library)).arg("-o").arg(&object).current_dir(&work.0);
    let output = command.output().map_err(Error::file("start", &clang.program))?;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Error::Compile { policy: policy.name().to_owned(), log });
    }
    fs::read(&object).map_err(Error::file("read", &object))
}

/// A temporary folder, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(parent: PathBuf) -> Result<Scratch, Error> {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = parent.join(format!("work-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).map_err(Error::file("make the folder", &folder))?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_policy::load;

    #[test]
    fn versions_of_clang() {
        assert!(oldest_clang() >= 19, "older versions do not support arenas");
        assert_eq!(major("Debian clang version 19.1.7 (3)"), Some(19));
        assert_eq!(major("clang version 21.0.0git"), Some(21));
        assert_eq!(major("gcc (GCC) 14"), None);
    }

    #[test]
    fn a_virtual_machine_is_offered_objects_by_their_sources() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library { objects: folder.path().into(), ..library::find().unwrap() };
        let nest = load("nest").unwrap();
        let key = key_of_sources(&nest, &library, Purpose::Run).unwrap();
        let path = folder.path().join("nest.bpf.o");
        fs::write(&path, "object").unwrap();
        fs::write(hash_file(&path), key.to_string()).unwrap();
        let compiling = || panic!("the object is there");
        let found = find(&nest, &library, Purpose::Run, key, compiling).unwrap();
        assert_eq!(found, b"object");
        let log = key_of_sources(&nest, &library, Purpose::Log).unwrap();
        assert_ne!(offered_name(key), offered_name(log));
    }

    #[test]
    fn a_prebuilt_object_is_used_only_with_the_right_hash() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library { objects: folder.path().into(), ..library::find().unwrap() };
        let nest = load("nest").unwrap();
        let key = key_of_sources(&nest, &library, Purpose::Run).unwrap();
        assert_ne!(key, key_of_sources(&load("cfs").unwrap(), &library, Purpose::Run).unwrap());
        assert_ne!(key, key_of_sources(&nest, &library, Purpose::Log).unwrap());
        let clang = Clang { program: "clang".into(), version: "clang version 19".into() };
        assert_ne!(key, with_clang(key, &clang));
        let path = folder.path().join("nest.bpf.o");
        fs::write(&path, "object").unwrap();
        let found = || prebuilt(&nest, &library, Purpose::Run, key);
        assert_eq!(found(), None);
        fs::write(hash_file(&path), format!("{key}\n")).unwrap();
        assert_eq!(found().as_deref(), Some(&b"object"[..]));
        fs::write(hash_file(&path), format!("{}\n", with_clang(key, &clang))).unwrap();
        assert_eq!(found(), None);
    }
}
