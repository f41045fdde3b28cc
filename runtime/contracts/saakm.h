/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SaaKM under contracts: what emitted policy code is proved against (`hearth prove --code`).
 *
 * It stands in for runtime/saakm.h. Each function of the runtime that a policy may call is a
 * contract over one machine. Nobody else is at work: the order of concurrent accesses is the
 * subject of the other proofs.
 *
 * A loop macro has one parameter more than in the runtime: its loop annotations, which the compiler
 * emits as a comment among the arguments (so the preprocessor has to keep comments: -CC). The
 * runtime's walks go from word to word of a set; here a walk visits the cores in the order of
 * `place`, and skips what is no member.
 */
#ifndef SAAKM_H
#define SAAKM_H

typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long int64_t;
typedef uint32_t core_t;
typedef int64_t nsec_t;
#define bool _Bool
#define true 1
#define false 0
#define NULL ((void *)0)

#define SAAKM_TICK_NS 4000000LL
#define SAAKM_US 1000LL
#define SAAKM_MS 1000000LL
#define SAAKM_S 1000000000LL
#define SAAKM_MAX_CORES 1024
#define SAAKM_SET_WORDS 16
#define SAAKM_NO_CORE 0xffffffffu
/* As many threads as the runtime admits. */
#define SAAKM_MAX_THREADS 1048576
#define SAAKM_MAX_QUEUES 32

enum saakm_level { SAAKM_SMT, SAAKM_LLC, SAAKM_NUMA, SAAKM_MACHINE, SAAKM_LEVELS };
enum saakm_kept { SAAKM_KEPT_IDLE, SAAKM_KEPT_WHOLE, SAAKM_KEPT_WAITING, SAAKM_KEPT_CLAIMED };

#define SAAKM_MEM
#define SAAKM_GO_ON true
#define SAAKM_FORGET(x) (x)
#define SAAKM_LOCAL static
#define SAAKM_SHARED_0(result, name) static result name(saakm_t s)
#define SAAKM_SHARED_1(result, name, A, a) static result name(saakm_t s, A a)
#define SAAKM_SHARED_2(result, name, A, a, B, b) static result name(saakm_t s, A a, B b)
#define SAAKM_SHARED_3(result, name, A, a, B, b, C, c) static result name(saakm_t s, A a, B b, C c)
#define SAAKM_SHARED_4(result, name, A, a, B, b, C, c, D, d)                                       \
	static result name(saakm_t s, A a, B b, C c, D d)
#define SAAKM_READ_QUEUES() ((void)0)
#define SAAKM_ENTER(name) static void name(saakm_t s, thread_t t, core_t c, uint32_t reason)
#define SAAKM_STEAL(name, dst, from) static void name(saakm_t s, core_t dst, set_t from)

struct saakm_set {
	uint64_t word[SAAKM_SET_WORDS];
};

typedef struct saakm *saakm_t;
typedef struct saakm_thread *thread_t;
typedef const struct saakm_set *set_t;
typedef const struct saakm_domain *domain_t;

struct saakm_core {
	thread_t current;
	uint32_t nr_ready, nr_running;
	uint32_t seen_khz, min_khz, capacity, exit_latency_ns;
	nsec_t idle_since;
};

struct saakm_domain {
	struct saakm_set cores;
	uint32_t size, first[SAAKM_LEVELS], count[SAAKM_LEVELS];
};

/* The machine: what changes, but for sets. */
struct saakm_machine {
	nsec_t now;
	bool fact[2]; /* by enum saakm_fact */
	struct saakm_core core[SAAKM_MAX_CORES];
	core_t core_of[SAAKM_MAX_THREADS];
	nsec_t runtime_of[SAAKM_MAX_THREADS];
	/* Each change of a ready queue gives it a new value; `moves` counts the moves that succeed. */
	uint32_t queues;
	int64_t moves;
};

struct saakm_machine saakm_the;
/* What does not change. */
uint32_t saakm_cores, saakm_words;
uint32_t saakm_weights[SAAKM_MAX_THREADS];
struct saakm_set saakm_affinities[SAAKM_MAX_THREADS];
core_t saakm_domain_of_core[SAAKM_LEVELS][SAAKM_MAX_CORES];
struct saakm_domain saakm_domains[SAAKM_LEVELS][SAAKM_MAX_CORES];
/* The sets that the runtime keeps: online, idle, idle_whole, waiting; and the claimed cores. */
struct saakm_set saakm_kept[5];

#include "sets.h"

/* ---- cores and threads --------------------------------------------------------------------- */

/*@ predicate is_core{L}(integer c) = 0 <= c < saakm_cores; */
/*@ predicate maybe_core{L}(integer c) = c == SAAKM_NO_CORE || is_core(c); */
/*@ axiomatic Threads {
  @   logic integer number(thread_t t);
  @   // Thread k of a ready queue of a core, and the queue's length.
  @   logic thread_t ready{L}(integer c, integer queue, integer k) reads saakm_the;
  @   logic integer length{L}(integer c, integer queue) reads saakm_the;
  @   axiom lengths{L}: \forall integer c, integer queue; 0 <= length(c, queue) <= SAAKM_MAX_THREADS;
  @ } */
/*@ predicate is_thread(thread_t t) = t != \null && 0 <= number(t) < SAAKM_MAX_THREADS; */
/*@ logic core_t core_of{L}(thread_t t) = saakm_the.core_of[number(t)]; */
/*@ predicate fine{L} =
  @   1 <= saakm_cores <= SAAKM_MAX_CORES && saakm_cores <= 64 * saakm_words &&
  @   saakm_words <= SAAKM_SET_WORDS &&
  @   0 <= saakm_the.moves &&
  @   (\forall integer i; 0 <= i < SAAKM_MAX_THREADS ==> saakm_the.core_of[i] < saakm_cores) &&
  @   (\forall integer c; is_core(c) ==> saakm_the.core[c].current == \null || is_thread(saakm_the.core[c].current)) &&
  @   (\forall integer c, queue, k; is_core(c) && 0 <= k < length(c, queue) ==>
  @      is_thread(ready(c, queue, k)) && core_of(ready(c, queue, k)) == c); */

/* ---- reads --------------------------------------------------------------------------------- */

#define saakm_nr_cores(s) saakm_cores
#define saakm_nr_words(s) saakm_words
#define saakm_online(s) ((set_t) & saakm_kept[0])
#define saakm_members(s, set, w) (saakm_kept[1 + (set)].word[w])
#define saakm_members_among(s, set, w, cores) ((cores) & saakm_kept[1 + (set)].word[w])
#define saakm_is_in(s, set, c) saakm_has(&saakm_kept[1 + (set)], c)
#define saakm_now(s) saakm_the.now
#define saakm_fact(s, which) saakm_the.fact[which]

/*@ requires c < SAAKM_MAX_CORES; assigns \nothing; ensures \result == saakm_the.core[c].current; */
thread_t saakm_current(saakm_t s, core_t c);
/*@ requires c < SAAKM_MAX_CORES; assigns \nothing; ensures \result == saakm_the.core[c].nr_ready; */
int64_t saakm_nr_ready(saakm_t s, core_t c);
/*@ requires c < SAAKM_MAX_CORES; assigns \nothing; ensures \result == saakm_the.core[c].nr_running; */
int64_t saakm_nr_running(saakm_t s, core_t c);
/*@ requires c < SAAKM_MAX_CORES; assigns \nothing; ensures \result == saakm_the.core[c].seen_khz; */
int64_t saakm_frequency(saakm_t s, core_t c);
/*@ requires c < SAAKM_MAX_CORES; assigns \nothing; ensures \result == saakm_the.core[c].min_khz; */
int64_t saakm_min_frequency(saakm_t s, core_t c);
/*@ requires c < SAAKM_MAX_CORES; assigns \nothing; ensures \result == saakm_the.core[c].capacity; */
int64_t saakm_capacity(saakm_t s, core_t c);
/*@ requires c < SAAKM_MAX_CORES; assigns \nothing; ensures \result == saakm_the.core[c].exit_latency_ns; */
nsec_t saakm_exit_latency(saakm_t s, core_t c);
/*@ requires c < SAAKM_MAX_CORES; assigns \nothing; ensures \result == saakm_the.core[c].idle_since; */
nsec_t saakm_idle_since(saakm_t s, core_t c);
/*@ requires is_thread(t); assigns \nothing; ensures \result == core_of(t); */
core_t saakm_core(thread_t t);
/*@ requires is_thread(t); assigns \nothing; ensures \result == saakm_weights[number(t)]; */
int64_t saakm_weight(thread_t t);
/*@ requires is_thread(t); assigns \nothing; ensures \result == saakm_the.runtime_of[number(t)]; */
nsec_t saakm_runtime(saakm_t s, thread_t t);
/*@ requires is_thread(t); assigns \nothing; ensures \result == &saakm_affinities[number(t)]; */
set_t saakm_affinity(thread_t t);

/*@ assigns \nothing; ensures \result == decay(value, dt, half_life); */
int64_t saakm_decay(int64_t value, nsec_t dt, nsec_t half_life);

/* ---- domains ------------------------------------------------------------------------------- */

/*@ logic domain_t domain(integer level, integer index) = (domain_t)&saakm_domains[level][index]; */
/*@ axiomatic Groups {
  @   // Group number k of a level in a domain, in the order of a walk from core x.
  @   logic domain_t group{L}(domain_t d, integer level, integer x, integer k) reads d->first[0 .. 3];
  @ } */
/*@ predicate is_domain(domain_t d) = \valid_read(d); */

/*@ requires is_core(c) && fine; assigns \nothing;
  @ ensures \result == domain(SAAKM_SMT, saakm_domain_of_core[SAAKM_SMT][c]) && is_domain(\result); */
domain_t saakm_smt(saakm_t s, core_t c);
/*@ requires is_core(c) && fine; assigns \nothing;
  @ ensures \result == domain(SAAKM_LLC, saakm_domain_of_core[SAAKM_LLC][c]) && is_domain(\result); */
domain_t saakm_llc(saakm_t s, core_t c);
/*@ requires is_core(c) && fine; assigns \nothing;
  @ ensures \result == domain(SAAKM_NUMA, saakm_domain_of_core[SAAKM_NUMA][c]) && is_domain(\result); */
domain_t saakm_numa(saakm_t s, core_t c);
/*@ assigns \nothing; ensures \result == domain(SAAKM_MACHINE, 0) && is_domain(\result); */
domain_t saakm_machine(saakm_t s);
/*@ requires is_domain(d) && at < d->count[level] && level < SAAKM_LEVELS;
  @ assigns \nothing;
  @ ensures \result == group(d, level, x, at) && is_domain(\result) && \result != \null; */
domain_t saakm_group(domain_t d, uint32_t level, core_t x, uint32_t at);

/* ---- sets and walks ------------------------------------------------------------------------ */

/*@ axiomatic Order {
  @   // The place of core c in a walk.
  @   logic integer nearest(integer x, integer c);
  @   logic integer from(integer x, integer c);
  @   axiom nearest_one: \forall integer x, c, d; nearest(x, c) == nearest(x, d) ==> c == d;
  @   axiom from_one: \forall integer x, c, d; from(x, c) == from(x, d) ==> c == d;
  @   axiom nearest_some{L}: \forall integer x, c; is_core(c) ==> 0 <= nearest(x, c) < saakm_cores;
  @   axiom from_some{L}: \forall integer x, c; is_core(c) ==> 0 <= from(x, c) < saakm_cores;
  @ } */
/*@ requires at < saakm_cores; assigns \nothing; ensures is_core(\result) && nearest(x, \result) == at; */
core_t saakm_nearest(core_t x, uint32_t at);
/*@ requires at < saakm_cores; assigns \nothing; ensures is_core(\result) && from(x, \result) == at; */
core_t saakm_from(core_t x, uint32_t at);
/*@ requires c < SAAKM_MAX_CORES; assigns \nothing; ensures \result == slot(c) && \result < SAAKM_SET_WORDS; */
uint32_t saakm_word_of(core_t c);
/*@ assigns \nothing; ensures \result <==> bit(word, part(c)); */
bool saakm_bit_of(uint64_t word, core_t c);

/* No memo: each value is computed. That memoised values equal computed ones is believed. */
typedef int memo_t;
#define SAAKM_MEMO(name) const memo_t name = 0
#define SAAKM_MEMO_CLEAR(memo) ((void)(memo))
#define SAAKM_MEMO_VALUE(memo, i, computed) (computed)
#define SAAKM_MEMO_ADD(memo, i, more) ((void)(memo))

#define SAAKM_SET(name)                                                                            \
	struct saakm_set name##_storage;                                                           \
	struct saakm_set *const name = &name##_storage

#define SAAKM_ASSIGN(s, set, w, members, loop)                                                     \
	loop for (uint32_t w = 0; w < saakm_words; w = w + 1)(set)->word[w] = (members)
#define SAAKM_COPY(s, to, set, loop) SAAKM_ASSIGN(s, to, w, saakm_members(s, set, w), loop)
#define SAAKM_COPY_AMONG(s, to, set, cores, loop)                                                  \
	SAAKM_ASSIGN(s, to, w, saakm_members_among(s, set, w, (cores)->word[w]), loop)
#define SAAKM_REPLACE(s, set, id, w, members, loop) SAAKM_ASSIGN(s, set, w, members, loop)

#define SAAKM_WALK_(c, core, w, members, loop, member)                                             \
	loop for (uint32_t c##_at = 0;                                                             \
		  c##_at < saakm_cores ? (c = core, true) : (c = SAAKM_NO_CORE, false);            \
		  c##_at++) if (!({                                                                \
					const uint32_t w = saakm_word_of(c);                       \
					const bool c##_in = saakm_bit_of(members, c);              \
					member c##_in;                                             \
				})) continue;                                                      \
	else

#define SAAKM_EACH(s, c, w, members, loop, member) SAAKM_WALK_(c, c##_at, w, members, loop, member)
#define SAAKM_EACH_IN(s, d, c, w, members, loop, member)                                           \
	SAAKM_WALK_(c, c##_at, w, members, loop, member)
#define SAAKM_EACH_FROM(s, c, x, w, members, loop, member)                                         \
	SAAKM_WALK_(c, saakm_from(x, c##_at), w, members, loop, member)
#define SAAKM_EACH_NEAREST(s, c, x, w, members, loop, member)                                      \
	SAAKM_WALK_(c, saakm_nearest(x, c##_at), w, members, loop, member)

/* One pass: `step` is what it does with core c_, which is in the set if in_. */
#define SAAKM_PASS_(type, result, initial, core, step, w, members, loop, member, found)            \
	({                                                                                         \
		type result = initial;                                                             \
		loop for (uint32_t at_ = 0; at_ < saakm_cores; at_++)                              \
		{                                                                                  \
			core_t c_ = core;                                                          \
			const uint32_t w = saakm_word_of(c_);                                      \
			const bool in_ = saakm_bit_of(members, c_);                                \
			member if (in_)                                                            \
			{                                                                          \
				step;                                                              \
			}                                                                          \
		}                                                                                  \
		found result;                                                                      \
	})
#define SAAKM_FIRST_(core, w, members, loop, member, found)                                        \
	SAAKM_PASS_(core_t, first_, SAAKM_NO_CORE, core, first_ = c_;                              \
		    break, w, members, loop, member, found)
#define SAAKM_FIRST(s, w, members, loop, member, found)                                            \
	SAAKM_FIRST_(at_, w, members, loop, member, found)
#define SAAKM_FIRST_IN(s, d, w, members, loop, member, found)                                      \
	SAAKM_FIRST_(at_, w, members, loop, member, found)
#define SAAKM_FIRST_FROM(s, x, w, members, loop, member, found)                                    \
	SAAKM_FIRST_(saakm_from(x, at_), w, members, loop, member, found)
#define SAAKM_FIRST_NEAREST(s, x, w, members, loop, member, found)                                 \
	SAAKM_FIRST_(saakm_nearest(x, at_), w, members, loop, member, found)
#define SAAKM_EMPTY(s, w, members, loop, member, found)                                            \
	SAAKM_PASS_(bool, empty_, true, at_, empty_ = false, w, members, loop, member, found)
#define SAAKM_EMPTY_IN(s, d, w, members, loop, member, found)                                      \
	SAAKM_EMPTY(s, w, members, loop, member, found)
#define SAAKM_COUNT(s, w, members, loop, member, found)                                            \
	SAAKM_PASS_(int64_t, count_, 0, at_, count_ = count_ + 1, w, members, loop, member, found)
#define SAAKM_COUNT_IN(s, d, w, members, loop, member, found)                                      \
	SAAKM_COUNT(s, w, members, loop, member, found)

#define SAAKM_SIZE(s, domain, w, members, loop, member, found)                                     \
	SAAKM_COUNT(s, w, members, loop, member, found)

#define SAAKM_EACH_ROUND(s, loop) loop for (uint32_t round_ = 0; round_ < saakm_cores; round_++)

#define SAAKM_EACH_GROUP(s, d, within, level, x, loop)                                             \
	const uint32_t d##_end = (within)->count[level];                                           \
	loop for (uint32_t d##_at = 0;                                                             \
		  (d = d##_at < d##_end ? saakm_group(within, level, x, d##_at) : NULL) != NULL;   \
		  d##_at++)

/* ---- ready queues -------------------------------------------------------------------------- */

/*@ requires is_core(c) && fine; assigns \nothing; ensures \result == length(c, queue); */
uint32_t saakm_length(core_t c, uint32_t queue);
/* A walk goes on where it was, if nothing has moved since its start; else with some thread of the core. */
/*@ requires is_core(c) && fine;
  @ assigns \nothing;
  @ ensures saakm_the.queues == since ==> \result == (at < length(c, queue) ? ready(c, queue, at) : (thread_t)\null);
  @ ensures \result != \null ==> is_thread(\result) && core_of(\result) == c; */
thread_t saakm_at(core_t c, uint32_t queue, uint32_t at, uint32_t since);
/*@ requires is_core(c) && fine;
  @ assigns \nothing;
  @ ensures \result == (0 < length(c, queue) ? ready(c, queue, 0) : (thread_t)\null);
  @ ensures \result != \null ==> is_thread(\result) && core_of(\result) == c; */
thread_t saakm_first(saakm_t s, core_t c, uint32_t queue);

#define SAAKM_EACH_THREAD(s, t, c, queue, loop)                                                    \
	uint32_t t##_end = saakm_length(c, queue), t##_since = saakm_the.queues;                   \
	loop for (uint32_t t##_at = 0;                                                             \
		  (t = t##_at < t##_end ? saakm_at(c, queue, t##_at, t##_since) : NULL) != NULL;   \
		  t##_at++)

#define SAAKM_TAKE(s, t) true

/* ---- effects ------------------------------------------------------------------------------- */

/*@ requires fine && is_thread(t) && is_core(c) && queue < SAAKM_MAX_QUEUES;
  @ assigns saakm_the, saakm_kept[0 .. 4];
  @ ensures fine;
  @ ensures saakm_the.moves == \old(saakm_the.moves);
  @ ensures saakm_the.now == \old(saakm_the.now); */
void saakm_ready(saakm_t s, thread_t t, core_t c, uint32_t queue, int64_t key, uint32_t reason);
/*@ assigns saakm_the.moves;
  @ ensures saakm_the.moves == \old(saakm_the.moves) + (\result ? 1 : 0);
  @ // Fewer than 2^62 moves.
  @ ensures saakm_the.moves < 0x4000000000000000; */
bool saakm_moved(saakm_t s);
/*@ requires fine && is_thread(t);
  @ assigns saakm_the, saakm_kept[0 .. 4];
  @ ensures fine;
  @ ensures saakm_the.moves == \old(saakm_the.moves); */
void saakm_run(saakm_t s, thread_t t);
/*@ requires fine && is_thread(t);
  @ assigns saakm_the, saakm_kept[0 .. 4];
  @ ensures fine;
  @ ensures saakm_the.moves == \old(saakm_the.moves); */
void saakm_blocked(saakm_t s, thread_t t);
/*@ requires fine && is_thread(t);
  @ assigns saakm_the, saakm_kept[0 .. 4];
  @ ensures fine;
  @ ensures saakm_the.moves == \old(saakm_the.moves); */
void saakm_terminated(saakm_t s, thread_t t);
/*@ requires fine && is_core(c); assigns \nothing; */
void saakm_preempt(saakm_t s, core_t c);
/*@ requires fine && is_core(c); assigns \nothing; */
void saakm_keep_warm(saakm_t s, core_t c, nsec_t ns);
/*@ requires fine && is_thread(t); assigns \nothing; */
void saakm_arm(saakm_t s, thread_t t, nsec_t ns);
/*@ requires fine && is_thread(t); assigns \nothing; */
void saakm_cancel(saakm_t s, thread_t t);

/*@ requires is_core(c) && fine;
  @ assigns saakm_kept[4].word[0 .. SAAKM_SET_WORDS - 1];
  @ ensures \result <==> in(&saakm_kept[1], c) && !\old(in(&saakm_kept[4], c));
  @ ensures \forall integer k; is_core(k) ==>
  @   (in(&saakm_kept[4], k) <==> \old(in(&saakm_kept[4], k)) || k == c && \result); */
bool saakm_claim(saakm_t s, core_t c);
/*@ requires is_core(c) && fine;
  @ assigns saakm_kept[4].word[0 .. SAAKM_SET_WORDS - 1];
  @ ensures \forall integer k; is_core(k) ==> (in(&saakm_kept[4], k) <==> \old(in(&saakm_kept[4], k)) && k != c); */
void saakm_release(saakm_t s, core_t c);

/*@ requires is_core(c) && fine && \valid(set_->word + (0 .. SAAKM_SET_WORDS - 1));
  @ assigns set_->word[0 .. SAAKM_SET_WORDS - 1];
  @ ensures \old(in(set_, c)) ==> \result;
  @ ensures max >= SAAKM_MAX_CORES ==> \result;
  @ ensures \forall integer k; is_core(k) ==> (in(set_, k) <==> \old(in(set_, k)) || k == c && \result); */
bool saakm_add(saakm_t s, struct saakm_set *set_, uint32_t id, core_t c, int64_t max);
/*@ requires is_core(c) && fine && \valid(set_->word + (0 .. SAAKM_SET_WORDS - 1));
  @ assigns set_->word[0 .. SAAKM_SET_WORDS - 1];
  @ ensures \result <==> \old(in(set_, c));
  @ ensures \forall integer k; is_core(k) ==> (in(set_, k) <==> \old(in(set_, k)) && k != c); */
bool saakm_remove(saakm_t s, struct saakm_set *set_, uint32_t id, core_t c);

/* ---- attributes ---------------------------------------------------------------------------- */

/* The last arguments are the contracts of the access functions, and what holds of attributes. */
#define SAAKM_ATTRIBUTES(name, of_state, of_core, of_thread, holds)                                \
	struct name##_state name##_the_state;                                                      \
	struct name##_core name##_cores[SAAKM_MAX_CORES];                                          \
	struct name##_thread name##_threads[SAAKM_MAX_THREADS];                                    \
	of_state struct name##_state *name##_state(saakm_t s);                                     \
	of_core struct name##_core *name##_core(saakm_t s, core_t c);                              \
	of_thread struct name##_thread *name##_thread(thread_t t);                                 \
	holds

#endif
