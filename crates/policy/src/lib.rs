//! The noun Policy: an Ipanema file and its bases, and values for its parameters.
//!
//! [`load`] compiles a built-in policy or an `.ipa` file to a [`Policy`]. The simulator makes native code
//! from it, the loader a BPF object, the prover WhyML. [`Settings`] are values for its parameters.
//! [`Spec`], [`Assignment`] and [`ScopedAssignment`] parse the command-line syntax of policies and parameters.
//!
//! ```
//! use hearth_policy::{Settings, Spec, load};
//!
//! let spec: Spec = "nest:r_max=0,s_max=4ticks".parse()?;
//! let nest = load(&spec.source)?;
//! let settings = Settings::parse(&nest, &spec.params)?;
//! let shown: Vec<String> = settings.shown(&nest).map(|(name, value)| format!("{name} {value}")).collect();
//! assert_eq!(shown, ["r_max 0", "s_max 16ms"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod linux;
mod load;
mod policy;
mod settings;
mod spec;

pub use hearth_ipanema::Unit;
pub use linux::QueuedWakeups;
pub use load::{Error, base, load, names, read, sources};
pub use policy::{Capacity, CoreSet, Param, Policy};
pub use settings::{ParamError, Settings};
pub use spec::{Assignment, ScopedAssignment, Spec, SpecError};
