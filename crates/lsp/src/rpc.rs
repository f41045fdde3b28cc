//! JSON-RPC messages with the header of the protocol.

use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, BufRead, ErrorKind, Read, Write};

/// Longest accepted message. The longest policy has 1 MiB.
const MAX_LENGTH: usize = 64 << 20;

/// Longest accepted line of a header.
const MAX_HEADER: u64 = 4096;

/// Codes of JSON-RPC and of the protocol.
pub const PARSE_ERROR: i32 = -32700;
pub const INVALID_REQUEST: i32 = -32600;
pub const METHOD_NOT_FOUND: i32 = -32601;
pub const INVALID_PARAMS: i32 = -32602;
pub const INTERNAL_ERROR: i32 = -32603;
pub const NOT_INITIALIZED: i32 = -32002;
pub const REQUEST_FAILED: i32 = -32803;

/// The answer to a request that fails.
#[derive(Debug, PartialEq, Eq)]
pub struct Failed {
    pub code: i32,
    pub message: String,
}

impl Failed {
    pub fn new(code: i32, message: impl Into<String>) -> Failed {
        Failed { code, message: message.into() }
    }
}

/// A message of the client.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The answer to a request of the server, which needs none.
    Answer,
    /// It has a length, so the next message can be read.
    Invalid(Failed),
}

/// Reads the next message; `None` at the end of the stream.
///
/// # Errors
/// The stream cannot be read, or it is not clear where the next message begins.
pub fn read(input: &mut impl BufRead) -> io::Result<Option<Incoming>> {
    let Some(length) = header(input)? else { return Ok(None) };
    let mut content = Vec::new();
    input.take(length as u64).read_to_end(&mut content)?;
    if content.len() < length {
        return Err(io::Error::new(ErrorKind::UnexpectedEof, "the input ends within a message"));
    }
    let message = serde_json::from_slice(&content);
    Ok(Some(message.map_or_else(
        |error| Incoming::Invalid(Failed::new(PARSE_ERROR, format!("this is not JSON: {error}"))),
        of_value,
    )))
}

/// Reads the header; returns the length of the content.
fn header(input: &mut impl BufRead) -> io::Result<Option<usize>> {
    let invalid = |what: &str| io::Error::new(ErrorKind::InvalidData, what.to_owned());
    let (mut length, mut first) = (None, true);
    loop {
        let mut line = Vec::new();
        input.take(MAX_HEADER).read_until(b'\n', &mut line)?;
        if line.is_empty() && first {
            return Ok(None);
        }
        first = false;
        if !line.ends_with(b"\n") {
            return Err(invalid("a message has no complete header"));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            return match length {
                Some(length) if length <= MAX_LENGTH => Ok(Some(length)),
                Some(length) => Err(invalid(&format!("a message has {length} bytes; at most {MAX_LENGTH}"))),
                None => Err(invalid("a message has no Content-Length")),
            };
        }
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("content-length")
        {
            length = Some(value.trim().parse().map_err(|_| invalid("Content-Length is not a number"))?);
        }
    }
}

fn of_value(mut message: Value) -> Incoming {
    let invalid = |what: &str| Incoming::Invalid(Failed::new(INVALID_REQUEST, what));
    let Some(fields) = message.as_object_mut() else { return invalid("a message must be an object") };
    let id = fields.remove("id").filter(|id| !id.is_null());
    let params = fields.remove("params").unwrap_or_default();
    match (fields.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) if id.is_string() || id.is_number() => {
            Incoming::Request { id, method, params }
        }
        (Some(Value::String(_)), Some(_)) => invalid("an id must be a number or a string"),
        (Some(Value::String(method)), None) => Incoming::Notification { method, params },
        (None, Some(_)) if fields.contains_key("result") || fields.contains_key("error") => Incoming::Answer,
        _ => invalid("a message needs a method"),
    }
}

/// Writes messages of the server.
pub struct Output<W>(pub W);

impl<W: Write> Output<W> {
    /// # Errors
    /// The client no longer reads.
    pub fn answer(&mut self, id: Value, result: Result<Value, Failed>) -> io::Result<()> {
        self.write(&match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(Failed { code, message }) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
        })
    }

    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn notify(&mut self, method: &str, params: impl Serialize) -> io::Result<()> {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    /// Sends a request without parameters, whose answer does not matter.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn request(&mut self, id: u64, method: &str) -> io::Result<()> {
        self.write(&json!({ "jsonrpc": "2.0", "id": format!("hearth-{id}"), "method": method }))
    }

    fn write(&mut self, message: &Value) -> io::Result<()> {
        let content = message.to_string();
        write!(self.0, "Content-Length: {}\r\n\r\n{content}", content.len())?;
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(content: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{content}", content.len())
    }

    fn all(mut input: &[u8]) -> Vec<Result<Incoming, String>> {
        let mut found = Vec::new();
        loop {
            match read(&mut input) {
                Ok(None) => return found,
                Ok(Some(message)) => found.push(Ok(message)),
                Err(error) => {
                    found.push(Err(error.to_string()));
                    return found;
                }
            }
        }
    }

    #[test]
    fn messages_are_told_apart() {
        let text = framed(r#"{"id":1,"method":"a","params":[2]}"#)
            + &framed(r#"{"method":"b"}"#)
            + &framed(r#"{"id":"x","result":null}"#);
        let [request, notification, answer] = &all(text.as_bytes())[..] else { panic!() };
        let wanted = Incoming::Request { id: json!(1), method: "a".into(), params: json!([2]) };
        assert_eq!(request, &Ok(wanted));
        assert_eq!(notification, &Ok(Incoming::Notification { method: "b".into(), params: Value::Null }));
        assert_eq!(answer, &Ok(Incoming::Answer));
    }

    #[test]
    fn a_bad_message_does_not_end_the_stream() {
        for bad in ["{", "[]", "1", "{}", r#"{"id":{},"method":"a"}"#, r#"{"method":1}"#, "\u{1F525}"] {
            let text = framed(bad) + &framed(r#"{"method":"next"}"#);
            let found = all(text.as_bytes());
            assert!(matches!(found[0], Ok(Incoming::Invalid(_))), "{bad}: {found:?}");
            assert!(matches!(found[1], Ok(Incoming::Notification { .. })), "{bad}: {found:?}");
        }
    }

    #[test]
    fn a_bad_header_ends_the_stream_with_an_error() {
        let long = "x".repeat(10_000);
        for bad in [
            "Content-Length: 18446744073709551615\r\n\r\n",
            "Content-Length: 99999999999999999999999\r\n\r\n",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: 5\r\n\r\nabc",
            "Content-Length: 5",
            "Other: 5\r\n\r\n",
            "\r\n",
            &long,
        ] {
            let found = all(bad.as_bytes());
            assert!(matches!(found[..], [Err(_)]), "{bad}: {found:?}");
        }
    }
}
