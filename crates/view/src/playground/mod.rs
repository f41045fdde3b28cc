//! The playground: a page that edits a policy beside its simulation and its verdict.
//!
//! [`Playground::pages`] are the pages for a [`Server`](crate::server::Server), and the requests behind them. The page
//! sends the text of its editor with each request; only saving changes a file ([`Document`]). `simulate` runs the policy
//! and a baseline and serves both traces to the viewer; `verdict` explores small machines with the model checker; `proof`
//! runs the provers. A newer request of a page stops the older one of its kind (`jobs`).

mod api;
mod assist;
mod check;
mod document;
mod jobs;
mod proof;
mod runs;
mod simulate;
mod verdict;

pub use api::{Playground, Start};
pub use document::{Document, OpenError};
