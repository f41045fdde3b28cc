//! Suggestions for names that exist in another form: `llc(c)` for `c.llc`, `c.nr_ready` for `nr_ready(c)`.

use super::body::Lowering;
use super::{Lowered, Top};
use crate::ir::{BaseType, Expr, Owner};
use crate::library::{self, Function, Kind, Value, WORDS};
use crate::syntax::ast;

impl Lowering<'_, '_> {
    /// What `object.name` may mean, if neither threads nor cores have such a member.
    pub(super) fn instead_of_member(&self, object: &Expr, name: &str) -> Option<String> {
        let text = self.context.sources.text(object.span);
        let core =
            || if object.ty.base == BaseType::Thread { format!("{text}.core") } else { text.to_owned() };
        match self.context.top.get(name) {
            Some(Top::Set(_)) => return Some(format!("{} in {name}", core())),
            Some(Top::Version(version)) => {
                let Lowered::Function(function) = self.context.versions[*version] else { return None };
                let [only] = self.context.policy.function(function).params() else { return None };
                return (only.ty == object.ty).then(|| format!("{name}({text})"));
            }
            _ => {}
        }
        match WORDS.iter().find(|word| word.name == name)?.kind {
            Kind::Value(Value::Kept(_)) => Some(format!("{} in {name}", core())),
            Kind::Function(Function::DomainOf(_)) => Some(format!("{name}({})", core())),
            _ => None,
        }
    }

    /// What `name(args)` may mean, if there is no such function.
    pub(super) fn instead_of_call(&self, name: &str, args: &[ast::Expr]) -> Option<String> {
        let [only] = args else { return None };
        let ast::ExprKind::Name(local) = &only.kind else { return None };
        let is_member = match self.local(self.find(local)?, only.span).ty.base {
            BaseType::Core => library::core_field(name).is_some() || self.has(Owner::Core, name),
            BaseType::Thread => library::thread_field(name).is_some() || self.has(Owner::Thread, name),
            _ => false,
        };
        is_member.then(|| format!("{local}.{name}"))
    }

    fn has(&self, owner: Owner, name: &str) -> bool {
        self.context.attribute(owner, name).is_some()
    }
}
