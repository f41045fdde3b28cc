/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* S_move: arms the timer exactly if CFS's core was last seen at its lowest frequency, and that is known. */
#include "smove_policy.c"
#include "mini.h"

int main(void)
{
	struct task *t;

	machine(1, 4);
	occupy(0);

	/* A fast core is used at once. */
	t = sleeper(2);
	cores[2].seen_khz = cores[2].min_khz + 1;
	EXPECT(wake_from(t, 0) == 2);
	EXPECT_REASON(t, "cfs");
	EXPECT(t->armed == 0);

	/* With a slow core, the thread waits on the waker's core and moves when the timer fires. */
	t = sleeper(3);
	EXPECT(wake_from(t, 0) == 0);
	EXPECT_REASON(t, "local");
	EXPECT(t->armed == 50 * SAAKM_US);
	EXPECT(cores[0].nr_ready == 1);
	saakm_policy.timer(&s, &t->t);
	EXPECT(t->on == 3 && cores[0].nr_ready == 0);
	EXPECT_REASON(t, "moved");

	/* The delay is a parameter. */
	set_param("delay", 7 * SAAKM_US);
	t = create();
	EXPECT(fork_from(t, 0) == 0);
	EXPECT(t->armed == 7 * SAAKM_US);

	/* A thread that may not run on the waker's core does not wait there. */
	t = sleeper(1);
	{
		static struct saakm_set elsewhere;

		elsewhere = affinity_all;
		saakm_exclude(&elsewhere, 0);
		t->t.affinity = &elsewhere;
	}
	EXPECT(wake_from(t, 0) != 0);
	EXPECT_REASON(t, "cfs");

	/* Without frequencies no core is slow. */
	for (core_t c = 0; c < s.nr_cores; c++)
		cores[c].min_khz = cores[c].seen_khz = 0;
	t = sleeper(6);
	EXPECT(wake_from(t, 0) == 6);
	EXPECT_REASON(t, "cfs");
	EXPECT(t->armed == 0);
	return 0;
}
