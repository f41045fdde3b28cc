//! Traces in the formats of others: out ([`export`]) and in ([`import`]).
//!
//! Both are streams: any length, bounded memory (but for the names of threads, which are kept as a trace's header
//! keeps them). What a format cannot carry is said in notes.

mod error;
mod export;
mod import;
mod notes;
mod perfetto;
mod wire;

pub use error::{Error, Place};
pub use export::{ExportFormat, Exported, export};
pub use import::{Count, ImportFormat, Imported, detect, import, import_bytes};
pub use notes::Notes;
