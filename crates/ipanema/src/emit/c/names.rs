//! C names: as in the source where possible, without conflicts with C, the runtime or each other.

use std::collections::HashSet;

use crate::ir::{Attribute, Function, Policy, Role};

/// Names that identifiers of a policy must not take: keywords, and names defined by the runtime's
/// macros and gnu11.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "core_t",
    "default",
    "do",
    "domain_t",
    "double",
    "else",
    "enum",
    "errno",
    "extern",
    "false",
    "float",
    "for",
    "goto",
    "i386",
    "if",
    "inline",
    "int",
    "int16_t",
    "int32_t",
    "int64_t",
    "int8_t",
    "intptr_t",
    "linux",
    "long",
    "nsec_t",
    "offsetof",
    "ptrdiff_t",
    "register",
    "restrict",
    "return",
    "s",
    "saakm_t",
    "set_t",
    "short",
    "signed",
    "size_t",
    "sizeof",
    "static",
    "struct",
    "switch",
    "thread_t",
    "true",
    "typedef",
    "typeof",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "uintptr_t",
    "union",
    "unix",
    "unsigned",
    "void",
    "volatile",
    "w",
    "wchar_t",
    "while",
];

/// Suffixes that the runtime's macros use for their own variables.
const MACRO_ENDS: &[&str] = &["_", "_walk", "_next", "_groups", "_storage"];

/// Names at file scope.
pub struct Names {
    /// Prefix of all names: the policy's name, with `_` for `-`; `product` for one that is named by its features.
    pub prefix: String,
    pub params: Vec<String>,
    pub sets: Vec<String>,
    pub globals: Vec<String>,
    pub thread: Vec<String>,
    pub core: Vec<String>,
    pub functions: Vec<String>,
    pub steals: Vec<String>,
    /// For each queue, the function that makes a thread ready in it.
    pub ready: Vec<String>,
    pub reason_constants: Vec<String>,
    pub set_constants: Vec<String>,
    pub queue_constants: Vec<String>,
    taken: HashSet<String>,
}

impl Names {
    pub fn of(policy: &Policy) -> Names {
        let mut prefix = match policy.name.contains('+') {
            true => "product".to_owned(),
            false => policy.name.replace('-', "_"),
        };
        if prefix.to_lowercase().starts_with("saakm") {
            prefix.insert_str(0, "p_");
        }
        let mut taken = HashSet::new();
        for own in [
            "state",
            "core",
            "thread",
            "reason",
            "set",
            "queue",
            "fine",
            "the_state",
            "cores",
            "threads",
            "init_state",
            "init_core",
            "init_thread",
            "params",
            "queues",
            "reasons",
            "sets",
        ] {
            taken.insert(format!("{prefix}_{own}"));
        }
        let mut new = |wish: String| unique(wish, &mut taken);
        let functions = policy.functions.iter().map(|f| new(function_name(&prefix, policy, f))).collect();
        let steals = policy.steals.iter().map(|s| new(format!("{prefix}_{}", s.name))).collect();
        let ready = policy.queues.iter().map(|q| new(format!("{prefix}_enter_{}", q.name))).collect();
        let upper = prefix.to_uppercase();
        let mut constants = |kind: &str, names: Vec<&String>| -> Vec<String> {
            names.into_iter().map(|n| new(format!("{upper}_{kind}_{}", n.to_uppercase()))).collect()
        };
        let reason_constants = constants("REASON", policy.reasons.iter().collect());
        let set_constants = constants("SET", policy.sets.iter().map(|s| &s.name).collect());
        let queue_constants = constants("QUEUE", policy.queues.iter().map(|q| &q.name).collect());
        // Parameters, sets and globals are fields of the same struct.
        let mut state = HashSet::new();
        let mut field = |name: &String| unique(fitting(name), &mut state);
        Names {
            params: policy.params.iter().map(|p| field(&p.name)).collect(),
            sets: policy.sets.iter().map(|s| field(&s.name)).collect(),
            globals: policy.globals.iter().map(|g| field(&g.name)).collect(),
            thread: fields(&policy.thread),
            core: fields(&policy.core),
            functions,
            steals,
            ready,
            reason_constants,
            set_constants,
            queue_constants,
            prefix,
            taken,
        }
    }

    /// Names for the local variables of one function.
    pub fn locals(&self) -> Locals<'_> {
        Locals { file: &self.taken, prefix: &self.prefix, taken: HashSet::new() }
    }
}

fn function_name(prefix: &str, policy: &Policy, function: &Function) -> String {
    let own = match function.role {
        Role::Function | Role::Invariant => function.name.clone(),
        Role::Handler(event) => format!("on_{}", event.name()),
        Role::Phase(_) => function.name.replace('.', "_"),
    };
    if function.superseded || matches!(function.role, Role::Phase(s) if policy.steals[s.index()].superseded) {
        format!("{prefix}__{}_{own}", function.at.policy.replace('-', "_"))
    } else {
        format!("{prefix}_{own}")
    }
}

fn fields(attributes: &[Attribute]) -> Vec<String> {
    let mut taken = HashSet::new();
    attributes.iter().map(|a| unique(fitting(&a.name), &mut taken)).collect()
}

/// Local names of a function.
pub struct Locals<'n> {
    file: &'n HashSet<String>,
    prefix: &'n str,
    taken: HashSet<String>,
}

impl Locals<'_> {
    /// Names in use, to restore at the end of a block.
    pub fn taken(&self) -> HashSet<String> {
        self.taken.clone()
    }

    pub fn go_back(&mut self, taken: HashSet<String>) {
        self.taken = taken;
    }

    pub fn new_name(&mut self, wish: &str) -> String {
        let mut name = fitting(wish);
        if self.file.contains(&name) || name == self.prefix {
            name.push('1');
        }
        unique(name, &mut self.taken)
    }
}

/// The name, changed if it is reserved in C or by the runtime.
fn fitting(name: &str) -> String {
    let lower = name.to_lowercase();
    let own = RESERVED.contains(&name)
        || MACRO_ENDS.iter().any(|end| name.ends_with(end))
        || lower.starts_with("saakm")
        || name.starts_with('_')
        || (name.len() > 1 && name.chars().all(|c| !c.is_ascii_lowercase()));
    if own { format!("v_{name}1") } else { name.to_owned() }
}

/// The name, with a number appended if it is taken.
fn unique(wish: String, taken: &mut HashSet<String>) -> String {
    let mut name = wish.clone();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{wish}{number}");
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_names_are_changed() {
        for name in ["default", "s", "w", "linux", "c_walk", "empty_", "saakm_div", "NULL", "_x"] {
            assert_ne!(fitting(name), name);
        }
        for name in ["target", "c", "vruntime", "t2"] {
            assert_eq!(fitting(name), name);
        }
    }

    #[test]
    fn the_same_name_gets_a_number() {
        let mut taken = HashSet::new();
        assert_eq!(unique("c".into(), &mut taken), "c");
        assert_eq!(unique("c".into(), &mut taken), "c2");
        assert_eq!(unique("c2".into(), &mut taken), "c22");
    }
}
