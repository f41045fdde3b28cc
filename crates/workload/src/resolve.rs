//! From what a user types to a workload.

use std::path::Path;

use crate::{Error, Workload, generate, import};

/// A workload and what must be said about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Resolved {
    pub workload: Workload,
    /// What an importer could not represent exactly; for people to read.
    pub notes: Vec<String>,
}

impl Workload {
    /// A workload from a generator specification (`configure`, `configure:tests=400,seed=3`), or
    /// from the path of a workload file or an rt-app document: what ends in `.json` or contains a
    /// `/` is a path. (A file called `configure` stands in many a directory; `./configure` is a
    /// path.)
    pub fn resolve(spec: &str) -> Result<Workload, Error> {
        Workload::resolve_with_notes(spec).map(|resolved| resolved.workload)
    }

    /// [`resolve`](Self::resolve) with the importer's notes, for front ends that show them.
    pub fn resolve_with_notes(spec: &str) -> Result<Resolved, Error> {
        if !(spec.ends_with(".json") || spec.contains('/')) {
            return generate::generate(spec).map(|workload| Resolved { workload, notes: Vec::new() });
        }
        let text = crate::file::read(Path::new(spec))?;
        if import::rtapp::recognises(&text) {
            return import::rtapp::import(&text, spec);
        }
        Workload::parse(&text, spec).map(|workload| Resolved { workload, notes: Vec::new() })
    }
}
