//! Descriptor of a policy for the loader.

use super::Unit;
use super::expr::fact_constant;
use super::text::{Text, number};
use crate::ir::{BaseType, Event, Type, facts_read, runs_first};
use hearth_base::escape::c_string;

impl Unit<'_> {
    pub fn descriptor(&self, out: &mut Text) {
        let prefix = &self.names.prefix;
        out.blank();
        out.line("/* The handlers, for a runtime that calls them by name. */");
        for handler in &self.policy.handlers {
            let name = &self.names.functions[handler.function.index()];
            out.line(&format!("#define SAAKM_ON_{} {name}", handler.event.name().to_uppercase()));
        }
        for kind in ["state", "core", "thread"] {
            out.line(&format!("#define SAAKM_INIT_{} {prefix}_init_{kind}", kind.to_uppercase()));
        }
        out.blank();
        out.line("/* Name as a kernel identifier; number of ready queues per core; bit mask of the ordered queues; number");
        out.line(
            "   of sets; whether a placement on an idle core runs at once; bit mask of the facts that handlers read. */",
        );
        let queues = &self.policy.queues;
        let ordered = (0..queues.len()).filter(|i| queues[*i].by.is_some()).fold(0, |bits, i| bits | 1 << i);
        out.line(&format!("#define SAAKM_NAME {}", c_string(&self.policy.name.replace(['-', '+'], "_"))));
        out.line(&format!("#define SAAKM_QUEUES {}", queues.len()));
        out.line(&format!("#define SAAKM_ORDERED {ordered:#x}"));
        out.line(&format!("#define SAAKM_NR_SETS {}", self.policy.sets.len()));
        out.line(&format!("#define SAAKM_RUNS_FIRST {}", u32::from(runs_first(self.policy).is_ok())));
        let facts: Vec<String> =
            facts_read(self.policy).into_iter().map(|fact| format!("1 << {}", fact_constant(fact))).collect();
        let facts = if facts.is_empty() { "0".to_owned() } else { format!("({})", facts.join(" | ")) };
        out.line(&format!("#define SAAKM_READS_FACTS {facts}"));
        out.blank();
        out.line("#ifdef SAAKM_POLICY");
        let params = self.params(out);
        let queues = self.queues(out);
        let reasons = self.strings(out, "reasons", &self.policy.reasons);
        let sets: Vec<String> = self.policy.sets.iter().map(|set| set.name.clone()).collect();
        let sets = self.strings(out, "sets", &sets);
        out.blank();
        out.open(&format!("SAAKM_POLICY({prefix},"));
        out.line(&format!(".name = {},", c_string(&self.policy.name)));
        for kind in ["state", "thread", "core"] {
            out.line(&format!(".{kind}_size = sizeof(struct {prefix}_{kind}),"));
        }
        for (list, what) in [(params, "params"), (queues, "queues"), (reasons, "reasons"), (sets, "sets")] {
            let (name, length) = list;
            out.line(&format!(".{what} = {name}, .nr_{what} = {length},"));
        }
        for kind in ["state", "core", "thread"] {
            out.line(&format!(".init_{kind} = {prefix}_init_{kind},"));
        }
        let handlers: Vec<String> = self
            .policy
            .handlers
            .iter()
            // The runtime does not call it: only the policy's own transitions do.
            .filter(|handler| handler.event != Event::Enqueue)
            .map(|handler| {
                let field = match handler.event {
                    Event::New => "new_thread",
                    event => event.name(),
                };
                format!(".{field} = {}", self.names.functions[handler.function.index()])
            })
            .collect();
        for (i, handler) in handlers.iter().enumerate() {
            let end = if i + 1 == handlers.len() { ");" } else { "," };
            out.line(&format!("{handler}{end}"));
        }
        if handlers.is_empty() {
            out.line(".new_thread = NULL);");
        }
        out.indent -= 1;
        out.line("#endif");
    }

    /// C name and length of each list.
    fn params(&self, out: &mut Text) -> (String, usize) {
        let prefix = &self.names.prefix;
        let rows = self.policy.params.iter().zip(&self.names.params).map(|(param, field)| {
            let value = |v| number(v, param.ty);
            let doc = c_string(&param.doc);
            vec![
                "{".to_owned(),
                format!("\t.name = {},", c_string(&param.name)),
                format!("\t.doc = {doc},"),
                format!("\t.unit = {},", unit(param.ty)),
                format!("\t.offset = offsetof(struct {prefix}_state, {field}),"),
                format!("\t.min = {}, .max = {},", value(param.min), value(param.max)),
                format!("\t.initial = {},", value(param.initial)),
                "},".to_owned(),
            ]
        });
        self.table(out, "struct saakm_param", "params", rows.collect())
    }

    fn queues(&self, out: &mut Text) -> (String, usize) {
        let rows = self.policy.queues.iter().map(|queue| {
            let ordered = u32::from(queue.by.is_some());
            vec![format!("{{ .name = {}, .ordered = {ordered} }},", c_string(&queue.name))]
        });
        self.table(out, "struct saakm_queue", "queues", rows.collect())
    }

    fn strings(&self, out: &mut Text, what: &str, list: &[String]) -> (String, usize) {
        let rows = list.iter().map(|name| vec![format!("{},", c_string(name))]);
        self.table(out, "char *const", what, rows.collect())
    }

    fn table(&self, out: &mut Text, ty: &str, what: &str, rows: Vec<Vec<String>>) -> (String, usize) {
        if rows.is_empty() {
            return ("NULL".to_owned(), 0);
        }
        let name = format!("{}_{what}", self.names.prefix);
        out.blank();
        out.open(&format!("static const {ty} {name}[] = {{"));
        rows.iter().flatten().for_each(|line| out.line(line));
        out.close("};");
        (name, rows.len())
    }
}

fn unit(ty: Type) -> &'static str {
    match ty.base {
        BaseType::Bool => "SAAKM_BOOL",
        BaseType::Time => "SAAKM_TIME",
        BaseType::Frequency => "SAAKM_FREQUENCY",
        BaseType::Load => "SAAKM_LOAD",
        _ => "SAAKM_INT",
    }
}
