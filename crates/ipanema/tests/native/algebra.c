/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Compares emitted set operations (algebra.ipa) with models that visit the cores one by one. */
#include "algebra_policy.c"
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

/* The sets of the policy, and the set passed to functions. */
static struct saakm_set *a, *b, t;
static core_t x;
static int64_t n;
static bool flag;

static bool is_idle(core_t c)
{
	return in(&s.idle, c);
}

static bool same(core_t c, core_t d, enum saakm_level level)
{
	return cores[c].domain[level] == cores[d].domain[level];
}

/* All cores in ascending order, or in the order of `from x` or `nearest x`. */
enum order { NUMBER, FROM, NEAREST };
static core_t sorted[3][SAAKM_MAX_CORES];

static void sort(void)
{
	uint32_t i = 0;

	for (core_t c = 0; c < s.nr_cores; c++) {
		sorted[NUMBER][c] = c;
		sorted[FROM][c] = (x + c) % s.nr_cores;
	}
	for (int ring = 0; ring < 3; ring++)
		for (core_t j = 0; j < s.nr_cores; j++) {
			core_t c = sorted[FROM][j];
			int own = same(c, x, SAAKM_LLC) ? 0 : same(c, x, SAAKM_NUMA) ? 1 : 2;

			if (own == ring)
				sorted[NEAREST][i++] = c;
		}
	EXPECT(i == s.nr_cores);
}

/* Loops over the cores for which the test holds, in an order; at most `limit` of them. */
#define EACH(c, order, limit, test)                                                                \
	for (int64_t i_ = 0, left_ = (limit); i_ < s.nr_cores; i_++)                               \
		for (core_t c = sorted[order][i_], once_ = (test) && left_-- > 0; once_; once_ = 0)
#define ALL INT64_MAX

static int64_t running(core_t c)
{
	return saakm_nr_running(&s, c);
}

static int64_t ready(core_t c)
{
	return saakm_nr_ready(&s, c);
}

/* Group i of a level in a domain, starting with the group of x if the domain contains it. */
static uint32_t group(const struct saakm_domain *d, enum saakm_level level, uint32_t i, bool from_x)
{
	uint32_t own = cores[x].domain[level], shift = 0;

	if (from_x && own >= d->first[level] && own < d->first[level] + d->count[level])
		shift = own - d->first[level];
	return d->first[level] + (i + shift) % d->count[level];
}

static void check_passes(void)
{
	int64_t first = 0, second = 0, third = 1, fourth = 0, sum = 0;
	const struct saakm_domain *die = saakm_llc(&s, x);

	EACH(c, NUMBER, ALL, true) {
		first += in(a, c) && same(c, x, SAAKM_LLC) && !in(b, c);
		second += (in(a, c) || (in(b, c) && in(&t, c))) && !is_idle(c);
		third &= !(in(a, c) && in(b, c) && same(c, x, SAAKM_SMT));
		fourth += flag ? in(a, c) && !in(&t, c) : in(b, c) || is_idle(c);
		EXPECT(algebra_member(&s, c, x, &t) == ((in(a, c) && in(b, c) && !is_idle(c)) ||
							(in(&t, c) && same(c, x, SAAKM_LLC))));
		EXPECT(algebra_chosen(&s, c, &t) ==
		       ((flag ? in(a, c) && in(&t, c) : in(b, c) && !is_idle(c)) ||
			in(&s.waiting, c)));
	}
	EXPECT(algebra_counted(&s, x, &t) == first + 2000 * second + 4000000 * third + fourth);

	for (uint32_t i = 0; i < die->count[SAAKM_SMT]; i++) {
		const struct saakm_set *d =
			&s.domains[SAAKM_SMT][group(die, SAAKM_SMT, i, true)].cores;
		int64_t count = 0, none = 5, no_other = 7, add = 0;

		EACH(c, NUMBER, ALL, true) {
			count += in(d, c) && in(a, c) && !in(b, c);
			if (in(b, c) && in(d, c))
				none = 0;
			if ((in(a, c) || in(d, c)) && !in(b, c))
				no_other = 0;
		}
		sum = sum * 31 + count + none + no_other;
		EACH(c, NUMBER, ALL, in(d, c) && !in(a, c))
			sum = sum * 3 + running(c);
		EACH(c, FROM, ALL, in(d, c) && in(b, c))
			sum = sum * 5 + running(c);
		EACH(c, NUMBER, ALL, in(d, c) && in(a, c))
			add += running(c);
		EACH(c, NUMBER, 1, in(d, c) && in(a, c))
			add += running(c) * 11;
		EACH(c, NUMBER, 1, in(d, c) && !in(a, c) && in(b, c))
			add += running(c) * 13;
		EACH(c, NUMBER, 1, in(d, c) && is_idle(c) && in(a, c) && in(b, c))
			add += 17;
		sum += add;
	}
	EXPECT(algebra_grouped(&s, x) == sum);
}

static void check_densest(void)
{
	const struct saakm_domain *machine = saakm_machine(&s), *die = saakm_llc(&s, x),
				  *pair = NULL;
	int64_t most = -1, most2 = -1;
	core_t expected = SAAKM_NO_CORE;

	for (uint32_t i = 0; i < machine->count[SAAKM_LLC]; i++) {
		const struct saakm_domain *d =
			&s.domains[SAAKM_LLC][group(machine, SAAKM_LLC, i, true)];
		int64_t count = 0, of_a = 0;

		EACH(c, NUMBER, ALL, in(&d->cores, c)) {
			count += in(&t, c);
			of_a += in(a, c);
		}
		if (of_a > 0 && count > most) {
			most = count;
			die = d;
		}
	}
	most = -1;
	for (uint32_t i = 0; i < die->count[SAAKM_SMT]; i++) {
		const struct saakm_domain *p =
			&s.domains[SAAKM_SMT][group(die, SAAKM_SMT, i, false)];
		int64_t of_a = 0, not_b = 0;

		EACH(c, NUMBER, ALL, in(&p->cores, c)) {
			of_a += in(a, c);
			not_b += !in(b, c);
		}
		if (of_a > most || (of_a == most && not_b > most2)) {
			most = of_a;
			most2 = not_b;
			pair = p;
		}
	}
	EACH(c, NUMBER, 1, in(&pair->cores, c) && in(&t, c))
		expected = c;
	EXPECT(algebra_densest(&s, x, &t) == expected);
}

static void check_filters(void)
{
	core_t first = SAAKM_NO_CORE, best = SAAKM_NO_CORE;
	int64_t sum = 0;

	EACH(c, FROM, 1, in(a, c) && in(b, c) && ready(c) > 0 && !is_idle(c) && !in(&t, c))
		first = c;
	EXPECT(algebra_filtered(&s, x, &t) == first);
	EACH(c, NEAREST, ALL, (in(a, c) || in(&t, c)) && !is_idle(c) && in(b, c))
		if (best == SAAKM_NO_CORE || ready(c) < ready(best))
			best = c;
	EXPECT(algebra_near(&s, x, &t) == best);
	EACH(c, NUMBER, ALL, in(a, c)) {
		sum += ready(c) > 1 || in(&t, c) ? running(c) : 0;
		sum += in(b, c) ? 1000000 : 0;
	}
	EXPECT(algebra_weighed(&s, &t) == sum);
}

static void check_limits(void)
{
	core_t first = SAAKM_NO_CORE, best = SAAKM_NO_CORE;
	const struct saakm_domain *machine = saakm_machine(&s);
	int64_t sum = 0;
	bool any = false;

	EACH(c, NEAREST, n, in(a, c) && in(&t, c))
		if (first == SAAKM_NO_CORE && in(b, c))
			first = c;
	EXPECT(algebra_limited(&s, x, &t) == first);
	EACH(c, FROM, n, in(a, c))
		if (!in(b, c) && (best == SAAKM_NO_CORE || ready(c) > ready(best)))
			best = c;
	EXPECT(algebra_limited_by(&s, x) == best);
	EACH(c, NUMBER, n, in(a, c) || in(&t, c))
		sum += ready(c) > 0 ? running(c) : 0;
	EXPECT(algebra_limited_sum(&s, &t) == sum);
	EACH(c, FROM, n, in(a, c))
		any |= in(b, c) && is_idle(c);
	EXPECT(algebra_limited_any(&s, x) == any);
	sum = 0;
	EACH(c, NEAREST, n, in(a, c))
		sum = sum * 3 + running(c);
	for (int64_t i = 0; i < machine->count[SAAKM_SMT] && i < n; i++) {
		const struct saakm_set *d =
			&s.domains[SAAKM_SMT][group(machine, SAAKM_SMT, (uint32_t)i, true)].cores;

		EACH(c, NUMBER, ALL, in(d, c) && in(a, c))
			sum++;
	}
	EXPECT(algebra_limited_loop(&s, x) == sum);
}

/* Loops that change their own set. The last check, because it changes the sets. */
static void check_changes(void)
{
	const struct saakm_domain *machine = saakm_machine(&s);
	struct saakm_set old = *a;
	int64_t sum = 0;

	EACH(c, FROM, ALL, in(&old, c) && same(c, x, SAAKM_LLC))
		sum = sum * 3 + running(c);
	EXPECT(algebra_emptied(&s, x) == sum);
	old = *b;
	sum = 0;
	for (uint32_t i = 0; i < machine->count[SAAKM_LLC]; i++) {
		uint32_t d = group(machine, SAAKM_LLC, i, true);

		EACH(c, NUMBER, ALL, in(&old, c) && cores[c].domain[SAAKM_LLC] == d) {
			sum = sum * 3 + running(c);
			EXPECT(in(b, c));
		}
	}
	EXPECT(algebra_moved(&s, x) == sum);
	EACH(c, NUMBER, ALL, in(&old, c)) {
		EXPECT(in(a, c));
		/* Only a busy core of its die, itself included, can have removed it. */
		EXPECT(in(b, c) == is_idle(c));
	}
}

int main(void)
{
	static const unsigned shapes[][2] = { { 1, 1 },  { 1, 8 },  { 2, 16 },
					      { 4, 20 }, { 1, 32 }, { 8, 64 } };

	for (unsigned i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		memset(&s, 0, sizeof(s));
		memset(cores, 0, sizeof(cores));
		machine(shapes[i][0], shapes[i][1]);
		a = &algebra_state(&s)->a;
		b = &algebra_state(&s)->b;
		for (int round = 0; round < 40; round++) {
			random_set(a);
			random_set(b);
			random_set(&t);
			random_set(&s.idle);
			random_set(&s.waiting);
			for (core_t c = 0; c < s.nr_cores; c++) {
				cores[c].nr_running = c + 1;
				cores[c].nr_ready = (uint32_t)(next_random() % 4);
			}
			x = (core_t)(next_random() % s.nr_cores);
			n = next_random() % 4 ? (int64_t)(next_random() % 12) : 2000;
			flag = next_random() % 2;
			set_param("n", n);
			set_param("flag", flag);
			sort();
			changes[0] = 0;
			check_passes();
			check_densest();
			check_filters();
			check_limits();
			check_changes();
		}
	}
	mini_unused();
	return 0;
}
