//! Files around traces: compression, the HTML of systrace, and trace events with the kernel's text in them.

use crate::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

/// Maximum size of an unpacked file.
const MOST_BYTES: u64 = 256 << 30;
/// Maximum number of wrappers around each other.
const MOST_LAYERS: u32 = 4;
/// Longest tag in a file of HTML that can begin a trace.
const MOST_TAG: u64 = 4 << 10;

pub trait Stream: BufRead + Seek {}
impl<S: BufRead + Seek> Stream for S {}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wrapper {
    Gzip,
    Zstd,
    Html,
}

impl Wrapper {
    fn of(beginning: &[u8]) -> Option<Self> {
        let head = beginning[..beginning.len().min(4096)].trim_ascii_start();
        let begins = |tag: &[u8]| head.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag));
        match beginning {
            [0x1f, 0x8b, ..] => Some(Wrapper::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Wrapper::Zstd),
            _ if begins(b"<!doctype html") || begins(b"<html") => Some(Wrapper::Html),
            _ => None,
        }
    }

    fn unpack(self, input: impl BufRead, out: &mut impl Write) -> Result<(), Error> {
        let packed = |why| Error::Format(format!("it cannot be decompressed: {why}"));
        match self {
            Wrapper::Gzip => copy(flate2::bufread::MultiGzDecoder::new(input), out).map_err(packed),
            Wrapper::Zstd => zstd::stream::read::Decoder::with_buffer(input)
                .and_then(|input| copy(input, out))
                .map_err(packed),
            Wrapper::Html => trace_data(input, out),
        }
    }
}

/// Name of the wrapper that a file begins with.
pub fn name(beginning: &[u8]) -> Option<&'static str> {
    Some(match Wrapper::of(beginning)? {
        Wrapper::Gzip => "a compressed file (gzip)",
        Wrapper::Zstd => "a compressed file (zstd)",
        Wrapper::Html => "HTML",
    })
}

/// Copies at most [`MOST_BYTES`].
fn copy(input: impl Read, out: &mut impl Write) -> std::io::Result<()> {
    match std::io::copy(&mut input.take(MOST_BYTES), out)? {
        MOST_BYTES => Err(std::io::Error::other("it is longer than 256 GiB")),
        _ => Ok(()),
    }
}

/// Removes the wrappers around a trace. What is unpacked goes to unnamed files in `folder`.
pub fn unwrapped<'a>(input: impl Stream + 'a, folder: &Path) -> Result<Box<dyn Stream + 'a>, Error> {
    let mut input: Box<dyn Stream> = Box::new(input);
    for _ in 0..=MOST_LAYERS {
        let Some(wrapper) = Wrapper::of(input.fill_buf().map_err(Error::read)?) else { return Ok(input) };
        let failed = |source| Error::Io { action: "unpack", source };
        let mut out = BufWriter::new(tempfile::tempfile_in(folder).map_err(failed)?);
        wrapper.unpack(input, &mut out)?;
        let mut file: File = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.rewind().map_err(failed)?;
        input = Box::new(BufReader::with_capacity(256 << 10, file));
    }
    Err(Error::Format(format!("it is packed more than {MOST_LAYERS} times: unpack it first")))
}

/// Copies the text of the `<script class="trace-data">` of systrace, which follow the script of its viewer.
fn trace_data(mut input: impl BufRead, out: &mut impl Write) -> Result<(), Error> {
    let failed = |source| Error::Io { action: "unpack", source };
    let (mut chunk, mut found) = (Vec::new(), false);
    loop {
        chunk.clear();
        let length = (&mut input).take(MOST_TAG).read_until(b'>', &mut chunk).map_err(Error::read)?;
        if length == 0 {
            break;
        }
        if is_trace_data(&chunk) {
            let begin = input.fill_buf().map_err(Error::read)?;
            // Newer versions have the data of other tools beside the kernel's, as JSON.
            let wanted = !begin.trim_ascii_start().starts_with(b"{");
            found |= wanted;
            script(&mut input, wanted, out)?;
        }
    }
    out.flush().map_err(failed)?;
    match found {
        true => Ok(()),
        false => Err(Error::Format(
            "it is HTML without the kernel's events as text (<script class=\"trace-data\">): import the file that it was \
             made from"
                .into(),
        )),
    }
}

/// True if the text ends with the tag of a script with trace data.
fn is_trace_data(text: &[u8]) -> bool {
    let tag = text.iter().rposition(|byte| *byte == b'<').map_or(&[][..], |at| &text[at..]);
    let tag = String::from_utf8_lossy(tag).to_ascii_lowercase();
    tag.starts_with("<script") && tag.contains("trace-data") && tag.ends_with('>')
}

/// Copies a script up to its end.
fn script(input: &mut impl BufRead, wanted: bool, out: &mut impl Write) -> Result<(), Error> {
    const END: &[u8] = b"</script>";
    let failed = |source| Error::Io { action: "unpack", source };
    let mut text = Vec::new();
    loop {
        text.clear();
        let length = input.take(1 << 20).read_until(b'>', &mut text).map_err(Error::read)?;
        let ended = text.to_ascii_lowercase().ends_with(END);
        if ended {
            text.truncate(text.len() - END.len());
            text.push(b'\n');
        }
        if wanted {
            out.write_all(&text).map_err(failed)?;
        }
        if ended || length == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn text(bytes: &[u8]) -> Result<String, Error> {
        let mut text = String::new();
        // A buffer of one byte: no tag may depend on where the buffer ends.
        let input = BufReader::with_capacity(64, Cursor::new(bytes.to_vec()));
        unwrapped(input, &std::env::temp_dir())?.read_to_string(&mut text).map_err(Error::read)?;
        Ok(text)
    }

    #[test]
    fn html_has_its_trace_after_its_viewer() {
        let viewer = "a > b; sched_switch: ".repeat(10_000);
        let html = format!(
            "\n<!DOCTYPE html><html><script>{viewer}</script><body>\n<script class=\"trace-data\" type=\"x\">\nab ==> c\n\
             </script>\n<script class=\"trace-data\">\n{{\"traceEvents\":[]}}</SCRIPT><SCRIPT class='trace-data'>d</SCRIPT></html>"
        );
        assert_eq!(text(html.as_bytes()).unwrap(), "\nab ==> c\n\nd\n");
        assert!(text(b"<html><body>hello</body></html>").unwrap_err().to_string().contains("trace-data"));
    }

    #[test]
    fn compressed_files_are_unpacked_a_few_times() {
        let gzip = |bytes: &[u8]| {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gzip.write_all(bytes).unwrap();
            gzip.finish().unwrap()
        };
        let twice = zstd::encode_all(&gzip(b"hello")[..], 1).unwrap();
        assert_eq!(text(&twice).unwrap(), "hello");
        let members = [gzip(b"hel"), gzip(b"lo")].concat();
        assert_eq!(text(&members).unwrap(), "hello");
        assert!(text(&members[..members.len() - 3]).unwrap_err().to_string().contains("decompressed"));
        let layers = (0..6).fold(b"hello".to_vec(), |bytes, _| gzip(&bytes));
        assert!(text(&layers).unwrap_err().to_string().contains("packed more than 4 times"));
    }
}
