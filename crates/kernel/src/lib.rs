//! All that needs a live Linux: the recorder today; loader, player and probes to come.

mod host;
mod record;

pub use host::Host;
pub use record::{Error, Options, Recording, record};
