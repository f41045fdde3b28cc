//! The viewer of traces.
//!
//! [`server`] serves traces to the viewer's page, [`playground`] a page that edits a policy beside its simulation and its
//! verdict. [`picture`] draws what the page draws into files. `make web` builds the pages from `web/`.

pub mod page;
pub mod picture;
pub mod playground;
pub mod server;
