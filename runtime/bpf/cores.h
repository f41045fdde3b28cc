/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: start and end of handlers; idle and busy cores. */
#ifndef SAAKM_CORES_H
#define SAAKM_CORES_H

/* ---- handlers ---------------------------------------------------------------------------- */

static __always_inline saakm_t saakm_begin(u32 cpu, enum saakm_context_level level, thread_t t)
{
	saakm_t s = saakm_context(cpu, level);

	saakm_use_arena();
	s->now = scx_bpf_now();
	s->cpu = cpu;
	s->subject = t ? t->index : 0;
	s->placed = s->run = s->nr_moves = s->armed = s->scheduling = s->held = 0;
	s->on_timer = level == SAAKM_IN_TIMER;
	SAAKM_LOCK();
	return s;
}

/* Time from `begun` on. Another core's handler may have begun, and looked at the clock, before the
   one that set `begun`, and still come after it: then none has passed. */
static __always_inline u64 saakm_between(u64 begun, u64 now)
{
	return now > begun ? now - begun : 0;
}

static __always_inline void saakm_enter_idle(saakm_t s, core_t c);
SAAKM_GLOBAL int saakm_end(u64 context);

/* ---- idleness ---------------------------------------------------------------------------- */

/* Updates whether all hyperthreads of c's physical core are idle. */
SAAKM_GLOBAL int saakm_update_whole(u32 c)
{
	domain_t pair = saakm_domain_at(NULL, SAAKM_SMT, saakm_domain_index(NULL, c, SAAKM_SMT));
	u64 busy = 0;
	u32 w;

	for (w = 0; w < WORLD->nr_words && can_loop; w = SAAKM_FORGET(w + 1))
		busy |= pair->cores.word[w] & WORLD->online.word[w] & ~WORLD->idle.word[w];
	for (w = 0; w < WORLD->nr_words && can_loop; w = SAAKM_FORGET(w + 1)) {
		u64 pair_word = pair->cores.word[w];

		if (!pair_word)
			continue;
		if (busy)
			__sync_fetch_and_and(&WORLD->idle_whole.word[w], ~pair_word);
		else
			__sync_fetch_and_or(&WORLD->idle_whole.word[w],
					    pair_word & WORLD->online.word[w]);
	}
	return 0;
}

static void saakm_not_idle(saakm_t s, core_t c)
{
	if (!saakm_has(&WORLD->idle, c) || !saakm_leave(SAAKM_WORLD_SET(idle), c))
		return;
	saakm_update_whole(c);
	/* Its handler runs after this one has ended. */
	if (!s->left_idle) {
		s->left_idle = c + 1;
	} else {
		saakm_include(&s->left, c);
		s->nr_left++;
	}
}

static __always_inline void saakm_enter_idle(saakm_t s, core_t c)
{
	struct saakm_core SAAKM_MEM *core = saakm_core_at(c);

	if (saakm_has(&WORLD->idle, c) || !saakm_has(&WORLD->online, c))
		return;
	core->idle_since = s->now;
	if (!saakm_enter(SAAKM_WORLD_SET(idle), c))
		return;
	saakm_update_whole(c);
	core->count.idles++;
	saakm_record(s, SAAKM_RECORD(SAAKM_R_IDLE, true, c, 0), 0, 0, 0);
#ifdef SAAKM_ON_ENTER_IDLE
	saakm_on_enter_idle((u64)s, c);
#endif
}

SAAKM_GLOBAL int saakm_exit_idle(u64 context, u32 c)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	struct saakm_core SAAKM_MEM *core = saakm_core_at(c);

	core->count.idle_ns += saakm_between(core->idle_since, s->now);
	saakm_record(s, SAAKM_RECORD(SAAKM_R_IDLE, false, c, 0), 0, 0, 0);
#ifdef SAAKM_ON_EXIT_IDLE
	saakm_on_exit_idle((u64)s, c);
#endif
	return 0;
}

/* Carries out a handler's pending actions in the arena. */
SAAKM_GLOBAL int saakm_end(u64 context)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	core_t c;

	if (s->left_idle) {
		saakm_exit_idle(context, s->left_idle - 1);
		s->left_idle = 0;
	}
	if (s->nr_left) {
		SAAKM_EACH(s, c, w, s->left.word[w]) {
			saakm_exclude(&s->left, c);
			saakm_exit_idle(context, c);
		}
		s->nr_left = 0;
	}
	/* An unused claim. */
	if (s->nr_claims) {
		SAAKM_EACH(s, c, w, s->claims.word[w]) {
			saakm_exclude(&s->claims, c);
			saakm_leave(SAAKM_WORLD_SET(claimed), c);
		}
		s->nr_claims = 0;
	}
	SAAKM_UNLOCK();
	return 0;
}

/* Preempts the cores that a handler has marked. */
SAAKM_GLOBAL int saakm_kick_preempted(u64 context)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	core_t c;

	if (!s->nr_preempts)
		return 0;
	SAAKM_EACH(s, c, w, s->preempts.word[w]) {
		saakm_exclude(&s->preempts, c);
		saakm_core_at(s->cpu)->count.preemptions++;
		scx_bpf_kick_cpu(c, SCX_KICK_PREEMPT);
	}
	s->nr_preempts = 0;
	return 0;
}

/* ---- underload --------------------------------------------------------------------------- */

/* Closes the interval if it is over. Concurrent events may be counted in a neighbouring interval. */
SAAKM_GLOBAL int saakm_window(u64 now)
{
	struct saakm_window SAAKM_MEM *window = &WORLD->window;
	u64 interval = now / SAAKM_TICK_NS, last = window->interval;
	s64 used = 0;
	u32 w;

	if (interval <= last ||
	    __sync_val_compare_and_swap(&window->interval, last, interval) != last)
		return 0;
	for (w = 0; w < WORLD->nr_words && can_loop; w = SAAKM_FORGET(w + 1)) {
		used += saakm_popcount(window->used.word[w]);
		/* A thread that runs now also runs in the next interval. */
		window->used.word[w] = WORLD->online.word[w] & ~WORLD->kernel_idle.word[w];
	}
	if (last && used > window->most)
		window->underload += used - window->most;
	window->cores_used += used;
	window->intervals += last ? interval - last : 0;
	window->most = window->runnable;
	return 0;
}

/* Counts a thread that became runnable or stopped being runnable. */
SAAKM_GLOBAL int saakm_runnable(int change)
{
	struct saakm_window SAAKM_MEM *window = &WORLD->window;
	s64 n;

	saakm_window(scx_bpf_now());
	n = __sync_fetch_and_add(&window->runnable, change) + change;
	if (n > window->most)
		window->most = n;
	return 0;
}

#endif
