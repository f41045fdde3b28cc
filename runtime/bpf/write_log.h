/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: how the log of log.h is written. */
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

/* Bounded: whoever hangs here would hang the machine. Then the log is worth nothing, and says so. */
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

/* A record with its number, or NULL: then the number is missing. */
static __always_inline struct saakm_log_record *saakm_log_reserve(u64 what)
{
	struct saakm_log_record *r = bpf_ringbuf_reserve(&saakm_records, sizeof(*r), 0);
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

SAAKM_GLOBAL int saakm_log(u64 what, u64 a, u64 b, u64 c)
{
	struct saakm_log_record *r = saakm_log_reserve(what);

	if (!r)
		return 0;
	r->a = a;
	r->b = b;
	r->c = c;
	r->d = r->e = r->f = 0;
	/* Its reader polls. */
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Inlined, like all that is below a handler's beginning and end: kernels allow eight calls within each other. */
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
	r->f = saakm_queue_of(where) | saakm_state_of(where) << 8;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	for (w = 1; w < WORLD->nr_words && can_loop; w = SAAKM_FORGET(w + 1)) {
		u64 word = affinity->word[w & (SAAKM_SET_WORDS - 1)];

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

/* Word w of the sets, if it is not what was last told. */
static __always_inline void saakm_log_word(u32 w)
{
	struct saakm_set SAAKM_MEM *told = SAAKM_TOLD_SETS;
	u64 online, idle, whole, waiting, claimed;
	struct saakm_log_record *r;

	w &= SAAKM_SET_WORDS - 1;
	online = WORLD->online.word[w];
	idle = WORLD->idle.word[w];
	whole = WORLD->idle_whole.word[w];
	waiting = WORLD->waiting.word[w];
	claimed = WORLD->claimed.word[w];
	if (!((told[0].word[w] ^ online) | (told[1].word[w] ^ idle) | (told[2].word[w] ^ whole) |
	      (told[3].word[w] ^ waiting) | (told[4].word[w] ^ claimed)))
		return;
	told[0].word[w] = online;
	told[1].word[w] = idle;
	told[2].word[w] = whole;
	told[3].word[w] = waiting;
	told[4].word[w] = claimed;
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

static __always_inline void saakm_log_core(u32 c)
{
	struct saakm_core SAAKM_MEM *core;
	struct saakm_told SAAKM_MEM *told;
	struct saakm_log_record *r;
	thread_t t;
	u64 since = 0;
	u32 weight = 0, serial = 0;

	c &= SAAKM_MAX_CORES - 1;
	core = saakm_core_at(c);
	told = &SAAKM_TOLD[c];
	t = saakm_thread_at(core->current);
	if (t) {
		since = t->running_since;
		weight = t->weight;
		serial = t->serial;
	}
	if (told->nr_ready == core->nr_ready && told->current == serial &&
	    told->seen_khz == core->seen_khz && told->weight == weight &&
	    told->idle_since == core->idle_since && told->running_since == since)
		return;
	if (t &&
	    (told->current != serial || told->running_since != since || told->weight != weight))
		saakm_write_thread((u64)t);
	told->nr_ready = core->nr_ready;
	told->current = serial;
	told->seen_khz = core->seen_khz;
	told->weight = weight;
	told->idle_since = core->idle_since;
	told->running_since = since;
	r = saakm_log_reserve(SAAKM_LOG_WHAT(SAAKM_L_CORE, 0, c, serial));
	if (!r)
		return;
	r->a = core->nr_ready;
	r->b = core->seen_khz;
	r->c = core->idle_since;
	r->d = r->e = r->f = 0;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/* What has changed of what handlers see. */
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
	SAAKM_LOG(SAAKM_L_BEGIN, event, core, thread ? t->serial : 0, s->now, s->cpu, 0);
	return 0;
}

SAAKM_GLOBAL u64 saakm_hash(u64 hash, u64 at, u32 words)
{
	u64 SAAKM_MEM *word = SAAKM_FIELD_AT(u64, at);
	u32 i;

	for (i = 0; i < words && can_loop; i = SAAKM_FORGET(i + 1))
		hash = (hash ^ word[i]) * 0x100000001b3ULL;
	return hash;
}

/* The policy's state: what is its own, what is each core's, and the thread's that the event is about. */
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
