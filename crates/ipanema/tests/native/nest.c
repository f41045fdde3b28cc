/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Nest: primary and reserve nest, attachment, compaction, impatience, exit. */
#include "nest_policy.c"
#include "mini.h"

static bool primary(core_t c)
{
	return in(&nest_state(&s)->primary, c);
}

static bool reserve(core_t c)
{
	return in(&nest_state(&s)->reserve, c);
}

static int64_t size(const struct saakm_set *set)
{
	return SAAKM_COUNT(&s, w, set->word[w]);
}

/* Runs a ready thread for a millisecond, until it blocks. */
static void run_and_block(core_t c)
{
	schedule(c);
	run(c, SAAKM_MS);
	block(c);
}

int main(void)
{
	struct task *t, *u;
	core_t c;

	machine(2, 4);
	occupy(0);

	/* No nest yet: CFS chooses, and its choice enters the reserve nest. */
	t = create();
	c = fork_from(t, 0);
	EXPECT_REASON(t, "cfs");
	EXPECT(c != 0 && reserve(c) && !primary(c));
	EXPECT(nest_state(&s)->anchor == 0 && primary(0));

	/* A core used from the reserve nest is promoted. */
	run_and_block(c);
	EXPECT(warm[c] == 8 * SAAKM_MS);
	EXPECT(wake_from(t, 0) == c);
	EXPECT_REASON(t, "reserve");
	EXPECT(primary(c) && !reserve(c));

	/* A second run on the same core attaches the thread to it. */
	run_and_block(c);
	EXPECT(wake_from(t, 0) == c);
	EXPECT_REASON(t, "attached");

	/* An attached thread returns to its core even if that is stale. */
	run_and_block(c);
	s.now += 100 * SAAKM_MS;
	EXPECT(wake_from(t, 0) == c);
	EXPECT_REASON(t, "attached");
	EXPECT(primary(c));

	/* Another thread takes a fresh primary core. */
	run_and_block(c);
	u = sleeper(c);
	EXPECT(wake_from(u, 0) == c);
	EXPECT_REASON(u, "primary");

	/* A thread demotes a stale core, and then takes it from the reserve nest. */
	run_and_block(c);
	s.now += 9 * SAAKM_MS;
	changes[0] = 0;
	u = sleeper(c);
	EXPECT(wake_from(u, 0) == c);
	EXPECT_REASON(u, "reserve");
	{
		char expected[128];

		snprintf(expected, sizeof(expected),
			 "-primary %u +reserve %u +primary %u -reserve %u ", c, c, c, c);
		EXPECT(!strcmp(changes, expected));
	}

	/* Exit demotes the core at once. */
	schedule(c);
	terminate(c);
	EXPECT(!primary(c) && reserve(c));

	/* Impatience: at the second miss, or with `tolerate` at the third, the choice of CFS becomes primary at once. */
	EXPECT(size(&nest_state(&s)->primary) == 1 && primary(0));
	for (int64_t last = 2; last <= 3; last++) {
		set_param("tolerate", last == 3);
		u = sleeper(0);
		for (int64_t miss = 1; miss <= last; miss++) {
			nest_state(&s)->reserve = (struct saakm_set){ 0 };
			u->t.core = 0;
			c = wake_from(u, 0);
			EXPECT_REASON(u, "cfs");
			if (miss < last)
				EXPECT(reserve(c) && nest_thread(&u->t)->misses == miss);
			else
				EXPECT(primary(c) && !reserve(c) &&
				       nest_thread(&u->t)->misses == 0);
			schedule(c);
			leave(c);
			u->state = BLOCKED;
			refresh(c);
		}
		nest_state(&s)->primary = (struct saakm_set){ 0 };
		saakm_include(&nest_state(&s)->primary, 0);
	}

	/* The reserve nest never exceeds r_max. */
	for (int64_t most = 5; most >= 0; most -= 5) {
		nest_state(&s)->reserve = (struct saakm_set){ 0 };
		set_param("r_max", most);
		for (int i = 0; i < 8; i++) {
			fork_from(create(), 0);
			EXPECT(size(&nest_state(&s)->reserve) <= most);
		}
	}

	/* No claim outlives its placement. */
	EXPECT(size(&s.claimed) == 0);
	return 0;
}
