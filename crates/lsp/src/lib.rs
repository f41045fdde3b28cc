//! The language server of Ipanema: diagnostics, hover, definitions, renaming, formatting, outline, completion, semantic
//! tokens, and lenses that simulate and prove a policy.
//!
//! [`serve`] speaks the Language Server Protocol 3.17 on two streams. All knowledge of the language comes from
//! `hearth-ipanema`: after each change, its passes run anew on the document and its bases. Open documents stand for
//! their files, whether saved or not.

pub mod ask;
mod completion;
mod diagnostics;
mod highlight;
mod hover;
mod jobs;
mod lenses;
mod names;
mod rename;
mod rpc;
mod server;
mod symbols;
mod text;
mod uri;
mod workspace;

pub use server::serve;
