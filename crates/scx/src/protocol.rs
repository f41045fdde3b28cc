//! The protocol of the socket: one line of JSON per request and per answer. `stats` and `stats_meta` are the protocol of
//! scx_stats, which other tools use; `info`, `set` and `stop` are Hearth's own.

use hearth_trace::CoreInfo;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Path of the socket, as scx_stats defines it.
pub const SOCKET: &str = "/var/run/scx/root/stats";

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub req: String,
    #[serde(default)]
    pub args: BTreeMap<String, String>,
}

impl Request {
    pub fn new(req: &str, args: &[(&str, &str)]) -> Request {
        let args = args.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Request { req: req.into(), args }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// 0, or an errno; then the answer is an error message.
    pub errno: i32,
    pub args: BTreeMap<String, Value>,
}

/// Key of the answer in [`Response::args`].
pub const ANSWER: &str = "resp";

impl Response {
    pub fn new(answer: Result<Value, Refusal>) -> Response {
        let (errno, value) = match answer {
            Ok(value) => (0, value),
            Err(refusal) => (refusal.errno, refusal.message.into()),
        };
        Response { errno, args: [(ANSWER.to_owned(), value)].into() }
    }
}

/// A refused request.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub errno: i32,
    pub message: String,
}

impl Refusal {
    pub fn new(errno: i32, message: impl Into<String>) -> Refusal {
        Refusal { errno, message: message.into() }
    }
}

/// The answer to `info`: the running policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Info {
    pub policy: String,
    pub doc: String,
    /// Version of Hearth.
    pub version: String,
    pub kernel: String,
    pub machine: String,
    pub pid: u32,
    /// When the policy became the scheduler, in seconds since 1970.
    pub since: u64,
    /// What it schedules: `system`, `command` or `cgroup PATH`.
    pub scope: String,
    /// Source of frequencies: `kernel`, `unknown`, `slow` or `model:MACHINE:GOVERNOR`.
    pub frequency: String,
    /// File of the recording in progress.
    pub recording: Option<String>,
    pub params: Vec<ParamInfo>,
    pub reasons: Vec<String>,
    pub sets: Vec<SetInfo>,
    pub topology: Vec<Place>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParamInfo {
    pub name: String,
    pub doc: String,
    /// In ns or kHz, or a count; so are `initial`, `min` and `max`.
    pub value: i64,
    pub initial: i64,
    pub min: i64,
    pub max: i64,
    /// The value with its unit.
    pub shown: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetInfo {
    pub name: String,
    pub doc: String,
    /// Maximum number of members; `None`: all cores.
    pub most: Option<i64>,
    /// The kernel's numbers of the members, ascending.
    pub members: Vec<u32>,
}

/// Place of a core in the topology.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub cpu: u32,
    #[serde(flatten)]
    pub at: CoreInfo,
}

/// The answer to `set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    pub name: String,
    pub old: String,
    pub new: String,
    /// Remark for the user.
    pub note: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_have_the_format_of_scx_stats() {
        let request: Request = serde_json::from_str(r#"{"req":"stats","args":{"target":"top"}}"#).unwrap();
        assert_eq!(request, Request::new("stats", &[("target", "top")]));
        assert_eq!(serde_json::from_str::<Request>(r#"{"req":"stats_meta"}"#).unwrap().args.len(), 0);
        let response = Response::new(Ok(json!({"a": 1})));
        assert_eq!(serde_json::to_string(&response).unwrap(), r#"{"errno":0,"args":{"resp":{"a":1}}}"#);
        let refused = Response::new(Err(Refusal::new(libc::EINVAL, "no")));
        assert_eq!(serde_json::to_string(&refused).unwrap(), r#"{"errno":22,"args":{"resp":"no"}}"#);
    }
}
