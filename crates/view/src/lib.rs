//! Pages that show results and traces.
//!
//! [`report`] makes one self-contained HTML file out of measured or simulated runs.

pub mod report;
