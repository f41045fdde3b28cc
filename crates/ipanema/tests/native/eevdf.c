/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* EEVDF: the lag of a thread that the kernel takes off its core, and of one whose weight changes; who preempts. */
#include "eevdf_policy.c"
#include "mini.h"

/* Virtual time by which t is ahead of `other`. */
static nsec_t ahead(struct task *t, struct task *other)
{
	return eevdf_thread(&t->t)->vruntime - eevdf_thread(&other->t)->vruntime;
}

/* How often t preempts when it wakes up on core 0. */
static unsigned preempts(struct task *t)
{
	unsigned before = preempted;

	eevdf_thread(&t->t)->known = true;
	wake_from(t, 0);
	return preempted - before;
}

int main(void)
{
	struct task *t, *other;
	nsec_t before;

	machine(1, 1);
	affinity_all = (struct saakm_set){ .word = { 1 } };
	t = create();
	t->t.weight = 15;
	fork_from(t, 0);
	schedule(0);
	other = create();
	fork_from(other, 0);

	/* At nice 19, 1 ms of runtime is 68 ms of virtual time. */
	run(0, SAAKM_MS);
	saakm_policy.tick(&s, &t->t);
	before = ahead(t, other);
	EXPECT(before > 60 * SAAKM_MS);

	/* The kernel takes it off its core and places it again, with another affinity: it has paid for its turn. */
	leave(0);
	t->state = BLOCKED;
	refresh(0);
	wake_from(t, 0);
	EXPECT(ahead(t, other) > 60 * SAAKM_MS);

	/* Another sleeps at nice 19 and wakes up at nice 0: its lag is worth as much runtime as before. */
	t = occupy(0);
	t->t.weight = 15;
	run(0, SAAKM_MS);
	saakm_policy.tick(&s, &t->t);
	block(0);
	EXPECT(eevdf_thread(&t->t)->lag < -30 * SAAKM_MS);
	t->t.weight = 1024;
	wake_from(t, 0);
	EXPECT(eevdf_thread(&t->t)->lag < 0 && eevdf_thread(&t->t)->lag > -2 * SAAKM_MS);

	/* The running thread has had more than its part. A woken one preempts it only if it comes before all that wait. */
	schedule(0);
	run(0, 20 * SAAKM_MS);
	eevdf_thread(&queues[0]->t)->order = s.now - 1000000 * SAAKM_MS;
	EXPECT(preempts(sleeper(0)) == 0);
	eevdf_thread(&queues[0]->t)->order = s.now + 1000000 * SAAKM_MS;
	EXPECT(preempts(sleeper(0)) == 1);
	return 0;
}
