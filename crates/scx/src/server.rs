//! Server of the Unix socket of a running policy.

use crate::error::Error;
use crate::protocol::{Refusal, Request, Response};
use serde_json::Value;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Longest request in bytes.
const MAX_REQUEST: u64 = 65536;
/// Most connections at a time; more are closed at once.
const MAX_CLIENTS: usize = 64;

/// Answers requests.
pub trait Service: Send + Sync + 'static {
    /// Answers a request. `root`: the client runs as root or as this user.
    fn answer(&self, request: &Request, root: bool) -> Result<Value, Refusal>;
}

/// Serves until it is dropped. Every user may read; only root may change something.
pub struct Server {
    path: PathBuf,
    closing: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Server {
    /// Creates the socket; replaces one without a server.
    ///
    /// # Errors
    /// Another process serves it, or it cannot be created.
    pub fn open(path: &Path, service: Arc<dyn Service>) -> Result<Server, Error> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::file("make the folder", folder))?;
        }
        match UnixStream::connect(path) {
            Ok(_) => {
                let busy = io::Error::new(io::ErrorKind::AddrInUse, "another process serves it");
                return Err(Error::file("make the socket", path)(busy));
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(Error::file("remove the old socket", path))?;
            }
            Err(_) => {}
        }
        let listener = UnixListener::bind(path).map_err(Error::file("make the socket", path))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o666))
            .map_err(Error::file("open to all", path))?;
        let closing = Arc::new(AtomicBool::new(false));
        let stop = closing.clone();
        let listener = thread::spawn(move || listen(&listener, &service, &stop));
        Ok(Server { path: path.into(), closing, listener: Some(listener) })
    }
}

impl Drop for Server {
    /// Removes the socket. Existing connections are served until the client closes them.
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        // Wakes the listener, which then sees `closing`.
        let woken = UnixStream::connect(&self.path).is_ok();
        let _ = fs::remove_file(&self.path);
        if let Some(listener) = self.listener.take().filter(|_| woken) {
            let _ = listener.join();
        }
    }
}

fn listen(listener: &UnixListener, service: &Arc<dyn Service>, closing: &AtomicBool) {
    let clients = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if closing.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            // Probably out of file descriptors: wait until some are closed.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        if clients.fetch_add(1, Ordering::Relaxed) >= MAX_CLIENTS {
            clients.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (service, clients) = (service.clone(), clients.clone());
        thread::spawn(move || {
            // A client that has disconnected needs no answer.
            let _ = serve(stream, &*service);
            clients.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn serve(stream: UnixStream, service: &dyn Service) -> io::Result<()> {
    let root = is_root(&stream);
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    let mut out = stream.try_clone()?;
    let mut lines = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        if lines.by_ref().take(MAX_REQUEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let answer = match serde_json::from_slice::<Request>(&line) {
            Ok(request) => service.answer(&request, root),
            Err(error) => Err(Refusal::new(libc::EINVAL, format!("not a request: {error}"))),
        };
        let mut text = serde_json::to_vec(&Response::new(answer))?;
        text.push(b'\n');
        out.write_all(&text)?;
        if line.last() != Some(&b'\n') {
            return Ok(());
        }
    }
}

/// Whether the peer runs as root or as this user.
fn is_root(stream: &UnixStream) -> bool {
    let mut who = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut size = size_of_val(&who) as libc::socklen_t;
    // SAFETY: `who` and `size` are valid for the call, and `size` is that of `who`.
    let asked = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut who).cast(),
            &mut size,
        )
    };
    // SAFETY: no arguments.
    asked == 0 && (who.uid == 0 || who.uid == unsafe { libc::geteuid() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;
    use serde_json::json;

    struct Echo;

    impl Service for Echo {
        fn answer(&self, request: &Request, root: bool) -> Result<Value, Refusal> {
            match request.req.as_str() {
                "stats" => Ok(json!({ "args": request.args, "root": root })),
                _ => Err(Refusal::new(libc::EINVAL, "unknown")),
            }
        }
    }

    #[test]
    fn requests_are_answered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scx/root/stats");
        let server = Server::open(&path, Arc::new(Echo)).unwrap();
        let mut client = Client::connect(&path).unwrap();
        for _ in 0..3 {
            let answer: Value = client.ask(&Request::new("stats", &[("target", "top")])).unwrap();
            assert_eq!(answer, json!({ "args": {"target": "top"}, "root": true }));
        }
        let refused = client.ask::<Value>(&Request::new("nonsense", &[])).unwrap_err();
        assert!(matches!(refused, Error::Refused { errno: libc::EINVAL, .. }), "{refused}");
        // The server is running.
        assert!(Server::open(&path, Arc::new(Echo)).is_err());
        drop(server);
        assert!(!path.exists());
    }

    #[test]
    fn malformed_requests_are_refused_and_stale_sockets_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let _server = Server::open(&path, Arc::new(Echo)).unwrap();
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(b"\xff\xfe{\n").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert!(line.contains("\"errno\":22"), "{line}");
    }

    #[test]
    fn overlong_requests_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats");
        let _server = Server::open(&path, Arc::new(Echo)).unwrap();
        let mut stream = UnixStream::connect(&path).unwrap();
        let _ = stream.write_all(&vec![b' '; 2 * MAX_REQUEST as usize]);
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        assert!(text.is_empty() || text.starts_with(b"{\"errno\":22"));
    }
}
