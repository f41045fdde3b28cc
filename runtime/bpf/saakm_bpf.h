/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: the functions that emitted policy code calls. Here those that read the shared
 * memory; saakm_effects.h has the others.
 *
 * A handler reads and writes the arena, and notes in its context (struct saakm) what the kernel
 * must do: move DSQ entries, start timers, preempt cores. The caller of the handler does that
 * afterwards. A handler itself kicks only what words.h kicks.
 *
 * Handlers of several cores run concurrently and without a lock. README.md lists the
 * shared words and how each is written.
 */
#ifndef SAAKM_BPF_H
#define SAAKM_BPF_H

#define SAAKM_FIELD_AT(type, at) ((type SAAKM_MEM *)(u64)(at))

#include "layout.h"
#include "../decision.h"
#include "log.h"

/*
 * `hearth record` attaches a program here (runtime/record/record.bpf.c). For PLACE and MOVE, `pid`
 * is the thread and `khz` the frequency of the target core that the policy saw. Without an attached
 * program it costs one call.
 */
SAAKM_GLOBAL int saakm_decided(u64 what, u64 pid, u64 khz)
{
	asm volatile("" : : "r"(what), "r"(pid), "r"(khz));
	return 0;
}

/* ---- the arena --------------------------------------------------------------------------- */

#define SAAKM_STARTS_LINE(type, field)                                                             \
	_Static_assert(offsetof(struct type, field) % 64 == 0, "starts a cache line")
SAAKM_STARTS_LINE(saakm_core, domain);
SAAKM_STARTS_LINE(saakm_core, idle_since);
SAAKM_STARTS_LINE(saakm_core, count);
SAAKM_STARTS_LINE(saakm_core, attrs);
SAAKM_STARTS_LINE(saakm_world, online);
SAAKM_STARTS_LINE(saakm_world, members);
_Static_assert(sizeof(struct saakm_line) == 64, "a cache line");
_Static_assert(sizeof(struct saakm_core) <= SAAKM_CORE_BYTES, "a core is too large");
_Static_assert(sizeof(struct saakm_thread) <= SAAKM_THREAD_BYTES, "a thread is too large");

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

static __always_inline u64 SAAKM_MEM *saakm_place_of(u32 index)
{
	return &saakm_thread_at(index)->where;
}

#define SAAKM_PARTS SAAKM_FIELD_AT(struct saakm_parts, SAAKM_PARTS_AT)

static __always_inline u64 SAAKM_MEM *saakm_line(u32 part, u32 set)
{
	struct saakm_line SAAKM_MEM *lines = SAAKM_FIELD_AT(struct saakm_line, SAAKM_LINES_AT);

	return &lines[part & (SAAKM_MAX_CORES - 1)].kept[set & (SAAKM_KEPT_SETS - 1)];
}

static __always_inline u64 SAAKM_MEM *saakm_kept(u32 set, core_t c)
{
	return saakm_line(saakm_core_at(c)->part, set);
}

/* The members of a kept set among `cores`, of range w. Reads the lines of parts with such cores, and no
   others. */
SAAKM_GLOBAL u64 saakm_kept_among(u32 set, u32 w, u64 cores)
{
	u64 members = SAAKM_FORGET(0ULL);
	u32 part, end;

	w &= SAAKM_SET_WORDS - 1;
	if (!WORLD->split)
		return SAAKM_LOAD(saakm_line(w, set)) & cores;
	end = SAAKM_PARTS->first[w + 1];
	for (part = SAAKM_FORGET(SAAKM_PARTS->first[w]); part < end && can_loop;
	     part = SAAKM_FORGET(part + 1)) {
		u64 those = SAAKM_PARTS->cores[part & (SAAKM_MAX_CORES - 1)] & cores;

		if (those)
			members |= those & SAAKM_LOAD(saakm_line(part, set));
	}
	return members;
}

static __always_inline u64 saakm_kept_in(u32 set, u32 w)
{
	return saakm_kept_among(set, w, ~0ULL);
}

static __always_inline core_t saakm_last_core(void)
{
	return WORLD->nr_cores - 1;
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

static __always_inline bool saakm_fact(saakm_t s, enum saakm_fact fact)
{
	return s->facts >> fact & 1;
}

static __always_inline set_t saakm_online(saakm_t s)
{
	return &WORLD->online;
}

/* Without hyperthreads, `idle_whole` is `idle`. */
static __always_inline u32 saakm_stored_as(u32 set)
{
	return set == SAAKM_KEPT_WHOLE && !WORLD->pairs ? SAAKM_KEPT_IDLE : set;
}

static __always_inline u64 saakm_members(saakm_t s, u32 set, u32 w)
{
	return saakm_kept_in(saakm_stored_as(set), w);
}

static __always_inline u64 saakm_members_among(saakm_t s, u32 set, u32 w, u64 cores)
{
	return saakm_kept_among(saakm_stored_as(set), w, cores);
}

/* to = a kept set, or what it has of another set. */
#define SAAKM_COPY(s, to, set) saakm_copy((u64)(to), saakm_stored_as(set), 0)
#define SAAKM_COPY_AMONG(s, to, set, cores)                                                        \
	saakm_copy((u64)(to), saakm_stored_as(set), (u64)(cores))

SAAKM_GLOBAL int saakm_copy(u64 to, u32 kept, u64 among)
{
	struct saakm_set SAAKM_MEM *copy = SAAKM_FIELD_AT(struct saakm_set, to);
	set_t cores = SAAKM_FIELD_AT(const struct saakm_set, among);

	for (u32 w = SAAKM_FORGET(0U); w < WORLD->nr_words && can_loop; w = SAAKM_FORGET(w + 1))
		copy->word[w & (SAAKM_SET_WORDS - 1)] =
			saakm_kept_among(kept, w, among ? cores->word[w] : ~0ULL);
	return 0;
}

static __always_inline bool saakm_is_in(saakm_t s, u32 set, core_t c)
{
	return (SAAKM_LOAD(saakm_kept(saakm_stored_as(set), c)) >> (c % 64)) & 1;
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

static __always_inline int64_t saakm_capacity(saakm_t s, core_t c)
{
	return saakm_core_at(c)->capacity;
}

/* Exit latency of the idle state that cpuidle has chosen for c. 0 if c executes, or without a cpuidle driver. */
static __always_inline nsec_t saakm_cpuidle_latency(core_t c)
{
	const struct cpuidle_state *state;
	const struct rq *rq;

	if (!bpf_core_field_exists(rq->idle_state))
		return 0;
	rq = bpf_per_cpu_ptr(&runqueues, c);
	state = rq ? rq->idle_state : NULL;
	return state ? state->exit_latency_ns : 0;
}

static __always_inline nsec_t saakm_exit_latency(saakm_t s, core_t c)
{
	return SAAKM_EXIT_LATENCY(c);
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
