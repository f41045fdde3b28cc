/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: threads in the queues of cores that are off line. */
#ifndef SAAKM_STRANDED_H
#define SAAKM_STRANDED_H

SAAKM_GLOBAL u32 saakm_place(u64 context, u64 thread, u32 waker, u32 by);

/* The READY threads of a core that leaves are placed again. */
SAAKM_GLOBAL int saakm_evacuate(u32 cpu, u32 queue, u32 level)
{
	struct task_struct *p;

	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, saakm_dsq(cpu, queue), 0) {
		thread_t t = saakm_thread_of(p);
		u64 where = t ? t->where : 0;
		bool taken;
		saakm_t s;

		if (saakm_state_of(where) != SAAKM_READY)
			continue;
		/* It was moved, and its entry has not followed: nobody else would come to it any more. */
		if (saakm_core_of(where) != cpu || saakm_queue_of(where) != queue) {
			SAAKM_FOLLOW(BPF_FOR_EACH_ITER, p, where, t->key);
			continue;
		}
		SAAKM_IRQS_OFF(irqs);
		SAAKM_LOCK();
		taken = saakm_go(t, where, SAAKM_DETACHED, cpu, queue);
		SAAKM_UNLOCK();
		if (taken) {
			saakm_update_affinity((u64)t, cpu, saakm_pinned(p));
			s = saakm_begin(bpf_get_smp_processor_id(), level, t);
			saakm_place((u64)s, (u64)t, cpu, 0);
		}
		SAAKM_IRQS_ON(irqs);
		if (!taken)
			continue;
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

static int saakm_stranded_due(void *map, u32 *key, struct saakm_timer *timer)
{
	u32 c, queue, n = WORLD->nr_cores;

	saakm_use_arena();
	for (c = 0; c < n && can_loop; c = SAAKM_FORGET(c + 1)) {
		if (!saakm_core_at(c)->known || saakm_has(&WORLD->online, c))
			continue;
		for (queue = 0; queue < SAAKM_QUEUES && can_loop; queue++)
			if (scx_bpf_dsq_nr_queued(saakm_dsq(c, queue)) > 0)
				saakm_evacuate(c, queue, SAAKM_IN_TIMER);
	}
	return 0;
}

#endif
