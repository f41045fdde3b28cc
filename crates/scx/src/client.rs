//! Asks a policy that another process runs.

use crate::error::Error;
use crate::protocol::{ANSWER, Changed, Info, Request, Response, SOCKET};
use crate::requirements;
use crate::statistics::{Cores, Statistics};
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A loader that does not answer within this time is stuck.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Asks the policy that runs here.
    ///
    /// # Errors
    /// None of ours does.
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
        let patient = stream.set_read_timeout(Some(PATIENCE)).and(stream.set_write_timeout(Some(PATIENCE)));
        patient.map_err(Error::Socket)?;
        Ok(Client { stream: BufReader::new(stream) })
    }

    /// # Errors
    /// The other side hangs up, refuses, or answers something else.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T, Error> {
        let mut line = serde_json::to_string(request).map_err(Error::Answer)?;
        line.push('\n');
        self.stream.get_mut().write_all(line.as_bytes()).map_err(Error::Socket)?;
        line.clear();
        if self.stream.read_line(&mut line).map_err(Error::Socket)? == 0 {
            return Err(Error::Socket(io::ErrorKind::UnexpectedEof.into()));
        }
        let mut response: Response = serde_json::from_str(&line).map_err(Error::Answer)?;
        let answer = response.args.remove(ANSWER).unwrap_or_default();
        if response.errno != 0 {
            let message = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
            return Err(Error::Refused { errno: response.errno, message });
        }
        serde_json::from_value(answer).map_err(Error::Answer)
    }

    /// What runs.
    ///
    /// # Errors
    /// As [`Client::ask`]; [`Error::NotRunning`] if it is not Hearth's.
    pub fn info(&mut self) -> Result<Info, Error> {
        self.ask(&Request::new("info", &[])).map_err(|error| match error {
            // Other schedulers serve statistics as well, but not this.
            Error::Refused { errno: libc::EINVAL, .. } => Error::NotRunning { ops: requirements::running() },
            error => error,
        })
    }

    /// # Errors
    /// As [`Client::ask`].
    pub fn statistics(&mut self) -> Result<Statistics, Error> {
        self.ask(&Request::new("stats", &[("target", Statistics::SCHEMA.target)]))
    }

    /// # Errors
    /// As [`Client::ask`].
    pub fn cores(&mut self) -> Result<Cores, Error> {
        self.ask(&Request::new("stats", &[("target", Cores::SCHEMA.target)]))
    }

    /// Changes a parameter; `value` has its unit.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn set(&mut self, name: &str, value: &str) -> Result<Changed, Error> {
        self.ask(&Request::new("set", &[("name", name), ("value", value)]))
    }

    /// Asks it to end. It has ended when the kernel says so.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn stop(&mut self) -> Result<(), Error> {
        self.ask::<serde_json::Value>(&Request::new("stop", &[])).map(|_| ())
    }
}
