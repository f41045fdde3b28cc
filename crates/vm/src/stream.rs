//! The host's ends of the guest's ports: threads that forward bytes.

use crate::error::Error;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

/// The standard streams of a guest's command.
pub struct Streams {
    pub stdin: Box<dyn Read + Send>,
    pub stdout: Box<dyn Write + Send>,
    pub stderr: Box<dyn Write + Send>,
}

impl Streams {
    /// The standard streams of this process.
    pub fn inherited() -> Self {
        Streams {
            stdin: Box::new(io::stdin()),
            stdout: Box::new(io::stdout()),
            stderr: Box::new(io::stderr()),
        }
    }

    /// Empty input; output is discarded.
    pub fn none() -> Self {
        Streams { stdin: Box::new(io::empty()), stdout: Box::new(io::sink()), stderr: Box::new(io::sink()) }
    }
}

/// A socket that QEMU connects to, with a thread that serves the connection.
pub struct End {
    socket: PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl End {
    pub fn new(
        socket: PathBuf,
        use_it: impl FnOnce(UnixStream) -> io::Result<()> + Send + 'static,
    ) -> Result<Self, Error> {
        let listener = UnixListener::bind(&socket).map_err(Error::file("make the socket", &socket))?;
        let serve = move || {
            // An error means that QEMU or the reader of our output is gone, so no one is left to report to.
            if let Ok((stream, _)) = listener.accept() {
                let _ = use_it(stream);
            }
        };
        let thread = thread::Builder::new().name("port".into()).spawn(serve);
        let thread = Some(thread.map_err(Error::file("serve", &socket))?);
        Ok(End { socket, thread })
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Waits for the end of the connection. Must be called after QEMU has ended.
    pub fn join(mut self) {
        drop(UnixStream::connect(&self.socket)); // if QEMU never came
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Copies a stream up to its end marker; returns whether the marker came.
///
/// Bytes that may begin the marker are held back until the next ones decide.
pub fn copy_until(mark: &[u8], from: &mut impl Read, to: &mut impl Write) -> io::Result<bool> {
    let mut buffer = [0; 1 << 16];
    let mut held: Vec<u8> = Vec::new();
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => {
                to.write_all(&held)?;
                to.flush()?;
                return Ok(false);
            }
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        held.extend_from_slice(&buffer[..read]);
        if let Some(at) = held.windows(mark.len()).position(|window| window == mark) {
            to.write_all(&held[..at])?;
            to.flush()?;
            return Ok(true);
        }
        let longest = held.len().min(mark.len() - 1);
        let keep = (1..=longest).rev().find(|keep| held.ends_with(&mark[..*keep])).unwrap_or(0);
        to.write_all(&held[..held.len() - keep])?;
        to.flush()?;
        held.drain(..held.len() - keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one part per read.
    struct Parts<'a>(std::slice::Iter<'a, &'a str>);

    impl Read for Parts<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some(part) = self.0.next() else { return Ok(0) };
            buffer[..part.len()].copy_from_slice(part.as_bytes());
            Ok(part.len())
        }
    }

    fn copied(parts: &[&str]) -> (String, bool) {
        let mut to = Vec::new();
        let complete = copy_until(b"<end>", &mut Parts(parts.iter()), &mut to).unwrap();
        (String::from_utf8(to).unwrap(), complete)
    }

    #[test]
    fn the_mark_ends_a_stream_and_is_not_passed_on() {
        let whole = |text: &str| (text.to_owned(), true);
        assert_eq!(copied(&["all<end>"]), whole("all"));
        assert_eq!(copied(&["al", "l<e", "nd", ">"]), whole("all"));
        assert_eq!(copied(&["a<e", "<en", "d>more"]), whole("a<e"));
        assert_eq!(copied(&["<end>"]), whole(""));
        assert_eq!(copied(&["all<en"]), ("all<en".into(), false));
        assert_eq!(copied(&[]), (String::new(), false));
    }

    #[test]
    fn nothing_is_held_back_that_cannot_be_the_mark() {
        struct Checking(Vec<u8>);
        impl Read for Checking {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                assert_eq!(self.0, b"prompt> ");
                Ok(0)
            }
        }
        // A prompt without a newline requires a `flush` after each part.
        let mut to = Vec::new();
        copy_until(b"<end>", &mut &b"prompt> "[..], &mut to).unwrap();
        let _ = copy_until(b"<end>", &mut Checking(to), &mut io::sink());
    }

    #[test]
    fn an_end_that_nobody_uses_can_be_joined() {
        let folder = tempfile::tempdir().unwrap();
        End::new(folder.path().join("socket"), |_| Ok(())).unwrap().join();
    }
}
