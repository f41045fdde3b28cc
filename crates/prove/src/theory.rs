//! The hand-written theory in `proofs/`.

/// Names and texts of the files.
pub const FILES: [(&str, &str); 6] = [
    ("cores.mlw", include_str!("../../../proofs/cores.mlw")),
    ("events.mlw", include_str!("../../../proofs/events.mlw")),
    ("steal.mlw", include_str!("../../../proofs/steal.mlw")),
    ("progress.mlw", include_str!("../../../proofs/progress.mlw")),
    ("alone.mlw", include_str!("../../../proofs/alone.mlw")),
    ("waiting.mlw", include_str!("../../../proofs/waiting.mlw")),
];
