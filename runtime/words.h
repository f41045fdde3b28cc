/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SaaKM: the shared words that tell where threads are, and how concurrent operations change them.
 *
 * runtime/bpf runs this code in the kernel. tests/explore runs the same code in every order of a
 * few concurrent operations, with weak memory. Nothing else writes these words.
 *
 * - The place of a thread (`where`): its state, queue and core.
 * - The word of a core: its READY threads, its running thread, whether it is idle. One word, so
 *   that a reader sees one moment of the core.
 * - Sets of cores (`idle`, `idle_whole`, `waiting`): hints for searches. They follow the words of
 *   the cores. Who changes a word updates the hint and then looks at the word again.
 *
 * A runtime defines, before it includes this file:
 *   SAAKM_LOAD(p)          loads a word, without order
 *   SAAKM_CAS(p, old, new) swaps if the word is `old`; returns what it was. A swap is fully ordered;
 *                          without a swap, there is no order
 *   saakm_word_of(c)       the address of core c's word
 *   saakm_place_of(i)      the address of the place of thread i
 *   saakm_kept(set, c)     the address of the word of a set of enum saakm_kept that has core c as bit
 *                          c % 64
 *   saakm_last_core()      the highest number of a core
 *   saakm_kept_words()     number of ranges of 64 core numbers
 *   saakm_pair_word(c, w)  the online hyperthreads of c's physical core in range w; they are bits of the
 *                          same word of each set
 *   saakm_has_pairs()      false if no physical core has several hyperthreads: then `idle_whole` is
 *                          `idle`
 *   saakm_missed()         the address of the count of `waiting` hints that came late
 *   saakm_kick(c)          lets core c look for a thread, now if it sleeps; never lost
 *   saakm_search_again(c)  the same, with event newly_idle
 */
#ifndef SAAKM_WORDS_H
#define SAAKM_WORDS_H

/* ---- numbers ----------------------------------------------------------------------------- */

/* States of a thread. saakm.h defines them and the events that lead to them. */
enum saakm_state {
	SAAKM_NOT_QUEUED,
	SAAKM_BLOCKED,
	SAAKM_READY,
	SAAKM_RUNNING,
	SAAKM_TERMINATED,
	/* The kernel dequeued the thread and will enqueue it again, e.g. to change its affinity. */
	SAAKM_DETACHED,
	/* Its cgroup has used up its time (cpu.max). For the policy the thread is BLOCKED. */
	SAAKM_THROTTLED,
	/* A steal has taken the thread, which was READY, and makes it READY elsewhere. */
	SAAKM_MIGRATING,
};

/* The word of a core. Bits 0 to 31: READY threads; then the index of the thread that runs or is
   coming to run, 0: none. */
#define SAAKM_CORE_CURRENT_AT 32
#define SAAKM_CORE_CURRENT_MASK 0x3fffffff
#define SAAKM_CORE_SLEEPS (1ULL << 62) /* the core found nothing, and has run nothing since */
#define SAAKM_CORE_IDLE (1ULL << 63)   /* it sleeps, and no thread is READY or coming */

/* The changes of the word of a core. */
enum saakm_change {
	SAAKM_ARRIVES, /* a thread becomes READY here */
	SAAKM_LEAVES,  /* a thread is no longer READY here */
	SAAKM_STARTS,  /* `thread`, READY here until now, runs */
	SAAKM_RUNS,    /* `thread`, which was not READY here, runs */
	SAAKM_TAKES, /* a placement of `thread` takes the core, if it is idle: `thread` is coming to run */
	SAAKM_STOPS,    /* `thread` no longer runs */
	SAAKM_SLEEPS,   /* the core found nothing to run, and will sleep */
	SAAKM_SEARCHES, /* the idle core looks for a thread to steal */
};

/* Results of operations. */
#define SAAKM_CHANGED 1u      /* the transition of a thread was made */
#define SAAKM_LEFT_IDLE 2u    /* core c has left `idle`: event exit_idle is due */
#define SAAKM_ENTERED_IDLE 4u /* core c has entered `idle`: event enter_idle is due */

enum saakm_claim_result { SAAKM_NOT_IDLE, SAAKM_LOST, SAAKM_CLAIMED };

/* Without a runtime, the file has only the numbers: scripts/bindings reads them. */
#ifdef SAAKM_LOAD

/* ---- the place of a thread --------------------------------------------------------------- */

/* Whether a core counts a thread in this state among its READY ones. */
static inline bool saakm_counts(uint32_t state)
{
	return state == SAAKM_READY || state == SAAKM_MIGRATING;
}

static inline uint32_t saakm_state_of(uint64_t where)
{
	return where & 0xff;
}

static inline uint32_t saakm_queue_of(uint64_t where)
{
	return (where >> 8) & 0xff;
}

static inline core_t saakm_core_of(uint64_t where)
{
	return (where >> 16) & 0xffff;
}

/* The next place of a thread whose place is `old`: the version in the upper half grows. */
static inline uint64_t saakm_place_after(uint64_t old, uint32_t state, core_t c, uint32_t queue)
{
	return state | (uint64_t)queue << 8 | (uint64_t)c << 16 | ((old >> 32) + 1) << 32;
}

/* ---- the word of a core ------------------------------------------------------------------ */

static inline uint32_t saakm_ready_of(uint64_t word)
{
	return (uint32_t)word;
}

static inline uint32_t saakm_current_of(uint64_t word)
{
	return (word >> SAAKM_CORE_CURRENT_AT) & SAAKM_CORE_CURRENT_MASK;
}

static inline bool saakm_is_idle(uint64_t word)
{
	return word & SAAKM_CORE_IDLE;
}

static inline bool saakm_is_empty(uint64_t word)
{
	return !saakm_ready_of(word) && !saakm_current_of(word);
}

/* The core sleeps, is empty, but not idle: it waits for a thread that another core has taken. */
static inline bool saakm_is_stranded(uint64_t word)
{
	return (word & SAAKM_CORE_SLEEPS) && !saakm_is_idle(word) && saakm_is_empty(word);
}

static inline uint64_t saakm_with_current(uint64_t word, uint32_t thread)
{
	uint64_t mask = (uint64_t)SAAKM_CORE_CURRENT_MASK << SAAKM_CORE_CURRENT_AT;

	return (word & ~mask) | (uint64_t)(thread & SAAKM_CORE_CURRENT_MASK)
					<< SAAKM_CORE_CURRENT_AT;
}

/* The word after a change. Every change of a core's word is one of these. */
static inline uint64_t saakm_word_after(uint64_t word, uint32_t change, uint32_t thread)
{
	switch (change) {
	case SAAKM_ARRIVES:
		return (word & ~SAAKM_CORE_IDLE) + 1;
	case SAAKM_LEAVES:
		return saakm_ready_of(word) ? word - 1 : word;
	case SAAKM_STARTS:
		word = saakm_ready_of(word) ? word - 1 : word;
		return saakm_with_current(word & ~(SAAKM_CORE_SLEEPS | SAAKM_CORE_IDLE), thread);
	case SAAKM_RUNS:
		return saakm_with_current(word & ~(SAAKM_CORE_SLEEPS | SAAKM_CORE_IDLE), thread);
	case SAAKM_TAKES:
		if (!saakm_is_idle(word))
			return word;
		return saakm_with_current(word & ~SAAKM_CORE_IDLE, thread);
	case SAAKM_STOPS:
		return saakm_current_of(word) == thread ? saakm_with_current(word, 0) : word;
	case SAAKM_SLEEPS:
		word |= SAAKM_CORE_SLEEPS;
		return saakm_is_empty(word) ? word | SAAKM_CORE_IDLE : word;
	case SAAKM_SEARCHES:
		return word & ~SAAKM_CORE_IDLE;
	default:
		return word;
	}
}

/* ---- hints ------------------------------------------------------------------------------- */

/* Whether a core with this word belongs to `idle` or `waiting`. */
static inline bool saakm_belongs(uint64_t word, uint32_t set)
{
	return set == SAAKM_KEPT_IDLE ? saakm_is_idle(word) : saakm_ready_of(word) != 0;
}

/* Adds `bits` to a word of a set, or removes them; false if there was nothing to change. */
static inline bool saakm_put_at(uint64_t SAAKM_MEM *word, uint64_t bits, bool in)
{
	uint64_t old = SAAKM_LOAD(word), seen, new;

	do {
		seen = old;
		new = in ? seen | bits : seen & ~bits;
		if (new == seen)
			return false;
		old = SAAKM_CAS(word, seen, new);
	} while (old != seen && SAAKM_GO_ON);
	return true;
}

/* The same for a kept set, with bits of the word that has core c. */
static inline bool saakm_put_all(uint32_t set, core_t c, uint64_t bits, uint32_t in)
{
	return saakm_put_at(saakm_kept(set, c), bits, in);
}

/* Adds core c to a kept set, or removes it; false if there was nothing to change. */
static inline bool saakm_put(uint32_t set, core_t c, uint32_t in)
{
	return saakm_put_all(set, c, 1ULL << (c % 64), in);
}

/* The first of the cores `bits` of range w. */
static inline core_t saakm_first_in(uint32_t w, uint64_t bits)
{
	return w * 64 + (core_t)__builtin_ctzll(bits);
}

/* Whether all hyperthreads of c's physical core are in `idle`. */
static inline bool saakm_pair_idle(core_t c)
{
	uint64_t busy = 0;

	for (uint32_t w = SAAKM_FORGET(0U); w < saakm_kept_words() && SAAKM_GO_ON;
	     w = SAAKM_FORGET(w + 1)) {
		uint64_t pair = saakm_pair_word(c, w);

		if (pair)
			busy |= pair &
				~SAAKM_LOAD(saakm_kept(SAAKM_KEPT_IDLE, saakm_first_in(w, pair)));
	}
	return !busy;
}

/*
 * Updates `idle_whole` after c has entered or left `idle`. Of concurrent calls, the one whose
 * change came last in the order of full barriers sees all changes; who wrote before looks again.
 */
SAAKM_FUNCTION int saakm_follow_pair(core_t c)
{
	bool in;

	do {
		in = saakm_pair_idle(c);
		for (uint32_t w = SAAKM_FORGET(0U); w < saakm_kept_words() && SAAKM_GO_ON;
		     w = SAAKM_FORGET(w + 1)) {
			uint64_t pair = saakm_pair_word(c, w);

			if (pair)
				saakm_put_all(SAAKM_KEPT_WHOLE, saakm_first_in(w, pair), pair, in);
		}
	} while (saakm_pair_idle(c) != in && SAAKM_GO_ON);
	return 0;
}

/*
 * c was not in `waiting` for a moment although a thread waited there: a thief may have gone to
 * sleep. Counts that, then wakes every idle core. A thief that enters `idle` later sees the count.
 */
SAAKM_FUNCTION int saakm_wake_thieves(void)
{
	uint64_t old = SAAKM_LOAD(saakm_missed()), seen;

	do {
		seen = old;
		old = SAAKM_CAS(saakm_missed(), seen, seen + 1);
	} while (old != seen && SAAKM_GO_ON);
	for (core_t c = SAAKM_FORGET(0U); c <= saakm_last_core() && SAAKM_GO_ON;
	     c = SAAKM_FORGET(c + 1))
		if (saakm_is_idle(SAAKM_LOAD(saakm_word_of(c))))
			saakm_search_again(c);
	return 0;
}

/*
 * Whether core c, which has just entered `idle`, must search again: a core was late in `waiting`
 * since c last ran a thread or searched again. `heard` is a word of c alone.
 */
static inline bool saakm_has_missed(uint64_t SAAKM_MEM *heard)
{
	uint64_t missed = SAAKM_LOAD(saakm_missed());

	if (missed == *heard)
		return false;
	*heard = missed;
	return true;
}

/*
 * Lets c's bit in a set follow c's word, after a change of the word.
 *
 * At rest the bit agrees. Let X be the last call that wrote the bit, and suppose that its second
 * look saw an older word. The change that made the word disagree came after X's write, in the order
 * of full barriers; so the call after that change sees X's bit and would have written.
 *
 * True if a bit was cleared too late, and set again. It was wrong for a moment: a thief may have
 * missed the core. That happens to `waiting` only. A core that an arrival takes out of `idle` counts
 * the arrival until `idle` has followed, so it does not become idle in between.
 */
SAAKM_FUNCTION int saakm_follow(core_t c, uint32_t set)
{
	bool in, cleared = false;

	do {
		in = saakm_belongs(SAAKM_LOAD(saakm_word_of(c)), set);
		cleared |= saakm_put(set, c, in) && !in;
	} while (saakm_belongs(SAAKM_LOAD(saakm_word_of(c)), set) != in && SAAKM_GO_ON);
	return cleared && in;
}

/* The same, as one attempt without a call: false if saakm_follow is needed, because others change the word or the set. */
static inline bool saakm_follow_once(core_t c, uint32_t set, bool in)
{
	uint64_t SAAKM_MEM *bits = saakm_kept(set, c);
	uint64_t old = SAAKM_LOAD(bits), bit = 1ULL << (c % 64), new = in ? old | bit : old & ~bit;

	if (new != old) {
		if (SAAKM_CAS(bits, old, new) != old)
			return false;
	}
	return saakm_belongs(SAAKM_LOAD(saakm_word_of(c)), set) == in;
}

/* Whether a change of c's word from `seen` to `new` concerns more than the core: its hints, or a kick. */
static inline bool saakm_matters(uint64_t seen, uint64_t new)
{
	return saakm_is_idle(seen) != saakm_is_idle(new) ||
	       !saakm_ready_of(seen) != !saakm_ready_of(new) || saakm_is_stranded(new);
}

/*
 * c's word has changed from `seen` to `new`: changes the hints. A core that sleeps and that other cores have left
 * empty gets a kick, finds nothing, and becomes idle. Returns SAAKM_LEFT_IDLE, SAAKM_ENTERED_IDLE, or 0.
 */
SAAKM_FUNCTION uint32_t saakm_changed(core_t c, uint32_t change, uint64_t seen, uint64_t new)
{
	bool idle = saakm_is_idle(new);

	if (!saakm_ready_of(seen) != !saakm_ready_of(new)) {
		if (saakm_follow(c, SAAKM_KEPT_WAITING))
			saakm_wake_thieves();
	}
	if ((change == SAAKM_LEAVES || change == SAAKM_STOPS) && saakm_is_stranded(new))
		saakm_kick(c);
	if (saakm_is_idle(seen) == idle)
		return 0;
	if (!saakm_follow_once(c, SAAKM_KEPT_IDLE, idle))
		saakm_follow(c, SAAKM_KEPT_IDLE);
	if (saakm_has_pairs())
		saakm_follow_pair(c);
	return idle ? SAAKM_ENTERED_IDLE : SAAKM_LEFT_IDLE;
}

/* Changes c's word, then the hints. Returns SAAKM_LEFT_IDLE, SAAKM_ENTERED_IDLE, or 0. */
SAAKM_FUNCTION uint32_t saakm_change_core(core_t c, uint32_t change, uint32_t thread)
{
	uint64_t SAAKM_MEM *word = saakm_word_of(c);
	uint64_t old = SAAKM_LOAD(word), seen, new;

	do {
		seen = old;
		new = saakm_word_after(seen, change, thread);
		if (new == seen)
			return 0;
		old = SAAKM_CAS(word, seen, new);
	} while (old != seen && SAAKM_GO_ON);
	return saakm_changed(c, change, seen, new);
}

/*
 * The same as saakm_change_core without a call, where nothing changes or only the core is concerned. For what each
 * wake-up does, with a constant `change`.
 */
static inline __attribute__((always_inline)) uint32_t saakm_change_core_inline(core_t c,
									       uint32_t change,
									       uint32_t thread)
{
	uint64_t SAAKM_MEM *word = saakm_word_of(c);
	uint64_t seen = SAAKM_LOAD(word), new = saakm_word_after(seen, change, thread);

	if (new == seen)
		return 0;
	if (SAAKM_CAS(word, seen, new) != seen)
		return saakm_change_core(c, change, thread);
	return saakm_matters(seen, new) ? saakm_changed(c, change, seen, new) : 0;
}

/* ---- transitions of a thread ------------------------------------------------------------- */

/*
 * Makes a transition of thread `index`: from the place `old` to state, queue and core c. No
 * SAAKM_CHANGED if its place is no longer `old`. SAAKM_LEFT_IDLE if core c has left `idle`, also then.
 *
 * Any core may try it on a READY thread; the compare-and-swap lets one of them win. The version
 * makes it fail if the thread left and came back to the same place.
 *
 * A core counts a thread before the thread is READY there, and until after it is READY no longer.
 * So the count of a core is never below its READY threads, and an idle core has none.
 */
static inline __attribute__((always_inline)) uint32_t saakm_change_place(uint64_t SAAKM_MEM *where,
									 uint32_t index,
									 uint64_t old,
									 uint32_t state, core_t c,
									 uint32_t queue)
{
	core_t from = saakm_core_of(old);
	bool leaves = saakm_counts(saakm_state_of(old));
	bool arrives = saakm_counts(state);
	uint32_t result = 0;

	if (arrives && leaves && from == c)
		arrives = leaves = false;
	if (arrives)
		result = saakm_change_core(c, SAAKM_ARRIVES, 0);
	if (SAAKM_CAS(where, old, saakm_place_after(old, state, c, queue)) != old) {
		if (arrives)
			saakm_change_core(c, SAAKM_LEAVES, 0);
		return result;
	}
	if (state == SAAKM_RUNNING) {
		bool here = leaves && from == c;

		result = saakm_change_core(c, here ? SAAKM_STARTS : SAAKM_RUNS, index);
		leaves = leaves && !here;
	}
	if (leaves)
		saakm_change_core(from, SAAKM_LEAVES, 0);
	return result | SAAKM_CHANGED;
}

/*
 * Lets thread `index`, which is neither READY nor RUNNING, take the idle core c and run there next: from the place
 * `old` to RUNNING. SAAKM_LEFT_IDLE if it has. With SAAKM_CHANGED alone, c was no longer idle: the thread is RUNNING
 * but no core has it, and the caller places it elsewhere.
 *
 * The place changes first: a core does not wait for a thread that is not RUNNING there (saakm_awaits).
 */
static inline __attribute__((always_inline)) uint32_t saakm_take_core(uint64_t SAAKM_MEM *where,
								      uint32_t index, uint64_t old,
								      core_t c, uint32_t queue)
{
	if (!saakm_is_idle(SAAKM_LOAD(saakm_word_of(c))) ||
	    SAAKM_CAS(where, old, saakm_place_after(old, SAAKM_RUNNING, c, queue)) != old)
		return 0;
	return saakm_change_core_inline(c, SAAKM_TAKES, index) | SAAKM_CHANGED;
}

/*
 * Whether core c, which runs no thread, waits for one that has taken it and has yet to reach it. `not_coming` never
 * comes. While c is not idle, no thread takes it, so a false answer stays false.
 *
 * A thread in the word that is not RUNNING on c does not come: the kernel ran it elsewhere. The swap orders the load of
 * its place after that of the word.
 */
SAAKM_FUNCTION bool saakm_awaits(core_t c, uint32_t not_coming)
{
	uint64_t SAAKM_MEM *word = saakm_word_of(c);
	uint64_t old = SAAKM_LOAD(word), seen, where;
	uint32_t thread;

	do {
		seen = old;
		thread = saakm_current_of(seen);
		if (!thread || thread == not_coming)
			return false;
		old = SAAKM_CAS(word, seen, seen);
	} while (old != seen && SAAKM_GO_ON);
	where = SAAKM_LOAD(saakm_place_of(thread));
	if (saakm_state_of(where) == SAAKM_RUNNING && saakm_core_of(where) == c)
		return true;
	saakm_change_core(c, SAAKM_STOPS, thread);
	return false;
}

/* ---- claims ------------------------------------------------------------------------------ */

/*
 * Claims the idle core c: c's bit in `claimed`. The holder removes it after its placement has made
 * c busy. So a claim that succeeds after a claim of the same idle period sees in
 * its second look that c is no longer idle.
 */
SAAKM_FUNCTION uint32_t saakm_take_claim(core_t c)
{
	if (!saakm_is_idle(SAAKM_LOAD(saakm_word_of(c))))
		return SAAKM_NOT_IDLE;
	if (!saakm_put(SAAKM_KEPT_CLAIMED, c, true))
		return SAAKM_LOST;
	if (saakm_is_idle(SAAKM_LOAD(saakm_word_of(c))))
		return SAAKM_CLAIMED;
	saakm_put(SAAKM_KEPT_CLAIMED, c, false);
	return SAAKM_NOT_IDLE;
}

/* Ends a claim of c. */
SAAKM_FUNCTION int saakm_return_claim(core_t c)
{
	return saakm_put(SAAKM_KEPT_CLAIMED, c, false);
}

#endif

#endif
