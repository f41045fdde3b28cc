/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CFS: recent load matters at forks, not at wake-ups; order by vruntime; turns; newly-idle balancing. */
#include "cfs_policy.c"
#include "mini.h"

static nsec_t *vruntime(struct task *task)
{
	return &cfs_thread(&task->t)->vruntime;
}

/* Whether a tick preempts core c's thread, after it has run for `ns` more. */
static bool ends_turn(core_t c, nsec_t ns)
{
	unsigned before = preempted;

	run(c, ns);
	saakm_policy.tick(&s, cores[c].current);
	return preempted > before;
}

int main(void)
{
	struct task *t, *u;
	core_t first, second;

	machine(2, 4);
	occupy(0);
	s.now += SAAKM_S;

	/* A fork goes to an idle core; the next fork goes to another idle core. */
	t = create();
	first = fork_from(t, 0);
	EXPECT(first != 0 && first != 8);
	schedule(first);
	run(first, 50 * SAAKM_MS);
	terminate(first);
	EXPECT(in(&s.idle, first));
	second = fork_from(create(), 0);
	EXPECT(second != first && second % 8 != first % 8);
	EXPECT(in(&saakm_llc(&s, 0)->cores, second));

	/* When its load has decayed, the first core is chosen again. */
	s.now += 10 * SAAKM_S;
	EXPECT(fork_from(create(), 0) == first);

	/* A wake-up takes the previous core, whatever its recent load. */
	schedule(second);
	run(second, 50 * SAAKM_MS);
	block(second);
	t = sleeper(second);
	EXPECT(wake_from(t, 0) == second);

	/* The thread with the least vruntime runs first; a tick preempts it after its share. */
	u = sleeper(second);
	u->state = NEW;
	op_ready(&s, &u->t, second, 0, cfs_thread(&t->t)->vruntime - 1, 0);
	schedule(second);
	EXPECT(cores[second].current == &u->t);
	EXPECT(!ends_turn(second, SAAKM_MS));
	EXPECT(ends_turn(second, 12 * SAAKM_MS));

	/* A core that becomes idle pulls exactly one waiting thread that may run there. */
	EXPECT(cores[second].nr_ready == 1);
	saakm_policy.newly_idle(&s, 3);
	EXPECT(cores[3].nr_ready == 1 && cores[second].nr_ready == 0);
	EXPECT_REASON(t, "balance");
	saakm_policy.newly_idle(&s, 2);
	EXPECT(cores[2].nr_ready == 0);

	/* A pull of many threads adds up the weights of a queue once. */
	occupy(4);
	for (int i = 0; i < 40; i++) {
		t = sleeper(4);
		t->state = NEW;
		op_ready(&s, &t->t, 4, 0, i, 0);
	}
	s.now += SAAKM_S;
	visited = 0;
	cfs_gather(&s, 5, &saakm_llc(&s, 5)->cores, 32);
	EXPECT(cores[5].nr_ready == 20 && visited < 200);

	/* Between two ticks a thread has run for 20 ms. One that arrives then counts from there. */
	affinity_all = (struct saakm_set){ .word = { 1 << 7 } };
	t = occupy(7);
	u = sleeper(7);
	cfs_thread(&u->t)->home = 7;
	run(7, 20 * SAAKM_MS);
	wake_from(u, 7);
	EXPECT(*vruntime(u) == *vruntime(t) + 20 * SAAKM_MS - 12 * SAAKM_MS);

	/* Its turn is half of the period. It ends before, but not at once, if the other is behind by more than that. */
	saakm_policy.preempt(&s, &leave(7)->t);
	schedule(7);
	EXPECT(cores[7].current == &u->t);
	EXPECT(!ends_turn(7, 2 * SAAKM_MS) && !ends_turn(7, 2 * SAAKM_MS));
	*vruntime(t) = *vruntime(u) - 13 * SAAKM_MS;
	EXPECT(ends_turn(7, 0));
	cfs_thread(&u->t)->started = u->t.runtime;
	EXPECT(!ends_turn(7, 2 * SAAKM_MS) && ends_turn(7, 2 * SAAKM_MS));

	/* At nice 19 a thread is far ahead after the least turn. */
	*vruntime(t) = *vruntime(u);
	cfs_thread(&u->t)->started = u->t.runtime;
	u->t.weight = 15;
	EXPECT(!ends_turn(7, 2 * SAAKM_MS) && ends_turn(7, SAAKM_MS));
	return 0;
}
