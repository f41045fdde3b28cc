/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Minimal runtime for scenarios: one machine, one instance of a policy, and events that the
 * scenario sends one by one. The machine has `sockets` sockets of `pairs` physical cores. Cores c
 * and c + nr_cores / 2 are hyperthreads of one physical core.
 */
#ifndef MINI_H
#define MINI_H

#include "saakm.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 64

struct task {
	struct saakm_thread t; /* must be first: a thread is also a task */
	enum { NEW, READY, RUNNING, BLOCKED, DEAD } state;
	core_t on;
	int64_t key;
	struct task *next;
	nsec_t armed; /* 0: not armed */
	const char *reason;
};

extern const struct saakm_policy saakm_policy;

static struct saakm s;
static struct saakm_core cores[SAAKM_MAX_CORES];
static struct task tasks[MAX_THREADS];
static struct task *queues[SAAKM_MAX_CORES];
static unsigned nr_tasks, preempted;
static unsigned visited; /* threads that walks over queues have passed */
static nsec_t warm[SAAKM_MAX_CORES];
static struct saakm_set affinity_all;
static char changes[4096];

static bool in(const struct saakm_set *set, core_t c)
{
	return saakm_has(set, c);
}

static void put(struct saakm_set *set, core_t c, bool member)
{
	if (member)
		saakm_include(set, c);
	else
		saakm_exclude(set, c);
}

/* Updates the state that the policy sees, after a change on core c. */
static void refresh(core_t c)
{
	const struct saakm_set *pair = &saakm_smt(&s, c)->cores;
	bool was = in(&s.idle, c), now = !cores[c].current && !queues[c];
	unsigned ready = 0;

	for (struct task *task = queues[c]; task; task = task->next)
		ready++;
	cores[c].nr_ready = ready;
	cores[c].nr_running = ready + (cores[c].current != NULL);
	put(&s.idle, c, now);
	put(&s.waiting, c, ready > 0);
	for (core_t i = 0; i < s.nr_cores; i++)
		if (in(pair, i)) {
			bool whole = true;
			for (core_t j = 0; j < s.nr_cores; j++)
				whole &= !in(pair, j) || in(&s.idle, j);
			put(&s.idle_whole, i, whole);
		}
	if (now && !was) {
		cores[c].idle_since = s.now;
		if (saakm_policy.enter_idle)
			saakm_policy.enter_idle(&s, c);
	} else if (!now && was && saakm_policy.exit_idle) {
		saakm_policy.exit_idle(&s, c);
	}
}

static void unqueue(struct task *task)
{
	struct task **link = &queues[task->on];

	while (*link != task)
		link = &(*link)->next;
	*link = task->next;
	refresh(task->on);
}

static void op_ready(struct saakm *i, struct saakm_thread *t, core_t c, uint32_t queue, int64_t key,
		     uint32_t reason)
{
	struct task *task = (struct task *)t, **link = &queues[c];

	assert(i == &s && queue < saakm_policy.nr_queues && c < s.nr_cores && in(t->affinity, c));
	if (task->state == READY)
		unqueue(task);
	while (*link && (*link)->key <= key)
		link = &(*link)->next;
	task->next = *link;
	task->key = key;
	task->state = READY;
	task->on = t->core = c;
	task->reason = saakm_policy.reasons[reason];
	*link = task;
	saakm_exclude(&s.claimed, c);
	refresh(c);
}

static void op_run(struct saakm *i, struct saakm_thread *t)
{
	struct task *task = (struct task *)t;

	assert(i == &s && task->state == READY && !cores[task->on].current);
	task->state = RUNNING;
	task->armed = 0;
	cores[task->on].current = t;
	unqueue(task);
}

static void op_blocked(struct saakm *i, struct saakm_thread *t)
{
	assert(i == &s);
	((struct task *)t)->state = BLOCKED;
}

static void op_terminated(struct saakm *i, struct saakm_thread *t)
{
	assert(i == &s);
	((struct task *)t)->state = DEAD;
}

static struct saakm_thread *op_first(struct saakm *i, core_t c, uint32_t queue)
{
	(void)i, (void)queue;
	return queues[c] ? &queues[c]->t : NULL;
}

static struct saakm_thread *op_next(struct saakm *i, struct saakm_thread *t)
{
	struct task *next = ((struct task *)t)->next;

	(void)i;
	visited++;
	return next ? &next->t : NULL;
}

static void op_arm(struct saakm *i, struct saakm_thread *t, nsec_t ns)
{
	(void)i;
	((struct task *)t)->armed = ns;
}

static void op_cancel(struct saakm *i, struct saakm_thread *t)
{
	op_arm(i, t, 0);
}

static void op_keep_warm(struct saakm *i, core_t c, nsec_t ns)
{
	(void)i;
	warm[c] = ns;
}

static void op_preempt(struct saakm *i, core_t c)
{
	(void)i, (void)c;
	preempted++;
}

/* History of set changes, as in "+primary 3 -reserve 3 ". */
static void op_set_changed(struct saakm *i, uint32_t set, core_t c, bool member)
{
	size_t used = strlen(changes);

	(void)i;
	snprintf(changes + used, sizeof(changes) - used, "%c%s %u ", member ? '+' : '-',
		 saakm_policy.sets[set], c);
}

static const struct saakm_ops ops = {
	.ready = op_ready,
	.run = op_run,
	.blocked = op_blocked,
	.terminated = op_terminated,
	.first = op_first,
	.next = op_next,
	.arm = op_arm,
	.cancel = op_cancel,
	.keep_warm = op_keep_warm,
	.preempt = op_preempt,
	.set_changed = op_set_changed,
};

static void *zeroed(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	assert(memory);
	return memory;
}

static void domain_level(enum saakm_level level, unsigned count)
{
	s.domains[level] = (struct saakm_domain *)zeroed(count * sizeof(struct saakm_domain));
	s.nr_domains[level] = count;
}

static void machine(unsigned sockets, unsigned pairs)
{
	unsigned half = sockets * pairs;

	s.ops = &ops;
	s.now = 1000 * SAAKM_MS;
	s.nr_cores = 2 * half;
	s.nr_words = (s.nr_cores + 63) / 64;
	s.cores = cores;
	domain_level(SAAKM_SMT, half);
	domain_level(SAAKM_LLC, sockets);
	domain_level(SAAKM_NUMA, sockets);
	domain_level(SAAKM_MACHINE, 1);
	for (core_t c = 0; c < s.nr_cores; c++) {
		unsigned pair = c % half, of[] = { pair, pair / pairs, pair / pairs, 0 };

		for (int level = 0; level < SAAKM_LEVELS; level++) {
			cores[c].domain[level] = of[level];
			saakm_include(&s.domains[level][of[level]].cores, c);
			s.domains[level][of[level]].size++;
		}
		saakm_include(&s.online, c);
		saakm_include(&s.idle, c);
		saakm_include(&s.idle_whole, c);
		saakm_include(&affinity_all, c);
		cores[c].min_khz = cores[c].seen_khz = 1000000;
		cores[c].attrs = zeroed(saakm_policy.core_size);
		saakm_policy.init_core(cores[c].attrs);
	}
	for (int level = 0; level < SAAKM_LEVELS; level++)
		for (unsigned d = 0; d < s.nr_domains[level]; d++)
			for (int inner = 0; inner < level; inner++) {
				unsigned share = s.nr_domains[inner] / s.nr_domains[level];

				s.domains[level][d].first[inner] = d * share;
				s.domains[level][d].count[inner] = share;
			}
	s.state = zeroed(saakm_policy.state_size);
	saakm_policy.init_state(s.state);
}

static void set_param(const char *name, int64_t value)
{
	for (unsigned i = 0; i < saakm_policy.nr_params; i++)
		if (!strcmp(saakm_policy.params[i].name, name)) {
			memcpy((char *)s.state + saakm_policy.params[i].offset, &value,
			       sizeof(value));
			return;
		}
	assert(!"no such parameter");
}

/* ---- events ------------------------------------------------------------------------------ */

static struct task *create(void)
{
	struct task *task = &tasks[nr_tasks++];

	assert(nr_tasks <= MAX_THREADS);
	task->t.tid = nr_tasks;
	task->t.weight = 1024;
	task->t.running_since = -1; /* run() counts */
	task->t.affinity = &affinity_all;
	task->t.attrs = zeroed(saakm_policy.thread_size);
	saakm_policy.init_thread(task->t.attrs);
	return task;
}

static core_t fork_from(struct task *task, core_t parent)
{
	task->t.core = parent;
	saakm_policy.new_thread(&s, &task->t, parent);
	assert(task->state == READY);
	return task->on;
}

static core_t wake_from(struct task *task, core_t waker)
{
	assert(task->state == BLOCKED);
	saakm_policy.unblock(&s, &task->t, waker);
	assert(task->state == READY);
	return task->on;
}

static void schedule(core_t c)
{
	saakm_policy.schedule(&s, c);
	assert(queues[c] == NULL || cores[c].current);
}

/* Lets the thread on core c run for a time. */
static void run(core_t c, nsec_t ns)
{
	s.now += ns;
	cores[c].current->runtime += ns;
}

static struct task *leave(core_t c)
{
	struct task *task = (struct task *)cores[c].current;

	cores[c].current = NULL;
	cores[c].nr_running--;
	return task;
}

static void block(core_t c)
{
	struct task *task = leave(c);

	saakm_policy.block(&s, &task->t);
	assert(task->state == BLOCKED);
	refresh(c);
}

static void terminate(core_t c)
{
	struct task *task = leave(c);

	saakm_policy.terminate(&s, &task->t);
	assert(task->state == DEAD);
	refresh(c);
}

/* Creates a thread that is running on core c. */
static struct task *occupy(core_t c)
{
	struct task *task = create();

	task->state = READY;
	task->on = task->t.core = c;
	task->next = queues[c];
	queues[c] = task;
	refresh(c);
	op_run(&s, &task->t);
	return task;
}

/* Creates a blocked thread that last ran on core c. */
static struct task *sleeper(core_t c)
{
	struct task *task = create();

	task->state = BLOCKED;
	task->on = task->t.core = c;
	return task;
}

#define EXPECT(test)                                                                               \
	do {                                                                                       \
		if (!(test)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n  sets: %s\n", __FILE__, __LINE__, #test,      \
				changes);                                                          \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define EXPECT_REASON(task, word) EXPECT(!strcmp((task)->reason, word))

/* Avoids warnings: a scenario uses only some of these. */
static inline void mini_unused(void)
{
	(void)set_param, (void)fork_from, (void)wake_from, (void)schedule, (void)run, (void)block;
	(void)terminate, (void)occupy, (void)sleeper, (void)warm, (void)preempted;
}

#endif
