/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: cores that run a thread which the policy does not schedule: a real-time or
 * deadline thread, a thread of the kernel's own scheduler (`hearth exec`), or one without a slot.
 *
 * For a policy such a core runs its *stranger*, a slot of the core that stands for all of these
 * threads. It counts in nr_running, has the largest weight, and no event is ever of it. So a steal
 * sees a running thread and the READY ones behind it, as on any busy core.
 *
 * The threads behind a stranger may wait for long, and the core has no ticks that would balance
 * them. So a timer of the core, which is owned here, places them again: event unblock. A turn of the
 * stranger begins in sched_switch.
 */
#ifndef SAAKM_STRANGERS_H
#define SAAKM_STRANGERS_H

/* Index of core c's stranger. */
static __always_inline u32 saakm_stranger_of(core_t c)
{
	return (c & (SAAKM_MAX_CORES - 1)) + 1;
}

static __always_inline bool saakm_is_taken(core_t c)
{
	return saakm_current_of(SAAKM_LOAD(saakm_word_of(c))) == saakm_stranger_of(c);
}

/* Whether p is neither the idle thread nor in sched_ext. For a thread that runs or is next. */
static __always_inline bool saakm_is_stranger(struct task_struct *p)
{
	return p->pid && !(p->scx.flags & SCX_TASK_QUEUED);
}

/* Older kernels, such as 6.18. */
struct task_struct___older {
	int on_rq;
} __attribute__((preserve_access_index));

/* Whether p is runnable, in any class. */
static __always_inline bool saakm_is_queued(struct task_struct *p)
{
	if (bpf_core_field_size(p->on_rq) == sizeof(p->on_rq))
		return p->on_rq;
	return ((struct task_struct___older *)p)->on_rq;
}

/*
 * In ops.dispatch of cpu: whether it runs a thread of another class, which stays runnable. The
 * deadline server of sched_ext dispatches then, and the thread goes on if nothing is found.
 */
static __always_inline bool saakm_stranger_goes_on(u32 cpu)
{
	struct task_struct *p = bpf_get_current_task_btf();

	return cpu == bpf_get_smp_processor_id() && saakm_is_stranger(p) && saakm_is_queued(p);
}

/* Sets up core c's stranger. Until the core runs a thread of the policy or sleeps, the stranger runs. */
SAAKM_GLOBAL int saakm_init_stranger(u32 c)
{
	u32 index = saakm_stranger_of(c);
	thread_t t = saakm_thread_at(index);

	if (!t)
		return -ENOMEM;
	/* Fails if the page exists already, for a neighbouring slot. */
	bpf_arena_alloc_pages(&arena, (void __arena *)(((u64)t) & ~4095UL), 1, NUMA_NO_NODE, 0);
	t->index = index;
	if (t->index != index)
		return -ENOMEM;
	t->serial = saakm_new_serial(c);
	t->weight = SAAKM_MAX_WEIGHT;
	t->running_since = -1;
	t->ran_on = c;
	t->affinity = (u64)&saakm_core_at(c)->self;
	t->where = SAAKM_RUNNING | (u64)c << 16;
	saakm_clear_attrs((u64)t);
	SAAKM_INIT_THREAD(saakm_thread_attrs(t));
	saakm_change_core(c, SAAKM_RUNS, index);
	return 0;
}

/* ---- the threads behind a stranger -------------------------------------------------------- */

/* The timer of a core. `armed` is 1 from its start until it has fired: further starts would postpone it. */
struct saakm_relief {
	struct bpf_timer timer;
	u64 armed;
	u64 prepared; /* it has its callback */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SAAKM_MAX_CORES);
	__type(key, u32);
	__type(value, struct saakm_relief);
} saakm_relief_timers SEC(".maps");

/* Places the threads of core c again in a tick, if it is taken then. Most strangers run for less. */
SAAKM_GLOBAL int saakm_relieve(u32 c)
{
	struct saakm_relief *relief = bpf_map_lookup_elem(&saakm_relief_timers, &c);

	if (relief && relief->prepared && !__sync_val_compare_and_swap(&relief->armed, 0, 1))
		bpf_timer_start(&relief->timer, SAAKM_TICK_NS, 0);
	return 0;
}

/* Event unblock of each READY thread in a queue of c that may run elsewhere. The waker is c. */
SAAKM_GLOBAL int saakm_place_again(u32 c, u32 queue)
{
	struct task_struct *p;
	u32 passed = 0;

	/* Older verifiers treat a timer callback as sleepable, without RCU protection. */
	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, saakm_dsq(c, queue), 0) {
		thread_t t = saakm_thread_of(p);
		saakm_t s;
		u64 where;

		if (passed++ >= SAAKM_MOVES)
			break;
		if (!t || !saakm_is_ready_in(t->where, c, queue) ||
		    t->affinity == (u64)&saakm_core_at(c)->self)
			continue;
		SAAKM_IRQS_OFF(irqs);
		s = saakm_begin(SAAKM_IN_TIMER, t);
		where = t->where;
		if (saakm_is_ready_in(where, c, queue) && saakm_take((u64)s, (u64)t, where)) {
			saakm_on_unblock((u64)s, (u64)t, c);
			saakm_give_back((u64)s, (u64)t);
		}
		saakm_end(s);
		SAAKM_IRQS_ON(irqs);
		where = t->where;
		if (s->nr_moves && saakm_state_of(where) == SAAKM_READY)
			SAAKM_MOVE_ENTRY(BPF_FOR_EACH_ITER, p, where, t->key);
		saakm_preempt_cores((u64)s);
		saakm_start_timer(t);
	}
	bpf_rcu_read_unlock();
	return 0;
}

static int saakm_relief_timer_fired(void *map, u32 *key, struct saakm_relief *relief)
{
	u32 c = *key, queue;

	saakm_use_arena();
	__sync_val_compare_and_swap(&relief->armed, 1, 0);
	if (!saakm_is_taken(c))
		return 0;
	/* A thread that had taken the core when the stranger came. */
	if (__COMPAT_has_generic_reenq() && scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | c) > 0)
		scx_bpf_dsq_reenq(SCX_DSQ_LOCAL_ON | c, 0);
	for (queue = SAAKM_FORGET(0U); queue < SAAKM_QUEUES && can_loop;
	     queue = SAAKM_FORGET(queue + 1))
		saakm_place_again(c, queue);
	if (!saakm_nr_ready(NULL, c))
		return 0;
	/* The policy has left them there: idle cores may steal them. */
	saakm_wake_thieves();
	saakm_relieve(c);
	return 0;
}

/*
 * In ops.dispatch of core c: sets the callback of its timer. Elsewhere a verifier refuses it: before
 * Linux 7, walks over queues in saakm_init, which sleeps, and moves of entries in a tracepoint;
 * later, moves in ops.enqueue.
 */
static __always_inline void saakm_prepare_relief(u32 c)
{
	struct saakm_relief *relief = bpf_map_lookup_elem(&saakm_relief_timers, &c);

	if (relief && !relief->prepared) {
		bpf_timer_set_callback(&relief->timer, saakm_relief_timer_fired);
		relief->prepared = 1;
	}
}

/* ---- who runs ------------------------------------------------------------------------------ */

/*
 * The executing core switches to `next`. The stranger's turn ends in ops.running of a thread of the policy, or in
 * ops.dispatch, which precedes the idle thread. The kernels that we know let no program see only the switches to
 * real-time threads.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(saakm_switched, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u32 cpu = bpf_get_smp_processor_id();
	saakm_t s;
	u64 word;

	saakm_use_arena();
	if (!saakm_is_stranger(next) || saakm_is_taken(cpu))
		return 0;
	word = SAAKM_LOAD(saakm_word_of(cpu));
	/* A thread that ran, or that the core had chosen, when `next` arrived: ops.enqueue returns it to its queue. */
	if (scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL) > 0)
		scx_bpf_reenqueue_local_from_anywhere();
	s = saakm_begin(SAAKM_IN_OPERATION, NULL);
	saakm_stop_spinning(s, cpu);
	saakm_change(s, cpu, SAAKM_RUNS, saakm_stranger_of(cpu));
	saakm_end(s);
	/* Some thread waits, or is on its way into the local DSQ. */
	if (saakm_ready_of(word) || saakm_current_of(word))
		saakm_relieve(cpu);
	return 0;
}

/*
 * A thread of another class takes this core. Before Linux 6.19, entries leave a local DSQ only here.
 * Later kernels deprecate the operation, and the loader leaves it out.
 */
void BPF_STRUCT_OPS(saakm_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	scx_bpf_reenqueue_local();
}

#endif
