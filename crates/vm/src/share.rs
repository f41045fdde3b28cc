//! Shares a folder of the host with the guest: a virtio-fs device whose other end is this process.
//!
//! QEMU hands the device's queues over a socket (vhost-user); the file system behind them is
//! [`fuse_backend_rs`]'s pass-through. So the guest needs nothing but the kernel's virtio-fs, and the host
//! no daemon and no rights: what the guest's root may do here is what this process may do.

use crate::error::Error;
use fuse_backend_rs::abi::fuse_abi::ROOT_ID;
use fuse_backend_rs::abi::fuse_abi::{InHeader, Opcode, OpenIn, OutHeader, ReadIn};
use fuse_backend_rs::api::filesystem::{Context, FileSystem, FsOptions};
use fuse_backend_rs::api::server::Server;
use fuse_backend_rs::api::{Vfs, VfsOptions};
use fuse_backend_rs::passthrough::{CachePolicy, Config, PassthroughFs};
use fuse_backend_rs::transport::{FuseBuf, Reader, VirtioFsWriter, Writer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use vhost::vhost_user::Listener;
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{VhostUserBackendMut, VhostUserDaemon, VringMutex, VringT};
use virtio_queue::{DescriptorChain, QueueOwnedT};
use vm_memory::{ByteValued, GuestAddressSpace, GuestMemoryAtomic, GuestMemoryLoadGuard, GuestMemoryMmap};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier};

/// What the guest may do with a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nothing is written, whatever the guest asks for; and the guest keeps all that it has read.
    ReadOnly,
    /// Files come back. What the host changes meanwhile is seen when a file is opened.
    ReadWrite,
}

/// A share that waits for QEMU, or serves it, until it is dropped.
pub struct Share {
    socket: PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl Share {
    /// Offers `folder` on a socket, which is made.
    pub fn offer(folder: &Path, access: Access, socket: &Path) -> Result<Self, Error> {
        many_files();
        let backend = apart(|| Backend::new(folder, access)).map_err(Error::file("share", folder))?;
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::<()>::new());
        let failed = |error| Error::file("share", folder)(io::Error::other::<String>(error));
        let mut daemon = VhostUserDaemon::new("share".into(), Arc::new(Mutex::new(backend)), memory)
            .map_err(|error| failed(error.to_string()))?;
        let mut listener = Listener::new(socket, true).map_err(|error| failed(error.to_string()))?;
        let thread = std::thread::Builder::new()
            .name("share".into())
            .spawn(move || {
                // It ends when QEMU does: there is nobody left to tell of an error.
                if daemon.start(&mut listener).is_ok() {
                    let _ = daemon.wait();
                }
            })
            .map_err(Error::file("share", folder))?;
        Ok(Share { socket: socket.into(), thread: Some(thread) })
    }
}

impl Drop for Share {
    /// To be dropped after QEMU has ended.
    fn drop(&mut self) {
        // If QEMU never came, the thread still waits for it.
        drop(UnixStream::connect(&self.socket));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Whether files can be opened again by their handles. Then what the guest remembers need not be kept open.
/// That takes a capability, which root in a container may lack: it is tried.
fn handles_work(config: &Config, folder: &Path) -> bool {
    let config = Config { inode_file_handles: true, ..config.clone() };
    let child =
        std::fs::read_dir(folder).ok().and_then(|mut entries| Some(entries.next()?.ok()?.file_name()));
    let Some(child) = child.and_then(|name| CString::new(name.into_vec()).ok()) else { return false };
    let try_it = || -> io::Result<()> {
        let (files, context) = (PassthroughFs::<()>::new(config)?, Context::default());
        files.import()?;
        let entry = files.lookup(&context, ROOT_ID, &child)?;
        files.getattr(&context, entry.inode, None).map(drop)
    };
    try_it().is_ok()
}

/// Does something in a thread that has file system attributes of its own: the file system sets the umask to
/// nothing, which must not become the whole process's.
fn apart<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            stand_apart()?;
            work()
        });
        thread.join().unwrap_or_else(|_| Err(io::Error::other("it cannot be read")))
    })
}

/// Gives this thread file system attributes of its own.
fn stand_apart() -> io::Result<()> {
    // SAFETY: a system call without pointers, which concerns this thread only.
    match unsafe { libc::unshare(libc::CLONE_FS) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Where they do not: every file that the guest remembers is open here. Takes as many as this process may.
fn many_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = std::fs::read_to_string("/proc/sys/fs/nr_open").ok().and_then(|most| most.trim().parse().ok());
    let all = Rlimit { current: most, maximum: most };
    // Only root may raise its limit. If nothing helps, a guest that looks at very many files sees "too many
    // open files".
    if most.is_none() || most < limit.maximum || setrlimit(Resource::Nofile, all).is_err() {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}

/// The queue of urgent requests, and the one of all others.
const QUEUES: usize = 2;
pub const QUEUE_SIZE: usize = 1024;
const VIRTIO_F_VERSION_1: u64 = 1 << 32;
const VIRTIO_RING_F_INDIRECT_DESC: u64 = 1 << 28;
const VIRTIO_RING_F_EVENT_IDX: u64 = 1 << 29;

type Memory = GuestMemoryAtomic<GuestMemoryMmap>;
type Chain = DescriptorChain<GuestMemoryLoadGuard<GuestMemoryMmap>>;

struct Backend {
    server: Server<Arc<Vfs>>,
    access: Access,
    memory: Option<Memory>,
    event_idx: bool,
    /// Whether the thread that serves has file system attributes (umask) of its own.
    apart: bool,
}

impl Backend {
    fn new(folder: &Path, access: Access) -> io::Result<Self> {
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
        let defaults = VfsOptions::default();
        let vfs = Vfs::new(VfsOptions {
            no_open: false,
            no_opendir: false,
            no_writeback: true,
            out_opts: defaults.out_opts - unwanted - FsOptions::PERFILE_DAX,
            ..defaults
        });
        let files = PassthroughFs::<()>::new(config)?;
        files.import()?;
        vfs.mount(Box::new(files), "/").map_err(io::Error::other)?;
        let server = Server::new(Arc::new(vfs));
        Ok(Backend { server, access, memory: None, event_idx: false, apart: false })
    }

    /// Serves all requests in a queue. Whether there was one.
    fn serve(&self, vring: &VringMutex) -> io::Result<bool> {
        let memory = self.memory.as_ref().ok_or_else(|| io::Error::other("no guest memory"))?.memory();
        let mut vring = vring.get_mut();
        let chains: Vec<Chain> =
            vring.get_queue_mut().iter(memory.clone()).map_err(io::Error::other)?.collect();
        let any = !chains.is_empty();
        for chain in chains {
            let head = chain.head_index();
            // A request that makes no sense is given back without an answer: only a broken guest sends it.
            let written = self.answer(&memory, chain).unwrap_or(0);
            vring.add_used(head, written as u32).map_err(io::Error::other)?;
            if !self.event_idx || vring.needs_notification().unwrap_or(true) {
                vring.signal_used_queue()?;
            }
        }
        Ok(any)
    }

    fn answer(&self, memory: &GuestMemoryMmap, chain: Chain) -> io::Result<usize> {
        let reader = || Reader::from_descriptor_chain(memory, chain.clone()).map_err(io::Error::other);
        let mut writer = VirtioFsWriter::new(memory, chain.clone()).map_err(io::Error::other)?;
        let mut peek = reader()?;
        let header: InHeader = peek.read_obj()?;
        const OPEN: u32 = Opcode::Open as u32;
        const OPENDIR: u32 = Opcode::Opendir as u32;
        const READ: u32 = Opcode::Read as u32;
        let (flags, mut changed) = match header.opcode {
            OPEN | OPENDIR => without_noatime(&header, peek.read_obj()?, |open: &mut OpenIn| &mut open.flags),
            READ => without_noatime(&header, peek.read_obj()?, |read: &mut ReadIn| &mut read.flags),
            _ => (0, None),
        };
        if self.access == Access::ReadOnly && writes(header.opcode, flags) {
            let len = size_of::<OutHeader>();
            writer.write_obj(OutHeader { len: len as u32, error: -libc::EROFS, unique: header.unique })?;
            return Ok(len);
        }
        let request = match &mut changed {
            Some(request) => Reader::from_fuse_buffer(FuseBuf::new(request)).map_err(io::Error::other)?,
            None => reader()?,
        };
        self.server.handle_message(request, Writer::VirtioFs(writer), None, None).map_err(io::Error::other)
    }
}

/// Only a file's owner may ask for O_NOATIME, but overlayfs does so for every file, and when that fails while
/// reading, the file system closes a file that is not its own. So: a request's flags, and if they ask for it,
/// the request without.
fn without_noatime<T: ByteValued>(
    header: &InHeader,
    mut arguments: T,
    flags: fn(&mut T) -> &mut u32,
) -> (u32, Option<Vec<u8>>) {
    const NOATIME: u32 = libc::O_NOATIME as u32;
    let flags = flags(&mut arguments);
    let before = *flags;
    *flags &= !NOATIME;
    let changed = before & NOATIME != 0;
    (before, changed.then(|| [header.as_slice(), arguments.as_slice()].concat()))
}

/// Whether a request changes the file system.
fn writes(opcode: u32, open_flags: u32) -> bool {
    use Opcode::*;
    // Not Ioctl: the file system knows none, and overlayfs takes only its "no such call" for an answer.
    const CHANGES: [Opcode; 15] = [
        Setattr,
        Symlink,
        Mknod,
        Mkdir,
        Unlink,
        Rmdir,
        Rename,
        Link,
        Write,
        Setxattr,
        Removexattr,
        Create,
        Fallocate,
        Rename2,
        CopyFileRange,
    ];
    const TMPFILE: u32 = 51;
    const READS: u32 = libc::O_RDONLY as u32;
    let opens_for_writing =
        open_flags & libc::O_ACCMODE as u32 != READS || open_flags & libc::O_TRUNC as u32 != 0;
    CHANGES.iter().any(|change| *change as u32 == opcode)
        || opcode == TMPFILE
        || opcode == Open as u32 && opens_for_writing
}

impl VhostUserBackendMut for Backend {
    type Bitmap = ();
    type Vring = VringMutex;

    fn num_queues(&self) -> usize {
        QUEUES
    }

    fn max_queue_size(&self) -> usize {
        QUEUE_SIZE
    }

    fn features(&self) -> u64 {
        VIRTIO_F_VERSION_1
            | VIRTIO_RING_F_INDIRECT_DESC
            | VIRTIO_RING_F_EVENT_IDX
            | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS
    }

    fn set_event_idx(&mut self, enabled: bool) {
        self.event_idx = enabled;
    }

    fn update_memory(&mut self, memory: Memory) -> io::Result<()> {
        self.memory = Some(memory);
        Ok(())
    }

    fn exit_event(&self, _thread: usize) -> Option<(EventConsumer, EventNotifier)> {
        new_event_consumer_and_notifier(EventFlag::NONBLOCK | EventFlag::CLOEXEC).ok()
    }

    fn handle_event(
        &mut self,
        queue: u16,
        _events: EventSet,
        vrings: &[VringMutex],
        _thread: usize,
    ) -> io::Result<()> {
        if !self.apart {
            stand_apart()?;
            self.apart = true;
        }
        let vring = vrings.get(usize::from(queue)).ok_or_else(|| io::Error::other("no such queue"))?;
        if !self.event_idx {
            return self.serve(vring).map(drop);
        }
        loop {
            vring.disable_notification().map_err(io::Error::other)?;
            self.serve(vring)?;
            if !vring.enable_notification().map_err(io::Error::other)? {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_share_refuses_what_writes() {
        for opcode in [Opcode::Write, Opcode::Unlink, Opcode::Create, Opcode::Rename2, Opcode::Setattr] {
            assert!(writes(opcode as u32, 0));
        }
        for opcode in [Opcode::Lookup, Opcode::Read, Opcode::Readdirplus, Opcode::Getxattr, Opcode::Init] {
            assert!(!writes(opcode as u32, 0));
        }
        let open = |flags: i32| writes(Opcode::Open as u32, flags as u32);
        assert!(!open(libc::O_RDONLY) && !open(libc::O_RDONLY | libc::O_CLOEXEC));
        assert!(open(libc::O_WRONLY) && open(libc::O_RDWR) && open(libc::O_RDONLY | libc::O_TRUNC));
    }

    #[test]
    fn a_share_that_nobody_takes_can_be_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let share = Share::offer(folder.path(), Access::ReadOnly, &folder.path().join("socket")).unwrap();
        drop(share);
    }
}
