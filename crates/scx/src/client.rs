//! Client of the socket of a running policy.

use crate::error::Error;
use crate::protocol::{ANSWER, Changed, Info, Request, Response, SOCKET};
use crate::requirements;
use crate::statistics::{Cores, Statistics};
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Longest wait for a policy that starts again, or for the end of one, which may be loading.
pub const RESTART_TIMEOUT: Duration = Duration::from_secs(30);

pub struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the policy that runs on this machine.
    ///
    /// # Errors
    /// [`Error::NotRunning`]: no policy of Hearth runs.
    pub fn of_this_machine() -> Result<Client, Error> {
        Client::connect(Path::new(SOCKET))
    }

    pub(crate) fn connect(path: &Path) -> Result<Client, Error> {
        let stream = UnixStream::connect(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                Error::NotRunning { ops: requirements::running() }
            }
            _ => Error::file("connect to", path)(error),
        })?;
        let limited = stream.set_read_timeout(Some(TIMEOUT)).and(stream.set_write_timeout(Some(TIMEOUT)));
        limited.map_err(Error::Socket)?;
        Ok(Client { stream: BufReader::new(stream) })
    }

    /// Sends a request and returns its answer.
    ///
    /// # Errors
    /// The connection fails, or the policy refuses the request or answers something else.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T, Error> {
        let mut line = serde_json::to_string(request).map_err(Error::Answer)?;
        line.push('\n');
        let sent = self.stream.get_mut().write_all(line.as_bytes());
        line.clear();
        // A server that refuses the connection says why before it closes it.
        if self.stream.read_line(&mut line).map_err(Error::Socket)? == 0 {
            let closed = || io::Error::from(io::ErrorKind::UnexpectedEof);
            return Err(Error::Socket(sent.err().unwrap_or_else(closed)));
        }
        let mut response: Response = serde_json::from_str(&line).map_err(Error::Answer)?;
        let answer = response.args.remove(ANSWER).unwrap_or_default();
        if response.errno != 0 {
            let message = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
            return Err(Error::Refused { errno: response.errno, message });
        }
        serde_json::from_value(answer).map_err(Error::Answer)
    }

    /// Describes the running policy.
    ///
    /// # Errors
    /// As [`Client::ask`]; [`Error::NotRunning`] if the scheduler is not Hearth's.
    pub fn info(&mut self) -> Result<Info, Error> {
        self.ask(&Request::new("info", &[])).map_err(|error| match error {
            // Other schedulers serve `stats` on this socket, but not `info`.
            Error::Refused { errno: libc::EINVAL, .. } => Error::NotRunning { ops: requirements::running() },
            error => error,
        })
    }

    /// The same; waits while the policy starts again after a hot-plug.
    ///
    /// # Errors
    /// As [`Client::info`].
    pub fn loaded_info(&mut self) -> Result<Info, Error> {
        let begun = Instant::now();
        loop {
            match self.info() {
                Err(Error::Refused { errno: libc::EAGAIN, .. }) if begun.elapsed() < RESTART_TIMEOUT => {
                    thread::sleep(Duration::from_millis(100));
                }
                answer => return answer,
            }
        }
    }

    /// The counters of the policy.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn statistics(&mut self) -> Result<Statistics, Error> {
        self.ask(&Request::new("stats", &[("target", Statistics::SCHEMA.target)]))
    }

    /// The state of the cores.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn cores(&mut self) -> Result<Cores, Error> {
        self.ask(&Request::new("stats", &[("target", Cores::SCHEMA.target)]))
    }

    /// Changes a parameter; `value` is text with a unit.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn set(&mut self, name: &str, value: &str) -> Result<Changed, Error> {
        self.ask(&Request::new("set", &[("name", name), ("value", value)]))
    }

    /// Asks the policy to end, without waiting for the end.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn stop(&mut self) -> Result<(), Error> {
        self.ask::<serde_json::Value>(&Request::new("stop", &[])).map(|_| ())
    }
}
