//! Web pages that show results and traces.
//!
//! [`report`] renders measured or simulated runs as one self-contained HTML file. [`server`] serves
//! traces to the viewer's page. [`claims`] renders the papers' claims beside our results,
//! and [`study`] what many schedulers do for many applications. The scripts and styles of both pages are built from `web/`.

pub mod claims;
pub mod page;
pub mod report;
pub mod server;
pub mod study;
