/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ULE: only sleep makes a thread interactive, not that the kernel takes it off its core or its queue; a child soon has its own
   score. */
#include "ule_policy.c"
#include "mini.h"

/* The kernel takes t off its core and places it again, with another affinity or weight. */
static void replace(struct task *t)
{
	t->state = BLOCKED;
	refresh(0);
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
	schedule(0);
	run(0, 100 * SAAKM_MS);
	saakm_policy.tick(&s, &t->t);
	leave(0);
	replace(t);
	EXPECT_REASON(t, "timeshare");

	/* Once it has slept, the time since then does not count again. */
	schedule(0);
	block(0);
	s.now += 10 * SAAKM_MS;
	wake_from(t, 0);
	EXPECT_REASON(t, "timeshare");
	schedule(0);
	run(0, 900 * SAAKM_MS);
	saakm_policy.tick(&s, &t->t);
	leave(0);
	replace(t);
	EXPECT_REASON(t, "timeshare");

	/* Sleep does count. */
	schedule(0);
	block(0);
	s.now += 3000 * SAAKM_MS;
	wake_from(t, 0);
	EXPECT_REASON(t, "interactive");

	/* A child is interactive, too, but not for as long as its parent has slept. */
	schedule(0);
	child = create();
	fork_from(child, 0);
	EXPECT_REASON(child, "interactive");
	block(0);
	schedule(0);
	run(0, 400 * SAAKM_MS);
	saakm_policy.tick(&s, &child->t);
	leave(0);
	replace(child);
	EXPECT_REASON(child, "timeshare");
	return 0;
}
