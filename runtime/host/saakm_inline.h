/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SaaKM for the simulator: what emitted policy code is written in.
 *
 * A policy calls only what stands here, and never touches `struct saakm` or its ops directly, so
 * that runtime/bpf can give the same names another body. Nothing here allocates, recurses or
 * loops more often than a set has words or members.
 *
 * Sets. A set expression is written word by word: `members` is a C expression for word number w
 * of the set, for example `saakm_idle(s)->word[w] & die->cores.word[w]`, so that an expression of any
 * length takes one pass and no temporary. Absent cores cost nothing: loops go from one set bit to
 * the next. Words from nr_words on are never read nor written. What ends in _IN stands in a loop
 * over groups, and is for sets inside of one of them: it looks at the words of the wider domain
 * only, of which a machine with many cores has few in use.
 *
 * Arithmetic wraps (compile with -fwrapv), and division by zero gives zero.
 */
#ifndef SAAKM_INLINE_H
#define SAAKM_INLINE_H

/* Functions with more arguments than a BPF call can have. */
#define SAAKM_INLINE inline __attribute__((always_inline))

#define SAAKM_US 1000LL
#define SAAKM_MS 1000000LL
#define SAAKM_S 1000000000LL

/* ---- arithmetic -------------------------------------------------------------------------- */

static inline int64_t saakm_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t saakm_max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* A division that is defined for every divisor: x / 0 is 0, and the least integer / -1 wraps. */
static inline int64_t saakm_div(int64_t a, int64_t b)
{
	if (b == 0)
		return 0;
	return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static inline int64_t saakm_mod(int64_t a, int64_t b)
{
	return b == 0 || b == -1 ? 0 : a % b;
}

static inline uint32_t saakm_popcount(uint64_t x)
{
	x -= (x >> 1) & 0x5555555555555555ULL;
	x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (uint32_t)((x * 0x0101010101010101ULL) >> 56);
}

/*
 * value * 2^(-dt / half_life), rounded down: grows with value, falls with dt, and is value itself
 * for dt <= 0. The table holds 65536 * 2^(-i / 32); between two entries it is a straight line,
 * which is at most 6e-5 too high.
 */
static inline int64_t saakm_decay(int64_t value, nsec_t dt, nsec_t half_life)
{
	static const uint32_t table[33] = {
		65536, 64132, 62757, 61413, 60097, 58809, 57549, 56316,
		55109, 53928, 52773, 51642, 50535, 49452, 48393, 47356,
		46341, 45348, 44376, 43425, 42495, 41584, 40693, 39821,
		38968, 38133, 37316, 36516, 35734, 34968, 34219, 33486,
		32768,
	};
	uint64_t v = (uint64_t)value, part, factor;
	nsec_t halvings;
	uint32_t i;

	if (value == 0 || dt <= 0)
		return value;
	/* Nothing is left after 63 half-lives. Divisions are what costs: as few as can be. */
	if (half_life <= dt / 64)
		return 0;
	if (value < 0)
		v = 0 - v;
	/* part: 1024ths of a half-life. */
	if (dt < (INT64_MAX >> 10)) {
		part = (uint64_t)dt * 1024 / (uint64_t)half_life;
		halvings = (nsec_t)(part >> 10);
		part &= 1023;
	} else {
		halvings = dt / half_life;
		part = (uint64_t)(dt % half_life) / ((uint64_t)half_life / 1024 + 1);
	}
	if (halvings > 62)
		return 0;
	i = (part >> 5) & 31;
	factor = table[i] - (((table[i] - table[i + 1]) * (part & 31)) >> 5);
	v = v < (1ULL << 46) ? (v * factor) >> 16 : (v >> 16) * factor;
	v >>= halvings;
	return value < 0 ? (int64_t)(0 - v) : (int64_t)v;
}

/* ---- attributes -------------------------------------------------------------------------- */

/*
 * Where a policy's own attributes are: <name>_state(s), <name>_core(s, c) and <name>_thread(t).
 * Every policy defines the three structs, even if empty.
 */
#define SAAKM_ATTRIBUTES(name)                                                                     \
	static inline __attribute__((unused)) struct name##_state *name##_state(struct saakm *s)   \
	{                                                                                          \
		return (struct name##_state *)s->state;                                            \
	}                                                                                          \
	static inline __attribute__((unused)) struct name##_core *name##_core(struct saakm *s,     \
									      core_t c)            \
	{                                                                                          \
		return (struct name##_core *)s->cores[c].attrs;                                    \
	}                                                                                          \
	static inline __attribute__((unused)) struct name##_thread *name##_thread(                 \
		struct saakm_thread *t)                                                            \
	{                                                                                          \
		return (struct name##_thread *)t->attrs;                                           \
	}

/* ---- cores, threads and domains ---------------------------------------------------------- */

static inline nsec_t saakm_now(struct saakm *s)
{
	return s->now;
}

static inline const struct saakm_set *saakm_online(struct saakm *s)
{
	return &s->online;
}

static inline const struct saakm_set *saakm_idle(struct saakm *s)
{
	return &s->idle;
}

static inline const struct saakm_set *saakm_idle_whole(struct saakm *s)
{
	return &s->idle_whole;
}

static inline const struct saakm_set *saakm_waiting(struct saakm *s)
{
	return &s->waiting;
}

static inline struct saakm_thread *saakm_current(struct saakm *s, core_t c)
{
	return s->cores[c].current;
}

static inline int64_t saakm_nr_ready(struct saakm *s, core_t c)
{
	return s->cores[c].nr_ready;
}

static inline int64_t saakm_nr_running(struct saakm *s, core_t c)
{
	return s->cores[c].nr_running;
}

static inline int64_t saakm_frequency(struct saakm *s, core_t c)
{
	return s->cores[c].seen_khz;
}

static inline int64_t saakm_min_frequency(struct saakm *s, core_t c)
{
	return s->cores[c].min_khz;
}

static inline nsec_t saakm_exit_latency(struct saakm *s, core_t c)
{
	return s->cores[c].exit_latency_ns;
}

static inline nsec_t saakm_idle_since(struct saakm *s, core_t c)
{
	return s->cores[c].idle_since;
}

static inline core_t saakm_core(struct saakm_thread *t)
{
	return t->core;
}

static inline int64_t saakm_weight(struct saakm_thread *t)
{
	return t->weight;
}

/* What t has executed so far; while it runs, up to now. */
static inline nsec_t saakm_runtime(struct saakm *s, struct saakm_thread *t)
{
	return t->running_since < 0 ? t->runtime : t->runtime + s->now - t->running_since;
}

static inline const struct saakm_set *saakm_affinity(struct saakm_thread *t)
{
	return t->affinity;
}

static inline const struct saakm_domain *saakm_domain_of(struct saakm *s, core_t c,
							 enum saakm_level level)
{
	return &s->domains[level][s->cores[c].domain[level]];
}

static inline const struct saakm_domain *saakm_smt(struct saakm *s, core_t c)
{
	return saakm_domain_of(s, c, SAAKM_SMT);
}

static inline const struct saakm_domain *saakm_llc(struct saakm *s, core_t c)
{
	return saakm_domain_of(s, c, SAAKM_LLC);
}

static inline const struct saakm_domain *saakm_numa(struct saakm *s, core_t c)
{
	return saakm_domain_of(s, c, SAAKM_NUMA);
}

static inline const struct saakm_domain *saakm_machine(struct saakm *s)
{
	return &s->domains[SAAKM_MACHINE][0];
}

/* ---- sets -------------------------------------------------------------------------------- */

/* A temporary set, seen through a pointer: it need not live on the stack. Not initialised. */
#define SAAKM_SET(name)                                                                            \
	struct saakm_set name##_storage;                                                           \
	struct saakm_set *const name = &name##_storage

/* set = members */
#define SAAKM_ASSIGN(s, set, w, members)                                                           \
	do {                                                                                       \
		for (uint32_t w = 0; w < (s)->nr_words; w++)                                       \
			(set)->word[w] = (members);                                                \
	} while (0)

#define SAAKM_EMPTY(s, w, members)                                                                 \
	({                                                                                         \
		bool empty_ = true;                                                                \
		for (uint32_t w = 0; w < (s)->nr_words && empty_; w++)                             \
			empty_ = (members) == 0;                                                   \
		empty_;                                                                            \
	})

/* Most words of most sets are empty. */
#define SAAKM_COUNT(s, w, members)                                                                 \
	({                                                                                         \
		int64_t count_ = 0;                                                                \
		for (uint32_t w = 0; w < (s)->nr_words; w++) {                                     \
			const uint64_t word_ = (members);                                          \
			if (word_)                                                                 \
				count_ += saakm_popcount(word_);                                   \
		}                                                                                  \
		count_;                                                                            \
	})

/* The words that hold cores of a domain: bit w for word w. */
static inline uint32_t saakm_words(struct saakm *s, const struct saakm_domain *domain)
{
	uint32_t words = 0;

	for (uint32_t w = 0; w < SAAKM_SET_WORDS && w < s->nr_words; w++)
		words |= (uint32_t)(domain->cores.word[w] != 0) << w;
	return words;
}

/* The same within SAAKM_EACH_GROUP(s, d, ...), of a set inside of d. */
#define SAAKM_EMPTY_IN(s, d, w, members)                                                           \
	({                                                                                         \
		bool empty_ = true;                                                                \
		for (uint32_t words_ = d##_groups.words; words_ && empty_; words_ &= words_ - 1) { \
			const uint32_t w = (uint32_t)__builtin_ctz(words_);                        \
			empty_ = (members) == 0;                                                   \
		}                                                                                  \
		empty_;                                                                            \
	})

#define SAAKM_COUNT_IN(s, d, w, members)                                                           \
	({                                                                                         \
		int64_t count_ = 0;                                                                \
		for (uint32_t words_ = d##_groups.words; words_; words_ &= words_ - 1) {           \
			const uint32_t w = (uint32_t)__builtin_ctz(words_);                        \
			const uint64_t word_ = (members);                                          \
			if (word_)                                                                 \
				count_ += saakm_popcount(word_);                                   \
		}                                                                                  \
		count_;                                                                            \
	})

static inline bool saakm_has(const struct saakm_set *set, core_t c)
{
	return (set->word[c / 64] >> (c % 64)) & 1;
}

/* Changes of a temporary set. */
static inline void saakm_include(struct saakm_set *set, core_t c)
{
	set->word[c / 64] |= 1ULL << (c % 64);
}

static inline void saakm_exclude(struct saakm_set *set, core_t c)
{
	set->word[c / 64] &= ~(1ULL << (c % 64));
}

/* Adds c to set number id of the policy; false if that is full and c not in it. */
static inline bool saakm_add(struct saakm *s, struct saakm_set *set, uint32_t id, core_t c,
			     int64_t max)
{
	if (saakm_has(set, c))
		return true;
	if (max < SAAKM_MAX_CORES && SAAKM_COUNT(s, w, set->word[w]) >= max)
		return false;
	saakm_include(set, c);
	s->ops->set_changed(s, id, c, true);
	return true;
}

/* Removes c from set number id of the policy; false if it was not in it. */
static inline bool saakm_remove(struct saakm *s, struct saakm_set *set, uint32_t id, core_t c)
{
	if (!saakm_has(set, c))
		return false;
	saakm_exclude(set, c);
	s->ops->set_changed(s, id, c, false);
	return true;
}

/* Set number id of the policy becomes `members`: reports every core that enters or leaves. */
#define SAAKM_REPLACE(s, set, id, w, members)                                                      \
	do {                                                                                       \
		for (uint32_t w = 0; w < (s)->nr_words; w++)                                       \
			saakm_replace_word(s, set, id, w, (members));                              \
	} while (0)

static inline void saakm_replace_word(struct saakm *s, struct saakm_set *set, uint32_t id,
				      uint32_t w, uint64_t members)
{
	uint64_t changed = set->word[w] ^ members;

	set->word[w] = members;
	for (; changed; changed &= changed - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(changed);

		s->ops->set_changed(s, id, w * 64 + bit, (members >> bit) & 1);
	}
}

/* ---- walks over a set -------------------------------------------------------------------- */

/*
 * A walk by number. A loop's c is a core_t variable; it is SAAKM_NO_CORE after a loop that was not
 * left by break. A word of the set is read when the walk comes to it: what the body changes in
 * words to come is seen. The compiler takes a copy first where the body could change the set.
 */
struct saakm_scan {
	uint64_t bits;  /* members of this word that are still to come */
	uint32_t word;
	uint32_t words; /* words that are still to come; bit w for word w */
};

static inline core_t saakm_scan_take(struct saakm_scan *scan)
{
	core_t c;

	if (!scan->bits)
		return SAAKM_NO_CORE;
	c = scan->word * 64 + (uint32_t)__builtin_ctzll(scan->bits);
	scan->bits &= scan->bits - 1;
	return c;
}

#define SAAKM_SCAN_(c, among, w, members)                                                          \
	for (struct saakm_scan c##_walk = { .words = among };                                      \
	     ({                                                                                    \
		     while (!c##_walk.bits && c##_walk.words) {                                    \
			     const uint32_t w = (uint32_t)__builtin_ctz(c##_walk.words);           \
			     c##_walk.word = w;                                                    \
			     c##_walk.words &= c##_walk.words - 1;                                 \
			     c##_walk.bits = (members);                                            \
		     }                                                                             \
		     c = saakm_scan_take(&c##_walk);                                               \
	     }) != SAAKM_NO_CORE;)

#define SAAKM_EACH(s, c, w, members)                                                               \
	SAAKM_SCAN_(c, (2U << ((s)->nr_words - 1)) - 1, w, members)
/* Within SAAKM_EACH_GROUP(s, d, ...), over a set inside of d. */
#define SAAKM_EACH_IN(s, d, c, w, members) SAAKM_SCAN_(c, d##_groups.words, w, members)

/*
 * The order of a walk. `from x`: by number, from x up, then from 0 to x - 1. `nearest x`: the cores
 * that share x's last-level cache, then the others of its NUMA node, then all others, each of the
 * three rings in the order of `from x`; hyperthreads do not come before other cores of the cache.
 */
struct saakm_walk {
	uint64_t bits;                /* members of this word that are still to come */
	uint64_t mask;                /* cores of this word that belong to this step */
	uint32_t word;
	uint32_t step;                /* words done in this ring; the first is visited twice */
	core_t start;
	uint32_t level;               /* of the ring; SAAKM_LEVELS: no rings */
	const struct saakm_set *ring; /* its cores, and those that came before it */
	const struct saakm_set *inner;
};

static inline struct saakm_walk saakm_walk_from(struct saakm *s, core_t x)
{
	struct saakm_walk walk = { .start = x < s->nr_cores ? x : 0, .level = SAAKM_LEVELS };

	return walk;
}

static inline struct saakm_walk saakm_walk_nearest(struct saakm *s, core_t x)
{
	struct saakm_walk walk = saakm_walk_from(s, x);

	walk.level = SAAKM_LLC;
	walk.ring = &saakm_llc(s, walk.start)->cores;
	return walk;
}

/* Goes on to the next word, and through the start word's two halves, of one ring. */
static inline bool saakm_walk_step(struct saakm *s, struct saakm_walk *walk)
{
	uint64_t upper = ~0ULL << (walk->start % 64);

	if (walk->step > s->nr_words)
		return false;
	if (walk->step == 0) {
		walk->word = walk->start / 64;
		walk->mask = upper;
	} else {
		walk->word = walk->word + 1 < s->nr_words ? walk->word + 1 : 0;
		walk->mask = walk->step < s->nr_words ? ~0ULL : ~upper;
	}
	walk->step++;
	return true;
}

/* The next ring that is larger than the last; false after the machine. */
static inline bool saakm_walk_widen(struct saakm *s, struct saakm_walk *walk)
{
	while (walk->level < SAAKM_MACHINE) {
		const struct saakm_domain *wider = saakm_domain_of(s, walk->start, walk->level + 1);
		bool larger = wider->count[walk->level] > 1;

		walk->level++;
		if (larger) {
			walk->inner = walk->ring;
			walk->ring = &wider->cores;
			walk->step = 0;
			return true;
		}
	}
	return false;
}

static inline bool saakm_walk_step_ring(struct saakm *s, struct saakm_walk *walk)
{
	if (!saakm_walk_step(s, walk) &&
	    !(saakm_walk_widen(s, walk) && saakm_walk_step(s, walk)))
		return false;
	walk->mask &= walk->ring->word[walk->word];
	if (walk->inner)
		walk->mask &= ~walk->inner->word[walk->word];
	return true;
}

/* The next member, or SAAKM_NO_CORE at the end. */
static inline core_t saakm_walk_take(struct saakm_walk *walk)
{
	core_t c;

	if (!walk->bits)
		return SAAKM_NO_CORE;
	c = walk->word * 64 + (uint32_t)__builtin_ctzll(walk->bits);
	walk->bits &= walk->bits - 1;
	return c;
}

#define SAAKM_WALK_(s, c, begin, step, w, members)                                                 \
	for (struct saakm_walk c##_walk = begin;                                                   \
	     ({                                                                                    \
		     while (!c##_walk.bits && step(s, &c##_walk)) {                                \
			     const uint32_t w = c##_walk.word;                                     \
			     c##_walk.bits = c##_walk.mask & (members);                            \
		     }                                                                             \
		     c = saakm_walk_take(&c##_walk);                                               \
	     }) != SAAKM_NO_CORE;)

#define SAAKM_EACH_FROM(s, c, x, w, members)                                                       \
	SAAKM_WALK_(s, c, saakm_walk_from(s, x), saakm_walk_step, w, members)
#define SAAKM_EACH_NEAREST(s, c, x, w, members)                                                    \
	SAAKM_WALK_(s, c, saakm_walk_nearest(s, x), saakm_walk_step_ring, w, members)

/* The first member of a walk, or SAAKM_NO_CORE. */
#define SAAKM_FIRST(s, w, members)                                                                 \
	({                                                                                         \
		core_t first_;                                                                     \
		SAAKM_EACH(s, first_, w, members)                                                  \
			break;                                                                     \
		first_;                                                                            \
	})
#define SAAKM_FIRST_IN(s, d, w, members)                                                           \
	({                                                                                         \
		core_t first_;                                                                     \
		SAAKM_EACH_IN(s, d, first_, w, members)                                            \
			break;                                                                     \
		first_;                                                                            \
	})
#define SAAKM_FIRST_FROM(s, x, w, members)                                                         \
	({                                                                                         \
		core_t first_;                                                                     \
		SAAKM_EACH_FROM(s, first_, x, w, members)                                          \
			break;                                                                     \
		first_;                                                                            \
	})
#define SAAKM_FIRST_NEAREST(s, x, w, members)                                                      \
	({                                                                                         \
		core_t first_;                                                                     \
		SAAKM_EACH_NEAREST(s, first_, x, w, members)                                       \
			break;                                                                     \
		first_;                                                                            \
	})

/* As often as there are cores, unless left by break. */
#define SAAKM_EACH_ROUND(s) for (uint32_t round_ = 0; round_ < (s)->nr_cores; round_++)

/* ---- walks over groups and queues -------------------------------------------------------- */

/* The groups of a level in a domain, from the one of core x on, wrapping; the first if x lies
   outside. */
struct saakm_groups {
	uint32_t first, count, at, left;
	uint32_t words; /* of the domain: no group has cores in others */
};

static inline struct saakm_groups saakm_groups_from(struct saakm *s,
						    const struct saakm_domain *domain,
						    enum saakm_level level, core_t x)
{
	struct saakm_groups groups = {
		.first = domain->first[level],
		.count = domain->count[level],
		.left = domain->count[level],
		.words = saakm_words(s, domain),
	};
	uint32_t own;

	groups.at = groups.first;
	if (x < s->nr_cores) {
		own = s->cores[x].domain[level];
		if (own >= groups.first && own - groups.first < groups.count)
			groups.at = own;
	}
	return groups;
}

static inline const struct saakm_domain *saakm_groups_take(struct saakm *s,
							   struct saakm_groups *groups,
							   enum saakm_level level)
{
	const struct saakm_domain *domain;

	if (groups->left == 0)
		return NULL;
	domain = &s->domains[level][groups->at];
	groups->at = groups->at + 1 < groups->first + groups->count ? groups->at + 1 : groups->first;
	groups->left--;
	return domain;
}

/* d is a `const struct saakm_domain *` variable; NULL after a loop that was not left by break. */
#define SAAKM_EACH_GROUP(s, d, domain, level, x)                                                   \
	for (struct saakm_groups d##_groups = saakm_groups_from(s, domain, level, x);              \
	     (d = saakm_groups_take(s, &d##_groups, level)) != NULL;)

/* The threads of a ready queue, in its order; t may leave the queue meanwhile. */
static inline struct saakm_thread *saakm_first(struct saakm *s, core_t c, uint32_t queue)
{
	return s->ops->first(s, c, queue);
}

static inline struct saakm_thread *saakm_next(struct saakm *s, struct saakm_thread *t)
{
	return t ? s->ops->next(s, t) : NULL;
}

#define SAAKM_EACH_THREAD(s, t, c, queue)                                                          \
	for (struct saakm_thread *t##_next = saakm_first(s, c, queue);                             \
	     (t = t##_next) != NULL && (t##_next = saakm_next(s, t), true);)

/* ---- effects ----------------------------------------------------------------------------- */

static inline void saakm_ready(struct saakm *s, struct saakm_thread *t, core_t c, uint32_t queue,
			       int64_t key, uint32_t reason)
{
	s->ops->ready(s, t, c, queue, key, reason);
}

static inline void saakm_run(struct saakm *s, struct saakm_thread *t)
{
	s->ops->run(s, t);
}

static inline void saakm_blocked(struct saakm *s, struct saakm_thread *t)
{
	s->ops->blocked(s, t);
}

static inline void saakm_terminated(struct saakm *s, struct saakm_thread *t)
{
	s->ops->terminated(s, t);
}

/* c is idle, and this placement is the only one that may have it until t => c or release(c). */
static inline bool saakm_claim(struct saakm *s, core_t c)
{
	if (!saakm_has(&s->idle, c) || saakm_has(&s->claimed, c))
		return false;
	saakm_include(&s->claimed, c);
	return true;
}

static inline void saakm_release(struct saakm *s, core_t c)
{
	saakm_exclude(&s->claimed, c);
}

static inline void saakm_arm(struct saakm *s, struct saakm_thread *t, nsec_t ns)
{
	s->ops->arm(s, t, ns);
}

static inline void saakm_cancel(struct saakm *s, struct saakm_thread *t)
{
	s->ops->cancel(s, t);
}

static inline void saakm_keep_warm(struct saakm *s, core_t c, nsec_t ns)
{
	s->ops->keep_warm(s, c, ns);
}

static inline void saakm_preempt(struct saakm *s, core_t c)
{
	s->ops->preempt(s, c);
}

/* ---- the descriptor ---------------------------------------------------------------------- */

/*
 * SAAKM_POLICY(name, fields of struct saakm_policy): defines saakm_policy_<name>, and as the fixed
 * name that a loader of shared objects asks for, saakm_policy. The latter is weak, so that several
 * policies can be linked into one program.
 */
#define SAAKM_POLICY(name, ...)                                                                    \
	extern const struct saakm_policy saakm_policy_##name;                                      \
	const struct saakm_policy saakm_policy_##name                                              \
		__attribute__((visibility("default"))) = { .abi = SAAKM_ABI, __VA_ARGS__ };        \
	extern const struct saakm_policy saakm_policy                                              \
		__attribute__((weak, alias("saakm_policy_" #name), visibility("default")))

#endif
