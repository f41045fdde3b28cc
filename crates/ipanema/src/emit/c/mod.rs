//! One C file per policy, against `runtime/saakm.h`: readable, and the same for the simulator and
//! the kernel.
//!
//! Names, order and comments follow the source. A function is emitted in its effective version; a
//! base's version that `super` needs is `<policy>__<base>_<name>`. Expressions become C
//! expressions; what needs a loop is computed before the statement that it stands in, in the order
//! of the source.

mod body;
mod declare;
mod descriptor;
mod expr;
mod function;
mod names;
mod search;
mod set;
mod statement;
mod steal;
mod text;

use crate::ir::Policy;
use names::Names;
use text::Text;

/// The C source of a policy.
pub fn emit(policy: &Policy) -> String {
    let unit = Unit { policy, names: Names::of(policy) };
    let mut out = Text::default();
    unit.head(&mut out);
    unit.declarations(&mut out);
    unit.functions(&mut out);
    unit.descriptor(&mut out);
    out.finish()
}

/// The policy that is emitted, and what its parts are called in C.
struct Unit<'p> {
    policy: &'p Policy,
    names: Names,
}

impl Unit<'_> {
    fn head(&self, out: &mut Text) {
        let Policy { name, bases, doc, .. } = self.policy;
        out.line("/*");
        match bases.as_slice() {
            [] => out.line(&format!(" * Policy {name}, made by the Ipanema compiler from {name}.ipa.")),
            bases => out.line(&format!(
                " * Policy {name}, made by the Ipanema compiler from {name}.ipa, on top of {}.",
                bases.join(", ")
            )),
        }
        if !doc.is_empty() {
            out.line(" *");
            out.comment_lines(doc);
        }
        out.line(" */");
        out.line("#include \"saakm.h\"");
    }
}
