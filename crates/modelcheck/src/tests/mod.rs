//! Tests of internals.

mod liveness;
mod native;
mod races;
mod reduction;
mod scenario_file;
mod schedule_file;
mod stage;
mod standing;

use std::path::PathBuf;

use hearth_ipanema::syntax::Source;
use hearth_policy::Policy;

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../policies/{name}.ipa"))
}

pub fn load(name: &str) -> Policy {
    let path = path(name);
    hearth_policy::load(path.to_str().expect("a path")).unwrap_or_else(|error| panic!("{error}"))
}

/// A minimal policy: the required handlers and this text.
pub fn tiny(text: &str) -> Policy {
    let common = "
        queue ready : fifo;
        on schedule (core c) { if (thread t = first(thread t in c.ready)) t => running; }
        on yield (thread t) { t => t.core.ready; }
        on preempt (thread t) { t => t.core.ready; }
        on block (thread t) { t => blocked; }
        on terminate (thread t) { t => terminated; }
        core near(thread t, core c) {
            return c in t.affinity ? c : (first(core x in t.affinity nearest c) else c);
        }
    ";
    let text = format!("policy tiny {{ {common} {text} }}");
    let provider = move |_: &str| Some(Source { name: "tiny".to_owned(), text: text.clone() });
    hearth_ipanema::compile(&provider, "tiny").unwrap_or_else(|failed| panic!("{failed}")).into()
}
