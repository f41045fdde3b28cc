/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: moves of DSQ entries, and timers: event timer. Owns the postponed moves of a core
 * (context POSTPONED, pending_head, pending_tail).
 *
 * A handler moves a thread by changing t->where. The entry in the DSQ follows later: the kernel
 * allows moves between DSQs only in ops.dispatch and where no run queue is locked, such as in BPF
 * timers.
 */
#ifndef SAAKM_TIMERS_H
#define SAAKM_TIMERS_H

struct saakm_timer {
	struct bpf_timer timer;
};

/* Moves entry p, the current one of iterator `it`, to the DSQ that `where` names. True if moved. */
#define SAAKM_MOVE_ENTRY(it, p, where, key)                                                        \
	({                                                                                         \
		u64 dsq_ = saakm_dsq(saakm_core_of(where), saakm_queue_of(where));                 \
		bool moved_;                                                                       \
		if ((SAAKM_ORDERED >> saakm_queue_of(where)) & 1) {                                \
			scx_bpf_dsq_move_set_vtime(it, key);                                       \
			moved_ = scx_bpf_dsq_move_vtime(it, p, dsq_, 0);                           \
		} else {                                                                           \
			moved_ = scx_bpf_dsq_move(it, p, dsq_, 0);                                 \
		}                                                                                  \
		if (moved_)                                                                        \
			scx_bpf_kick_cpu(saakm_core_of(where), SCX_KICK_IDLE);                     \
		moved_;                                                                            \
	})

/* ---- moves --------------------------------------------------------------------------------- */

/*
 * Moves the entry of a thread from the DSQ of core `from` to where its slot says. Fails if the
 * entry is gone or the thread is no longer READY. `cpu` is the core that counts a failure.
 *
 * The kernel moves any entry of the iterator's DSQ, not only the current one. A search for the entry
 * would lock the DSQ once for each entry before it, and S_move may have a timer for each of 400
 * entries.
 */
SAAKM_GLOBAL int saakm_move_entry(u32 thread, u32 from, u32 queue, u32 cpu)
{
	thread_t t = saakm_thread_at(thread);
	struct task_struct *p, *first;
	bool moved = false;

	p = t ? bpf_task_from_pid(t->pid) : NULL;
	if (!p)
		goto out;
	/* Older verifiers treat a timer callback as sleepable, without RCU protection. */
	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, first, saakm_dsq(from, queue), 0) {
		u64 where = t->where;

		if (saakm_thread_of(p) == t && saakm_state_of(where) == SAAKM_READY)
			moved = SAAKM_MOVE_ENTRY(BPF_FOR_EACH_ITER, p, where, t->key);
		break;
	}
	bpf_rcu_read_unlock();
	bpf_task_release(p);
out:
	if (!moved)
		saakm_core_at(cpu)->count.moves_failed++;
	return moved;
}

/* ---- postponed moves -------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SAAKM_MAX_CORES);
	__type(key, u32);
	__type(value, struct saakm_timer);
} saakm_move_timers SEC(".maps");

/*
 * Hands the moves of a handler that runs with the run queue locked (tick) to the core's timer.
 *
 * The moves are a ring in context POSTPONED: this core writes entries and then pending_tail, the
 * timer reads pending_tail, then entries, and then writes pending_head. The timer may expire on
 * another core (nohz_full) while this one adds entries. So both ends of the ring change by swaps, which
 * are fully ordered. The room of the ring is a plain load: the stores of entries depend on it.
 */
static __always_inline u32 saakm_room_to_postpone(u32 cpu)
{
	struct saakm_core SAAKM_MEM *core = saakm_core_at(cpu);

	return SAAKM_MOVES - (core->pending_tail - core->pending_head);
}

SAAKM_GLOBAL int saakm_postpone_moves(u64 context)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	saakm_t later = saakm_context(s->cpu, SAAKM_POSTPONED);
	struct saakm_core SAAKM_MEM *core = saakm_core_at(s->cpu);
	struct saakm_timer *timer;
	u32 i, cpu = s->cpu;

	if (!s->nr_moves)
		return 0;
	for (i = SAAKM_FORGET(0U); i < s->nr_moves && can_loop; i = SAAKM_FORGET(i + 1)) {
		u32 tail = core->pending_tail;

		later->moves[tail & (SAAKM_MOVES - 1)].thread =
			s->moves[i & (SAAKM_MOVES - 1)].thread;
		later->moves[tail & (SAAKM_MOVES - 1)].from = s->moves[i & (SAAKM_MOVES - 1)].from;
		later->moves[tail & (SAAKM_MOVES - 1)].queue =
			s->moves[i & (SAAKM_MOVES - 1)].queue;
		SAAKM_CAS(&core->pending_tail, tail, tail + 1);
	}
	core->count.steals += s->nr_moves;
	s->nr_moves = 0;
	timer = bpf_map_lookup_elem(&saakm_move_timers, &cpu);
	if (timer)
		bpf_timer_start(&timer->timer, 0, 0);
	return 0;
}

/* Loads the tail before the entries: a swap of the same value is fully ordered. */
static __always_inline u32 saakm_pending_tail(struct saakm_core SAAKM_MEM *core)
{
	u32 old = core->pending_tail, seen;

	do {
		seen = old;
		old = SAAKM_CAS(&core->pending_tail, seen, seen);
	} while (old != seen && can_loop);
	return old;
}

/* Timer of a core: carries out its postponed moves. */
static int saakm_move_timer_fired(void *map, u32 *key, struct saakm_timer *timer)
{
	u32 cpu = *key;
	saakm_t s = saakm_context(cpu, SAAKM_POSTPONED);
	struct saakm_core SAAKM_MEM *core = saakm_core_at(cpu);

	while (core->pending_head != saakm_pending_tail(core) && can_loop) {
		u32 first = core->pending_head, head = first & (SAAKM_MOVES - 1);
		u32 thread = s->moves[head].thread, from = s->moves[head].from;
		u32 queue = s->moves[head].queue;

		SAAKM_CAS(&core->pending_head, first, first + 1);
		saakm_move_entry(thread, from, queue, cpu);
	}
	return 0;
}

/* ---- timers of threads ------------------------------------------------------------------- */

#ifdef SAAKM_ON_TIMER

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << 16); /* slots that can have a timer */
	__type(key, u32);
	__type(value, struct saakm_timer);
} saakm_thread_timers SEC(".maps");

/* Time until a timer looks again at a thread that it could not take. */
#define SAAKM_TIMER_AGAIN_NS 20000ULL

/* Whether the entry of t is in the DSQ that `where` names. */
SAAKM_GLOBAL bool saakm_has_entry(u64 thread, u64 where)
{
	thread_t t = SAAKM_FIELD_AT(struct saakm_thread, thread);
	struct task_struct *p = bpf_task_from_pid(t->pid);
	struct scx_dispatch_q *dsq;
	bool has;

	if (!p)
		return false;
	/* Older verifiers treat a timer callback as sleepable, without RCU protection. */
	bpf_rcu_read_lock();
	dsq = p->scx.dsq;
	has = dsq && dsq->id == saakm_dsq(saakm_core_of(where), saakm_queue_of(where)) &&
	      saakm_thread_of(p) == t;
	bpf_rcu_read_unlock();
	bpf_task_release(p);
	return has;
}

/*
 * Timer of a thread: event timer, if t is still READY and its timer still armed.
 *
 * timer_at is a plain word that t's own operations and handlers write; 0 cancels. The race with a
 * core that runs t, or steals it, is decided by the compare-and-swap of t->where in saakm_take.
 *
 * t may have no entry yet: the timer is an earlier one, and ops.enqueue, which arms it anew, has not ended. A move would
 * then be lost: the entry would come to the DSQ that t has left, where no core looks for it.
 */
static int saakm_thread_timer_fired(void *map, u32 *key, struct saakm_timer *timer)
{
	u32 cpu = bpf_get_smp_processor_id();
	thread_t t = saakm_thread_at(*key);
	u64 where, at;
	bool taken;
	saakm_t s;

	if (!t)
		return 0;
	at = t->timer_at;
	where = t->where;
	saakm_core_at(cpu)->count.timers_fired++;
	/* Cancelled, rearmed for later, or no longer READY. */
	if (!at || scx_bpf_now() < at || saakm_state_of(where) != SAAKM_READY)
		return 0;
	if (!saakm_has_entry((u64)t, where)) {
		bpf_timer_start(&timer->timer, SAAKM_TIMER_AGAIN_NS, 0);
		return 0;
	}
	SAAKM_IRQS_OFF(irqs);
	s = saakm_begin(SAAKM_IN_TIMER, t);
	/* t may have started to run since, or been stolen: then the timer finds it so. */
	taken = saakm_take((u64)s, (u64)t, where);
	if (taken) {
		t->timer_at = 0;
		saakm_on_timer((u64)s, (u64)t);
		saakm_give_back((u64)s, (u64)t);
	}
	saakm_end(s);
	SAAKM_IRQS_ON(irqs);
	if (!taken)
		bpf_timer_start(&timer->timer, SAAKM_TIMER_AGAIN_NS, 0);
	if (s->nr_moves) {
		s->nr_moves = 0;
		saakm_core_at(cpu)->count.timers_moved++;
		saakm_move_entry(*key, saakm_core_of(where), saakm_queue_of(where), cpu);
	}
	saakm_preempt_cores((u64)s);
	return 0;
}

static __always_inline void saakm_start_timer(thread_t t)
{
	u32 index = t->index;
	struct saakm_timer *timer = bpf_map_lookup_elem(&saakm_thread_timers, &index);
	u64 now = scx_bpf_now(), at = t->timer_at;

	if (!timer || !at)
		return;
	saakm_core_at(bpf_get_smp_processor_id())->count.timers_armed++;
	bpf_timer_start(&timer->timer, at > now ? at - now : 0, 0);
}

static __always_inline void saakm_init_timer(u32 index)
{
	struct saakm_timer *timer = bpf_map_lookup_elem(&saakm_thread_timers, &index);

	if (!timer)
		return;
	bpf_timer_init(&timer->timer, &saakm_thread_timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&timer->timer, saakm_thread_timer_fired);
}

#else

static __always_inline void saakm_start_timer(thread_t t)
{
}

static __always_inline void saakm_init_timer(u32 index)
{
}

#endif

#endif
