//! The file system behind a share.

use super::Access;
use fuse_backend_rs::abi::fuse_abi::ROOT_ID;
use fuse_backend_rs::api::filesystem::{Context, FileSystem, FsOptions};
use fuse_backend_rs::api::{Vfs, VfsOptions};
use fuse_backend_rs::passthrough::{CachePolicy, Config, PassthroughFs};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Opens a folder as a file system. Must be called in a thread started by [`apart`].
pub fn file_system(folder: &Path, access: Access) -> io::Result<Vfs> {
    let (cache_policy, kept) = match access {
        Access::ReadOnly => (CachePolicy::Always, Duration::from_secs(24 * 3600)),
        Access::ReadWrite => (CachePolicy::Auto, Duration::from_secs(1)),
    };
    let root_dir = folder.to_str().ok_or_else(|| io::Error::other("its name is not UTF-8"))?.to_owned();
    let config = Config {
        root_dir,
        cache_policy,
        do_import: false,
        attr_timeout: kept,
        entry_timeout: kept,
        ..Config::default()
    };
    let config = Config { inode_file_handles: handles_work(&config, folder), ..config };
    // The file system alone offers the guest only one page per request. This layer negotiates larger requests.
    let unwanted = match access {
        Access::ReadOnly => FsOptions::empty(),
        Access::ReadWrite => FsOptions::EXPLICIT_INVAL_DATA | FsOptions::CACHE_SYMLINKS,
    };
    // If the guest caches what it reads, it need not report opening and closing a file. Starting a program a second
    // time then makes no request to the host.
    let silent = access == Access::ReadOnly;
    let defaults = VfsOptions::default();
    let vfs = Vfs::new(VfsOptions {
        no_open: silent,
        no_opendir: silent,
        no_writeback: true,
        out_opts: defaults.out_opts - unwanted - FsOptions::PERFILE_DAX,
        ..defaults
    });
    let files = PassthroughFs::<()>::new(config)?;
    files.import()?;
    vfs.mount(Box::new(files), "/").map_err(io::Error::other)?;
    Ok(vfs)
}

/// Whether files can be reopened by file handle. Then files that the guest remembers need not stay open. This
/// requires a capability, which root in a container may lack, and a file system that supports handles. The test
/// tries some of the files.
fn handles_work(config: &Config, folder: &Path) -> bool {
    const SOME: usize = 8;
    let device = |path: &Path| std::fs::symlink_metadata(path).map(|file| file.dev()).ok();
    let children = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // A file system mounted below the folder may not support handles.
    let same = children.filter(|child| device(&child.path()) == device(folder)).take(SOME);
    let names: Vec<_> = same.filter_map(|child| CString::new(child.file_name().into_vec()).ok()).collect();
    let try_all = || -> io::Result<()> {
        let config = Config { inode_file_handles: true, ..config.clone() };
        let (files, context) = (PassthroughFs::<()>::new(config)?, Context::default());
        files.import()?;
        for name in &names {
            let entry = files.lookup(&context, ROOT_ID, name)?;
            files.getattr(&context, entry.inode, None)?;
        }
        Ok(())
    };
    !names.is_empty() && try_all().is_ok()
}

/// Runs a closure in a thread with its own file system attributes. The file system sets the umask to 0, which must
/// not affect the whole process.
pub fn apart<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            stand_apart()?;
            work()
        });
        thread.join().unwrap_or_else(|_| Err(io::Error::other("it cannot be read")))
    })
}

/// Gives the calling thread its own file system attributes (`unshare(CLONE_FS)`).
pub fn stand_apart() -> io::Result<()> {
    // SAFETY: a system call without pointers, which concerns this thread only.
    match unsafe { libc::unshare(libc::CLONE_FS) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Raises this process's limit of open files to its maximum. Without file handles, every file that the guest
/// remembers stays open here.
pub fn many_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = std::fs::read_to_string("/proc/sys/fs/nr_open").ok().and_then(|most| most.trim().parse().ok());
    let all = Rlimit { current: most, maximum: most };
    // Only root may raise the hard limit. If that fails, a guest that accesses very many files gets "too many
    // open files".
    if most.is_none() || most < limit.maximum || setrlimit(Resource::Nofile, all).is_err() {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_file_system_finds_files_and_leaves_the_umask_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("there"), "content").unwrap();
        let umask = || {
            fs::read_to_string("/proc/self/status")
                .unwrap()
                .lines()
                .find(|l| l.starts_with("Umask"))
                .unwrap()
                .to_owned()
        };
        let before = umask();
        let size = apart(|| {
            let files = file_system(folder.path(), Access::ReadWrite)?;
            files.init(FsOptions::all())?;
            let entry = files.lookup(&Context::default(), ROOT_ID.into(), c"there")?;
            assert!(files.lookup(&Context::default(), ROOT_ID.into(), c"not there").is_err());
            Ok(entry.attr.st_size)
        });
        assert_eq!(size.unwrap(), 7);
        assert_eq!(umask(), before);
    }
}
