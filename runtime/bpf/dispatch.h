/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: ops.dispatch. A core chooses its next thread: events schedule, preempt, yield
 * and newly_idle. If it finds none, it spins or polls.
 */
#ifndef SAAKM_DISPATCH_H
#define SAAKM_DISPATCH_H

/* Most entries of a DSQ that a search passes. */
#define SAAKM_MAX_ENTRIES 64

/*
 * Returns the index of the first READY thread in a queue of cpu, or 0. Moves stale entries on the
 * way to the DSQ that their slot names.
 */
SAAKM_GLOBAL u32 saakm_head(u32 cpu, u32 queue)
{
	struct task_struct *p;
	u32 passed = SAAKM_FORGET(0U), first = saakm_first_entry(cpu, queue);

	if (first)
		return first;
	bpf_for_each(scx_dsq, p, saakm_dsq(cpu, queue), 0) {
		thread_t t = saakm_thread_of(p);
		u64 where;

		if (passed >= SAAKM_MAX_ENTRIES)
			break;
		passed = SAAKM_FORGET(passed + 1);
		if (!t)
			continue;
		where = t->where;
		if (saakm_state_of(where) != SAAKM_READY)
			continue;
		if (saakm_core_of(where) == cpu && saakm_queue_of(where) == queue)
			return t->index;
		SAAKM_MOVE_ENTRY(BPF_FOR_EACH_ITER, p, where, t->key);
	}
	return 0;
}

/*
 * Undoes the choice of t, whose entry has left the DSQ: another core took t and returned it, and
 * the entry has followed only the first move. t is READY again; the core that reaches the entry
 * moves it.
 */
static __always_inline void saakm_undo_choice(saakm_t s, thread_t t, u32 cpu, u32 queue)
{
	u64 where = t->where;

	SAAKM_LOCK();
	saakm_change(s, cpu, SAAKM_STOPS, t->index);
	if (saakm_state_of(where) == SAAKM_RUNNING && saakm_core_of(where) == cpu)
		saakm_transition(s, t, where, SAAKM_READY, cpu, queue);
	SAAKM_UNLOCK();
}

/* Whether p may run on cpu: migration is not disabled elsewhere, and its affinity has not changed. */
static __always_inline bool saakm_may_run(struct task_struct *p, u32 cpu)
{
	return scx_bpf_task_cpu(p) == cpu ||
	       (!saakm_pinned(p) && bpf_cpumask_test_cpu(cpu, p->cpus_ptr));
}

/* Makes t RUNNING on cpu. False if another core has taken it. */
static __always_inline bool saakm_start(saakm_t s, thread_t t, u64 where, u32 cpu, u32 queue)
{
	bool starts;

	SAAKM_LOCK();
	starts = saakm_is_ready_in(where, cpu, queue) &&
		 saakm_transition(s, t, where, SAAKM_RUNNING, cpu, 0);
	SAAKM_UNLOCK();
	if (starts)
		t->timer_at = 0;
	return starts;
}

/*
 * The same as saakm_move_to_local for a thread that is first in its DSQ, without a walk: 1 if some thread is in the
 * local DSQ, 0 if the walk has to look.
 *
 * The kernel moves the thread that is first by then. If that is another one, ops.running lets the policy choose it, and
 * the chosen thread is READY again.
 */
SAAKM_GLOBAL bool saakm_move_first(u64 context, u32 cpu, u32 thread, u32 queue)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	u64 dsq = saakm_dsq(cpu, queue);
	struct task_struct *p;
	bool moved;
	thread_t t;

	if (!SAAKM_PEEKS || !bpf_ksym_exists(scx_bpf_dsq_peek))
		return false;
	p = scx_bpf_dsq_peek(dsq);
	t = p ? saakm_thread_of(p) : NULL;
	if (!t || t->index != thread || !saakm_may_run(p, cpu) ||
	    !saakm_start(s, t, t->where, cpu, queue))
		return false;
	moved = scx_bpf_dsq_move_to_local(dsq, 0);
	if (!moved || (p->scx.dsq && p->scx.dsq->id == dsq))
		saakm_undo_choice(s, t, cpu, queue);
	return moved;
}

/*
 * Makes the chosen thread RUNNING and moves its entry to cpu's local DSQ. False if another core has
 * taken it, or if it may not run here.
 */
SAAKM_GLOBAL bool saakm_move_to_local(u64 context, u32 cpu, u32 thread, u32 queue)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	struct task_struct *p;
	u32 passed = SAAKM_FORGET(0U);

	bpf_for_each(scx_dsq, p, saakm_dsq(cpu, queue), 0) {
		thread_t t = saakm_thread_of(p);
		bool went;
		u64 where;

		if (passed >= SAAKM_MAX_ENTRIES)
			break;
		passed = SAAKM_FORGET(passed + 1);
		if (!t || t->index != thread)
			continue;
		where = t->where;
		if (!saakm_may_run(p, cpu)) {
			core_t home = scx_bpf_task_cpu(p);

			SAAKM_LOCK();
			went = saakm_is_ready_in(where, cpu, queue) &&
			       saakm_transition(s, t, where, SAAKM_READY, home, queue);
			SAAKM_UNLOCK();
			if (went) {
				where = t->where;
				SAAKM_MOVE_ENTRY(BPF_FOR_EACH_ITER, p, where, t->key);
			}
			return false;
		}
		if (!saakm_start(s, t, where, cpu, queue))
			return false;
		if (scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0))
			return true;
		saakm_undo_choice(s, t, cpu, queue);
		return false;
	}
	return false;
}

/*
 * Finds the first thread of each queue for event schedule; false if all queues are empty. prev (0:
 * none) is READY again, but not in a DSQ yet.
 */
SAAKM_GLOBAL int saakm_find_heads(u64 context, u32 cpu, u32 prev)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	thread_t t = saakm_thread_at(prev);
	u64 where = t ? t->where : 0;
	u32 queue, found = 0;

	for (queue = SAAKM_FORGET(0U); queue < SAAKM_QUEUES && can_loop;
	     queue = SAAKM_FORGET(queue + 1)) {
		u32 head = saakm_head(cpu, queue);

		if (t && saakm_queue_of(where) == queue) {
			bool ordered = (SAAKM_ORDERED >> queue) & 1;

			if (!head || (ordered && t->key < saakm_thread_at(head)->key))
				head = prev;
		}
		s->heads[queue & (SAAKM_MAX_QUEUES - 1)] = head;
		found |= head;
	}
	return found != 0;
}

/* Event schedule: the policy chooses among the heads. Returns the index of the thread, 0: none. */
static __always_inline u32 saakm_choose(saakm_t s, u32 cpu)
{
	s->scheduling = cpu + 1;
	s->run = 0;
	saakm_on_schedule((u64)s, cpu);
	s->scheduling = 0;
	return s->run;
}

/* Finds cpu a thread: 1 if one is in the local DSQ, 2 if prev continues, 0 if there is none. */
SAAKM_GLOBAL int saakm_schedule(u64 context, u32 cpu, u32 prev)
{
	u32 tries;

	for (tries = SAAKM_FORGET(0U); tries < 8 && can_loop; tries = SAAKM_FORGET(tries + 1)) {
		u32 chosen, queue;

		if (!saakm_find_heads(context, cpu, prev))
			return 0;
		SAAKM_LOCK();
		chosen = saakm_choose(SAAKM_FIELD_AT(struct saakm, context), cpu);
		SAAKM_UNLOCK();
		if (!chosen)
			return 0;
		if (chosen == prev)
			return 2;
		queue = saakm_queue_of(saakm_thread_at(chosen)->where);
		if (saakm_move_first(context, cpu, chosen, queue) ||
		    saakm_move_to_local(context, cpu, chosen, queue))
			return 1;
	}
	return 0;
}

/* Event preempt. Its handler preempts no core, so preemptions end. */
static __always_inline void saakm_preempted(saakm_t s, thread_t t)
{
	s->on_preempt = true;
	saakm_on_preempt((u64)s, (u64)t);
	s->on_preempt = false;
}

/*
 * t no longer runs on cpu: accounts its run time. Called by the operation that knows it: ops.quiescent, ops.dispatch
 * or ops.enqueue. ops.stopping would be a call more for each turn.
 */
static __always_inline void saakm_end_turn(saakm_t s, thread_t t, u32 cpu)
{
	u64 ran;

	if (t->running_since < 0)
		return;
	ran = saakm_elapsed(t->running_since, s->now);
	t->runtime += ran;
	saakm_core_at(cpu)->busy_ns += ran;
	t->running_since = -1;
	saakm_charge(t, s->now);
}

/* prev is still runnable but leaves the core: event yield or preempt. */
static __always_inline void saakm_put_prev(saakm_t s, struct task_struct *p, thread_t t, u32 cpu)
{
	saakm_change(s, cpu, SAAKM_STOPS, t->index);
	t->flags |= SAAKM_T_OUTSIDE;
	/* If its migration is disabled, no other core may steal it. */
	saakm_update_affinity(t, cpu, saakm_pinned(p));
	if (t->flags & SAAKM_T_YIELDS) {
		saakm_on_yield((u64)s, (u64)t);
	} else {
		saakm_preempted(s, t);
	}
}

/* Whether another hyperthread of cpu's physical core is busy: spinning would slow it down. */
static __always_inline bool saakm_sibling_busy(u32 cpu)
{
	core_t c;

	if (!WORLD->pairs)
		return false;
	SAAKM_EACH(NULL, c, w, saakm_pair_word(cpu, w)) {
		if (c != cpu && !(SAAKM_LOAD(saakm_word_of(c)) & SAAKM_CORE_SLEEPS))
			return true;
	}
	return false;
}

/*
 * One round of keep_warm, for a core that found nothing to run: the core kicks itself, so that it
 * dispatches again and enters no deep idle state. To the kernel and to placement it is idle. The
 * run queue is unlocked between two rounds.
 */
static __always_inline void saakm_spin(saakm_t s, u32 cpu)
{
	struct saakm_core SAAKM_MEM *core = saakm_core_at(cpu);

	if (!core->warm_until)
		return;
	if (s->now >= core->warm_until || saakm_sibling_busy(cpu)) {
		core->warm_until = 0;
		saakm_stop_spinning(s, cpu);
		return;
	}
	if (!core->spin_since) {
		core->spin_since = s->now;
		core->count.spins++;
		saakm_decided(SAAKM_DECISION(SAAKM_D_SPIN, true, cpu, 0), 0, 0);
	}
	core->count.kicks++;
	scx_bpf_kick_cpu(cpu, 0);
}

/* Most polls of an idle core for a thread that is READY there but not in its DSQ yet. */
#define SAAKM_MAX_POLLS 64

/* cpu found nothing, but a thread is on its way into a DSQ, its own or one that it could steal from:
   dispatch again. */
static __always_inline void saakm_poll_arrival(u32 cpu)
{
	struct saakm_core SAAKM_MEM *core = saakm_core_at(cpu);

	if ((saakm_nr_ready(NULL, cpu) || core->searched == SAAKM_AWAITS) &&
	    core->rounds < SAAKM_MAX_POLLS) {
		core->rounds++;
		scx_bpf_kick_cpu(cpu, 0);
	}
}

#ifdef SAAKM_ON_NEWLY_IDLE
/* Whether some bit of `waiting` is set. */
SAAKM_GLOBAL bool saakm_search_waiting(void)
{
	u64 some = SAAKM_FORGET(0ULL);
	u32 w;

	for (w = SAAKM_FORGET(0U); w < WORLD->nr_words && can_loop; w = SAAKM_FORGET(w + 1))
		some |= saakm_kept_in(SAAKM_KEPT_WAITING, w);
	return some;
}

/* The same, without a call on a machine that stores the set in one word. */
static __always_inline bool saakm_some_wait(void)
{
	return WORLD->nr_words == 1 && !WORLD->split ? SAAKM_LOAD(saakm_line(0, SAAKM_KEPT_WAITING))
						     : saakm_search_waiting();
}

/*
 * Whether a thread is on its way into a DSQ of another core: a core that waits has more READY
 * threads than entries. A search cannot see that thread yet.
 */
SAAKM_GLOBAL bool saakm_arrives_elsewhere(u32 cpu)
{
	core_t c;

	SAAKM_EACH(NULL, c, w, saakm_kept_in(SAAKM_KEPT_WAITING, w)) {
		s64 entries = 0;
		u32 queue;

		for (queue = SAAKM_FORGET(0U); queue < SAAKM_QUEUES && can_loop;
		     queue = SAAKM_FORGET(queue + 1))
			entries += scx_bpf_dsq_nr_queued(saakm_dsq(c, queue));
		if (c != cpu && saakm_nr_ready(NULL, c) > entries)
			return true;
	}
	return false;
}
#endif

/* Whether cpu, which runs no thread of the policy, waits for one that has taken it and is on its way into the local DSQ. */
static __always_inline bool saakm_awaits_thread(u32 cpu)
{
	return saakm_current_of(SAAKM_LOAD(saakm_word_of(cpu))) &&
	       saakm_awaits(cpu, saakm_stranger_of(cpu));
}

/* cpu has nothing to run: event newly_idle and its moves, then idle, spinning or polling. */
SAAKM_GLOBAL int saakm_nothing_to_run(u64 context, u32 cpu)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	struct saakm_core SAAKM_MEM *core = saakm_core_at(cpu);

#ifdef SAAKM_ON_NEWLY_IDLE
	if (core->searched == SAAKM_AWAITS && !saakm_arrives_elsewhere(cpu))
		core->searched = SAAKM_NOT_SEARCHED;
	if (core->searched == SAAKM_NOT_SEARCHED) {
		bool found;
		u32 i;

		if (saakm_is_idle(SAAKM_LOAD(saakm_word_of(cpu))))
			saakm_change(s, cpu, SAAKM_SEARCHES, 0);
		if (saakm_awaits_thread(cpu))
			goto sleep;
		core->searched = SAAKM_SEARCHED;
		s->nr_moves = 0;
		if (s->left_idle)
			saakm_end_effects(context);
		saakm_on_newly_idle((u64)s, cpu);
		core->count.steals += s->nr_moves;
		SAAKM_UNLOCK();
		for (i = SAAKM_FORGET(0U); i < s->nr_moves && can_loop; i = SAAKM_FORGET(i + 1))
			saakm_move_entry(s->moves[i & (SAAKM_MOVES - 1)].thread,
					 s->moves[i & (SAAKM_MOVES - 1)].from,
					 s->moves[i & (SAAKM_MOVES - 1)].queue, cpu);
		found = s->nr_moves && saakm_schedule(context, cpu, 0);
		SAAKM_LOCK();
		if (found)
			return 0;
		if (!s->nr_moves && saakm_some_wait() && saakm_arrives_elsewhere(cpu))
			core->searched = SAAKM_AWAITS;
	}
sleep:
#endif
	saakm_sleep(s, cpu);
	if (core->warm_ns) {
		core->warm_until = s->now + core->warm_ns;
		core->warm_ns = 0;
	}
	saakm_spin(s, cpu);
	saakm_poll_arrival(cpu);
	return 0;
}

/*
 * The core needs a thread. prev, if still runnable, first becomes READY (yield, preempt); then the
 * policy chooses (schedule). If prev remains the choice, it becomes RUNNING again; if the policy sent
 * it to another core, prev goes there.
 */
void BPF_STRUCT_OPS(saakm_dispatch, s32 cpu, struct task_struct *prev)
{
	bool runnable = prev && (prev->scx.flags & SCX_TASK_QUEUED);
	thread_t before = runnable ? saakm_thread_on(prev, cpu) : NULL, t = before;
	bool goes = false;
	bool taken = !runnable && saakm_stranger_goes_on(cpu);
	saakm_t s = saakm_begin_as(SAAKM_IN_OPERATION, t, SAAKM_NEXT_DISPATCH);
	int found = 0;

	saakm_prepare_relief(cpu);
	if (!taken && saakm_is_taken(cpu))
		saakm_change(s, cpu, SAAKM_STOPS, saakm_stranger_of(cpu));
	if (!t || saakm_state_of(t->where) != SAAKM_RUNNING)
		t = NULL;
	else if (saakm_throttled_by(t))
		saakm_throttle((u64)s, (u64)t);
	else
		saakm_put_prev(s, prev, t, cpu);
	/* It may have to leave: its cgroup has used up its time, or the policy has sent it to another core.
	   The kernel then calls ops.enqueue. */
	if (t && (saakm_state_of(t->where) == SAAKM_THROTTLED || saakm_core(t) != cpu)) {
		goes = true;
		t = NULL;
	}
	/* The kernel may lock another core's run queue here, and that core may wait for our lock. */
	SAAKM_UNLOCK();
	if (t || (saakm_nr_ready(s, cpu) && !saakm_awaits_thread(cpu)))
		found = saakm_schedule((u64)s, cpu, t ? t->index : 0);
	SAAKM_LOCK();
	if (t && found != 1) {
		/* prev continues: the kernel keeps it if the local DSQ is empty. */
		t->flags &= ~(SAAKM_T_OUTSIDE | SAAKM_T_YIELDS);
		while (!saakm_transition(s, t, t->where, SAAKM_RUNNING, cpu, 0) && can_loop)
			;
		scx_bpf_task_set_slice(prev, SAAKM_SLICE_NS);
	} else if (!found && (goes || !runnable) && !taken) {
		saakm_nothing_to_run((u64)s, cpu);
	} else if (!found && runnable) {
		/* Nothing that the policy schedules, and alone. */
		scx_bpf_task_set_slice(prev, SCX_SLICE_DFL);
	}
	if (found == 1)
		s->next = SAAKM_NEXT_RUNNING;
	/* Without a slice, prev goes through ops.enqueue into a DSQ, where other cores find it. With a slice, the kernel
	   would keep it for this core. */
	if (runnable && (found == 1 || goes)) {
		if (before)
			saakm_end_turn(s, before, cpu);
		if (!saakm_is_percpu_kthread(prev))
			scx_bpf_task_set_slice(prev, 0);
	}
	saakm_finish(s);
}

#endif
