/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SaaKM: what emitted policy code uses in every runtime: arithmetic, sets, and walks over sets and
 * groups.
 *
 * Before a runtime includes this file, it defines SAAKM_MEM and SAAKM_GO_ON (saakm.h) and the
 * functions that read a core, a thread or a domain. A policy calls only these functions and the
 * effects; it never accesses `struct saakm`. Nothing here allocates or recurses. A loop has at most
 * as many iterations as a set has words or members.
 *
 * A set expression is computed word by word: `members` is a C expression for word w of the set, for
 * example `t->allowed.word[w] & die->cores.word[w]`. So an expression of any length takes one
 * pass and no temporary set. Loops skip absent cores: they go from one set bit to the next. Words
 * from nr_words on are neither read nor written. Macros that end in _IN are for a set inside one
 * group of a loop over groups. They read only the words of the domain that contains the groups,
 * which are few on a machine with many cores.
 *
 * Many cores write the sets that the runtime keeps. saakm_members_among reads them only for the
 * cores in question: on a machine with several last-level caches, not the lines of other caches.
 *
 * Arithmetic wraps (compile with -fwrapv), and division by zero gives zero.
 */
#ifndef SAAKM_INLINE_H
#define SAAKM_INLINE_H

#define SAAKM_US 1000LL
#define SAAKM_MS 1000000LL
#define SAAKM_S 1000000000LL

/* ---- arithmetic ----------------------------------------------------------------------------- */

static inline int64_t saakm_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t saakm_max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Division, defined for every divisor: x / 0 is 0, and INT64_MIN / -1 wraps. */
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
 * Entry i: in the lower half 65536 * 2^(-i / 32), in the upper half its difference to the next entry.
 */
#define SAAKM_POWER(this, next) (this | (uint64_t)(this - next) << 32)
static const uint64_t saakm_powers[32] = {
	SAAKM_POWER(65536, 64132), SAAKM_POWER(64132, 62757), SAAKM_POWER(62757, 61413),
	SAAKM_POWER(61413, 60097), SAAKM_POWER(60097, 58809), SAAKM_POWER(58809, 57549),
	SAAKM_POWER(57549, 56316), SAAKM_POWER(56316, 55109), SAAKM_POWER(55109, 53928),
	SAAKM_POWER(53928, 52773), SAAKM_POWER(52773, 51642), SAAKM_POWER(51642, 50535),
	SAAKM_POWER(50535, 49452), SAAKM_POWER(49452, 48393), SAAKM_POWER(48393, 47356),
	SAAKM_POWER(47356, 46341), SAAKM_POWER(46341, 45348), SAAKM_POWER(45348, 44376),
	SAAKM_POWER(44376, 43425), SAAKM_POWER(43425, 42495), SAAKM_POWER(42495, 41584),
	SAAKM_POWER(41584, 40693), SAAKM_POWER(40693, 39821), SAAKM_POWER(39821, 38968),
	SAAKM_POWER(38968, 38133), SAAKM_POWER(38133, 37316), SAAKM_POWER(37316, 36516),
	SAAKM_POWER(36516, 35734), SAAKM_POWER(35734, 34968), SAAKM_POWER(34968, 34219),
	SAAKM_POWER(34219, 33486), SAAKM_POWER(33486, 32768),
};
#undef SAAKM_POWER

/* Interpolates linearly between two entries, which is at most 6e-5 too high. part: 1024ths of a half-life. */
static inline uint64_t saakm_power(uint64_t part)
{
	uint64_t entry = saakm_powers[(part >> 5) & 31];

	return (uint32_t)entry - (((entry >> 32) * (part & 31)) >> 5);
}

/* saakm_decay for any value and time, after its first tests. */
SAAKM_FUNCTION int64_t saakm_decay_any(int64_t value, nsec_t dt, nsec_t half_life)
{
	uint64_t v = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, part, factor;
	nsec_t halvings;

	if (dt < (INT64_MAX >> 10)) {
		part = (uint64_t)dt * 1024 / (uint64_t)half_life;
		halvings = (nsec_t)(part >> 10);
	} else {
		halvings = dt / half_life;
		part = (uint64_t)(dt % half_life) / ((uint64_t)half_life / 1024 + 1);
	}
	if (halvings > 62)
		return 0;
	factor = saakm_power(part);
	v = v < (1ULL << 46) ? (v * factor) >> 16 : (v >> 16) * factor;
	v >>= halvings;
	return value < 0 ? (int64_t)(0 - v) : (int64_t)v;
}

/*
 * Returns value * 2^(-dt / half_life), rounded towards 0; value itself for dt <= 0. Monotonic in
 * value and dt. Each event calls this several times: no call, one division and one load for common values.
 */
SAAKM_FUNCTION int64_t saakm_decay(int64_t value, nsec_t dt, nsec_t half_life)
{
	uint64_t part;

	/* Less than a 1024th of a half-life changes nothing. */
	if (value == 0 || dt <= 0 || dt < half_life >> 10)
		return value;
	/* 0 after 64 half-lives. */
	if (half_life <= dt / 64)
		return 0;
	if ((uint64_t)value >> 46 || ((uint64_t)dt + 1) >> 53)
		return saakm_decay_any(value, dt, half_life);
	part = (uint64_t)dt * 1024 / (uint64_t)half_life;
	return (int64_t)((((uint64_t)value * saakm_power(part)) >> 16) >> (part >> 10));
}

/* ---- attributes ----------------------------------------------------------------------------- */

/*
 * Defines <name>_state(s), <name>_core(s, c) and <name>_thread(t), which return the policy's own
 * attributes. Every policy defines the three structs, even if empty.
 */
#define SAAKM_ATTRIBUTES(name)                                                                     \
	SAAKM_ATTRIBUTES_FIT(name)                                                                 \
	static inline __attribute__((unused)) struct name##_state SAAKM_MEM *name##_state(         \
		saakm_t s)                                                                         \
	{                                                                                          \
		return (struct name##_state SAAKM_MEM *)saakm_state_attrs(s);                      \
	}                                                                                          \
	static inline __attribute__((unused)) struct name##_core SAAKM_MEM *name##_core(saakm_t s, \
											core_t c)  \
	{                                                                                          \
		return (struct name##_core SAAKM_MEM *)saakm_core_attrs(s, c);                     \
	}                                                                                          \
	static inline __attribute__((unused)) struct name##_thread SAAKM_MEM *name##_thread(       \
		thread_t t)                                                                        \
	{                                                                                          \
		return (struct name##_thread SAAKM_MEM *)saakm_thread_attrs(t);                    \
	}

/* ---- domains -------------------------------------------------------------------------------- */

static inline domain_t saakm_domain_of(saakm_t s, core_t c, enum saakm_level level)
{
	return saakm_domain_at(s, level, saakm_domain_index(s, c, level));
}

static inline domain_t saakm_smt(saakm_t s, core_t c)
{
	return saakm_domain_of(s, c, SAAKM_SMT);
}

static inline domain_t saakm_llc(saakm_t s, core_t c)
{
	return saakm_domain_of(s, c, SAAKM_LLC);
}

static inline domain_t saakm_numa(saakm_t s, core_t c)
{
	return saakm_domain_of(s, c, SAAKM_NUMA);
}

static inline domain_t saakm_machine(saakm_t s)
{
	return saakm_domain_at(s, SAAKM_MACHINE, 0);
}

/* ---- sets ----------------------------------------------------------------------------------- */

/* set = members */
#define SAAKM_ASSIGN(s, set, w, members)                                                           \
	do {                                                                                       \
		for (uint32_t w = SAAKM_FORGET(0U); w < saakm_nr_words(s) && SAAKM_GO_ON;          \
		     w = SAAKM_FORGET(w + 1))                                                      \
			(set)->word[w] = (members);                                                \
	} while (0)

#define SAAKM_EMPTY(s, w, members)                                                                 \
	({                                                                                         \
		bool empty_ = true;                                                                \
		for (uint32_t w = SAAKM_FORGET(0U);                                                \
		     w < saakm_nr_words(s) && empty_ && SAAKM_GO_ON; w = SAAKM_FORGET(w + 1))      \
			empty_ = (members) == 0;                                                   \
		empty_;                                                                            \
	})

/* Skips words without members: most words of most sets are empty. */
#define SAAKM_COUNT(s, w, members)                                                                 \
	({                                                                                         \
		int64_t count_ = SAAKM_FORGET(0LL);                                                \
		for (uint32_t w = SAAKM_FORGET(0U); w < saakm_nr_words(s) && SAAKM_GO_ON;          \
		     w = SAAKM_FORGET(w + 1)) {                                                    \
			const uint64_t word_ = (members);                                          \
			if (word_)                                                                 \
				count_ = SAAKM_FORGET(count_ + saakm_popcount(word_));             \
		}                                                                                  \
		count_;                                                                            \
	})

/* Returns the words that contain cores of a domain: bit w for word w. */
static inline uint32_t saakm_words(saakm_t s, domain_t domain)
{
	uint32_t words = SAAKM_FORGET(0U);

	for (uint32_t w = SAAKM_FORGET(0U);
	     w < SAAKM_SET_WORDS && w < saakm_nr_words(s) && SAAKM_GO_ON; w = SAAKM_FORGET(w + 1))
		words |= (uint32_t)(domain->cores.word[w] != 0) << w;
	return words;
}

/* The same for a set inside d, in SAAKM_EACH_GROUP(s, d, ...). */
#define SAAKM_EMPTY_IN(s, d, w, members)                                                           \
	({                                                                                         \
		bool empty_ = true;                                                                \
		for (uint32_t words_ = d##_groups.words; words_ && empty_ && SAAKM_GO_ON;          \
		     words_ = SAAKM_FORGET(words_ & (words_ - 1))) {                               \
			const uint32_t w = (uint32_t)__builtin_ctz(words_);                        \
			empty_ = (members) == 0;                                                   \
		}                                                                                  \
		empty_;                                                                            \
	})

#define SAAKM_COUNT_IN(s, d, w, members)                                                           \
	({                                                                                         \
		int64_t count_ = SAAKM_FORGET(0LL);                                                \
		for (uint32_t words_ = d##_groups.words; words_ && SAAKM_GO_ON;                    \
		     words_ = SAAKM_FORGET(words_ & (words_ - 1))) {                               \
			const uint32_t w = (uint32_t)__builtin_ctz(words_);                        \
			const uint64_t word_ = (members);                                          \
			if (word_)                                                                 \
				count_ = SAAKM_FORGET(count_ + saakm_popcount(word_));             \
		}                                                                                  \
		count_;                                                                            \
	})

/* The number of cores of a domain; `members` are its words. */
#define SAAKM_SIZE(s, domain, w, members) ((int64_t)(domain)->size)

static inline bool saakm_has(set_t set, core_t c)
{
	return (set->word[c / 64] >> (c % 64)) & 1;
}

/* Changes of a set, not atomic. */
static inline void saakm_include(struct saakm_set SAAKM_MEM *set, core_t c)
{
	set->word[c / 64] |= 1ULL << (c % 64);
}

static inline void saakm_exclude(struct saakm_set SAAKM_MEM *set, core_t c)
{
	set->word[c / 64] &= ~(1ULL << (c % 64));
}

/* ---- memoised values of a steal ------------------------------------------------------------ */

#define SAAKM_MEMO_CLEAR(memo) ((memo)->known = 0)

/* Value number i, which is computed if it is not known. */
#define SAAKM_MEMO_VALUE(memo, i, computed)                                                        \
	({                                                                                         \
		if (!((memo)->known & (1 << (i)))) {                                               \
			(memo)->value[i] = (computed);                                             \
			(memo)->known |= 1 << (i);                                                 \
		}                                                                                  \
		(memo)->value[i];                                                                  \
	})

/* Value number i is a sum, to which a move has added `more`. */
#define SAAKM_MEMO_ADD(memo, i, more) ((memo)->value[i] += (more))

/* ---- walks over a set ----------------------------------------------------------------------- */

/*
 * A walk by core number. The loop variable c is a core_t; after a loop without break it is
 * SAAKM_NO_CORE. The walk reads a word of the set when it reaches it, so it sees what the body has
 * changed in later words. If the body could change the set, the compiler copies the set first.
 */
struct saakm_scan {
	uint64_t bits; /* remaining members of this word */
	uint32_t word;
	uint32_t words; /* remaining words: bit w for word w */
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
	for (struct saakm_scan c##_walk = { .bits = SAAKM_FORGET(0ULL),                            \
					    .word = SAAKM_FORGET(0U),                              \
					    .words = SAAKM_FORGET(among) };                        \
	     ({                                                                                    \
		     while (!c##_walk.bits && c##_walk.words && SAAKM_GO_ON) {                     \
			     const uint32_t w = (uint32_t)__builtin_ctz(c##_walk.words);           \
			     c##_walk.word = w;                                                    \
			     c##_walk.words = SAAKM_FORGET(c##_walk.words & (c##_walk.words - 1)); \
			     c##_walk.bits = (members);                                            \
		     }                                                                             \
		     c = saakm_scan_take(&c##_walk);                                               \
	     }) != SAAKM_NO_CORE &&                                                                \
	     SAAKM_GO_ON;)

#define SAAKM_EACH(s, c, w, members) SAAKM_SCAN_(c, (2U << (saakm_nr_words(s) - 1)) - 1, w, members)
/* Over a set inside d, in SAAKM_EACH_GROUP(s, d, ...). */
#define SAAKM_EACH_IN(s, d, c, w, members) SAAKM_SCAN_(c, d##_groups.words, w, members)

/*
 * A walk in another order. `from x`: from x up, then from 0 to x - 1. `nearest x`: three rings,
 * each in the order of `from x`. The rings are the cores that share x's last-level cache, the
 * others of its NUMA node, and all others. Hyperthreads do not precede other cores of the cache.
 */
struct saakm_walk {
	uint64_t bits; /* remaining members of this word */
	uint64_t mask; /* cores of this word that belong to this step */
	uint32_t word;
	uint32_t step; /* words visited in this ring; the first is visited twice */
	core_t start;
	uint32_t level; /* of the ring; SAAKM_LEVELS: no rings */
	set_t ring;     /* cores of this ring and of the rings inside it */
	set_t inner;    /* cores of the rings inside it; NULL: none */
};

static inline struct saakm_walk SAAKM_MEM *
saakm_walk_from(saakm_t s, struct saakm_walk SAAKM_MEM *walk, core_t x)
{
	walk->bits = 0;
	walk->word = 0;
	walk->step = 0;
	walk->start = x < saakm_nr_cores(s) ? x : 0;
	return walk;
}

static inline struct saakm_walk SAAKM_MEM *
saakm_walk_nearest(saakm_t s, struct saakm_walk SAAKM_MEM *walk, core_t x)
{
	saakm_walk_from(s, walk, x);
	walk->level = SAAKM_LLC;
	walk->ring = &saakm_llc(s, walk->start)->cores;
	walk->inner = NULL;
	return walk;
}

/* Advances to the next word of the ring. The start word comes first from `start` up, and last below
   it. False at the end. */
static inline bool saakm_walk_step(saakm_t s, struct saakm_walk SAAKM_MEM *walk)
{
	uint64_t upper = ~0ULL << (walk->start % 64);

	if (walk->step > saakm_nr_words(s))
		return false;
	if (walk->step == 0) {
		walk->word = walk->start / 64;
		walk->mask = upper;
	} else {
		walk->word = walk->word + 1 < saakm_nr_words(s) ? walk->word + 1 : 0;
		walk->mask = walk->step < saakm_nr_words(s) ? ~0ULL : ~upper;
	}
	walk->step++;
	return true;
}

/* Advances to the next larger ring; false after the machine. */
static inline bool saakm_walk_widen(saakm_t s, struct saakm_walk SAAKM_MEM *walk)
{
	while (walk->level < SAAKM_MACHINE && SAAKM_GO_ON) {
		domain_t wider = saakm_domain_of(s, walk->start, walk->level + 1);
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

static inline bool saakm_walk_step_ring(saakm_t s, struct saakm_walk SAAKM_MEM *walk)
{
	if (!saakm_walk_step(s, walk) && !(saakm_walk_widen(s, walk) && saakm_walk_step(s, walk)))
		return false;
	walk->mask &= walk->ring->word[walk->word];
	if (walk->inner)
		walk->mask &= ~walk->inner->word[walk->word];
	return true;
}

/* Takes the next member of this word; SAAKM_NO_CORE: none. */
static inline core_t saakm_walk_take(struct saakm_walk SAAKM_MEM *walk)
{
	core_t c;

	if (!walk->bits)
		return SAAKM_NO_CORE;
	c = walk->word * 64 + (uint32_t)__builtin_ctzll(walk->bits);
	walk->bits &= walk->bits - 1;
	return c;
}

#define SAAKM_WALK_(s, c, begin, step, w, members)                                                 \
	for (SAAKM_WALK_IN(s, c##_walk) = begin;                                                   \
	     ({                                                                                    \
		     while (!c##_walk->bits && step(s, c##_walk) && SAAKM_GO_ON) {                 \
			     const uint32_t w = c##_walk->word;                                    \
			     c##_walk->bits = c##_walk->mask & (members);                          \
		     }                                                                             \
		     c = saakm_walk_take(c##_walk);                                                \
	     }) != SAAKM_NO_CORE &&                                                                \
	     SAAKM_GO_ON;)

#define SAAKM_EACH_FROM(s, c, x, w, members)                                                       \
	SAAKM_WALK_(s, c, saakm_walk_from(s, SAAKM_WALK_AT(s, c##_walk), x), saakm_walk_step, w,   \
		    members)
#define SAAKM_EACH_NEAREST(s, c, x, w, members)                                                    \
	SAAKM_WALK_(s, c, saakm_walk_nearest(s, SAAKM_WALK_AT(s, c##_walk), x),                    \
		    saakm_walk_step_ring, w, members)

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

/* Repeats the body once per core. */
#define SAAKM_EACH_ROUND(s)                                                                        \
	for (uint32_t round_ = SAAKM_FORGET(0U); round_ < saakm_nr_cores(s) && SAAKM_GO_ON;        \
	     round_ = SAAKM_FORGET(round_ + 1))

/* ---- walks over groups ---------------------------------------------------------------------- */

/* A walk over the groups of a level in a domain. It starts at the group of core x, or at the first
   if x is outside the domain, and wraps. */
struct saakm_groups {
	uint32_t first, count, at, left;
	uint32_t words; /* words that contain cores of the domain */
};

static inline struct saakm_groups saakm_groups_from(saakm_t s, domain_t domain,
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
	if (x < saakm_nr_cores(s)) {
		own = saakm_domain_index(s, x, level);
		if (own >= groups.first && own - groups.first < groups.count)
			groups.at = own;
	}
	return groups;
}

static inline domain_t saakm_groups_take(saakm_t s, struct saakm_groups *groups,
					 enum saakm_level level)
{
	domain_t domain;

	if (groups->left == 0)
		return NULL;
	domain = saakm_domain_at(s, level, groups->at);
	groups->at =
		groups->at + 1 < groups->first + groups->count ? groups->at + 1 : groups->first;
	groups->left = SAAKM_FORGET(groups->left - 1);
	groups->at = SAAKM_FORGET(groups->at);
	return domain;
}

/* The loop variable d is a domain_t; after a loop without break it is NULL. */
#define SAAKM_EACH_GROUP(s, d, domain, level, x)                                                   \
	for (struct saakm_groups d##_groups = saakm_groups_from(s, domain, level, x);              \
	     (d = saakm_groups_take(s, &d##_groups, level)) != NULL && SAAKM_GO_ON;)

#endif
