//! Kernel scheduling events: decoding them, and assembling them into a trace.
//!
//! Nothing here reads from a live kernel. The recorder and the importers of other tools' files use it:
//!
//! - [`Page`] splits a page of the kernel's ring buffer into records; [`PageMerger`] merges the pages of all cores.
//! - [`Decoder`] decodes a record into a [`KernelEvent`], using the kernel's `format` files.
//! - [`Assembler`] turns kernel events, in order of time, into the events of a trace.

mod assemble;
mod decode;
mod event;
mod format;
mod merge;
mod names;
mod page;
mod queues;
mod state;
mod window;

pub use assemble::{Assembled, Assembler, Scope};
pub use decode::{Decoder, EVENTS, IMPORTED, is_in_process, is_interrupt};
pub use event::{Decision, EventKind, Item, KernelEvent};
pub use format::Order;
pub use merge::{DamagedPage, PageMerger};
pub use names::Names;
pub use page::{Error as PageError, Layout as PageLayout, Missed, Page, Record as PageRecord};
pub use state::{StateBits, StateEvidence, stop_of_letters};
