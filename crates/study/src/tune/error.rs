use std::path::PathBuf;

#[derive(thiserror::Error, Debug)]
pub enum Error {
    #[error("{}: cannot read the experience: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{}: not an experience of `hearth study learn`: {source}", path.display())]
    NotExperience { path: PathBuf, source: serde_json::Error },
    #[error("{}: cannot write the experience: {source}", path.display())]
    Unwritable { path: PathBuf, source: std::io::Error },
    #[error("the table has no product of model {model} with a completed run of each application")]
    NoProduct { model: String },
    #[error(
        "the table has {found} application; one is left out and learned from the others, so it needs at least three"
    )]
    FewApplications { found: usize },
    #[error(transparent)]
    Study(#[from] crate::Error),
}
