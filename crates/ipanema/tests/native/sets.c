/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Compares operations on sets, walks and decay with simple models. */
struct none_state {
	char none;
};
struct none_core {
	char none;
};
struct none_thread {
	char none;
};
#include "saakm.h"

static void nothing(void *p)
{
	(void)p;
}
static const char *const names[] = { "set" };
SAAKM_POLICY(none, .sets = names, .nr_sets = 1, .init_state = nothing, .init_core = nothing,
	     .init_thread = nothing);
#include "mini.h"

static uint64_t seed = 88172645463325252ULL;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void random_set(struct saakm_set *set)
{
	unsigned one_in = 1 + next_random() % 8;

	memset(set, 0xaa, sizeof(*set)); /* poison: no code may read beyond nr_words */
	SAAKM_ASSIGN(&s, set, w, 0);
	for (core_t c = 0; c < s.nr_cores; c++)
		if (next_random() % one_in == 0)
			saakm_include(set, c);
}

/* Position of c in a walk `nearest x` or `from x`: by ring, then by distance upwards from x. */
static unsigned rank(core_t c, core_t x, bool nearest)
{
	unsigned ring = 0;

	if (nearest)
		ring = cores[c].domain[SAAKM_LLC] == cores[x].domain[SAAKM_LLC]     ? 0
		       : cores[c].domain[SAAKM_NUMA] == cores[x].domain[SAAKM_NUMA] ? 1
										    : 2;
	return ring * SAAKM_MAX_CORES + (c + s.nr_cores - x) % s.nr_cores;
}

static void check_walks(void)
{
	struct saakm_set a, b;
	core_t x = next_random() % s.nr_cores;
	uint32_t count = 0, members = 0;

	random_set(&a);
	random_set(&b);
	for (core_t c = 0; c < s.nr_cores; c++)
		members += in(&a, c) && !in(&b, c);
	EXPECT(SAAKM_COUNT(&s, w, a.word[w] & ~b.word[w]) == members);
	EXPECT(SAAKM_EMPTY(&s, w, a.word[w] & ~b.word[w]) == (members == 0));
	{
		core_t c, next = 0;

		SAAKM_EACH(&s, c, w, a.word[w] & ~b.word[w]) {
			for (; next < c; next++)
				EXPECT(!(in(&a, next) && !in(&b, next)));
			EXPECT(c == next && in(&a, c) && !in(&b, c));
			next++;
			count++;
		}
		EXPECT(c == SAAKM_NO_CORE && count == members);
		c = SAAKM_FIRST(&s, w, a.word[w]);
		EXPECT(c == SAAKM_FIRST_FROM(&s, 0, w, a.word[w]));
	}
	for (int nearest = 0; nearest < 2; nearest++) {
		struct saakm_set seen;
		core_t c, first = SAAKM_NO_CORE;
		int64_t before = -1;

		memset(&seen, 0, sizeof(seen));
		count = 0;
#define VISIT                                                                                      \
	do {                                                                                       \
		EXPECT(c < s.nr_cores && in(&a, c) && !in(&b, c) && !in(&seen, c));                \
		EXPECT((int64_t)rank(c, x, nearest) > before);                                     \
		before = rank(c, x, nearest);                                                      \
		first = first == SAAKM_NO_CORE ? c : first;                                        \
		saakm_include(&seen, c);                                                           \
		count++;                                                                           \
	} while (0)
		if (nearest) {
			SAAKM_EACH_NEAREST(&s, c, x, w, a.word[w] & ~b.word[w])
				VISIT;
			EXPECT(SAAKM_FIRST_NEAREST(&s, x, w, a.word[w] & ~b.word[w]) == first);
		} else {
			SAAKM_EACH_FROM(&s, c, x, w, a.word[w] & ~b.word[w])
				VISIT;
			EXPECT(SAAKM_FIRST_FROM(&s, x, w, a.word[w] & ~b.word[w]) == first);
		}
		EXPECT(c == SAAKM_NO_CORE && count == members);
		/* After a break, the variable keeps the core. */
		SAAKM_EACH_FROM(&s, c, x, w, a.word[w])
			break;
		EXPECT(SAAKM_EMPTY(&s, w, a.word[w]) ? c == SAAKM_NO_CORE : in(&a, c));
	}
}

static void check_changes(void)
{
	struct saakm_set set;
	core_t c = next_random() % s.nr_cores;
	int64_t size, max = next_random() % 8;
	bool was;

	changes[0] = 0;
	random_set(&set);
	size = SAAKM_COUNT(&s, w, set.word[w]);
	was = in(&set, c);
	EXPECT(saakm_add(&s, &set, 0, c, max) == (was || size < max));
	EXPECT(in(&set, c) == (was || size < max));
	was = in(&set, c);
	EXPECT(saakm_remove(&s, &set, 0, c) == was);
	EXPECT(!in(&set, c));
}

static void check_replace(void)
{
	struct saakm_set a, b;
	size_t differ;

	random_set(&a);
	random_set(&b);
	differ = SAAKM_COUNT(&s, w, a.word[w] ^ b.word[w]);
	changes[0] = 0;
	SAAKM_REPLACE(&s, &a, 0, w, b.word[w]);
	EXPECT(SAAKM_EMPTY(&s, w, a.word[w] ^ b.word[w]));
	/* One report per core. The history has no room for many. */
	if (differ < 64) {
		size_t reports = 0;

		for (const char *p = changes; *p; p++)
			reports += *p == '+' || *p == '-';
		EXPECT(reports == differ);
	}
}

static void check_groups(void)
{
	core_t x = next_random() % s.nr_cores;
	const struct saakm_domain *d, *pair = saakm_smt(&s, x);
	uint32_t count = 0;

	SAAKM_EACH_GROUP(&s, d, saakm_machine(&s), SAAKM_SMT, x) {
		EXPECT(count > 0 || d == pair);
		count++;
	}
	/* The cores of a group are in the words of its domain only. */
	SAAKM_EACH_GROUP(&s, d, saakm_llc(&s, x), SAAKM_SMT, x) {
		const struct saakm_domain *p = d;

		EXPECT(SAAKM_COUNT_IN(&s, d, w, p->cores.word[w]) ==
		       SAAKM_COUNT(&s, w, p->cores.word[w]));
		EXPECT(!SAAKM_EMPTY_IN(&s, d, w, p->cores.word[w]));
		EXPECT(SAAKM_EMPTY_IN(&s, d, w, p->cores.word[w] & 0));
		EXPECT(SAAKM_FIRST_IN(&s, d, w, p->cores.word[w]) ==
		       SAAKM_FIRST(&s, w, p->cores.word[w]));
	}
	EXPECT(count == s.nr_domains[SAAKM_SMT]);
	count = 0;
	SAAKM_EACH_GROUP(&s, d, saakm_llc(&s, x), SAAKM_SMT, SAAKM_NO_CORE) {
		EXPECT(in(&saakm_llc(&s, x)->cores, SAAKM_FIRST_FROM(&s, 0, w, d->cores.word[w])));
		count++;
	}
	EXPECT(count == saakm_llc(&s, x)->count[SAAKM_SMT]);
}

/* Decay by whole half-lives and by the remainder, separately. */
static int64_t plain_decay(int64_t value, nsec_t dt, nsec_t half_life)
{
	int64_t part = dt % half_life * 1024 / half_life, below, above;

	if (dt / half_life > 62)
		return 0;
	below = saakm_decay(65536, part / 32 * 32, 1024);
	above = saakm_decay(65536, part / 32 * 32 + 32, 1024);
	return (value * (below - ((below - above) * (part % 32) >> 5)) >> 16) >> (dt / half_life);
}

static void check_decay(void)
{
	int64_t value = next_random() % 4096, half = 1 + next_random() % (100 * SAAKM_MS);
	int64_t dt = next_random() % (10 * half), step = next_random() % half;
	int64_t now = saakm_decay(value, dt, half);

	EXPECT(now >= 0 && now <= value);
	EXPECT(now == plain_decay(value, dt, half));
	EXPECT(saakm_decay(value, 100 * dt, half) == plain_decay(value, 100 * dt, half));
	EXPECT(saakm_decay(value, dt + step, half) <= now);
	EXPECT(saakm_decay(value + 1, dt, half) >= now);
	EXPECT(saakm_decay(-value, dt, half) == -now);
	EXPECT(saakm_decay(value, 0, half) == value);
	EXPECT(saakm_decay(value, -step, half) == value);
	for (int n = 0; n < 12; n++)
		EXPECT(saakm_decay(value, n * half, half) == value >> n);
}

int main(void)
{
	static const unsigned shapes[][2] = { { 1, 1 },  { 1, 2 },  { 2, 16 }, { 4, 20 },
					      { 1, 32 }, { 4, 80 }, { 8, 64 } };

	for (unsigned i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		memset(&s, 0, sizeof(s));
		memset(cores, 0, sizeof(cores));
		machine(shapes[i][0], shapes[i][1]);
		/* Adds NUMA nodes of two dies. */
		if (shapes[i][0] == 4) {
			domain_level(SAAKM_NUMA, 2);
			for (core_t c = 0; c < s.nr_cores; c++) {
				cores[c].domain[SAAKM_NUMA] = cores[c].domain[SAAKM_LLC] / 2;
				saakm_include(
					&s.domains[SAAKM_NUMA][cores[c].domain[SAAKM_NUMA]].cores,
					c);
			}
			for (unsigned d = 0; d < 2; d++) {
				s.domains[SAAKM_NUMA][d].first[SAAKM_LLC] = 2 * d;
				s.domains[SAAKM_NUMA][d].count[SAAKM_LLC] = 2;
			}
			s.domains[SAAKM_MACHINE][0].count[SAAKM_NUMA] = 2;
		}
		for (int round = 0; round < 2000; round++) {
			check_walks();
			check_changes();
			check_replace();
			check_groups();
			check_decay();
		}
	}
	EXPECT(saakm_div(7, 0) == 0 && saakm_mod(7, 0) == 0);
	EXPECT(saakm_div(INT64_MIN, -1) == INT64_MIN && saakm_mod(INT64_MIN, -1) == 0);
	EXPECT(saakm_div(-7, 2) == -3 && saakm_mod(-7, 2) == -1);
	EXPECT(saakm_decay(INT64_MAX, 1, INT64_MAX) <= INT64_MAX);
	return 0;
}
