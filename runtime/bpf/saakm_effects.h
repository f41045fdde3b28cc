/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: shared sets of cores, walks over ready queues, and the effects of handlers.
 * Effects change the words of threads and cores (words.h); what the kernel must do is only noted in
 * the context.
 */
#ifndef SAAKM_EFFECTS_H
#define SAAKM_EFFECTS_H

/* ---- shared sets of cores ---------------------------------------------------------------- */

static __always_inline u64 SAAKM_MEM *saakm_word(set_t set, core_t c)
{
	return (u64 SAAKM_MEM *)&set->word[(c / 64) & (SAAKM_SET_WORDS - 1)];
}

/* Atomically adds c to the set; false if it was a member. */
SAAKM_GLOBAL bool saakm_set_add(u64 set, core_t c)
{
	return saakm_put_at(saakm_word(SAAKM_FIELD_AT(const struct saakm_set, set), c),
			    1ULL << (c % 64), true);
}

/* Atomically removes c from the set; false if it was no member. */
SAAKM_GLOBAL bool saakm_set_remove(u64 set, core_t c)
{
	return saakm_put_at(saakm_word(SAAKM_FIELD_AT(const struct saakm_set, set), c),
			    1ULL << (c % 64), false);
}

#define SAAKM_WORLD_SET(name) (SAAKM_WORLD_AT + offsetof(struct saakm_world, name))

/* ---- walks over queues ------------------------------------------------------------------- */

/* The DSQ of a ready queue. */
static __always_inline u64 saakm_dsq(core_t c, u32 queue)
{
	return (u64)queue * SAAKM_MAX_CORES + c;
}

/* The slot of task p, or NULL. */
static thread_t saakm_thread_of(struct task_struct *p);

static __always_inline bool saakm_is_ready_in(u64 where, core_t c, u32 queue)
{
	return saakm_state_of(where) == SAAKM_READY && saakm_core_of(where) == c &&
	       saakm_queue_of(where) == queue;
}

/*
 * Walks over the threads of a ready queue, in the order of its DSQ. Skips stale entries, whose slot
 * is elsewhere; misses threads that are READY here but not yet in this DSQ.
 */
#define SAAKM_EACH_THREAD(s, t, c, queue)                                                          \
	struct task_struct *t##_task;                                                              \
	u64 t##_where __attribute__((unused)), t##_walk = SAAKM_LOG_WALK(c, queue);                \
	bpf_for_each(scx_dsq, t##_task, saakm_dsq(c, queue), 0)                                    \
		if ((t = saakm_thread_of(t##_task)) != NULL &&                                     \
		    saakm_is_ready_in(t##_where = t->where, c, queue) &&                           \
		    SAAKM_LOG_VISIT(t, t##_walk))

/* Since Linux 6.19. Takes no lock. */
extern struct task_struct *scx_bpf_dsq_peek(u64 dsq) __ksym __weak;

/* Index of the first entry of a queue, 0: unknown; then only a walk can tell. */
static __always_inline u32 saakm_first_entry(core_t c, u32 queue)
{
	struct task_struct *p;
	thread_t t;

	if (!SAAKM_PEEKS || !bpf_ksym_exists(scx_bpf_dsq_peek))
		return 0;
	p = scx_bpf_dsq_peek(saakm_dsq(c, queue));
	t = p ? saakm_thread_of(p) : NULL;
	return t && saakm_is_ready_in(t->where, c, queue) ? t->index : 0;
}

/* The first thread that a walk over a queue visits, or 0. */
SAAKM_GLOBAL u32 saakm_peek(u64 context, core_t c, u32 queue)
{
	saakm_t s __attribute__((unused)) = SAAKM_FIELD_AT(struct saakm, context);
	thread_t t;
	u32 index;

	SAAKM_READ_QUEUES();
	index = saakm_first_entry(c, queue);
	if (index)
		return index;
	SAAKM_EACH_THREAD(s, t, c, queue)
		return t->index;
	return 0;
}

/* The first thread of a queue. For event schedule, the runtime has looked already: a thread that the core
   has just left is in no DSQ yet (saakm_find_heads). */
static __always_inline thread_t saakm_first(saakm_t s, core_t c, u32 queue)
{
	if (s->scheduling == c + 1)
		return saakm_thread_at(s->heads[queue & (SAAKM_MAX_QUEUES - 1)]);
	if (!saakm_nr_ready(s, c)) {
		(void)SAAKM_LOG_WALK(c, queue);
		return NULL;
	}
	return saakm_thread_at(saakm_peek((u64)s, c, queue));
}

/* ---- effects ----------------------------------------------------------------------------- */

/* c has left `idle`: saakm_end runs its event exit_idle, which must not run within a handler. */
static __always_inline void saakm_note_left(saakm_t s, core_t c)
{
	if (!s->left_idle) {
		s->left_idle = c + 1;
	} else {
		saakm_include(&s->left, c);
		s->nr_left++;
	}
}

static __always_inline bool saakm_note(saakm_t s, core_t c, u32 result)
{
	if (result == SAAKM_LEFT_IDLE)
		saakm_note_left(s, c);
	return result == SAAKM_ENTERED_IDLE;
}

/* Changes c's word (enum saakm_change). True if c has entered `idle`. */
static __always_inline bool saakm_change(saakm_t s, core_t c, u32 change, u32 thread)
{
	return saakm_note(s, c, saakm_change_core(c, change, thread));
}

/* The same without a call, for what each turn of a thread does. */
static __always_inline bool saakm_change_inline(saakm_t s, core_t c, u32 change, u32 thread)
{
	return saakm_note(s, c, saakm_change_core_inline(c, change, thread));
}

SAAKM_GLOBAL int saakm_count_runnable(int change);

static __always_inline bool saakm_is_runnable(u32 state)
{
	return saakm_counts(state) || state == SAAKM_RUNNING;
}

/* Makes a transition of t: from `old` to state, core and queue. False if t.where is no longer
   `old` (saakm_change_place). */
static __always_inline bool saakm_transition(saakm_t s, thread_t t, u64 old, u32 state, core_t c,
					     u32 queue)
{
	u32 before = saakm_state_of(old);
	u32 result = saakm_change_place(&t->where, t->index, old, state, c, queue);

	if (result & SAAKM_LEFT_IDLE)
		saakm_note_left(s, c);
	if (!(result & SAAKM_CHANGED))
		return false;
	if (SAAKM_UNDERLOAD && saakm_is_runnable(state) != saakm_is_runnable(before))
		saakm_count_runnable(saakm_is_runnable(state) ? 1 : -1);
	return true;
}

/* The end of t, or of its turn. Only the events of t change the place of a thread that is not READY. */
static __always_inline void saakm_stop(saakm_t s, thread_t t, u32 state)
{
	u64 old = t->where;

	if (saakm_state_of(old) != SAAKM_RUNNING) {
		saakm_transition(s, t, old, state, saakm_core_of(old), 0);
		return;
	}
	SAAKM_CAS(&t->where, old, saakm_place_after(old, state, saakm_core_of(old), 0));
	if (SAAKM_UNDERLOAD)
		saakm_count_runnable(-1);
}

/*
 * Takes t, which is READY, for a handler that may run while t's core chooses a thread: a steal, a
 * timer, or a second placement. t becomes MIGRATING before the handler changes its attributes: no
 * other handler takes it, and no core chooses it. False if t.where is no longer `where`: the handler's
 * conditions hold for that queue only, and another core that has taken t meanwhile is waiting for it.
 * Moves beyond s->room are refused: the kernel's queues would not follow.
 */
SAAKM_GLOBAL bool saakm_take(u64 context, u64 thread, u64 where)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	thread_t t = SAAKM_FIELD_AT(struct saakm_thread, thread);
	core_t c = saakm_core_of(where);
	u32 queue = saakm_queue_of(where);

	s->moved = false;
	if (s->nr_moves >= s->room) {
		saakm_core_at(s->cpu)->count.moves_refused++;
		return false;
	}
	if (!saakm_transition(s, t, where, SAAKM_MIGRATING, c, queue))
		return false;
	s->held = t->index;
	s->from = saakm_place_after(where, SAAKM_MIGRATING, c, queue);
	return true;
}

#define SAAKM_TAKE(s, t) saakm_take((u64)(s), (u64)(t), t##_where)

/*
 * Makes t READY again where it was, if the handler that took it has not moved it. Its core may have
 * searched meanwhile and found nothing.
 */
SAAKM_GLOBAL int saakm_give_back(u64 context, u64 thread)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	thread_t t = SAAKM_FIELD_AT(struct saakm_thread, thread);
	core_t c = saakm_core_of(s->from);

	if (saakm_transition(s, t, s->from, SAAKM_READY, c, saakm_queue_of(s->from)))
		saakm_kick(c);
	return 0;
}

/* Ends this handler's claim of c in its context; false if it has none. */
static __always_inline bool saakm_drop_claim(saakm_t s, core_t c)
{
	if (!s->nr_claims || !saakm_has(&s->claims, c))
		return false;
	saakm_exclude(&s->claims, c);
	s->nr_claims--;
	return true;
}

/* release(c): gives up this handler's claim of c, if it has one. */
static __always_inline void saakm_release(saakm_t s, core_t c)
{
	if (saakm_drop_claim(s, c))
		saakm_return_claim(c);
}

/*
 * Direct dispatch: t takes the idle core c, will run there next, and cannot be stolen before. saakm_place then lets the
 * policy schedule it. False if c is no longer idle.
 */
static __always_inline bool saakm_dispatch_directly(saakm_t s, thread_t t, u64 old, core_t c,
						    u32 queue)
{
	u32 result = saakm_take_core(&t->where, t->index, old, c, queue);

	if (result && SAAKM_UNDERLOAD)
		saakm_count_runnable(1);
	if (!(result & SAAKM_LEFT_IDLE))
		return false;
	saakm_note_left(s, c);
	t->timer_at = 0;
	return true;
}

/*
 * t => c.queue: makes t READY there, or moves a READY t.
 *
 * If the kernel has taken a thread that the handler held, this does nothing, and saakm_moved() is
 * false. `key` and `reason` are stored after the swap: a reader may see the old ones with the new
 * `where`.
 *
 * c is no longer idle when the claim of c ends; saakm_take_claim relies on this order. Moves beyond
 * s->room are refused: the kernel's queues would not follow.
 */
static __always_inline void saakm_ready(saakm_t s, thread_t t, core_t c, u32 queue, int64_t key,
					u32 reason)
{
	bool held = t->index == s->held;
	u64 old = held ? s->from : t->where;
	bool moves = saakm_counts(saakm_state_of(old));
	bool queued =
		moves && !(t->flags & SAAKM_T_OUTSIDE); /* it has an entry, which must follow */
	u32 n = s->nr_moves;
	bool direct;

	c &= SAAKM_MAX_CORES - 1;
	s->moved = false;
	/* A handler that moves a READY thread holds it (saakm_take); `old` is then MIGRATING. A thread that
	   is not READY becomes so only in its own event, or when its throttling ends. */
	if (!held &&
	    (t->index != s->subject || (s->on_timer && saakm_state_of(old) != SAAKM_THROTTLED)))
		return;
	if (queued && n >= s->room) {
		saakm_core_at(s->cpu)->count.moves_refused++;
		return;
	}
	direct = s->direct && !moves && saakm_dispatch_directly(s, t, old, c, queue);
	if (s->direct && !direct)
		old = t->where;
	if (!direct && !saakm_transition(s, t, old, SAAKM_READY, c, queue))
		return;
	s->moved = true;
	t->key = key;
	t->reason = reason;
	if (queued) {
		s->moves[n & (SAAKM_MOVES - 1)].thread = t->index;
		s->moves[n & (SAAKM_MOVES - 1)].from = saakm_core_of(old);
		s->moves[n & (SAAKM_MOVES - 1)].queue = saakm_queue_of(old);
		s->nr_moves = n + 1;
	}
	saakm_decided(SAAKM_DECISION(moves ? SAAKM_D_MOVE : SAAKM_D_PLACE, moves, c, reason),
		      t->pid, saakm_core_at(c)->seen_khz);
	SAAKM_LOG(SAAKM_L_READY, direct, c, t->serial, queue, key, reason);
	saakm_release(s, c);
}

/* Whether the last saakm_ready succeeded: no other core had taken the thread, and there was room. */
static __always_inline bool saakm_moved(saakm_t s)
{
	return s->moved;
}

/* t => running: the choice of event schedule. The caller makes the transition. */
static __always_inline void saakm_run(saakm_t s, thread_t t)
{
	s->run = t->index;
	SAAKM_LOG(SAAKM_L_RUN, 0, 0, t->serial, 0, 0, 0);
}

static __always_inline void saakm_blocked(saakm_t s, thread_t t)
{
	saakm_stop(s, t, SAAKM_BLOCKED);
	SAAKM_LOG(SAAKM_L_BLOCKED, 0, 0, t->serial, 0, 0, 0);
}

static __always_inline void saakm_terminated(saakm_t s, thread_t t)
{
	saakm_stop(s, t, SAAKM_TERMINATED);
	SAAKM_LOG(SAAKM_L_TERMINATED, 0, 0, t->serial, 0, 0, 0);
}

/* Claims the idle core c for this placement, until t => c, release(c), or the end of the handler. */
static __always_inline bool saakm_claim(saakm_t s, core_t c)
{
	u32 result = saakm_take_claim(c);

	if (result == SAAKM_LOST)
		saakm_core_at(s->cpu)->count.claims_lost++;
	if (result != SAAKM_CLAIMED)
		return false;
	saakm_include(&s->claims, c);
	s->nr_claims++;
	return true;
}

/* Arms t's timer. A BPF timer is never stopped: its callback checks timer_at and t's state. */
static __always_inline void saakm_arm(saakm_t s, thread_t t, nsec_t ns)
{
	t->timer_at = s->now + ns;
	SAAKM_LOG(SAAKM_L_ARM, 0, 0, t->serial, ns, 0, 0);
}

/* Cancels t's timer: its callback then does nothing. */
static __always_inline void saakm_cancel(saakm_t s, thread_t t)
{
	t->timer_at = 0;
	SAAKM_LOG(SAAKM_L_CANCEL, 0, 0, t->serial, 0, 0, 0);
}

/* Keeps c from deep idle states for up to ns from its next (or current) idle period on. */
static __always_inline void saakm_keep_warm(saakm_t s, core_t c, nsec_t ns)
{
	struct saakm_core SAAKM_MEM *core = saakm_core_at(c);

	if (saakm_is_in(s, SAAKM_KEPT_IDLE, c))
		core->warm_until = s->now + ns;
	else
		core->warm_ns = ns;
	SAAKM_LOG(SAAKM_L_KEEP_WARM, 0, c, 0, ns, 0, 0);
}

/* Preempts c's thread after the handler (saakm_preempt_cores, saakm_tick, saakm_insert). */
static __always_inline void saakm_preempt(saakm_t s, core_t c)
{
	if (!s->on_preempt) {
		saakm_include(&s->preempts, c);
		s->nr_preempts++;
	}
	SAAKM_LOG(SAAKM_L_PREEMPT, 0, c, 0, 0, 0, 0);
}

/*
 * Adds c to set number id of the policy; false if the set is full and c is no member.
 *
 * The count is incremented before the bit is set, and decremented after the bit is cleared; the
 * increment and both swaps of the bit are fully ordered. So the count is never below the number of
 * bits, and concurrent handlers never exceed max.
 */
static __always_inline bool saakm_add(saakm_t s, struct saakm_set SAAKM_MEM *set, u32 id, core_t c,
				      int64_t max)
{
	int64_t SAAKM_MEM *members = &WORLD->members[id & (SAAKM_MAX_SETS - 1)];

	if (saakm_has(set, c))
		return true;
	if (__sync_fetch_and_add(members, 1) >= max) {
		__sync_fetch_and_add(members, -1);
		return false;
	}
	if (!saakm_set_add((u64)set, c)) {
		__sync_fetch_and_add(members, -1);
		return true;
	}
	saakm_decided(SAAKM_DECISION(SAAKM_D_SET, true, c, id), 0, 0);
	SAAKM_LOG(SAAKM_L_SET, id, c, 0, true, 0, 0);
	return true;
}

/* Removes c from set number id of the policy; false if it was no member. */
static __always_inline bool saakm_remove(saakm_t s, struct saakm_set SAAKM_MEM *set, u32 id,
					 core_t c)
{
	if (!saakm_set_remove((u64)set, c))
		return false;
	__sync_fetch_and_add(&WORLD->members[id & (SAAKM_MAX_SETS - 1)], -1);
	saakm_decided(SAAKM_DECISION(SAAKM_D_SET, false, c, id), 0, 0);
	SAAKM_LOG(SAAKM_L_SET, id, c, 0, false, 0, 0);
	return true;
}

/* Assigns `members` to set number id of the policy, core by core: not atomic as a whole. */
#define SAAKM_REPLACE(s, set, id, w, members)                                                      \
	do {                                                                                       \
		for (uint32_t w = SAAKM_FORGET(0U); w < saakm_nr_words(s) && SAAKM_GO_ON;          \
		     w = SAAKM_FORGET(w + 1))                                                      \
			saakm_replace_word(s, set, id, w, (members));                              \
	} while (0)

static __always_inline void saakm_replace_word(saakm_t s, struct saakm_set SAAKM_MEM *set, u32 id,
					       u32 w, u64 members)
{
	u64 changed = set->word[w] ^ members;

	for (; changed && SAAKM_GO_ON; changed = SAAKM_FORGET(changed & (changed - 1))) {
		u32 c = w * 64 + (u32)__builtin_ctzll(changed);

		if ((members >> (c % 64)) & 1)
			saakm_add(s, set, id, c, SAAKM_MAX_CORES);
		else
			saakm_remove(s, set, id, c);
	}
}

#endif
