/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: all operations but those of dispatch.h and cgroups.h. Placement: events new and
 * unblock. Execution: events block, terminate, preempt, tick and balance. Then a thread's life, and the
 * start and end of the policy.
 */
#ifndef SAAKM_EVENTS_H
#define SAAKM_EVENTS_H

/* ---- placement: events new and unblock ---------------------------------------------------- */

/* Event schedule of core c, which has only thread t. */
static __always_inline void saakm_choose_only(saakm_t s, thread_t t, u32 c)
{
	_Static_assert(SAAKM_MAX_QUEUES == 4, "each head is cleared");
	s->heads[0] = s->heads[1] = s->heads[2] = s->heads[3] = 0;
	s->heads[saakm_queue_of(t->where) & (SAAKM_MAX_QUEUES - 1)] = t->index;
	saakm_choose(s, c);
}

/* What the kernel knows of a wake-up from core `waker`. s->facts has what ops.select_cpu was told. */
static __always_inline u32 saakm_facts(saakm_t s, u32 waker)
{
	if (s->on_timer || waker != s->cpu)
		return 0;
	return bpf_get_current_task_btf()->flags & PF_EXITING ? 1 << SAAKM_WAKER_EXITS : s->facts;
}

/*
 * Event new or unblock: the policy makes t READY, which was neither READY nor RUNNING; or RUNNING, if t takes an idle
 * core. `waker` is the core that wakes or forks t. Returns t's new core.
 */
SAAKM_GLOBAL u32 saakm_place(u64 context, u64 thread, u32 waker)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	thread_t t = SAAKM_FIELD_AT(struct saakm_thread, thread);
	struct saakm_core SAAKM_MEM *here = saakm_core_at(s->cpu);
	u64 where = t->where;
	core_t chosen;

	t->flags |= SAAKM_T_OUTSIDE;
	if (saakm_state_of(where) == SAAKM_NOT_QUEUED) {
		/* A new thread's core is its parent's. */
		saakm_transition(s, t, where, SAAKM_NOT_QUEUED, waker, 0);
		here->count.news++;
		saakm_on_new((u64)s, (u64)t, waker);
	} else {
		here->count.wakeups++;
		if (SAAKM_READS_FACTS)
			s->facts = saakm_facts(s, waker);
		saakm_on_unblock((u64)s, (u64)t, waker);
		if (SAAKM_READS_FACTS)
			s->facts = 0;
	}
	chosen = saakm_core(t);
	here->count.placed[t->reason & (SAAKM_MAX_REASONS - 1)]++;
	saakm_end(s);
	if (SAAKM_RUNS_FIRST && saakm_state_of(t->where) == SAAKM_RUNNING) {
		SAAKM_LOCK();
		saakm_choose_only(s, t, chosen);
		SAAKM_UNLOCK();
	}
	if (s->nr_preempts && saakm_has(&s->preempts, chosen)) {
		/* Postponed to saakm_insert: until then the core would not find t in its DSQ. */
		saakm_exclude(&s->preempts, chosen);
		s->nr_preempts--;
		t->flags |= SAAKM_T_PREEMPTS;
	}
	return chosen;
}

/* Inserts p, which has taken its core, into the core's local DSQ. */
static __always_inline void saakm_insert_local(struct task_struct *p, thread_t t, u64 enq_flags)
{
	saakm_join_group(t);
	t->flags &= ~(SAAKM_T_OUTSIDE | SAAKM_T_YIELDS | SAAKM_T_PREEMPTS);
	t->pid = p->pid;
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SAAKM_SLICE_NS, enq_flags);
}

/* A thread wakes or is new: the policy places it now, and ops.enqueue inserts it. */
s32 BPF_STRUCT_OPS(saakm_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	thread_t t = saakm_thread_of(p);
	u32 cpu = bpf_get_smp_processor_id(), state, chosen;
	saakm_t s;

	if (!t)
		return prev_cpu;
	state = saakm_state_of(t->where);
	if (state != SAAKM_NOT_QUEUED && state != SAAKM_BLOCKED)
		return prev_cpu;
	if (saakm_is_percpu_kthread(p) || (state == SAAKM_BLOCKED && saakm_throttled_by(t)))
		return prev_cpu;
	saakm_update_affinity(t, prev_cpu, saakm_pinned(p));
	s = saakm_begin(SAAKM_IN_OPERATION, t);
	s->direct = SAAKM_RUNS_FIRST;
	if ((SAAKM_READS_FACTS & 1 << SAAKM_WAKER_SLEEPS) && state == SAAKM_BLOCKED &&
	    (wake_flags & SCX_WAKE_SYNC))
		s->facts = 1 << SAAKM_WAKER_SLEEPS;
	chosen = saakm_place((u64)s, (u64)t, cpu);
	if (s->nr_preempts)
		saakm_preempt_cores((u64)s);
	if (!bpf_cpumask_test_cpu(chosen, p->cpus_ptr))
		return prev_cpu;
	/* If a thread of another class takes the core meanwhile, the timer of the core frees t (strangers.h): with a function
	   that older kernels lack. There ops.enqueue inserts t. */
	if (SAAKM_RUNS_FIRST && saakm_state_of(t->where) == SAAKM_RUNNING &&
	    __COMPAT_has_generic_reenq())
		saakm_insert_local(p, t, 0);
	return chosen;
}

/* Inserts p into the DSQ that its slot names, and kicks the core if necessary. */
static __always_inline void saakm_insert(struct task_struct *p, thread_t t, u64 enq_flags)
{
	u64 where = t->where;
	core_t c = saakm_core_of(where);
	u32 queue = saakm_queue_of(where);

	t->flags &= ~(SAAKM_T_OUTSIDE | SAAKM_T_YIELDS);
	/* A thread that execs takes the id of its process's first thread. */
	t->pid = p->pid;
	if ((SAAKM_ORDERED >> queue) & 1)
		scx_bpf_dsq_insert_vtime(p, saakm_dsq(c, queue), SAAKM_SLICE_NS, t->key, enq_flags);
	else
		scx_bpf_dsq_insert(p, saakm_dsq(c, queue), SAAKM_SLICE_NS, enq_flags);
	if (t->flags & SAAKM_T_PREEMPTS) {
		t->flags &= ~SAAKM_T_PREEMPTS;
		saakm_preempt_core(c);
	} else if (c == scx_bpf_task_cpu(p) && (enq_flags & SCX_ENQ_LAST)) {
		/* The core had to leave p, and has no other thread: it looks again. */
		scx_bpf_kick_cpu(c, 0);
	} else if (c != scx_bpf_task_cpu(p) ||
		   (!(enq_flags & SCX_ENQ_WAKEUP) && c != bpf_get_smp_processor_id())) {
		scx_bpf_kick_cpu(c, SCX_KICK_IDLE);
	}
	saakm_start_timer(t);
	if (saakm_is_taken(c))
		saakm_relieve(c);
}

/*
 * Inserts p, which the policy cannot schedule, into the kernel's global DSQ. Cores look there
 * before they dispatch, but not while the slice of their thread lasts: hence the preemption.
 */
static __always_inline void saakm_insert_global(struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
	scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT);
}

/* Event preempt, outside ops.dispatch. */
static __always_inline void saakm_interrupt(saakm_t s, thread_t t)
{
	saakm_end_turn(s, t, saakm_core(t));
	saakm_change(s, saakm_core(t), SAAKM_STOPS, t->index);
	t->flags |= SAAKM_T_OUTSIDE;
	saakm_preempted(s, t);
}

/*
 * Whether t, which is RUNNING, has taken the core `home` and is to be inserted there. Here the run queue of `home` is
 * locked, so no thread of another class can take the core before t is in its local DSQ.
 */
static __always_inline bool saakm_is_direct(struct task_struct *p, thread_t t, u32 home)
{
	return SAAKM_RUNS_FIRST && (t->flags & SAAKM_T_OUTSIDE) && saakm_core(t) == home &&
	       saakm_current_of(SAAKM_LOAD(saakm_word_of(home))) == t->index &&
	       bpf_cpumask_test_cpu(home, p->cpus_ptr);
}

/* Inserts p into the DSQ of its cgroup if that has used up its time; false if it has not. */
static __always_inline bool saakm_insert_throttled(struct task_struct *p, thread_t t, u64 enq_flags)
{
	u32 group = saakm_throttled_by(t);
	saakm_t s;

	if (!group)
		return false;
	s = saakm_begin(SAAKM_IN_OPERATION, t);
	saakm_throttle((u64)s, (u64)t);
	saakm_finish(s);
	scx_bpf_dsq_insert(p, saakm_group_dsq(group), SAAKM_SLICE_NS, enq_flags);
	return true;
}

/* p becomes runnable or was preempted: places it if necessary, and inserts it into a DSQ. */
void BPF_STRUCT_OPS(saakm_enqueue, struct task_struct *p, u64 enq_flags)
{
	u32 cpu = bpf_get_smp_processor_id(), home = scx_bpf_task_cpu(p);
	/* If p does not wake up, this may be the core of a thread that changes p's properties. */
	u32 waker = enq_flags & SCX_ENQ_WAKEUP ? cpu : home;
	thread_t t = saakm_thread_of(p);
	u64 where;
	u32 state;
	saakm_t s;

	if (!t) {
		saakm_insert_global(p, enq_flags);
		return;
	}
	if (saakm_is_percpu_kthread(p)) {
		saakm_core_at(cpu)->count.bypassed++;
		/* The slices of the policy's threads do not end. */
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags | SCX_ENQ_PREEMPT);
		return;
	}
	saakm_join_group(t);
	where = t->where;
	state = saakm_state_of(where);
	if (state == SAAKM_RUNNING && saakm_is_direct(p, t, home)) {
		saakm_insert_local(p, t, enq_flags);
		return;
	}
	if (state != SAAKM_READY && state != SAAKM_NOT_QUEUED &&
	    saakm_insert_throttled(p, t, enq_flags))
		return;
	/* RUNNING: preempted without ops.dispatch. READY: already placed. */
	if (state == SAAKM_RUNNING) {
		s = saakm_begin(SAAKM_IN_OPERATION, t);
		saakm_update_affinity(t, home, saakm_pinned(p));
		saakm_interrupt(s, t);
		saakm_finish(s);
	} else if (state != SAAKM_READY) {
		/* Not placed by ops.select_cpu: pinned, or enqueued again after DETACHED. */
		saakm_update_affinity(t, home, saakm_pinned(p));
		s = saakm_begin(SAAKM_IN_OPERATION, t);
		saakm_place((u64)s, (u64)t, waker);
		saakm_preempt_cores((u64)s);
	}
	/* The affinity may have changed since the placement. */
	where = t->where;
	if (!bpf_cpumask_test_cpu(saakm_core_of(where), p->cpus_ptr)) {
		s = saakm_begin(SAAKM_IN_OPERATION, t);
		saakm_transition(s, t, where, SAAKM_DETACHED, home, 0);
		saakm_update_affinity(t, home, saakm_pinned(p));
		saakm_place((u64)s, (u64)t, home);
		saakm_preempt_cores((u64)s);
		where = t->where;
	}
	/* No core would look for it in a DSQ of the policy. */
	if (saakm_state_of(where) != SAAKM_READY ||
	    !bpf_cpumask_test_cpu(saakm_core_of(where), p->cpus_ptr)) {
		saakm_core_at(cpu)->count.bypassed++;
		saakm_insert_global(p, enq_flags);
		return;
	}
	saakm_insert(p, t, enq_flags);
}

/* ---- execution ---------------------------------------------------------------------------- */

/* Whether the kernel runs p although the policy has not placed it: also while it bypasses the policy. */
static __always_inline bool saakm_is_unplaced(struct task_struct *p, thread_t t)
{
	u32 state = saakm_state_of(t->where);

	return (state == SAAKM_NOT_QUEUED || state == SAAKM_BLOCKED || state == SAAKM_DETACHED) &&
	       !saakm_is_percpu_kthread(p);
}

/*
 * Event new or unblock of t, which the kernel runs without ops.enqueue: t comes from another class, or
 * its properties changed while it ran. Without the event, the policy would keep t's attributes for
 * the old weight and core. The policy can choose this core only.
 */
SAAKM_GLOBAL int saakm_place_here(u64 thread, u32 cpu)
{
	thread_t t = SAAKM_FIELD_AT(struct saakm_thread, thread);
	saakm_t s;

	saakm_join_group(t);
	saakm_update_affinity(t, cpu, true);
	s = saakm_begin(SAAKM_IN_OPERATION, t);
	saakm_change(s, cpu, SAAKM_STOPS, saakm_stranger_of(cpu));
	saakm_place((u64)s, thread, cpu);
	saakm_preempt_cores((u64)s);
	t->flags &= ~(SAAKM_T_OUTSIDE | SAAKM_T_PREEMPTS);
	return 0;
}

/* t, which is RUNNING, starts a turn on its core. */
static __always_inline void saakm_start_turn(saakm_t s, struct task_struct *p, thread_t t, u32 cpu)
{
	struct saakm_core SAAKM_MEM *core = saakm_core_at(cpu);

	/* The kernel had kept it for the core, behind another thread. */
	saakm_end_turn(s, t, cpu);
	t->running_since = s->now;
	t->charged = s->now;
	t->timer_at = 0;
	t->flags &= ~SAAKM_T_OUTSIDE;
	if (saakm_throttled_by(t)) {
		/* Its cgroup used up its time while it was in a queue: ops.dispatch throttles it. */
		scx_bpf_task_set_slice(p, 0);
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
	core->count.migrations += t->ran_on != cpu && t->ran_on != SAAKM_NO_CORE;
	t->ran_on = cpu;
	core->count.switches++;
	if (SAAKM_UNDERLOAD) {
		saakm_close_window(s->now);
		saakm_put(SAAKM_KEPT_USED, cpu, true);
	}
}

/* p starts to run on its core. */
void BPF_STRUCT_OPS(saakm_running, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct saakm_core SAAKM_MEM *core = saakm_core_at(cpu);
	thread_t t = saakm_thread_on(p, cpu);
	bool unplaced = t && saakm_is_unplaced(p, t);
	saakm_t s;
	u64 where;

	if (unplaced)
		saakm_place_here((u64)t, cpu);
	s = saakm_begin_as(SAAKM_IN_OPERATION, t, SAAKM_NEXT_RUNNING);
	saakm_stop_spinning(s, cpu);
	core->warm_until = 0;
	core->searched = SAAKM_NOT_SEARCHED;
	core->rounds = 0;
	core->heard = WORLD->missed;
	if (!t) {
		saakm_change(s, cpu, SAAKM_RUNS, saakm_stranger_of(cpu));
		goto out;
	}
	where = t->where;
	/* A thread that goes on is not chosen anew: its turn does not begin again. */
	if (!unplaced && saakm_is_ready_in(where, cpu, saakm_queue_of(where)))
		saakm_choose_only(s, t, cpu);
	/* The core that it had taken does not wait for it. */
	if (saakm_state_of(where) == SAAKM_RUNNING && saakm_core_of(where) != cpu)
		saakm_change(s, saakm_core_of(where), SAAKM_STOPS, t->index);
	/* The kernel ran t past the policy. It runs: a thief that moves t at the same time has come too
	   late. */
	while ((saakm_state_of(where) != SAAKM_RUNNING || saakm_core_of(where) != cpu) &&
	       !saakm_transition(s, t, where, SAAKM_RUNNING, cpu, 0) && can_loop)
		where = t->where;
	saakm_change_inline(s, cpu, SAAKM_RUNS, t->index);
	if (unplaced)
		saakm_update_affinity(t, cpu, saakm_pinned(p));
	saakm_start_turn(s, p, t, cpu);
out:
	saakm_finish(s);
}

/* p is no longer runnable: event block or terminate; or DETACHED, to be enqueued again. */
void BPF_STRUCT_OPS(saakm_quiescent, struct task_struct *p, u64 deq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);
	thread_t t = saakm_thread_on(p, cpu);
	u32 state;
	u64 where;
	saakm_t s;

	if (!t)
		return;
	saakm_leave_group(t);
	t->timer_at = 0;
	t->flags &= ~SAAKM_T_YIELDS;
	s = saakm_begin(SAAKM_IN_OPERATION, t);
	saakm_end_turn(s, t, cpu);
	/* Without event preempt, the policy would not know that t has run. */
	if (!(deq_flags & SCX_DEQ_SLEEP) && saakm_state_of(t->where) == SAAKM_RUNNING)
		saakm_interrupt(s, t);
	/* The kernel has taken p out of its queue: a thief that moves t at the same time is too late. */
	do {
		where = t->where;
		if (!(deq_flags & SCX_DEQ_SLEEP))
			state = SAAKM_DETACHED;
		else
			state = saakm_is_percpu_kthread(p) ? SAAKM_BLOCKED : SAAKM_RUNNING;
	} while (saakm_state_of(where) != state &&
		 !saakm_transition(s, t, where, state,
				   state == SAAKM_RUNNING ? cpu : saakm_core_of(where), 0) &&
		 can_loop);
	saakm_change_inline(s, saakm_core(t), SAAKM_STOPS, t->index);
	if (state != SAAKM_RUNNING) {
		saakm_end(s);
		return;
	}
	if (p->__state & TASK_DEAD)
		saakm_on_terminate((u64)s, (u64)t);
	else
		saakm_on_block((u64)s, (u64)t);
	saakm_finish(s);
	if (cpu == s->cpu)
		s->next = SAAKM_NEXT_DISPATCH;
}

/* sched_yield: ends the slice, so that ops.dispatch calls event yield. */
bool BPF_STRUCT_OPS(saakm_yield, struct task_struct *from, struct task_struct *to)
{
	thread_t t = to ? NULL : saakm_thread_of(from);

	if (t) {
		t->flags |= SAAKM_T_YIELDS;
		scx_bpf_task_set_slice(from, 0);
	}
	return false;
}

/* Frequency of a core in kHz at its last tick in the kernel, from the configured source; 0: unknown. */
static __always_inline u32 saakm_measure_khz(u32 cpu)
{
	struct saakm_core SAAKM_MEM *core = saakm_core_at(cpu);

	switch (WORLD->frequency_source) {
	case SAAKM_KHZ_KERNEL:
		return (u64)core->max_khz * scx_bpf_cpuperf_cur(cpu) / SCX_CPUPERF_ONE;
	case SAAKM_KHZ_MODEL:
		return core->model_khz;
	default:
		return 0;
	}
}

/*
 * Events tick and balance come every SAAKM_TICK_NS (less 1/16 for jitter), whatever the kernel's HZ.
 * Whether they are due on cpu; then the core's frequency is measured.
 */
SAAKM_GLOBAL bool saakm_tick_is_due(u32 cpu)
{
	struct saakm_core SAAKM_MEM *core = saakm_core_at(cpu);
	u64 now = scx_bpf_now();

	if (now - core->last_tick < SAAKM_TICK_NS - SAAKM_TICK_NS / 16)
		return false;
	core->last_tick = now;
	core->seen_khz = saakm_measure_khz(cpu);
	return true;
}

/* Begins events tick and balance of a thread; returns their context. A call, which leaves the handlers more
   stack. */
SAAKM_GLOBAL u64 saakm_begin_tick(u64 thread)
{
	saakm_t s = saakm_begin(SAAKM_IN_OPERATION, SAAKM_FIELD_AT(struct saakm_thread, thread));

	s->room = saakm_room_to_postpone(s->cpu);
	return (u64)s;
}

/* Whether a thread waits in cpu's local DSQ, where no other core finds it. */
static __always_inline bool saakm_waits_in_kernel(u32 cpu)
{
	return scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu) > 0;
}

/* The kernel ticks for a core without a tick of its own (nohz_full) on another core. */
void BPF_STRUCT_OPS(saakm_tick, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);
	thread_t t = saakm_thread_of(p);
	saakm_t s;

	if (!t || saakm_state_of(t->where) != SAAKM_RUNNING)
		return;
	saakm_charge(t, scx_bpf_now());
	/* A slice of 0 is a preemption that the kernel is about to carry out. A thread of the local DSQ is on no core
	   to the policy, and no core can steal it: p makes room. */
	if (p->scx.slice && !saakm_is_percpu_kthread(p))
		scx_bpf_task_set_slice(p, saakm_throttled_by(t) || saakm_waits_in_kernel(cpu)
						  ? 0
						  : SAAKM_SLICE_NS);
	if (!saakm_tick_is_due(cpu))
		return;
	s = SAAKM_FIELD_AT(struct saakm, saakm_begin_tick((u64)t));
#ifdef SAAKM_ON_TICK
	saakm_on_tick((u64)s, (u64)t);
#endif
#ifdef SAAKM_ON_BALANCE
	saakm_on_balance((u64)s, cpu);
#endif
	saakm_end(s);
	if (s->nr_preempts && saakm_has(&s->preempts, cpu)) {
		saakm_exclude(&s->preempts, cpu);
		s->nr_preempts--;
		saakm_core_at(cpu)->count.preemptions++;
		scx_bpf_task_set_slice(p, 0);
	}
	saakm_preempt_cores((u64)s);
	saakm_postpone_moves((u64)s);
}

/* ---- life of a thread ---------------------------------------------------------------------- */

/* p is forked, or existed when the policy was loaded: gives it a slot. */
s32 BPF_STRUCT_OPS_SLEEPABLE(saakm_init_task, struct task_struct *p,
			     struct scx_init_task_args *args)
{
	u32 index = saakm_alloc_slot(), cpu = bpf_get_smp_processor_id();
	thread_t t = saakm_thread_at(index);
	u64 old;
	u32 *slot;

	if (!t) {
		/* Without a slot, the kernel's global DSQ runs it. */
		__sync_fetch_and_add(&WORLD->no_slot, 1);
		return 0;
	}
	slot = bpf_task_storage_get(&saakm_slots, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!slot) {
		saakm_free_slot(index);
		__sync_fetch_and_add(&WORLD->no_slot, 1);
		return 0;
	}
	old = t->where;
	t->serial = saakm_new_serial(cpu);
	t->pid = p->pid;
	t->weight = t->own_weight = SAAKM_NICE_0_WEIGHT;
	t->counted = 0;
	t->group = saakm_first_group(args);
	t->runtime = 0;
	t->running_since = -1;
	t->timer_at = 0;
	t->flags = 0;
	t->reason = 0;
	t->ran_on = SAAKM_NO_CORE;
	t->affinity = SAAKM_WORLD_SET(online);
	t->where = SAAKM_NOT_QUEUED | (u64)scx_bpf_task_cpu(p) << 16 | ((old >> 32) + 1) << 32;
	saakm_clear_attrs((u64)t);
	SAAKM_INIT_THREAD(saakm_thread_attrs(t));
	saakm_init_timer(index);
	__sync_fetch_and_add(&saakm_core_at(cpu)->threads, 1);
	/* Last. The kernel starts operations on p only after this returns: plain stores suffice. */
	*slot = index;
	return 0;
}

/* p is gone: frees its slot. */
void BPF_STRUCT_OPS(saakm_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	u32 *slot = bpf_task_storage_get(&saakm_slots, p, 0, 0);
	u32 index = slot ? *slot : 0;

	saakm_use_arena();
	if (!index)
		return;
	*slot = 0;
	saakm_thread_at(index)->timer_at = 0;
	__sync_fetch_and_add(&saakm_core_at(bpf_get_smp_processor_id())->threads, -1);
	saakm_free_slot(index);
}

/* The weight of a thread whose weight in sched_ext is `weight` (100 at nice 0). Proofs rely on the bounds
   (proofs/events.mlw). */
static __always_inline u32 saakm_weight_of(u32 weight)
{
	u64 scaled = (u64)weight * SAAKM_NICE_0_WEIGHT / 100;

	return scaled < 1 ? 1 : scaled > SAAKM_MAX_WEIGHT ? SAAKM_MAX_WEIGHT : scaled;
}

/* p enters sched_ext; it may have been in another scheduling class since init_task. */
void BPF_STRUCT_OPS(saakm_enable, struct task_struct *p)
{
	thread_t t = saakm_thread_of(p);

	if (!t)
		return;
	t->weight = t->own_weight = saakm_weight_of(p->scx.weight);
	saakm_read_allowed(p, (u64)t);
}

/* p leaves sched_ext. If it runs, it goes on in its new class, without a switch. */
void BPF_STRUCT_OPS(saakm_disable, struct task_struct *p)
{
	u32 cpu = scx_bpf_task_cpu(p);
	thread_t t = saakm_thread_of(p);
	saakm_t s;

	if (!t)
		return;
	s = saakm_begin(SAAKM_IN_OPERATION, t);
	while (!saakm_transition(s, t, t->where, SAAKM_NOT_QUEUED, saakm_core(t), 0) && can_loop)
		;
	if (scx_bpf_task_running(p))
		saakm_change(s, cpu, SAAKM_RUNS, saakm_stranger_of(cpu));
	saakm_end(s);
}

void BPF_STRUCT_OPS(saakm_set_weight, struct task_struct *p, u32 weight)
{
	thread_t t = saakm_thread_of(p);

	if (!t)
		return;
	t->own_weight = saakm_weight_of(weight);
	saakm_weigh((u64)t);
}

void BPF_STRUCT_OPS(saakm_set_cpumask, struct task_struct *p, const struct cpumask *allowed)
{
	thread_t t = saakm_thread_of(p);

	if (t)
		saakm_read_allowed(p, (u64)t);
}

/* ---- start and end -------------------------------------------------------------------------- */

/* Whether the cores on line are those of which the loader knows. The kernel calls ops.init with hot-plugs locked out. */
static __always_inline bool saakm_knows_cores(void)
{
	const struct cpumask *mask = scx_bpf_get_online_cpumask();
	u32 online = bpf_cpumask_weight(mask), known = 0, both = 0, w;

	for (w = SAAKM_FORGET(0U); w < WORLD->nr_words && can_loop; w = SAAKM_FORGET(w + 1)) {
		u64 word = 0, ours = WORLD->online.word[w & (SAAKM_SET_WORDS - 1)];

		bpf_probe_read_kernel(&word, sizeof(word), (void *)((u64)mask + w * sizeof(word)));
		known += saakm_popcount(ours);
		both += saakm_popcount(word & ours);
	}
	scx_bpf_put_cpumask(mask);
	return both == known && both == online;
}

/*
 * Sets up the policy's state, a DSQ per possible core and queue, and a timer per core. After a hot-plug the
 * programs and maps are those of before, and the loader has cleared the memory that it shares. Timers that were armed
 * before find nothing to do.
 */
s32 BPF_STRUCT_OPS_SLEEPABLE(saakm_init)
{
	int64_t SAAKM_MEM *params = (int64_t SAAKM_MEM *)saakm_state_attrs(NULL);
	u32 c, i, n = WORLD->nr_cores, nr_params = WORLD->nr_params,
		  possible = scx_bpf_nr_cpu_ids();
	struct saakm_timer *timer;
	struct saakm_relief *relief;
	int error;

	saakm_use_arena();
	if (WORLD->layout != SAAKM_LAYOUT || !n || n > SAAKM_MAX_CORES) {
		scx_bpf_error("the loader's memory layout is not %d", SAAKM_LAYOUT);
		return -EINVAL;
	}
	saakm_forget_groups();
	SAAKM_INIT_STATE(saakm_state_attrs(NULL));
	/* Parameters are the first fields of the state. */
	bpf_for(i, 0, nr_params)
		params[i & (SAAKM_MAX_PARAMS - 1)] = WORLD->params[i & (SAAKM_MAX_PARAMS - 1)];
	if (possible > SAAKM_MAX_CORES)
		possible = SAAKM_MAX_CORES;
	/* A core that comes on line dispatches before the kernel ends the policy. A queue is on its core's NUMA node. */
	bpf_for(c, 0, possible) {
		bpf_for(i, 0, SAAKM_QUEUES) {
			error = scx_bpf_create_dsq(saakm_dsq(c, i), scx_bpf_cpu_node(c));
			/* The node may be off line. */
			if (error)
				error = scx_bpf_create_dsq(saakm_dsq(c, i), -1);
			if (error)
				return error;
		}
	}
	bpf_for(c, 0, n) {
		if (!saakm_core_at(c)->known)
			continue;
		SAAKM_INIT_CORE(saakm_core_attrs(NULL, c));
		saakm_core_at(c)->seen_khz = saakm_measure_khz(c);
		error = saakm_init_stranger(c);
		if (error)
			return error;
		timer = bpf_map_lookup_elem(&saakm_move_timers, &c);
		relief = bpf_map_lookup_elem(&saakm_relief_timers, &c);
		if (!timer || !relief)
			return -EINVAL;
		bpf_timer_init(&timer->timer, &saakm_move_timers, CLOCK_MONOTONIC);
		bpf_timer_set_callback(&timer->timer, saakm_move_timer_fired);
		bpf_timer_init(&relief->timer, &saakm_relief_timers, CLOCK_MONOTONIC);
	}
	if (!saakm_knows_cores())
		scx_bpf_exit(SCX_ECODE_RSN_HOTPLUG | SCX_ECODE_ACT_RESTART, "a core came or went");
	return 0;
}

/* For the kernel's debug dump: our state of each thread and core that it shows. */
void BPF_STRUCT_OPS(saakm_dump_task, struct scx_dump_ctx *context, struct task_struct *p)
{
	thread_t t = saakm_thread_of(p);
	u64 where = t ? t->where : 0;

	if (t)
		scx_bpf_dump("thread %u: state %u, core %u, queue %u, key %lld, flags %x",
			     t->serial, saakm_state_of(where), saakm_core_of(where),
			     saakm_queue_of(where), t->key, t->flags);
}

void BPF_STRUCT_OPS(saakm_dump_cpu, struct scx_dump_ctx *context, s32 cpu, bool idle)
{
	u64 word;

	saakm_use_arena();
	word = SAAKM_LOAD(saakm_word_of(cpu));
	scx_bpf_dump("core %d: thread %u runs, %u ready, %d queued, %s", cpu,
		     saakm_current_of(word) ? saakm_thread_at(saakm_current_of(word))->serial : 0,
		     saakm_ready_of(word), scx_bpf_dsq_nr_queued(saakm_dsq(cpu, 0)),
		     saakm_is_idle(word) ? "idle" : "busy");
}

void BPF_STRUCT_OPS(saakm_exit, struct scx_exit_info *info)
{
	UEI_RECORD(uei, info);
}

/*
 * Ends the policy before a core goes off line; the loader starts it again for the remaining cores.
 *
 * Without cpu_offline, the kernel does the same by itself, but only after it has deactivated the
 * core and waited for an RCU grace period. Until then the core takes no threads from DSQs, which
 * the policy cannot know. If the policy places rcu_preempt there, the grace period never ends, and
 * the watchdog reports a stall of rcu_preempt (observed).
 */
SEC("tp_btf/cpuhp_enter")
int BPF_PROG(saakm_core_goes, unsigned int cpu, int target, int state)
{
	int active = bpf_core_enum_value(enum cpuhp_state, CPUHP_AP_ACTIVE);

	if (state == active && target < state)
		scx_bpf_exit(SCX_ECODE_RSN_HOTPLUG | SCX_ECODE_ACT_RESTART, "core %d goes", cpu);
	return 0;
}

/*
 * No cpu_online and cpu_offline: at a hot-plug the kernel ends the policy and asks the loader to
 * start it again for the new set of cores. Handling it in place would depend on the kernel version,
 * because a core that goes off line waits for its last threads in different ways.
 */
/* clang-format off */
SCX_OPS_DEFINE(saakm_ops,
	       .select_cpu = (void *)saakm_select_cpu,
	       .enqueue = (void *)saakm_enqueue,
	       .dispatch = (void *)saakm_dispatch,
	       .running = (void *)saakm_running,
	       .quiescent = (void *)saakm_quiescent,
	       .yield = (void *)saakm_yield,
	       .tick = (void *)saakm_tick,
	       .cpu_release = (void *)saakm_cpu_release,
	       .init_task = (void *)saakm_init_task,
	       .exit_task = (void *)saakm_exit_task,
	       .enable = (void *)saakm_enable,
	       .disable = (void *)saakm_disable,
	       .set_weight = (void *)saakm_set_weight,
	       .set_cpumask = (void *)saakm_set_cpumask,
	       .cgroup_init = (void *)saakm_cgroup_init,
	       .cgroup_exit = (void *)saakm_cgroup_exit,
	       .cgroup_move = (void *)saakm_cgroup_move,
	       .cgroup_set_weight = (void *)saakm_cgroup_set_weight,
	       .cgroup_set_idle = (void *)saakm_cgroup_set_idle,
	       .cgroup_set_bandwidth = (void *)saakm_cgroup_set_bandwidth,
	       .init = (void *)saakm_init,
	       .dump_task = (void *)saakm_dump_task,
	       .dump_cpu = (void *)saakm_dump_cpu,
	       .exit = (void *)saakm_exit,
	       .flags = SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_LAST,
	       .name = SAAKM_NAME);
/* clang-format on */

#endif
