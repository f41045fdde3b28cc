//! Shares a folder of the host with the guest: a virtio-fs device served by this process.
//!
//! QEMU passes the device's queues over a socket (vhost-user); the file system behind them is
//! [`fuse_backend_rs`]'s pass-through. The guest needs only the kernel's virtio-fs. The host needs no daemon and no
//! privileges: the guest's root has the permissions of this process.

mod files;
mod request;

use crate::architecture::Architecture;
use crate::error::Error;
use files::{apart, file_system, many_files, stand_apart};
use fuse_backend_rs::api::Vfs;
use fuse_backend_rs::api::server::Server;
use fuse_backend_rs::transport::{FuseBuf, Reader, VirtioFsWriter, Writer};
use request::Request;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use vhost::vhost_user::Listener;
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{VhostUserBackendMut, VhostUserDaemon, VringMutex, VringT};
use virtio_queue::{DescriptorChain, QueueOwnedT};
use vm_memory::{GuestAddressSpace, GuestMemoryAtomic, GuestMemoryLoadGuard, GuestMemoryMmap};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier};

/// Access of the guest to a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Every request that changes something fails; the guest caches what it reads without limit.
    ReadOnly,
    /// Writes reach the host. The guest sees the host's changes when it opens a file.
    ReadWrite,
}

/// A share that waits for QEMU or serves it until dropped.
pub struct Share {
    socket: PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl Share {
    /// Creates a socket and offers `folder` on it, to a guest of this architecture.
    pub fn offer(folder: &Path, access: Access, guest: Architecture, socket: &Path) -> Result<Self, Error> {
        many_files();
        let files = apart(|| file_system(folder, access)).map_err(Error::file("share", folder))?;
        let backend = Backend {
            server: Server::new(Arc::new(files)),
            access,
            guest,
            memory: None,
            event_idx: false,
            apart: false,
        };
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::<()>::new());
        let failed = |error| Error::file("share", folder)(io::Error::other::<String>(error));
        let mut daemon = VhostUserDaemon::new("share".into(), Arc::new(Mutex::new(backend)), memory)
            .map_err(|error| failed(error.to_string()))?;
        let mut listener = Listener::new(socket, true).map_err(|error| failed(error.to_string()))?;
        let thread = std::thread::Builder::new()
            .name("share".into())
            .spawn(move || {
                // This ends with QEMU, so no one is left to report an error to.
                if daemon.start(&mut listener).is_ok() {
                    let _ = daemon.wait();
                }
            })
            .map_err(Error::file("share", folder))?;
        Ok(Share { socket: socket.into(), thread: Some(thread) })
    }
}

impl Drop for Share {
    /// Must be dropped after QEMU has ended.
    fn drop(&mut self) {
        // If QEMU never connected, the thread still waits for it.
        drop(UnixStream::connect(&self.socket));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
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
    guest: Architecture,
    memory: Option<Memory>,
    event_idx: bool,
    /// Whether the serving thread has its own file system attributes (umask).
    apart: bool,
}

impl Backend {
    /// Serves all requests in a queue.
    fn serve(&self, vring: &VringMutex) -> io::Result<()> {
        let memory = self.memory.as_ref().ok_or_else(|| io::Error::other("no guest memory"))?.memory();
        let mut vring = vring.get_mut();
        let chains: Vec<Chain> =
            vring.get_queue_mut().iter(memory.clone()).map_err(io::Error::other)?.collect();
        for chain in chains {
            let head = chain.head_index();
            // A malformed request is returned without an answer; only a broken guest sends one.
            let written = self.answer(&memory, chain).unwrap_or(0);
            vring.add_used(head, written as u32).map_err(io::Error::other)?;
            if !self.event_idx || vring.needs_notification().unwrap_or(true) {
                vring.signal_used_queue()?;
            }
        }
        Ok(())
    }

    fn answer(&self, memory: &GuestMemoryMmap, chain: Chain) -> io::Result<usize> {
        let reader = || Reader::from_descriptor_chain(memory, chain.clone()).map_err(io::Error::other);
        let mut writer = VirtioFsWriter::new(memory, chain.clone()).map_err(io::Error::other)?;
        let mut request = Request::read(&mut reader()?, self.guest)?;
        if let Some(error) = request.refused(self.access) {
            let refusal = request.refusal(error);
            writer.write_obj(refusal)?;
            return Ok(size_of_val(&refusal));
        }
        let reader = match &mut request.changed {
            Some(changed) => Reader::from_fuse_buffer(FuseBuf::new(changed)).map_err(io::Error::other)?,
            None => reader()?,
        };
        self.server.handle_message(reader, Writer::VirtioFs(writer), None, None).map_err(io::Error::other)
    }
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
            return self.serve(vring);
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
    fn a_share_that_nobody_takes_can_be_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let share =
            Share::offer(folder.path(), Access::ReadOnly, Architecture::HOST, &folder.path().join("socket"))
                .unwrap();
        drop(share);
    }
}
