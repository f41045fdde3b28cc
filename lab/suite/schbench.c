/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The scheduler benchmark schbench in small: MESSAGES message threads wake their workers, WORKERS each, all that wait
 * at a time. A worker multiplies matrices, tells its message thread that it waits, and sleeps until that wakes it.
 *
 *   schbench MESSAGES WORKERS ROUNDS
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 24, RUNNING = 0, WAITING = 1 };

struct worker {
	struct group *group;
	unsigned state;
	/* The next one in the list of those that wait. */
	struct worker *next;
};

struct group {
	struct worker *waiting;
	unsigned word;
	int rounds, alive;
};

static void futex(unsigned *word, int what, unsigned value)
{
	syscall(SYS_futex, word, what, value, NULL, NULL, 0);
}

static void compute(void)
{
	static __thread double a[SIZE][SIZE], b[SIZE][SIZE], c[SIZE][SIZE];

	for (int i = 0; i < SIZE; i++)
		for (int j = 0; j < SIZE; j++)
			for (int k = 0; k < SIZE; k++)
				c[i][j] += a[i][k] * b[k][j];
	__asm__ volatile("" ::"r"(c) : "memory");
}

static void wake_messenger(struct group *group)
{
	if (!__atomic_exchange_n(&group->word, 1, __ATOMIC_ACQ_REL))
		futex(&group->word, FUTEX_WAKE_PRIVATE, 1);
}

static void *work(void *argument)
{
	struct worker *self = argument;
	struct group *group = self->group;

	for (int round = 0; round < group->rounds; round++) {
		for (int i = 0; i < 5; i++)
			compute();
		__atomic_store_n(&self->state, WAITING, __ATOMIC_RELEASE);
		self->next = __atomic_load_n(&group->waiting, __ATOMIC_ACQUIRE);
		while (!__atomic_compare_exchange_n(&group->waiting, &self->next, self, 0,
						    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			;
		wake_messenger(group);
		while (__atomic_load_n(&self->state, __ATOMIC_ACQUIRE) == WAITING)
			futex(&self->state, FUTEX_WAIT_PRIVATE, WAITING);
	}
	__atomic_fetch_sub(&group->alive, 1, __ATOMIC_ACQ_REL);
	wake_messenger(group);
	return NULL;
}

static void *messenger(void *argument)
{
	struct group *group = argument;

	while (__atomic_load_n(&group->alive, __ATOMIC_ACQUIRE) > 0) {
		struct worker *worker =
			__atomic_exchange_n(&group->waiting, NULL, __ATOMIC_ACQ_REL);

		while (worker) {
			struct worker *next = worker->next;

			__atomic_store_n(&worker->state, RUNNING, __ATOMIC_RELEASE);
			futex(&worker->state, FUTEX_WAKE_PRIVATE, 1);
			worker = next;
		}
		while (!__atomic_exchange_n(&group->word, 0, __ATOMIC_ACQ_REL))
			futex(&group->word, FUTEX_WAIT_PRIVATE, 0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int messages = argc > 3 ? atoi(argv[1]) : 0, workers = argc > 3 ? atoi(argv[2]) : 0;

	if (messages < 1 || workers < 1) {
		fprintf(stderr, "usage: schbench MESSAGES WORKERS ROUNDS\n");
		return 2;
	}
	struct group *groups = calloc(messages, sizeof(*groups));
	struct worker *all = calloc((size_t)messages * workers, sizeof(*all));
	pthread_t *threads = calloc((size_t)messages * (workers + 1), sizeof(*threads));
	int started = 0;

	if (!groups || !all || !threads)
		return 1;
	for (int i = 0; i < messages; i++) {
		groups[i].rounds = atoi(argv[3]);
		groups[i].alive = workers;
		if (pthread_create(&threads[started++], NULL, messenger, &groups[i]))
			return 1;
		for (int j = 0; j < workers; j++) {
			struct worker *worker = &all[i * workers + j];

			worker->group = &groups[i];
			if (pthread_create(&threads[started++], NULL, work, worker))
				return 1;
		}
	}
	while (started)
		pthread_join(threads[--started], NULL);
	return 0;
}
