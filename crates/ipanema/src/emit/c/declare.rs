//! Constants, state structs and initial values.

use super::Unit;
use super::text::{Text, number};
use crate::ir::{Attribute, BaseType, Place, Type};

/// Bytes of a cache line.
const CACHE_LINE: usize = 64;

impl Unit<'_> {
    pub fn declarations(&self, out: &mut Text) {
        let prefix = &self.names.prefix;
        self.constants(out, "Reasons for placements.", "reason", &self.names.reason_constants);
        self.constants(out, "Ready queues of a core.", "queue", &self.names.queue_constants);
        self.constants(out, "Sets of cores.", "set", &self.names.set_constants);
        self.state(out);
        self.attributes(out, "core", &self.policy.core, &self.names.core);
        self.attributes(out, "thread", &self.policy.thread, &self.names.thread);
        out.blank();
        out.line(&format!("SAAKM_ATTRIBUTES({prefix}{})", self.attribute_contracts()));
        self.init_state(out);
        self.init(out, "core", &self.policy.core, &self.names.core);
        self.init(out, "thread", &self.policy.thread, &self.names.thread);
    }

    fn constants(&self, out: &mut Text, doc: &str, kind: &str, names: &[String]) {
        if names.is_empty() {
            return;
        }
        out.blank();
        out.comment(doc, "");
        out.open(&format!("enum {}_{kind} {{", self.names.prefix));
        for name in names {
            out.line(&format!("{name},"));
        }
        out.close("};");
    }

    fn state(&self, out: &mut Text) {
        let policy = self.policy;
        out.blank();
        out.open(&format!("struct {}_state {{", self.names.prefix));
        let mut before = None;
        for (param, name) in policy.params.iter().zip(&self.names.params) {
            field(out, &mut before, &param.at, &param.doc, &format!("int64_t {name}"));
        }
        // All cores write sets: not into the line of the parameters, which each event reads.
        let over = policy.params.len() % (CACHE_LINE / 8);
        if over > 0 && !policy.sets.is_empty() {
            out.line(&format!("char saakm_pad[{}];", CACHE_LINE - 8 * over));
        }
        for (set, name) in policy.sets.iter().zip(&self.names.sets) {
            field(out, &mut before, &set.at, &set.doc, &format!("struct saakm_set {name}"));
        }
        for (global, name) in policy.globals.iter().zip(&self.names.globals) {
            field(out, &mut before, &global.at, &global.doc, &format!("{} {name}", stored(global.ty)));
        }
        if before.is_none() {
            out.line("char none;");
        }
        out.close("};");
    }

    fn attributes(&self, out: &mut Text, kind: &str, list: &[Attribute], names: &[String]) {
        out.blank();
        out.open(&format!("struct {}_{kind} {{", self.names.prefix));
        let mut before = None;
        for (attribute, name) in list.iter().zip(names) {
            let declaration = format!("{} {name}", stored(attribute.ty));
            field(out, &mut before, &attribute.at, &attribute.doc, &declaration);
        }
        if list.is_empty() {
            out.line("char none;");
        }
        out.close("};");
    }

    fn init_state(&self, out: &mut Text) {
        let params = self.policy.params.iter().zip(&self.names.params);
        let params = params.map(|(param, name)| (name, param.ty, param.initial));
        let globals = self.policy.globals.iter().zip(&self.names.globals);
        let globals = globals.map(|(global, name)| (name, global.ty, global.initial));
        self.initial(out, "state", "state", params.chain(globals));
    }

    fn init(&self, out: &mut Text, kind: &str, list: &[Attribute], names: &[String]) {
        let values = list.iter().zip(names).map(|(a, name)| (name, a.ty, a.initial));
        self.initial(out, kind, "attrs", values);
    }

    /// Emits a function that sets all fields with a nonzero initial value.
    fn initial<'n>(
        &self,
        out: &mut Text,
        kind: &str,
        formal: &str,
        values: impl Iterator<Item = (&'n String, Type, i64)>,
    ) {
        let prefix = &self.names.prefix;
        let values: Vec<(String, String)> = values
            .filter_map(|(name, ty, value)| match ty.base {
                BaseType::Core => Some((name.clone(), "SAAKM_NO_CORE".to_owned())),
                BaseType::Set | BaseType::Thread | BaseType::Domain => None,
                _ if value == 0 => None,
                _ => Some((name.clone(), number(value, ty))),
            })
            .collect();
        out.blank();
        self.without_contract(format!("{prefix}_init_{kind}"));
        out.line(&format!(
            "static __attribute__((unused)) void {prefix}_init_{kind}(void SAAKM_MEM *{formal})"
        ));
        out.open("{");
        if values.is_empty() {
            out.line(&format!("(void){formal};"));
        } else {
            out.line(&format!(
                "struct {prefix}_{kind} SAAKM_MEM *p = (struct {prefix}_{kind} SAAKM_MEM *){formal};"
            ));
            out.blank();
            values.iter().for_each(|(name, value)| out.line(&format!("p->{name} = {value};")));
        }
        out.close("}");
    }
}

/// `before` is the location of the previous field, which may share its line and documentation.
fn field(out: &mut Text, before: &mut Option<String>, at: &Place, doc: &str, declaration: &str) {
    let at = place(at);
    if before.as_ref() != Some(&at) {
        out.comment(&at, doc);
    }
    out.line(&format!("{declaration};"));
    *before = Some(at);
}

/// Location in the form `nest.ipa:52`.
pub fn place(at: &Place) -> String {
    format!("{}.ipa:{}", at.policy, at.line)
}

/// C type of an attribute.
fn stored(ty: Type) -> &'static str {
    match ty.base {
        BaseType::Set => "struct saakm_set",
        _ => c_type(ty),
    }
}

/// C type of a variable, parameter or result.
pub fn c_type(ty: Type) -> &'static str {
    match ty.base {
        BaseType::Bool => "bool",
        BaseType::Int | BaseType::Frequency | BaseType::Load => "int64_t",
        BaseType::Time => "nsec_t",
        BaseType::Core => "core_t",
        BaseType::Thread => "thread_t",
        BaseType::Domain => "domain_t",
        BaseType::Set => "set_t",
    }
}

/// Declaration in the form `type name`.
pub fn declarator(ty: Type, name: &str) -> String {
    format!("{} {name}", c_type(ty))
}

/// C constant for `none`.
pub fn none(ty: Type) -> &'static str {
    match ty.base {
        BaseType::Core => "SAAKM_NO_CORE",
        _ => "NULL",
    }
}
