/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: the functions that emitted policy code calls.
 *
 * A handler reads and writes the arena, and notes in its context (struct saakm) what the kernel
 * must do: move DSQ entries, start timers, preempt cores. The caller of the handler does that
 * afterwards. A handler itself kicks only what words.h kicks.
 *
 * Handlers of several cores run concurrently and without a lock. docs/src/thread-state.md lists the
 * shared words and how each is written.
 */
#ifndef SAAKM_BPF_H
#define SAAKM_BPF_H

#define SAAKM_FIELD_AT(type, at) ((type SAAKM_MEM *)(u64)(at))

#include "layout.h"
#include "decisions.h"
#include "log.h"

/* ---- the arena --------------------------------------------------------------------------- */

#define SAAKM_STARTS_LINE(type, field)                                                             \
	_Static_assert(offsetof(struct type, field) % 64 == 0, "starts a cache line")
SAAKM_STARTS_LINE(saakm_core, domain);
SAAKM_STARTS_LINE(saakm_core, idle_since);
SAAKM_STARTS_LINE(saakm_core, count);
SAAKM_STARTS_LINE(saakm_core, attrs);
SAAKM_STARTS_LINE(saakm_world, online);
SAAKM_STARTS_LINE(saakm_world, members);
_Static_assert(sizeof(struct saakm_core) <= SAAKM_CORE_BYTES, "a core is too large");

#define WORLD SAAKM_FIELD_AT(struct saakm_world, SAAKM_WORLD_AT)

static __always_inline struct saakm_core SAAKM_MEM *saakm_core_at(core_t c)
{
	return SAAKM_FIELD_AT(struct saakm_core,
			      SAAKM_CORES_AT + (c & (SAAKM_MAX_CORES - 1)) * SAAKM_CORE_BYTES);
}

static __always_inline thread_t saakm_thread_at(u32 index)
{
	if (!index)
		return NULL;
	return SAAKM_FIELD_AT(struct saakm_thread,
			      SAAKM_THREADS_AT +
				      (index & (SAAKM_MAX_THREADS - 1)) * SAAKM_THREAD_BYTES);
}

static __always_inline saakm_t saakm_context(u32 cpu, enum saakm_context_level level)
{
	u64 i = (cpu & (SAAKM_MAX_CORES - 1)) * SAAKM_CONTEXTS + level;

	return SAAKM_FIELD_AT(struct saakm, SAAKM_CONTEXTS_AT + i * SAAKM_CONTEXT_BYTES);
}

static __always_inline void SAAKM_MEM *saakm_state_attrs(saakm_t s)
{
	return SAAKM_FIELD_AT(void, SAAKM_STATE_AT);
}

static __always_inline void SAAKM_MEM *saakm_core_attrs(saakm_t s, core_t c)
{
	return saakm_core_at(c)->attrs;
}

static __always_inline void SAAKM_MEM *saakm_thread_attrs(thread_t t)
{
	return t->attrs;
}

#define SAAKM_ATTRIBUTES_FIT(name)                                                                 \
	_Static_assert(sizeof(struct name##_state) <= SAAKM_STATE_BYTES, "state too large");       \
	_Static_assert(sizeof(struct name##_core) <= SAAKM_CORE_ATTRS,                             \
		       "a core has too many attributes");                                          \
	_Static_assert(sizeof(struct name##_thread) <= SAAKM_THREAD_ATTRS,                         \
		       "a thread has too many attributes");                                        \
	enum {                                                                                     \
		SAAKM_STATE_WORDS = (sizeof(struct name##_state) + 7) / 8,                         \
		SAAKM_CORE_WORDS = (sizeof(struct name##_core) + 7) / 8,                           \
		SAAKM_THREAD_WORDS = (sizeof(struct name##_thread) + 7) / 8,                       \
	};

static __always_inline u32 saakm_nr_cores(saakm_t s)
{
	return WORLD->nr_cores;
}

static __always_inline u32 saakm_nr_words(saakm_t s)
{
	return WORLD->nr_words;
}

static __always_inline u32 saakm_domain_index(saakm_t s, core_t c, enum saakm_level level)
{
	return saakm_core_at(c)->domain[level];
}

static __always_inline domain_t saakm_domain_at(saakm_t s, enum saakm_level level, u32 i)
{
	return SAAKM_FIELD_AT(struct saakm_domain,
			      SAAKM_DOMAINS_AT +
				      ((u64)level * SAAKM_MAX_CORES + (i & (SAAKM_MAX_CORES - 1))) *
					      SAAKM_DOMAIN_BYTES);
}

/* ---- shared words ------------------------------------------------------------------------ */

/*
 * A load without order, as READ_ONCE. The compare-and-swap returns the old value, so that a swap is
 * fully ordered, on x86 and on arm64 (casal); without a swap it has no order.
 */
#define SAAKM_LOAD(p) (*(volatile u64 SAAKM_MEM *)(p))
#define SAAKM_CAS(p, old, new) __sync_val_compare_and_swap(p, old, new)

static __always_inline u64 SAAKM_MEM *saakm_word_of(core_t c)
{
	return &saakm_core_at(c)->word;
}

/* `set` is an enum saakm_kept, in the order of struct saakm_world. */
static __always_inline u64 SAAKM_MEM *saakm_kept(u32 set, u32 w)
{
	struct saakm_set SAAKM_MEM *idle = &WORLD->idle;

	_Static_assert(offsetof(struct saakm_world, idle_whole) ==
			       offsetof(struct saakm_world, idle) + sizeof(struct saakm_set),
		       "the order of enum saakm_kept");
	_Static_assert(offsetof(struct saakm_world, waiting) ==
			       offsetof(struct saakm_world, idle) + 2 * sizeof(struct saakm_set),
		       "the order of enum saakm_kept");
	_Static_assert(offsetof(struct saakm_world, claimed) ==
			       offsetof(struct saakm_world, idle) + 3 * sizeof(struct saakm_set),
		       "the order of enum saakm_kept");
	return &idle[set].word[w & (SAAKM_SET_WORDS - 1)];
}

static __always_inline u32 saakm_kept_words(void)
{
	return WORLD->nr_words;
}

static __always_inline u64 saakm_pair_word(core_t c, u32 w)
{
	domain_t pair = saakm_domain_at(NULL, SAAKM_SMT, saakm_domain_index(NULL, c, SAAKM_SMT));

	return pair->cores.word[w] & WORLD->online.word[w];
}

static __always_inline bool saakm_has_pairs(void)
{
	return WORLD->pairs;
}

static __always_inline u64 SAAKM_MEM *saakm_missed(void)
{
	return &WORLD->missed;
}

static __always_inline void saakm_kick(core_t c)
{
	scx_bpf_kick_cpu(c, 0);
}

static __always_inline void saakm_search_again(core_t c)
{
	saakm_core_at(c)->searched = SAAKM_NOT_SEARCHED;
	scx_bpf_kick_cpu(c, 0);
}

#include "../words.h"

/* ---- cores and threads ------------------------------------------------------------------- */

static __always_inline nsec_t saakm_now(saakm_t s)
{
	return s->now;
}

static __always_inline set_t saakm_online(saakm_t s)
{
	return &WORLD->online;
}

static __always_inline set_t saakm_idle(saakm_t s)
{
	return &WORLD->idle;
}

static __always_inline set_t saakm_idle_whole(saakm_t s)
{
	return WORLD->pairs ? &WORLD->idle_whole : &WORLD->idle;
}

static __always_inline set_t saakm_waiting(saakm_t s)
{
	return &WORLD->waiting;
}

static __always_inline thread_t saakm_current(saakm_t s, core_t c)
{
	return saakm_thread_at(saakm_current_of(SAAKM_LOAD(saakm_word_of(c))));
}

static __always_inline int64_t saakm_nr_ready(saakm_t s, core_t c)
{
	return saakm_ready_of(SAAKM_LOAD(saakm_word_of(c)));
}

/* READY and running threads. A thread that moves counts on both cores for a moment. */
static __always_inline int64_t saakm_nr_running(saakm_t s, core_t c)
{
	u64 word = SAAKM_LOAD(saakm_word_of(c));

	return (int64_t)saakm_ready_of(word) + (saakm_current_of(word) != 0);
}

/* Where frequencies are unknown, the core counts as fast, so that no thread waits for a faster one. */
static __always_inline int64_t saakm_frequency(saakm_t s, core_t c)
{
	struct saakm_core SAAKM_MEM *core = saakm_core_at(c);

	return core->min_khz ? core->seen_khz : ~0u;
}

static __always_inline int64_t saakm_min_frequency(saakm_t s, core_t c)
{
	return saakm_core_at(c)->min_khz;
}

/* Always 0: sched_ext does not report the idle state of a core. */
static __always_inline nsec_t saakm_exit_latency(saakm_t s, core_t c)
{
	return 0;
}

static __always_inline nsec_t saakm_idle_since(saakm_t s, core_t c)
{
	return saakm_core_at(c)->idle_since;
}

static __always_inline core_t saakm_core(thread_t t)
{
	return saakm_core_of(t->where);
}

static __always_inline int64_t saakm_weight(thread_t t)
{
	return t->weight;
}

/*
 * Time that t has executed until now. s->now is read when the operation starts, so another core may
 * have started t since, or its clock may be ahead: then the current execution counts as 0.
 */
static __always_inline nsec_t saakm_runtime(saakm_t s, thread_t t)
{
	nsec_t since = t->running_since;

	return since < 0 || s->now < since ? t->runtime : t->runtime + s->now - since;
}

static __always_inline set_t saakm_affinity(thread_t t)
{
	return SAAKM_FIELD_AT(const struct saakm_set, t->affinity);
}

/*
 * Declares a temporary set, or the state of a walk: each use in the code has its own in each
 * context. On the stack, of 512 bytes, there is no room for it.
 */
enum { SAAKM_SCRATCH_BASE = __COUNTER__ + 1 };
#define SAAKM_SCRATCH(n)                                                                           \
	({                                                                                         \
		_Static_assert((n) - SAAKM_SCRATCH_BASE < SAAKM_SCRATCH_SETS,                      \
			       "too many temporary sets and walks");                               \
		&s->scratch[(n) - SAAKM_SCRATCH_BASE];                                             \
	})
#define SAAKM_SET(name) struct saakm_set SAAKM_MEM *const name = SAAKM_SCRATCH(__COUNTER__)
#define SAAKM_MEMO(name) memo_t const name = (memo_t)SAAKM_SCRATCH(__COUNTER__)
#define SAAKM_WALK_IN(s, walk) struct saakm_walk SAAKM_MEM *walk
#define SAAKM_WALK_AT(s, walk) ((struct saakm_walk SAAKM_MEM *)SAAKM_SCRATCH(__COUNTER__))

#include "../saakm_inline.h"
#include "saakm_effects.h"

#endif
