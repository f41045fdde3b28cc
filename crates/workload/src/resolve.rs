//! Resolution of a workload specification given by a user.

use std::path::Path;

use crate::recorded::{Recorded, recorded};
use crate::{Error, Workload, generate, import, together};

/// A workload and notes about its import.
#[derive(Clone, PartialEq, Debug)]
pub struct Resolved {
    pub workload: Workload,
    /// What an importer could represent only approximately, in sentences.
    pub notes: Vec<String>,
}

impl Workload {
    /// Resolves a generator specification (`configure`, `configure:tests=400,seed=3`), the name of a recorded program
    /// (`configure-php-16`), or the path of a workload file or rt-app document. An argument that ends in `.json` or `.json.zst`, or contains a `/` is
    /// a path. (Many directories contain a file called `configure`; `./configure` is a path.)
    /// `A + B` runs both at once.
    pub fn resolve(spec: &str) -> Result<Workload, Error> {
        Workload::resolve_with_notes(spec).map(|resolved| resolved.workload)
    }

    /// Like [`resolve`](Self::resolve), with the importer's notes for display.
    pub fn resolve_with_notes(spec: &str) -> Result<Resolved, Error> {
        if let Some(parts) = together::parts(spec) {
            let resolved =
                parts.into_iter().map(Workload::resolve_with_notes).collect::<Result<Vec<_>, _>>()?;
            let notes = resolved.iter().flat_map(|part| part.notes.clone()).collect();
            let workload =
                together::together(resolved.into_iter().map(|part| part.workload).collect(), spec)?;
            return Ok(Resolved { workload, notes });
        }
        if !(spec.ends_with(".json") || spec.ends_with(".json.zst") || spec.contains('/')) {
            let recorded = recorded().iter().find(|recorded| recorded.name == spec);
            let workload = recorded.map_or_else(|| generate::generate(spec), Recorded::load)?;
            return Ok(Resolved { workload, notes: Vec::new() });
        }
        let text = crate::file::read(Path::new(spec))?;
        if import::rtapp::recognises(&text) {
            return import::rtapp::import(&text, spec);
        }
        Workload::parse(&text, spec).map(|workload| Resolved { workload, notes: Vec::new() })
    }
}
