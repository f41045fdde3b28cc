//! The feature model: schedulers as products of independent features.
//!
//! A [`Model`] is read from UVL. Each of its [`Product`]s is a policy whose name is its features, which the compiler
//! composes (`hearth_ipanema`). [`judge`] says of each product and [`Claim`] whether it is proved, refuted or open, and
//! [`Rules`] says the same by features.
//!
//! ```
//! use hearth_features::Model;
//!
//! let model = Model::named("family")?;
//! assert_eq!(model.products().len(), 486);
//! let product = model.product("idle+all+fifo+fixed+nrRun+one")?;
//! let policy = hearth_policy::load(&product.name())?;
//! assert_eq!(policy.name(), "fifo+fixed+nrRun+all+one+idle");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod model;
mod rules;
mod stored;
pub mod uvl;
mod verdict;

use hearth_ipanema::SourceId;
use hearth_ipanema::builtin;
use hearth_ipanema::syntax::parse;
pub use model::{Model, ModelError, NAMES, Product, Slot};
pub use rules::{Rule, Rules, when};
pub use stored::{Stored, Verdicts};
pub use verdict::{Claim, JudgeError, Judgement, ProductVerdicts, Verdict, judge};

/// The comment at the declaration of a built-in feature or policy, on one line.
pub fn doc(name: &str) -> String {
    let text = builtin::source(name).unwrap_or_default();
    let doc = parse(SourceId::default(), &text).policy.and_then(|policy| policy.doc);
    doc.map_or_else(String::new, |doc| doc.text.split_whitespace().collect::<Vec<_>>().join(" "))
}
