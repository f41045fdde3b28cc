//! The hand-written theory in `proofs/`.

/// Names and texts of the files.
pub const FILES: [(&str, &str); 9] = [
    ("cores.mlw", include_str!("../../../proofs/cores.mlw")),
    ("events.mlw", include_str!("../../../proofs/events.mlw")),
    ("steal.mlw", include_str!("../../../proofs/steal.mlw")),
    ("composition.mlw", include_str!("../../../proofs/composition.mlw")),
    ("machine.mlw", include_str!("../../../proofs/machine.mlw")),
    ("progress.mlw", include_str!("../../../proofs/progress.mlw")),
    ("alone.mlw", include_str!("../../../proofs/alone.mlw")),
    ("waiting.mlw", include_str!("../../../proofs/waiting.mlw")),
    ("closing.mlw", include_str!("../../../proofs/closing.mlw")),
];
