//! How a trace was recorded, as the line in its header says it.

use hearth_trace::{Header, Source};
use std::fmt::{Display, Formatter, Result};

const BPF: &str = "bpf";
const TRACEFS: &str = "tracefs";

/// The method that was used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum How {
    Bpf,
    /// With the reason if BPF was tried first.
    Tracefs {
        why_not_bpf: Option<String>,
    },
}

impl How {
    /// `None`: the trace was not recorded by us.
    pub fn of(header: &Header) -> Option<How> {
        let Source::Recorded { method, .. } = &header.source else { return None };
        if method == BPF {
            return Some(How::Bpf);
        }
        let why = method.strip_prefix(TRACEFS)?;
        let why = why.strip_prefix(" (not BPF: ").and_then(|why| why.strip_suffix(')'));
        Some(How::Tracefs { why_not_bpf: why.map(Into::into) })
    }

    pub fn method(&self) -> &'static str {
        match self {
            How::Bpf => BPF,
            How::Tracefs { .. } => TRACEFS,
        }
    }
}

impl Display for How {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.method())?;
        match self {
            How::Tracefs { why_not_bpf: Some(why) } => write!(f, " (not BPF: {why})"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let why_not_bpf = Some("a reason (with another)".to_owned());
        for how in [How::Bpf, How::Tracefs { why_not_bpf: None }, How::Tracefs { why_not_bpf }] {
            let source = Source::Recorded { method: how.to_string(), command: vec![], kernel: String::new() };
            assert_eq!(How::of(&Header { source, ..Header::default() }), Some(how));
        }
    }
}
