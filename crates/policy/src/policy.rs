//! A sound policy, and what can be set and seen of it.

use hearth_ipanema::ir::{self, ExprKind};
use hearth_ipanema::{Compiled, Diagnostic, Sources, Unit, emit};

/// A parameter: a value that can be set when the policy is loaded, and while it runs in the kernel.
#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    /// The comment at its declaration, on one line.
    pub doc: String,
    pub unit: Unit,
    /// The lowest value that is allowed.
    pub min: i64,
    /// The highest value that is allowed.
    pub max: i64,
    pub initial: i64,
}

/// The largest number of members of a core set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// All cores of the machine.
    All,
    Constant(i64),
    /// The value of this parameter, by its place in [`Policy::params`].
    Param(usize),
}

/// A set of cores that belongs to the policy.
#[derive(Clone, Debug)]
pub struct CoreSet {
    pub name: String,
    /// The comment at its declaration, on one line.
    pub doc: String,
    pub capacity: Capacity,
}

/// A policy that the compiler accepts.
#[derive(Clone, Debug)]
pub struct Policy {
    ir: ir::Policy,
    sources: Sources,
    warnings: Vec<Diagnostic>,
    params: Vec<Param>,
    sets: Vec<CoreSet>,
    builtin: bool,
}

impl From<Compiled> for Policy {
    fn from(compiled: Compiled) -> Policy {
        let Compiled { ir, warnings, sources } = compiled;
        let params = ir.params.iter().map(param).collect();
        let sets = ir.sets.iter().map(core_set).collect();
        Policy { ir, sources, warnings, params, sets, builtin: false }
    }
}

fn param(param: &ir::Param) -> Param {
    Param {
        name: param.name.clone(),
        doc: param.doc.replace('\n', " "),
        unit: Unit::of(param.ty),
        min: param.min,
        max: param.max,
        initial: param.initial,
    }
}

fn core_set(set: &ir::CoreSet) -> CoreSet {
    CoreSet {
        name: set.name.clone(),
        doc: set.doc.replace('\n', " "),
        capacity: match set.capacity.as_ref().map(|capacity| &capacity.kind) {
            Some(ExprKind::Number(most)) => Capacity::Constant(*most),
            Some(ExprKind::Param(param)) => Capacity::Param(param.index()),
            _ => Capacity::All,
        },
    }
}

impl Policy {
    pub(crate) fn builtin(compiled: Compiled) -> Policy {
        Policy { builtin: true, ..Policy::from(compiled) }
    }

    pub fn name(&self) -> &str {
        &self.ir.name
    }

    /// The comment at its declaration.
    pub fn doc(&self) -> &str {
        &self.ir.doc
    }

    /// In the order of the policy's state, those of its bases first.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Core sets, by number.
    pub fn sets(&self) -> &[CoreSet] {
        &self.sets
    }

    pub fn set_names(&self) -> Vec<String> {
        self.sets.iter().map(|set| set.name.clone()).collect()
    }

    /// Reasons for a placement, by number. The first, `none`, stands for no reason.
    pub fn reasons(&self) -> &[String] {
        &self.ir.reasons
    }

    /// Whether it reads the frequencies of cores.
    pub fn sees_frequencies(&self) -> bool {
        self.ir.functions.iter().any(|function| function.effects.frequencies)
    }

    /// Whether it is one of [`names`](crate::names), unchanged, and not a file.
    pub fn is_builtin(&self) -> bool {
        self.builtin
    }

    /// Bases merged in, names resolved, expressions typed.
    pub fn ir(&self) -> &ir::Policy {
        &self.ir
    }

    /// The text of the policy, then those of its bases, nearest first.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// What the compiler warns of. Places are in [`sources`](Self::sources).
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// C against `runtime/saakm.h`, for the simulator and for the kernel.
    pub fn c(&self) -> String {
        emit::c(&self.ir)
    }
}
