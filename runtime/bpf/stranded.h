/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: threads in the queues of cores that are off line. */
#ifndef SAAKM_STRANDED_H
#define SAAKM_STRANDED_H

SAAKM_GLOBAL u32 saakm_place(u64 context, u64 thread, u32 waker, u32 by);

/* The READY threads of a core that leaves are placed again. */
SAAKM_GLOBAL int saakm_evacuate(u32 cpu, u32 queue)
{
	struct task_struct *p;

	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, saakm_dsq(cpu, queue), 0) {
		thread_t t = saakm_thread_of(p);
		u64 where = t ? t->where : 0;
		saakm_t s;

		if (!saakm_if_ready(t, cpu, queue) || !saakm_go(t, where, SAAKM_DETACHED, cpu, queue))
			continue;
		saakm_update_affinity((u64)t, cpu, false);
		s = saakm_begin(cpu, SAAKM_IN_HOTPLUG, t);
		saakm_place((u64)s, (u64)t, cpu, 0);
		t->flags &= ~SAAKM_T_OUTSIDE;
		where = t->where;
		/* It may run nowhere else: the kernel gives a thread that is about to run there another core. */
		if (saakm_core_of(where) == cpu)
			scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL_ON | cpu, 0);
		else
			SAAKM_FOLLOW(BPF_FOR_EACH_ITER, p, where, t->key);
	}
	bpf_rcu_read_unlock();
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct saakm_timer);
} saakm_stranded_timer SEC(".maps");

static int saakm_stranded_due(void *map, u32 *key, struct saakm_timer *timer)
{
	u32 c, queue, n = WORLD->nr_cores;

	saakm_use_arena();
	for (c = 0; c < n && can_loop; c = SAAKM_FORGET(c + 1)) {
		if (!saakm_core_at(c)->known || saakm_has(&WORLD->online, c) || !saakm_core_at(c)->nr_ready)
			continue;
		for (queue = 0; queue < SAAKM_QUEUES && can_loop; queue++)
			saakm_evacuate(c, queue);
	}
	return 0;
}

/* A thread went to a core that is off line: looks for such threads where no run queue is locked. */
static __always_inline void saakm_find_stranded(void)
{
	u32 only = 0;
	struct saakm_timer *timer = bpf_map_lookup_elem(&saakm_stranded_timer, &only);

	if (timer)
		bpf_timer_start(&timer->timer, 0, 0);
}

#endif
