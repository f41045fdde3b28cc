//! Exporting traces to formats of other tools ([`export`]), and importing them ([`import`]).
//!
//! Both work in bounded memory for traces of any length, except for the names of threads. Notes say what a format cannot
//! represent.

mod error;
mod export;
mod import;
mod notes;
mod numbers;
mod perfetto;
mod wire;

pub use error::{Error, Place};
pub use export::{ExportFormat, Exported, export};
pub use import::{Count, ImportFormat, Imported, detect, import, import_bytes, recognised};
pub use notes::Notes;
