//! Emission of steals: three phases around the functions of the policy.

use super::Unit;
use super::body::{Body, C, takes};
use super::contract::{StealContract, StealNames};
use super::declare::place;
use super::memo::Memo;
use super::text::Text;
use crate::ir::{Extreme, FunctionId, LocalId, OrderKind, Steal, StealId, Type};

/// C names of the variables of a steal.
struct Variables {
    thief: String,
    victims: String,
    src: String,
    thread: String,
    candidates: String,
    stolen: String,
    from_core: String,
    best: String,
    /// No more threads are taken from this core.
    enough: String,
    /// Where the memoised values are.
    memo: String,
}

impl Unit<'_> {
    fn variables<'u>(&'u self, id: StealId) -> (Variables, Body<'u>) {
        // A phase has the parameters of the steal, so its local names are free of conflicts.
        let phase = self.policy.function(self.policy.steals[id.index()].move_thread);
        let mut body = Body::new(self, phase);
        let name = |index| body.name_of(LocalId(index)).to_owned();
        let (thief, victims, thread) = (name(0), name(1), name(2));
        let variables = Variables {
            thief,
            victims,
            thread,
            src: body.fresh("src"),
            candidates: body.fresh("candidates"),
            stolen: body.fresh("stolen"),
            from_core: body.fresh("from_core"),
            best: body.fresh("best"),
            enough: body.fresh("enough"),
            memo: body.fresh("memo"),
        };
        (variables, body)
    }

    /// Contracts of the phases, and what they do not say.
    fn steal_contracts(&self, id: StealId) -> (StealContract, Vec<String>) {
        let steal = &self.policy.steals[id.index()];
        let (v, mut body) = self.variables(id);
        let bests = match &steal.select {
            Some(select) => select.by.iter().map(|_| body.fresh(word(select.extreme))).collect(),
            None => Vec::new(),
        };
        let Variables { thief, victims, src, thread, candidates, stolen, from_core, best, enough, .. } = v;
        let names =
            StealNames { thief, victims, src, thread, candidates, stolen, from_core, best, enough, bests };
        match self.steal_contract(steal, &names) {
            Ok(contract) => (contract, Vec::new()),
            Err(why) => (StealContract::default(), vec![why]),
        }
    }

    /// A last argument of a macro, with contracts only.
    fn last(&self, contract: &str) -> String {
        // What has no contract is not provable.
        let contract = if contract.is_empty() { "/*@ assert \\false; */" } else { contract };
        if self.contracts { format!(", {contract}") } else { String::new() }
    }

    fn assert(&self, out: &mut Text, contract: &str) {
        if self.contracts && !contract.is_empty() {
            out.line(contract);
        }
    }

    pub fn steal_signature(&self, id: StealId) -> String {
        let name = &self.names.steals[id.index()];
        let (Variables { thief, victims, .. }, _) = self.variables(id);
        format!("static void {name}(saakm_t s, core_t {thief}, set_t {victims})")
    }

    /// Call of a phase. `own` is its last argument.
    fn phase(&self, phase: FunctionId, variables: &Variables, own: &str) -> String {
        let name = &self.names.functions[phase.index()];
        let Variables { thief, victims, .. } = variables;
        if takes(self.policy.function(phase), LocalId(1)) {
            format!("{name}(s, {thief}, {victims}, {own})")
        } else {
            format!("{name}(s, {thief}, {own})")
        }
    }

    pub fn steal(&self, out: &mut Text, id: StealId) {
        let steal = &self.policy.steals[id.index()];
        let memos = self.memos_of(steal);
        let (v, _) = self.variables(id);
        let Variables { thief, victims, src, thread, candidates, .. } = &v;
        let (contract, gaps) = self.steal_contracts(id);
        out.blank();
        out.comment(&place(&steal.at), &steal.doc);
        self.steal_head(out, steal, &self.names.steals[id.index()], thief, victims, gaps);
        out.line(&format!("SAAKM_STEAL({}, {thief}, {victims})", self.names.steals[id.index()]));
        out.open("{");
        out.line(&format!("core_t {src};"));
        if steal.stop.is_some() {
            out.line(&format!("int64_t {} = 0;", v.stolen));
        }
        out.line(&format!("SAAKM_SET({candidates});"));
        if !memos.is_empty() {
            out.line(&format!("SAAKM_MEMO({});", v.memo));
        }
        out.blank();
        out.line("/* First phase: candidate cores. */");
        out.line(&format!(
            "SAAKM_ASSIGN(s, {candidates}, w, {victims}->word[w]{});",
            self.last(&contract.copy)
        ));
        out.open(&format!(
            "SAAKM_EACH(s, {src}, w, {victims}->word[w]{}{}) {{",
            self.last(&contract.filter),
            self.last(&contract.member)
        ));
        let can_steal = self.phase(steal.can_steal_core, &v, src);
        out.line(&format!("if ({src} == {thief} || !{can_steal})"));
        out.line(&format!("\tsaakm_exclude({candidates}, {src});"));
        out.close("}");
        self.assert(out, &contract.first);
        out.open(&format!("SAAKM_EACH_ROUND(s{}) {{", self.last(&contract.round)));
        if steal.stop_core.is_some() {
            out.line(&format!("int64_t {} = 0;", v.from_core));
        }
        out.line(&format!("thread_t {thread};"));
        out.blank();
        out.line("/* Second phase: select a candidate. */");
        self.select(out, id, &contract);
        self.assert(out, &contract.second);
        out.line(&format!("if ({src} == SAAKM_NO_CORE)"));
        out.line("\treturn;");
        out.line(&format!("saakm_exclude({candidates}, {src});"));
        out.blank();
        out.line("/* Third phase: move threads, and check again because the state may have changed. */");
        if !memos.is_empty() {
            out.line(&format!("SAAKM_MEMO_CLEAR({});", v.memo));
        }
        let queues = &self.names.queue_constants;
        if queues.len() > 1 {
            out.line(&format!("bool {} = false;", v.enough));
        }
        for (i, queue) in queues.iter().enumerate() {
            if i > 0 {
                out.open(&format!("if (!{}) {{", v.enough));
            }
            let walk = if queues.len() > 1 { &contract.walk_several } else { &contract.walk };
            out.open(&format!("SAAKM_EACH_THREAD(s, {thread}, {src}, {queue}{}) {{", self.last(walk)));
            self.move_one(out, id, &v, queues.len() > 1, &contract);
            out.close("}");
            if i > 0 {
                out.close("}");
            }
        }
        out.close("}");
        out.close("}");
    }

    /// Sets `src` to the preferred candidate.
    fn select(&self, out: &mut Text, id: StealId, contract: &StealContract) {
        let steal = &self.policy.steals[id.index()];
        let (v, mut body) = self.variables(id);
        let Variables { thief, src, candidates, best, .. } = &v;
        let Some(select) = &steal.select else {
            out.line(&format!(
                "{src} = SAAKM_FIRST_NEAREST(s, {thief}, w, {candidates}->word[w]{}{}{});",
                self.last(&contract.nearest),
                self.last(&contract.nearest_member),
                self.last("/*@ assert \\true; */")
            ));
            return;
        };
        let walk = match select.order {
            OrderKind::From => "SAAKM_EACH_FROM",
            OrderKind::Nearest => "SAAKM_EACH_NEAREST",
        };
        out.line(&format!("core_t {best} = SAAKM_NO_CORE;"));
        body.out = out.beside();
        let type_of = |key: FunctionId| self.policy.function(key).result.unwrap_or(Type::INT);
        let mut bests = Vec::new();
        for key in &select.by {
            bests.push(body.temporary(type_of(*key), word(select.extreme), C::atom("0")).text);
        }
        body.out.blank();
        body.out.open(&format!(
            "{walk}(s, {src}, {thief}, w, {candidates}->word[w]{}{}) {{",
            self.last(&contract.select),
            self.last(&contract.select_member)
        ));
        body.by_keys(select.by.len(), select.extreme, best, "SAAKM_NO_CORE", &bests, |body, i| {
            let key = self.phase(select.by[i], &v, src);
            body.temporary(type_of(select.by[i]), "key", C::atom(key)).text
        });
        body.out.line(&format!("{best} = {src};"));
        body.out.close("}");
        out.append(body.out);
        out.line(&format!("{src} = {best};"));
    }

    /// Emits the handling of one ready thread of a candidate.
    fn move_one(
        &self,
        out: &mut Text,
        id: StealId,
        v: &Variables,
        several_queues: bool,
        contract: &StealContract,
    ) {
        let steal = &self.policy.steals[id.index()];
        let Variables { thief, src, thread, stolen, from_core, .. } = v;
        // Ends the work on this candidate.
        let done = |out: &mut Text, test: String| {
            if several_queues {
                out.open(&format!("if ({test}) {{"));
                out.line(&format!("{} = true;", v.enough));
                out.line("break;");
                out.close("}");
            } else {
                out.line(&format!("if ({test})"));
                out.line("\tbreak;");
            }
        };
        let memos = self.memos_of(steal);
        done(out, format!("!{}", self.phase(steal.can_steal_core, v, src)));
        let may = match steal.steal_thread {
            Some(phase) if memos.is_empty() => self.phase(phase, v, thread),
            Some(phase) => self.phase(phase, v, &format!("{thread}, {}", v.memo)),
            None => format!("saakm_has(saakm_affinity({thread}), {thief})"),
        };
        out.line(&format!("if (!{may})"));
        out.line("\tcontinue;");
        self.assert(out, &contract.third);
        out.line(&format!("if (!SAAKM_TAKE(s, {thread}))"));
        out.line("\tcontinue;");
        out.line(&format!("{};", self.phase(steal.move_thread, v, thread)));
        if steal.stop.is_some() || steal.stop_core.is_some() {
            // A thread that another core moved first does not count.
            out.line("if (!saakm_moved(s))");
            out.line("\tcontinue;");
        }
        if let Some(stop) = steal.stop {
            out.line(&format!("{stolen} = SAAKM_FORGET({stolen} + 1);"));
            out.line(&format!("if ({})", self.phase(stop, v, stolen)));
            out.line("\treturn;");
        }
        if let Some(stop_core) = steal.stop_core {
            out.line(&format!("{from_core} = SAAKM_FORGET({from_core} + 1);"));
            done(out, self.phase(stop_core, v, from_core));
        }
        if memos.iter().all(|memo| self.follows_weight(*memo)) {
            for (index, memo) in memos.iter().enumerate() {
                let sign = if memo.of_thief { "" } else { "-" };
                out.line(&format!("SAAKM_MEMO_ADD({}, {index}, {sign}saakm_weight({thread}));", v.memo));
            }
        } else {
            out.line(&format!("SAAKM_MEMO_CLEAR({});", v.memo));
        }
    }

    fn memos_of(&self, steal: &Steal) -> Vec<Memo> {
        steal.steal_thread.map_or(Vec::new(), |rule| self.memos(self.policy.function(rule)))
    }
}

/// Wish for the name of a key's best value.
fn word(extreme: Extreme) -> &'static str {
    match extreme {
        Extreme::Min => "least",
        Extreme::Max => "most",
    }
}
