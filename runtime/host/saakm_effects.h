/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* SaaKM for the simulator: changes of sets, walks over queues, and effects. */
#ifndef SAAKM_EFFECTS_H
#define SAAKM_EFFECTS_H

/* Adds c to set number id of the policy; false if the set is full and c is no member. */
static inline bool saakm_add(saakm_t s, struct saakm_set *set, uint32_t id, core_t c, int64_t max)
{
	if (saakm_has(set, c))
		return true;
	if (max < SAAKM_MAX_CORES && SAAKM_COUNT(s, w, set->word[w]) >= max)
		return false;
	saakm_include(set, c);
	s->ops->set_changed(s, id, c, true);
	return true;
}

/* Removes c from set number id of the policy; false if it was no member. */
static inline bool saakm_remove(saakm_t s, struct saakm_set *set, uint32_t id, core_t c)
{
	if (!saakm_has(set, c))
		return false;
	saakm_exclude(set, c);
	s->ops->set_changed(s, id, c, false);
	return true;
}

/* Assigns `members` to set number id of the policy; reports every core that enters or leaves. */
#define SAAKM_REPLACE(s, set, id, w, members)                                                      \
	do {                                                                                       \
		for (uint32_t w = 0; w < (s)->nr_words; w++)                                       \
			saakm_replace_word(s, set, id, w, (members));                              \
	} while (0)

static inline void saakm_replace_word(saakm_t s, struct saakm_set *set, uint32_t id, uint32_t w,
				      uint64_t members)
{
	uint64_t changed = set->word[w] ^ members;

	set->word[w] = members;
	for (; changed; changed &= changed - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(changed);

		s->ops->set_changed(s, id, w * 64 + bit, (members >> bit) & 1);
	}
}

static inline thread_t saakm_next(saakm_t s, thread_t t)
{
	return t ? s->ops->next(s, t) : NULL;
}

/* Walks over the threads of a ready queue, in order. The body may remove t from the queue. */
#define SAAKM_EACH_THREAD(s, t, c, queue)                                                          \
	for (thread_t t##_next = (s)->ops->first(s, c, queue);                                     \
	     (t = t##_next) != NULL && (t##_next = saakm_next(s, t), true);)

/* A walk that ends at once: a replay of the kernel's log counts the visited threads. */
static inline thread_t saakm_first(saakm_t s, core_t c, uint32_t queue)
{
	thread_t t;

	SAAKM_EACH_THREAD(s, t, c, queue)
		return t;
	return NULL;
}

/* Takes t, the current thread of a steal's walk. No other core competes in the simulator. */
#define SAAKM_TAKE(s, t) ((void)(s), (void)(t), true)

/* ---- effects -------------------------------------------------------------------------------- */

static inline void saakm_ready(saakm_t s, thread_t t, core_t c, uint32_t queue, int64_t key,
			       uint32_t reason)
{
	s->ops->ready(s, t, c, queue, key, reason);
}

/* Whether the last saakm_ready succeeded; in the simulator it always does. */
static inline bool saakm_moved(saakm_t s)
{
	(void)s;
	return true;
}

static inline void saakm_run(saakm_t s, thread_t t)
{
	s->ops->run(s, t);
}

static inline void saakm_blocked(saakm_t s, thread_t t)
{
	s->ops->blocked(s, t);
}

static inline void saakm_terminated(saakm_t s, thread_t t)
{
	s->ops->terminated(s, t);
}

/* Claims the idle core c for this placement, until t => c or release(c). */
static inline bool saakm_claim(saakm_t s, core_t c)
{
	if (!saakm_has(&s->idle, c) || saakm_has(&s->claimed, c))
		return false;
	saakm_include(&s->claimed, c);
	return true;
}

static inline void saakm_release(saakm_t s, core_t c)
{
	saakm_exclude(&s->claimed, c);
}

static inline void saakm_arm(saakm_t s, thread_t t, nsec_t ns)
{
	s->ops->arm(s, t, ns);
}

static inline void saakm_cancel(saakm_t s, thread_t t)
{
	s->ops->cancel(s, t);
}

static inline void saakm_keep_warm(saakm_t s, core_t c, nsec_t ns)
{
	s->ops->keep_warm(s, c, ns);
}

static inline void saakm_preempt(saakm_t s, core_t c)
{
	s->ops->preempt(s, c);
}

/* ---- the descriptor ---------------------------------------------------------------------- */

/*
 * SAAKM_POLICY(name, fields of struct saakm_policy): defines saakm_policy_<name> and saakm_policy,
 * the fixed name that a loader of shared objects looks up. The latter is weak, so that several
 * policies can be linked into one program.
 */
#define SAAKM_POLICY(name, ...)                                                                    \
	extern const struct saakm_policy saakm_policy_##name;                                      \
	const struct saakm_policy saakm_policy_##name                                              \
		__attribute__((visibility("default"))) = { .abi = SAAKM_ABI, __VA_ARGS__ };        \
	extern const struct saakm_policy saakm_policy                                              \
		__attribute__((weak, alias("saakm_policy_" #name), visibility("default")))

#endif
