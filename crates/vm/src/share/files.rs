//! The file system behind a share, and what it needs of this process.

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

/// A folder's files. To be called in a thread that stands [`apart`].
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
    // The file system by itself offers the guest only the barest: one page in a request. This layer asks
    // for more, as far as the guest can.
    let unwanted = match access {
        Access::ReadOnly => FsOptions::empty(),
        Access::ReadWrite => FsOptions::EXPLICIT_INVAL_DATA | FsOptions::CACHE_SYMLINKS,
    };
    // Where the guest keeps what it has read, it need not tell that it opens and closes a file: to start a program
    // that was started before asks the host for nothing.
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

/// Whether files can be opened again by their handles. Then what the guest remembers need not be kept open.
/// That takes a capability, which root in a container may lack, and a file system that has handles: it is tried
/// with some of the files.
fn handles_work(config: &Config, folder: &Path) -> bool {
    const SOME: usize = 8;
    let device = |path: &Path| std::fs::symlink_metadata(path).map(|file| file.dev()).ok();
    let children = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // What is mounted in the folder is another file system, perhaps one without handles.
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

/// Does something in a thread that has file system attributes of its own: the file system sets the umask to
/// nothing, which must not become the whole process's.
pub fn apart<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            stand_apart()?;
            work()
        });
        thread.join().unwrap_or_else(|_| Err(io::Error::other("it cannot be read")))
    })
}

/// Gives this thread file system attributes of its own.
pub fn stand_apart() -> io::Result<()> {
    // SAFETY: a system call without pointers, which concerns this thread only.
    match unsafe { libc::unshare(libc::CLONE_FS) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Where they do not: every file that the guest remembers is open here. Takes as many as this process may.
pub fn many_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = std::fs::read_to_string("/proc/sys/fs/nr_open").ok().and_then(|most| most.trim().parse().ok());
    let all = Rlimit { current: most, maximum: most };
    // Only root may raise its limit. If nothing helps, a guest that looks at very many files sees "too many
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
