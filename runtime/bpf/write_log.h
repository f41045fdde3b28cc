/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: the functions of the conformance log (log.h). Owns its lock and what was last logged. */
#ifndef SAAKM_WRITE_LOG_H
#define SAAKM_WRITE_LOG_H

#ifdef SAAKM_CONFORMANCE

SAAKM_GLOBAL bool saakm_try_lock(void)
{
	do {
		if (!__sync_val_compare_and_swap(&WORLD->lock, 0, 1))
			return true;
	} while (can_loop);
	return false;
}

/*
 * Takes the lock: a compare-and-swap of WORLD->lock from 0 to 1; saakm_unlock swaps it back. Both
 * are fully ordered, so all plain accesses in between are visible to the next owner.
 *
 * Gives up after a bounded time rather than hang the machine. `torn` then counts it, and the log is
 * invalid.
 */
SAAKM_GLOBAL int saakm_lock(void)
{
	u32 tries;

	for (tries = 0; tries < 64 && can_loop; tries++)
		if (saakm_try_lock())
			return 0;
	WORLD->torn++;
	return 0;
}

SAAKM_GLOBAL int saakm_unlock(void)
{
	__sync_val_compare_and_swap(&WORLD->lock, 1, 0);
	return 0;
}

/* Reserves a record. NULL if there is no room: its number is then missing in the log. */
static __always_inline struct saakm_log_record *saakm_log_reserve(u64 what)
{
	struct saakm_log_record *r = bpf_ringbuf_reserve(&saakm_log_ring, sizeof(*r), 0);
	u64 number = WORLD->logged;

	saakm_use_arena();
	WORLD->logged = number + 1;
	if (!r)
		return NULL;
	r->number = number;
	r->kind = what;
	r->flag = what >> 8;
	r->core = what >> 16;
	r->thread = what >> 32;
	return r;
}

/* Writes a record of three words. */
SAAKM_GLOBAL int saakm_log(u64 what, u64 a, u64 b, u64 c)
{
	struct saakm_log_record *r = saakm_log_reserve(what);

	if (!r)
		return 0;
	r->a = a;
	r->b = b;
	r->c = c;
	r->d = r->e = r->f = 0;
	/* The reader polls. */
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

/*
 * Logs a thread's state. Inlined, like all helpers of saakm_log_begin and saakm_log_end, because
 * the kernel allows only eight nested calls.
 */
static __always_inline void saakm_write_thread(u64 thread)
{
	thread_t t = SAAKM_FIELD_AT(struct saakm_thread, thread);
	struct saakm_log_record *r;
	set_t affinity;
	u64 where;
	u32 w;

	affinity = saakm_affinity(t);
	r = saakm_log_reserve(SAAKM_LOG_WHAT(SAAKM_L_THREAD, 0, 0, t->serial));
	if (!r)
		return;
	where = t->where;
	r->a = saakm_core_of(where);
	r->b = t->weight;
	r->c = t->runtime;
	r->d = t->running_since;
	r->e = affinity->word[0];
	r->f = saakm_queue_of(where) |
	       (saakm_state_of(where) == SAAKM_THROTTLED ? SAAKM_BLOCKED : saakm_state_of(where))
		       << 8;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	/* Without can_loop, which takes stack. */
	for (w = 1; w < SAAKM_SET_WORDS && w < WORLD->nr_words; w++) {
		u64 word = affinity->word[w];

		r = word ? saakm_log_reserve(SAAKM_LOG_WHAT(SAAKM_L_AFFINITY, w, 0, t->serial))
			 : NULL;
		if (!r)
			continue;
		r->a = word;
		r->b = r->c = r->d = r->e = r->f = 0;
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
}

SAAKM_GLOBAL int saakm_log_thread(u64 thread)
{
	if (thread)
		saakm_write_thread(thread);
	return 0;
}

/* Logs word w of the sets of cores if it has changed. */
static __always_inline void saakm_log_word(u32 w)
{
	struct saakm_set SAAKM_MEM *last = SAAKM_LOGGED_SETS;
	u64 online, idle, whole, waiting, claimed;
	struct saakm_log_record *r;

	w &= SAAKM_SET_WORDS - 1;
	online = WORLD->online.word[w];
	idle = saakm_members(NULL, SAAKM_KEPT_IDLE, w);
	whole = saakm_members(NULL, SAAKM_KEPT_WHOLE, w);
	waiting = saakm_members(NULL, SAAKM_KEPT_WAITING, w);
	claimed = saakm_members(NULL, SAAKM_KEPT_CLAIMED, w);
	if (!((last[0].word[w] ^ online) | (last[1].word[w] ^ idle) | (last[2].word[w] ^ whole) |
	      (last[3].word[w] ^ waiting) | (last[4].word[w] ^ claimed)))
		return;
	last[0].word[w] = online;
	last[1].word[w] = idle;
	last[2].word[w] = whole;
	last[3].word[w] = waiting;
	last[4].word[w] = claimed;
	r = saakm_log_reserve(SAAKM_LOG_WHAT(SAAKM_L_SETS, w, 0, 0));
	if (!r)
		return;
	r->a = online;
	r->b = idle;
	r->c = whole;
	r->d = waiting;
	r->e = claimed;
	r->f = 0;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/* Logs core c and its running thread if something has changed. */
static __always_inline void saakm_log_core(u32 c)
{
	struct saakm_core SAAKM_MEM *core;
	struct saakm_logged_core SAAKM_MEM *last;
	struct saakm_log_record *r;
	thread_t t;
	u64 since = 0, word;
	u32 weight = 0, serial = 0, exit_latency;

	c &= SAAKM_MAX_CORES - 1;
	core = saakm_core_at(c);
	last = &SAAKM_LOGGED_CORES[c];
	word = SAAKM_LOAD(saakm_word_of(c));
	exit_latency = saakm_cpuidle_latency(c);
	t = saakm_thread_at(saakm_current_of(word));
	if (t) {
		since = t->running_since;
		weight = t->weight;
		serial = t->serial;
	}
	if (last->nr_ready == saakm_ready_of(word) && last->current == serial &&
	    last->seen_khz == core->seen_khz && last->weight == weight &&
	    last->idle_since == core->idle_since && last->running_since == since &&
	    core->exit_latency == exit_latency)
		return;
	if (t &&
	    (last->current != serial || last->running_since != since || last->weight != weight))
		saakm_write_thread((u64)t);
	last->nr_ready = saakm_ready_of(word);
	last->current = serial;
	last->seen_khz = core->seen_khz;
	last->weight = weight;
	last->idle_since = core->idle_since;
	last->running_since = since;
	core->exit_latency = exit_latency;
	r = saakm_log_reserve(SAAKM_LOG_WHAT(SAAKM_L_CORE, 0, c, serial));
	if (!r)
		return;
	r->a = saakm_ready_of(word);
	r->b = core->seen_khz;
	r->c = core->idle_since;
	r->d = exit_latency;
	r->e = r->f = 0;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/* Logs all changes of what handlers can see. */
SAAKM_GLOBAL int saakm_log_world(void)
{
	u32 i;

	for (i = 0; i < WORLD->nr_words && can_loop; i = SAAKM_FORGET(i + 1))
		saakm_log_word(i);
	for (i = 0; i < WORLD->nr_cores && can_loop; i = SAAKM_FORGET(i + 1))
		if (saakm_core_at(i)->known)
			saakm_log_core(i);
	return 0;
}

/* Logs the input of a handler. */
SAAKM_GLOBAL int saakm_log_begin(u64 context, u32 event, u64 thread, u32 core)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	thread_t t = SAAKM_FIELD_AT(struct saakm_thread, thread);
	u32 queue;

	saakm_log_world();
	saakm_log_thread(thread);
	if (event == SAAKM_E_SCHEDULE) {
		for (queue = 0; queue < SAAKM_QUEUES && can_loop; queue++) {
			thread_t head = saakm_first(s, core, queue);

			saakm_log_thread((u64)head);
			SAAKM_LOG(SAAKM_L_HEAD, queue, core, head ? head->serial : 0, 0, 0, 0);
		}
	}
	SAAKM_LOG(SAAKM_L_BEGIN, event, core, thread ? t->serial : 0, s->now, s->cpu, s->facts);
	return 0;
}

/* FNV-1a over 64-bit words of the arena. */
SAAKM_GLOBAL u64 saakm_hash(u64 hash, u64 at, u32 words)
{
	u64 SAAKM_MEM *word = SAAKM_FIELD_AT(u64, at);
	u32 i;

	for (i = 0; i < words && can_loop; i = SAAKM_FORGET(i + 1))
		hash = (hash ^ word[i]) * 0x100000001b3ULL;
	return hash;
}

/* Logs what has changed, and a hash of the policy's globals, all cores and the event's thread. */
SAAKM_GLOBAL int saakm_log_end(u64 thread)
{
	u64 hash = saakm_hash(0xcbf29ce484222325ULL, SAAKM_STATE_AT, SAAKM_STATE_WORDS);
	u32 c;

	for (c = 0; c < WORLD->nr_cores && can_loop; c = SAAKM_FORGET(c + 1))
		if (saakm_core_at(c)->known)
			hash = saakm_hash(hash, (u64)saakm_core_at(c)->attrs, SAAKM_CORE_WORDS);
	if (thread)
		hash = saakm_hash(hash, thread + offsetof(struct saakm_thread, attrs),
				  SAAKM_THREAD_WORDS);
	saakm_log_world();
	SAAKM_LOG(SAAKM_L_END, 0, 0, 0, hash, 0, 0);
	return 0;
}

#endif

#endif
