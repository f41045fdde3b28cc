//! Pages that show results and traces.
//!
//! [`report`] makes one self-contained HTML file out of measured or simulated runs; [`server`]
//! serves traces to the viewer's page.

pub mod report;
pub mod server;
