//! A compiled policy: its parameters, sets, reasons and IR.

use hearth_ipanema::ir::{self, ExprKind};
use hearth_ipanema::{Compiled, Diagnostic, Sources, Unit, emit};

/// A parameter: a value that can be set when the policy is loaded, and while it runs in the kernel.
#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    /// The comment at its declaration, on one line.
    pub doc: String,
    pub unit: Unit,
    /// The smallest allowed value.
    pub min: i64,
    /// The largest allowed value.
    pub max: i64,
    pub initial: i64,
}

/// The largest number of members of a core set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// All cores of the machine.
    All,
    Constant(i64),
    /// The value of the parameter with this index in [`Policy::params`].
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

    /// All parameters in the order of the policy's state. Those of its bases come first.
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

    /// Whether it reads the weights of threads.
    pub fn sees_weights(&self) -> bool {
        self.ir.functions.iter().any(|function| function.effects.weights)
    }

    /// Whether it is a built-in policy, not one from a file.
    pub fn is_builtin(&self) -> bool {
        self.builtin
    }

    /// The IR: bases merged, names resolved, expressions typed.
    pub fn ir(&self) -> &ir::Policy {
        &self.ir
    }

    /// Whether a thread that is placed on an idle core runs there at once in a kernel; `Err` says why it waits in a queue.
    pub fn runs_first(&self) -> Result<(), String> {
        ir::runs_first(&self.ir)
    }

    /// The text of the policy, then those of its bases, nearest first.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The compiler's warnings. Their spans refer to [`sources`](Self::sources).
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The emitted C, which includes `runtime/saakm.h`. The simulator and the kernel use the same code.
    pub fn c(&self) -> String {
        emit::c(&self.ir)
    }
}
