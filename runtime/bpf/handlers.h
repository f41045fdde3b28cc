/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: how a handler of the policy is called. A function for each handler; its context, from
 * saakm_begin to saakm_end or saakm_finish; and what follows from its effects: events enter_idle and exit_idle,
 * the end of claims, and preemptions. Owns the idle periods and spins of cores (idle_since, spin_since), and the underload
 * (struct saakm_window).
 */
#ifndef SAAKM_HANDLERS_H
#define SAAKM_HANDLERS_H

/* ---- the policy's handlers ---------------------------------------------------------------- */

#define SAAKM_THREAD_AT(at) SAAKM_FIELD_AT(struct saakm_thread, at)
#define SAAKM_CONTEXT_AT(at) SAAKM_FIELD_AT(struct saakm, at)

/* saakm_do_EVENT calls the policy's handler; saakm_on_EVENT adds the log before and after it. */
#define SAAKM_HANDLER_OF(event, EVENT, parameters, call, thread, core, ...)                        \
	SAAKM_HANDLER int saakm_do_##event parameters                                              \
	{                                                                                          \
		SAAKM_ON_##EVENT(__VA_ARGS__);                                                     \
		return 0;                                                                          \
	}                                                                                          \
	SAAKM_EVENT int saakm_on_##event parameters                                                \
	{                                                                                          \
		SAAKM_LOG_BEGIN(s, SAAKM_E_##EVENT, thread, core);                                 \
		saakm_do_##event call;                                                             \
		SAAKM_LOG_END(thread);                                                             \
		return 0;                                                                          \
	}
#define SAAKM_PLACEMENT_HANDLER(event, EVENT)                                                      \
	SAAKM_HANDLER_OF(event, EVENT, (u64 s, u64 t, u32 c), (s, t, c), t, c,                     \
			 SAAKM_CONTEXT_AT(s), SAAKM_THREAD_AT(t), c)
#define SAAKM_THREAD_HANDLER(event, EVENT)                                                         \
	SAAKM_HANDLER_OF(event, EVENT, (u64 s, u64 t), (s, t), t, 0, SAAKM_CONTEXT_AT(s),          \
			 SAAKM_THREAD_AT(t))
#define SAAKM_CORE_HANDLER(event, EVENT)                                                           \
	SAAKM_HANDLER_OF(event, EVENT, (u64 s, u32 c), (s, c), 0, c, SAAKM_CONTEXT_AT(s), c)

SAAKM_PLACEMENT_HANDLER(new, NEW)
SAAKM_PLACEMENT_HANDLER(unblock, UNBLOCK)
SAAKM_CORE_HANDLER(schedule, SCHEDULE)
SAAKM_THREAD_HANDLER(preempt, PREEMPT)
SAAKM_THREAD_HANDLER(yield, YIELD)
SAAKM_THREAD_HANDLER(block, BLOCK)
SAAKM_THREAD_HANDLER(terminate, TERMINATE)
#ifdef SAAKM_ON_TICK
SAAKM_THREAD_HANDLER(tick, TICK)
#endif
#ifdef SAAKM_ON_TIMER
SAAKM_THREAD_HANDLER(timer, TIMER)
#endif
#ifdef SAAKM_ON_NEWLY_IDLE
SAAKM_CORE_HANDLER(newly_idle, NEWLY_IDLE)
#endif
#ifdef SAAKM_ON_BALANCE
SAAKM_CORE_HANDLER(balance, BALANCE)
#endif
#ifdef SAAKM_ON_ENTER_IDLE
SAAKM_CORE_HANDLER(enter_idle, ENTER_IDLE)
#endif
#ifdef SAAKM_ON_EXIT_IDLE
SAAKM_CORE_HANDLER(exit_idle, EXIT_IDLE)
#endif
#ifdef SAAKM_ON_ENTRY
SAAKM_CORE_HANDLER(entry, ENTRY)
#endif
#ifdef SAAKM_ON_EXIT
SAAKM_CORE_HANDLER(exit, EXIT)
#endif

/* ---- begin and end ----------------------------------------------------------------------- */

SAAKM_GLOBAL int saakm_weigh(u64 thread);

/*
 * Prepares this core's context of `level` for an event of t (or NULL). saakm_end ends it.
 *
 * The context is that of the core that executes this. The event may be of another core: when a
 * thread changes the priority, affinity or class of a running thread, its operations run here.
 */
static __always_inline saakm_t saakm_begin_as(enum saakm_context_level level, thread_t t,
					      enum saakm_next next)
{
	u32 cpu = bpf_get_smp_processor_id();
	saakm_t s = saakm_context(cpu, level);

	saakm_use_arena();
	if (!next || s->next != next)
		s->now = scx_bpf_now();
	s->next = SAAKM_NEXT_ANY;
	s->cpu = cpu;
	s->subject = t ? t->index : 0;
	s->run = s->nr_moves = s->scheduling = s->held = s->direct = 0;
	s->on_timer = level == SAAKM_IN_TIMER;
	s->room = SAAKM_MOVES;
	SAAKM_LOCK();
	if (t && t->group)
		saakm_weigh((u64)t);
	return s;
}

static __always_inline saakm_t saakm_begin(enum saakm_context_level level, thread_t t)
{
	return saakm_begin_as(level, t, SAAKM_NEXT_ANY);
}

/*
 * Time from `begun` to `now`, or 0 if `now` is earlier: another core's handler may read the clock
 * before this one set `begun`, and use it afterwards.
 */
static __always_inline u64 saakm_elapsed(u64 begun, u64 now)
{
	return now > begun ? now - begun : 0;
}

/* ---- idleness ---------------------------------------------------------------------------- */

/*
 * Core `cpu` found nothing to run, and will sleep. If no thread is READY there or coming, it enters `idle`: event
 * enter_idle. Its dispatch says so, not ops.update_idle, which would be two calls more for each sleep.
 *
 * Only the core itself stores idle_since and becomes idle; any core may end that. idle_since is
 * stored before the fully ordered swap of the word. saakm_exit_idle loads it after the swap that
 * ended the idleness, and sees this period's value. A handler that only tests the bit loads both
 * plainly: on arm64 it may see an older idle_since.
 */
static __always_inline void saakm_sleep(saakm_t s, u32 cpu)
{
	struct saakm_core SAAKM_MEM *core = saakm_core_at(cpu);
	u64 word = SAAKM_LOAD(saakm_word_of(cpu));

	if (!saakm_has(&WORLD->online, cpu))
		return;
	if (!saakm_is_idle(word) && saakm_is_empty(word))
		core->idle_since = s->now;
	if (!saakm_change_inline(s, cpu, SAAKM_SLEEPS, 0))
		return;
	core->count.idles++;
#ifdef SAAKM_ON_ENTER_IDLE
	saakm_on_enter_idle((u64)s, cpu);
#endif
	if (saakm_has_missed(&core->heard))
		saakm_search_again(cpu);
}

/* Core c has left `idle`: event exit_idle. Runs on the core that removed it. */
static __always_inline void saakm_exit_idle(saakm_t s, u32 c)
{
	struct saakm_core SAAKM_MEM *core = saakm_core_at(c);

	core->count.idle_ns += saakm_elapsed(core->idle_since, s->now);
#ifdef SAAKM_ON_EXIT_IDLE
	saakm_on_exit_idle((u64)s, c);
#endif
}

/* Event exit_idle of the cores that have left idle. */
static __always_inline void saakm_end_idleness(saakm_t s)
{
	core_t c;

	if (s->left_idle) {
		saakm_exit_idle(s, s->left_idle - 1);
		s->left_idle = 0;
	}
	if (!s->nr_left)
		return;
	SAAKM_EACH(s, c, w, s->left.word[w]) {
		saakm_exclude(&s->left, c);
		saakm_exit_idle(s, c);
	}
	s->nr_left = 0;
}

/* Releases the claims that ended in no placement. */
static __always_inline void saakm_end_claims(saakm_t s)
{
	core_t c;

	if (!s->nr_claims)
		return;
	SAAKM_EACH(s, c, w, s->claims.word[w]) {
		saakm_exclude(&s->claims, c);
		saakm_return_claim(c);
	}
	s->nr_claims = 0;
}

/* What the effects of a handler have left to do: events exit_idle, and the ends of claims. */
SAAKM_GLOBAL int saakm_end_effects(u64 context)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);

	saakm_end_idleness(s);
	saakm_end_claims(s);
	return 0;
}

/* Ends a handler. A call, because the verifier would check each branch for each state of the caller. */
static __always_inline void saakm_end(saakm_t s)
{
	saakm_end_effects((u64)s);
	SAAKM_UNLOCK();
}

/* ---- preemption --------------------------------------------------------------------------- */

extern const int __preempt_count __ksym __weak;

/* Of arm64. */
struct thread_info___saakm {
	u64 preempt_count;
} __attribute__((preserve_access_index));

struct task_struct___saakm {
	struct thread_info___saakm thread_info;
} __attribute__((preserve_access_index));

/* All bits but those of disabled preemption and of need_resched. */
#define SAAKM_INTERRUPTS 0x7fffff00u

/* Whether p, the running thread of this CPU, is in a system call or is a kernel thread. False if that is unknown. */
static __always_inline bool saakm_in_kernel(struct task_struct *p)
{
	const struct task_struct___saakm *running = (const void *)p;

	if (&__preempt_count)
		return !(*(u32 *)bpf_this_cpu_ptr(&__preempt_count) & SAAKM_INTERRUPTS);
	if (bpf_core_field_exists(running->thread_info.preempt_count))
		return !((u32)BPF_CORE_READ(running, thread_info.preempt_count) & SAAKM_INTERRUPTS);
	return false;
}

/*
 * Where the kernel preempts lazily, takes the slice of the policy's thread that runs on c, and returns true: the thread
 * goes on until it sleeps or the next tick comes. So do the kernel's own classes, except that they also preempt at the
 * end of a system call or interrupt, where no BPF program of ours runs. False in an interrupt on c: that is about to end.
 *
 * The policy changes the thread's state before the kernel switches. So if the state is RUNNING, ops.dispatch is still to
 * come, and will find the thread that waits.
 */
static __always_inline bool saakm_take_slice(u32 c)
{
	thread_t t = saakm_thread_at(saakm_current_of(SAAKM_LOAD(saakm_word_of(c))));
	struct task_struct *p;
	bool taken = false;

	if (!WORLD->lazy || !t)
		return false;
	if (c == bpf_get_smp_processor_id() && !saakm_in_kernel(bpf_get_current_task_btf()))
		return false;
	p = bpf_task_from_pid(t->pid);
	if (!p)
		return false;
	if (saakm_thread_of(p) == t && c == saakm_core_of(t->where) &&
	    saakm_state_of(t->where) == SAAKM_RUNNING) {
		/* Not 0: p may not have started yet, and the kernel would give it a new slice. */
		scx_bpf_task_set_slice(p, 1);
		taken = true;
	}
	bpf_task_release(p);
	return taken;
}

/*
 * Preempts c's thread for one that waits there. A kick does not wait for the end of a system call: a thread that wakes
 * another would lose its core in the middle of the call, and need it again only to end the call.
 */
SAAKM_GLOBAL int saakm_preempt_core(u32 c)
{
	saakm_core_at(c)->count.preemptions++;
	if (!saakm_take_slice(c))
		scx_bpf_kick_cpu(c, SCX_KICK_PREEMPT);
	return 0;
}

/* Preempts the threads of the cores in s->preempts. */
SAAKM_GLOBAL int saakm_preempt_cores(u64 context)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	core_t c;

	if (!s->nr_preempts)
		return 0;
	SAAKM_EACH(s, c, w, s->preempts.word[w]) {
		saakm_exclude(&s->preempts, c);
		saakm_preempt_core(c);
	}
	s->nr_preempts = 0;
	return 0;
}

SAAKM_GLOBAL int saakm_finish_all(u64 context)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);

	saakm_end(s);
	saakm_preempt_cores(context);
	return 0;
}

/* Ends the handler of an operation, which then has nothing else to do. Inline: most handlers leave nothing to do. */
static __always_inline void saakm_finish(saakm_t s)
{
	if (s->left_idle | s->nr_left | s->nr_claims | s->nr_preempts)
		saakm_finish_all((u64)s);
	else
		SAAKM_UNLOCK();
}

/* ---- spins -------------------------------------------------------------------------------- */

SAAKM_GLOBAL int saakm_end_spin(u64 context, u32 cpu)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	struct saakm_core SAAKM_MEM *core = saakm_core_at(cpu);

	core->count.spin_ns += saakm_elapsed(core->spin_since, s->now);
	core->spin_since = 0;
	saakm_decided(SAAKM_DECISION(SAAKM_D_SPIN, false, cpu, 0), 0, 0);
	return 0;
}

/* Ends a spin of cpu, if there is one. */
static __always_inline void saakm_stop_spinning(saakm_t s, u32 cpu)
{
	if (saakm_core_at(cpu)->spin_since)
		saakm_end_spin((u64)s, cpu);
}

/* ---- underload --------------------------------------------------------------------------- */

/*
 * Closes the interval if `now` is in a later one. A compare-and-swap of `interval` selects the core
 * that closes it. That core alone writes the sums, plainly and after the swap; it races with its
 * successor only if it takes a whole interval. Concurrent events may count in a neighbouring
 * interval.
 */
SAAKM_GLOBAL int saakm_close_window(u64 now)
{
	struct saakm_window SAAKM_MEM *window = &WORLD->window;
	u64 interval = now / SAAKM_TICK_NS, last = window->interval;
	s64 used = 0;
	u32 part;

	if (interval <= last ||
	    __sync_val_compare_and_swap(&window->interval, last, interval) != last)
		return 0;
	for (part = SAAKM_FORGET(0U); part < SAAKM_PARTS->first[SAAKM_SET_WORDS] && can_loop;
	     part = SAAKM_FORGET(part + 1)) {
		u64 SAAKM_MEM *line = saakm_line(part, 0);

		used += saakm_popcount(line[SAAKM_KEPT_USED]);
		/* Cores that are busy now count for the next interval too. */
		line[SAAKM_KEPT_USED] =
			SAAKM_PARTS->cores[part & (SAAKM_MAX_CORES - 1)] & ~line[SAAKM_KEPT_IDLE];
	}
	if (last && used > window->most)
		window->underload += used - window->most;
	window->cores_used += used;
	window->intervals += last ? interval - last : 0;
	window->most = window->runnable;
	return 0;
}

/* Adds +1 or -1 to `runnable`. `most` is stored plainly: a concurrent maximum may be lost. */
SAAKM_GLOBAL int saakm_count_runnable(int change)
{
	struct saakm_window SAAKM_MEM *window = &WORLD->window;
	s64 n;

	saakm_close_window(scx_bpf_now());
	n = __sync_fetch_and_add(&window->runnable, change) + change;
	if (n > window->most)
		window->most = n;
	return 0;
}

#endif
