//! Server of the Unix socket of a running policy.

use crate::error::Error;
use crate::protocol::{Refusal, Request, Response};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Longest request in bytes.
const MAX_REQUEST: u64 = 65536;
/// Time for one request, with the wait for its first byte.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most connections of one user at a time, of all users but root, and of root; more are refused.
const OF_A_USER: usize = 16;
const OF_ALL_USERS: usize = 64;
const OF_ROOT: usize = 64;

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
        Server::patient(path, service, PATIENCE)
    }

    fn patient(path: &Path, service: Arc<dyn Service>, patience: Duration) -> Result<Server, Error> {
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
        let listener = thread::spawn(move || listen(&listener, &service, &stop, patience));
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

fn listen(listener: &UnixListener, service: &Arc<dyn Service>, closing: &AtomicBool, patience: Duration) {
    let places = Arc::new(Places::default());
    for stream in listener.incoming() {
        if closing.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            // Probably out of file descriptors: wait until some are closed.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let who = Peer::of(&stream);
        let Some(place) = places.take(who) else {
            refuse(stream);
            continue;
        };
        let service = service.clone();
        thread::spawn(move || {
            // A client that has disconnected needs no answer.
            let _ = serve(stream, &*service, who == Peer::Root, patience);
            drop(place);
        });
    }
}

fn serve(stream: UnixStream, service: &dyn Service, root: bool, patience: Duration) -> io::Result<()> {
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    let mut out = stream.try_clone()?;
    let mut lines = BufReader::new(Patient { stream, end: Instant::now() });
    loop {
        lines.get_mut().end = Instant::now() + patience;
        let mut line = Vec::new();
        if lines.by_ref().take(MAX_REQUEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let answer = match serde_json::from_slice::<Request>(&line) {
            Ok(request) => service.answer(&request, root),
            Err(error) => Err(Refusal::new(libc::EINVAL, format!("not a request: {error}"))),
        };
        write(&mut out, answer)?;
        if line.last() != Some(&b'\n') {
            return Ok(());
        }
    }
}

fn write(out: &mut UnixStream, answer: Result<Value, Refusal>) -> io::Result<()> {
    let mut text = serde_json::to_vec(&Response::new(answer))?;
    text.push(b'\n');
    out.write_all(&text)
}

/// Says that there is no place. A client reads this also if it can no longer send its request.
fn refuse(mut stream: UnixStream) {
    let message = "too many connections of this user: close some of them";
    // The answer fits into the empty buffer of the socket, so that this does not wait.
    let _ = stream.set_nonblocking(true);
    let _ = write(&mut stream, Err(Refusal::new(libc::EBUSY, message)));
}

/// Reads until a moment, however slowly the client sends.
struct Patient {
    stream: UnixStream,
    end: Instant,
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

/// Who connected.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Peer {
    /// Root, or the user of this process.
    Root,
    User(u32),
}

impl Peer {
    fn of(stream: &UnixStream) -> Peer {
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
        match asked == 0 && (who.uid == 0 || who.uid == unsafe { libc::geteuid() }) {
            true => Peer::Root,
            false => Peer::User(who.uid),
        }
    }
}

/// The connections at this moment. Those of users leave root's places free, and those of a user leave some to the others.
#[derive(Default)]
struct Places(Mutex<HashMap<Peer, usize>>);

impl Places {
    fn take(self: &Arc<Self>, who: Peer) -> Option<Place> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.get(&who).copied().unwrap_or(0);
        let users =
            || taken.iter().filter(|(who, _)| **who != Peer::Root).map(|(_, count)| count).sum::<usize>();
        let free = match who {
            Peer::Root => own < OF_ROOT,
            Peer::User(_) => own < OF_A_USER && users() < OF_ALL_USERS,
        };
        if !free {
            return None;
        }
        *taken.entry(who).or_default() += 1;
        Some(Place { of: self.clone(), who })
    }
}

/// The place of a connection; free again when it is dropped.
struct Place {
    of: Arc<Places>,
    who: Peer,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.who) {
            *count -= 1;
        }
        taken.retain(|_, count| *count > 0);
    }
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

    /// Connections of another user, who needs no right but to connect.
    fn connect_as(uid: u32, path: &Path, count: usize) -> Vec<UnixStream> {
        let path = path.to_owned();
        let connect = move || {
            // The call of the kernel changes this thread alone, unlike that of the C library.
            // SAFETY: no memory is passed.
            assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, uid, uid, uid) }, 0);
            (0..count).map(|_| UnixStream::connect(&path).unwrap()).collect()
        };
        thread::spawn(connect).join().unwrap()
    }

    fn read(mut stream: &UnixStream) -> String {
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn users_who_hold_connections_leave_places_to_others_and_to_root() {
        // SAFETY: no arguments.
        if unsafe { libc::geteuid() } != 0 {
            return hearth_tests::skip("only root can connect as another user");
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().join("stats");
        let _server = Server::open(&path, Arc::new(Echo)).unwrap();
        let held = connect_as(1001, &path, OF_A_USER + 3);
        for refused in &held[OF_A_USER..] {
            let text = read(refused);
            assert!(text.contains("too many connections of this user"), "{text}");
        }
        let ask = |mut stream: &UnixStream| {
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            stream.write_all(b"{\"req\":\"stats\"}\n").unwrap();
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).unwrap();
            line
        };
        let others = connect_as(1002, &path, 1);
        assert!(ask(&others[0]).contains("\"root\":false"));
        // Many users together leave root's places free.
        let _many: Vec<_> = (1003..1010).map(|uid| connect_as(uid, &path, OF_A_USER)).collect();
        assert!(ask(&UnixStream::connect(&path).unwrap()).contains("\"root\":true"));
        assert!(ask(&held[0]).contains("\"root\":false"), "a connection that has a place keeps it");
    }

    #[test]
    fn slow_clients_are_disconnected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats");
        let _server = Server::patient(&path, Arc::new(Echo), Duration::from_millis(200)).unwrap();
        let idle = UnixStream::connect(&path).unwrap();
        let mut trickling = UnixStream::connect(&path).unwrap();
        assert_eq!(read(&idle), "");
        // Each byte comes in time, the request never.
        let begun = Instant::now();
        while trickling.write_all(b" ").is_ok() {
            assert!(begun.elapsed() < Duration::from_secs(10), "still connected");
            thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn a_refused_client_learns_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats");
        let _server = Server::open(&path, Arc::new(Echo)).unwrap();
        let _held: Vec<_> = (0..OF_ROOT).map(|_| UnixStream::connect(&path).unwrap()).collect();
        let mut client = Client::connect(&path).unwrap();
        // Until the server has closed the connection.
        thread::sleep(Duration::from_millis(200));
        let refused = client.ask::<Value>(&Request::new("stats", &[])).unwrap_err();
        assert!(matches!(refused, Error::Refused { errno: libc::EBUSY, .. }), "{refused}");
    }
}
