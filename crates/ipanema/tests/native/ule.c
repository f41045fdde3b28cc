/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ULE: only sleep makes a thread interactive, not that the kernel takes it off its core or its queue; a child soon has its own
   score. */
#include "ule_policy.c"
#include "mini.h"

/* t, which is the only ready thread, computes. Then the kernel takes it off its core and places it again, with another affinity or
   weight. */
static void compute(struct task *t, nsec_t ns)
{
	schedule(0);
	run(0, ns);
	saakm_policy.tick(&s, &t->t);
	leave(0);
	t->state = BLOCKED;
	refresh(0);
	wake_from(t, 0);
}

/* t, which is the only ready thread, sleeps. */
static void rest(struct task *t, nsec_t ns)
{
	schedule(0);
	block(0);
	s.now += ns;
	wake_from(t, 0);
}

int main(void)
{
	struct task *t, *child;

	machine(1, 1);
	affinity_all = (struct saakm_set){ .word = { 1 } };

	/* A thread that only computes. */
	t = create();
	fork_from(t, 0);
	compute(t, 100 * SAAKM_MS);
	EXPECT_REASON(t, "timeshare");

	/* Once it has slept, the time since then does not count again. */
	rest(t, 10 * SAAKM_MS);
	EXPECT_REASON(t, "timeshare");
	compute(t, 900 * SAAKM_MS);
	EXPECT_REASON(t, "timeshare");

	/* Sleep does count. */
	rest(t, 3000 * SAAKM_MS);
	EXPECT_REASON(t, "interactive");

	/* A child is interactive, too, but not for as long as its parent has slept. */
	schedule(0);
	child = create();
	fork_from(child, 0);
	EXPECT_REASON(child, "interactive");
	block(0);
	compute(child, 400 * SAAKM_MS);
	EXPECT_REASON(child, "timeshare");
	return 0;
}
