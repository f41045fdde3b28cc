/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: cores come and go, and what becomes of the threads in their queues. */
#ifndef SAAKM_HOTPLUG_H
#define SAAKM_HOTPLUG_H

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

void BPF_STRUCT_OPS(saakm_cpu_online, s32 cpu)
{
	saakm_use_arena();
	/* It was not there when the topology was read: the loader starts anew. */
	if (!saakm_core_at(cpu)->known) {
		scx_bpf_exit(SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG, "core %d is new", cpu);
		return;
	}
	/* The kernel asks it for a thread only some time after this: then it is on line to us too. */
	saakm_core_at(cpu)->returns = 1;
}

void BPF_STRUCT_OPS(saakm_cpu_offline, s32 cpu)
{
	saakm_t s;
	u32 queue;

	SAAKM_IRQS_OFF(irqs);
	s = saakm_begin(cpu, SAAKM_IN_HOTPLUG, NULL);
	saakm_core_at(cpu)->returns = 0;
	saakm_leave(SAAKM_WORLD_SET(online), cpu);
	saakm_leave(SAAKM_WORLD_SET(kernel_idle), cpu);
	__sync_fetch_and_add(&WORLD->hotplugs, 1);
	saakm_leave(SAAKM_WORLD_SET(idle), cpu);
	saakm_update_whole(cpu);
#ifdef SAAKM_ON_EXIT
	saakm_on_exit((u64)s, cpu);
#endif
	saakm_end((u64)s);
	SAAKM_IRQS_ON(irqs);
	for (queue = 0; queue < SAAKM_QUEUES && can_loop; queue++)
		saakm_evacuate(cpu, queue, SAAKM_IN_HOTPLUG);
}

#endif
