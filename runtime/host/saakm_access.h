/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* SaaKM for the simulator: reading a core, a thread or a domain. */
#ifndef SAAKM_ACCESS_H
#define SAAKM_ACCESS_H

#define SAAKM_ATTRIBUTES_FIT(name) /* the simulator allocates as much as needed */

static inline void *saakm_state_attrs(saakm_t s)
{
	return s->state;
}

/* Reads core c, and notes that the search for a core has looked at it. */
static inline struct saakm_core *saakm_look(saakm_t s, core_t c)
{
	s->looked[c] = 1;
	return &s->cores[c];
}

static inline void *saakm_core_attrs(saakm_t s, core_t c)
{
	return saakm_look(s, c)->attrs;
}

static inline void *saakm_thread_attrs(thread_t t)
{
	return t->attrs;
}

static inline uint32_t saakm_nr_cores(saakm_t s)
{
	return s->nr_cores;
}

static inline uint32_t saakm_nr_words(saakm_t s)
{
	return s->nr_words;
}

static inline uint32_t saakm_domain_index(saakm_t s, core_t c, enum saakm_level level)
{
	return s->cores[c].domain[level];
}

static inline domain_t saakm_domain_at(saakm_t s, enum saakm_level level, uint32_t i)
{
	return &s->domains[level][i];
}

/* Declares the state of a walk, and its address. */
#define SAAKM_WALK_IN(s, walk) struct saakm_walk walk##_state, *walk
#define SAAKM_WALK_AT(s, walk) (&walk##_state)
#define SAAKM_MEMO(name) struct saakm_memo name##_storage = { 0 }, *const name = &name##_storage
/* Declares a temporary set, not initialised. A pointer, because other runtimes keep it off the
   stack. */
#define SAAKM_SET(name)                                                                            \
	struct saakm_set name##_storage;                                                           \
	struct saakm_set *const name = &name##_storage

static inline nsec_t saakm_now(saakm_t s)
{
	return s->now;
}

static inline bool saakm_fact(saakm_t s, enum saakm_fact fact)
{
	return s->facts >> fact & 1;
}

static inline set_t saakm_online(saakm_t s)
{
	return &s->online;
}

/* Word w of a kept set. */
static inline uint64_t saakm_members(saakm_t s, enum saakm_kept set, uint32_t w)
{
	switch (set) {
	case SAAKM_KEPT_IDLE:
		return s->idle.word[w];
	case SAAKM_KEPT_WHOLE:
		return s->idle_whole.word[w];
	case SAAKM_KEPT_WAITING:
		return s->waiting.word[w];
	default:
		return s->claimed.word[w];
	}
}

static inline uint64_t saakm_members_among(saakm_t s, enum saakm_kept set, uint32_t w,
					   uint64_t cores)
{
	return saakm_members(s, set, w) & cores;
}

/* to = a kept set, or what it has of another set. */
#define SAAKM_COPY(s, to, set) SAAKM_ASSIGN(s, to, w, saakm_members(s, set, w))
#define SAAKM_COPY_AMONG(s, to, set, cores)                                                        \
	SAAKM_ASSIGN(s, to, w, saakm_members_among(s, set, w, (cores)->word[w]))

static inline bool saakm_is_in(saakm_t s, enum saakm_kept set, core_t c)
{
	return (saakm_members(s, set, c / 64) >> (c % 64)) & 1;
}

static inline thread_t saakm_current(saakm_t s, core_t c)
{
	return saakm_look(s, c)->current;
}

static inline int64_t saakm_nr_ready(saakm_t s, core_t c)
{
	return saakm_look(s, c)->nr_ready;
}

static inline int64_t saakm_nr_running(saakm_t s, core_t c)
{
	return saakm_look(s, c)->nr_running;
}

static inline int64_t saakm_frequency(saakm_t s, core_t c)
{
	/* Unknown counts as fast, as in saakm_bpf.h. */
	return s->cores[c].min_khz ? saakm_look(s, c)->seen_khz : ~0u;
}

static inline int64_t saakm_min_frequency(saakm_t s, core_t c)
{
	return s->cores[c].min_khz;
}

static inline int64_t saakm_capacity(saakm_t s, core_t c)
{
	return s->cores[c].capacity;
}

static inline nsec_t saakm_exit_latency(saakm_t s, core_t c)
{
	return s->cores[c].exit_latency_ns;
}

static inline nsec_t saakm_idle_since(saakm_t s, core_t c)
{
	return saakm_look(s, c)->idle_since;
}

static inline core_t saakm_core(thread_t t)
{
	return t->core;
}

static inline int64_t saakm_weight(thread_t t)
{
	return t->weight;
}

/* Time that t has executed until now. In the replay of a kernel's log, s->now may be before
   running_since, because another core's clock was ahead: then the current execution counts as 0. */
static inline nsec_t saakm_runtime(saakm_t s, thread_t t)
{
	nsec_t since = t->running_since;

	return since < 0 || s->now < since ? t->runtime : t->runtime + s->now - since;
}

static inline set_t saakm_affinity(thread_t t)
{
	return t->affinity;
}

#endif
