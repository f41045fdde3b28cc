/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: the limits of cgroups. A policy sees no cgroups; it sees their effects. Owns
 * struct saakm_group. Answers the operations cgroup_*.
 *
 * cpu.weight: the weight of a thread is its share of the weights of its cgroups, as in CFS
 * (task_h_load). At each level the members of a cgroup that are runnable, threads and cgroups, share
 * its weight in proportion to their own. Policies that balance and run by weight thus divide the
 * machine as the cgroups say. cpu.idle: the weight is CFS's WEIGHT_IDLEPRIO.
 *
 * cpu.max: when a cgroup has used up its quota, its threads are THROTTLED: each has event block, and is in
 * a DSQ of the cgroup, where no core looks. A timer adds the quota of the next period; then the
 * threads have event unblock. A tick notices the end of a quota, so that more may be used; the
 * following periods pay for that, for at most SAAKM_DEBT_NS.
 *
 * Threads of the root cgroup cost nothing here.
 */
#ifndef SAAKM_CGROUPS_H
#define SAAKM_CGROUPS_H

/* Index of a cgroup, by its number in the kernel. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SAAKM_MAX_GROUPS);
	__type(key, u64);
	__type(value, u32);
} saakm_group_ids SEC(".maps");

/* Indexes of cgroups that are gone. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, SAAKM_MAX_GROUPS);
	__type(value, u32);
} saakm_free_groups SEC(".maps");

/* A timer per cgroup: the end of its period. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SAAKM_MAX_GROUPS);
	__type(key, u32);
	__type(value, struct saakm_timer);
} saakm_period_timers SEC(".maps");

static __always_inline struct saakm_group SAAKM_MEM *saakm_group_at(u32 index)
{
	return SAAKM_FIELD_AT(struct saakm_group,
			      SAAKM_GROUPS_AT +
				      (index & (SAAKM_MAX_GROUPS - 1)) * SAAKM_GROUP_BYTES);
}

/* The DSQ of a cgroup's throttled threads. The numbers below are those of queues. */
static __always_inline u64 saakm_group_dsq(u32 index)
{
	return SAAKM_MAX_QUEUES * SAAKM_MAX_CORES + index;
}

/* ---- weight -------------------------------------------------------------------------------- */

/* A cgroup's word: the weight of its runnable members, its own weight, and whether it is throttled. */
#define SAAKM_GROUP_THROTTLED (1ULL << 63) /* it has used up its time */

static __always_inline u64 saakm_load_of(u64 word)
{
	return word & ((1ULL << 40) - 1);
}

static __always_inline u64 saakm_share_of(u64 word)
{
	return (word & ~SAAKM_GROUP_THROTTLED) >> 40;
}

/* The weight with which a cgroup counts in its parent. */
static __always_inline u64 saakm_counted_of(u64 word)
{
	return saakm_load_of(word) && !(word & SAAKM_GROUP_THROTTLED) ? saakm_share_of(word) : 0;
}

enum saakm_group_change {
	SAAKM_GROUP_ADD,      /* adds to the weight of its members */
	SAAKM_GROUP_SHARE,    /* sets its own weight */
	SAAKM_GROUP_THROTTLE, /* throttles it (1), or no longer (0) */
};

static __always_inline u64 saakm_group_after(u64 word, u32 change, s64 value)
{
	switch (change) {
	case SAAKM_GROUP_ADD:
		return word + value;
	case SAAKM_GROUP_SHARE:
		return (word & (SAAKM_GROUP_THROTTLED | ((1ULL << 40) - 1))) | (u64)value << 40;
	default:
		return value ? word | SAAKM_GROUP_THROTTLED : word & ~SAAKM_GROUP_THROTTLED;
	}
}

/* Changes a cgroup's word. The swap tells by how much the cgroup's weight in its parent changes, so
   that concurrent changes add up. */
SAAKM_GLOBAL int saakm_change_group(u32 index, u32 change, s64 value)
{
	while (index && can_loop) {
		struct saakm_group SAAKM_MEM *group = saakm_group_at(index);
		u64 old = SAAKM_LOAD(&group->word), seen, new;

		do {
			seen = old;
			new = saakm_group_after(seen, change, value);
			if (new == seen)
				return 0;
			old = SAAKM_CAS(&group->word, seen, new);
		} while (old != seen && can_loop);
		value = saakm_counted_of(new) - saakm_counted_of(seen);
		change = SAAKM_GROUP_ADD;
		index = group->parent;
	}
	return 0;
}

/* The thread counts in its cgroup while it is runnable. Called with its run queue locked. */
static __always_inline void saakm_join_group(thread_t t)
{
	if (t->group && !t->counted) {
		t->counted = t->own_weight;
		saakm_change_group(t->group, SAAKM_GROUP_ADD, t->counted);
	}
}

static __always_inline void saakm_leave_group(thread_t t)
{
	u32 counted = t->counted;

	if (counted) {
		t->counted = 0;
		saakm_change_group(t->group, SAAKM_GROUP_ADD, -(s64)counted);
	}
}

/*
 * Computes the weight of a thread. A thread that is about to become runnable is not yet in the sums:
 * it is added here, and so are the cgroups that become runnable with it. The product has ten more bits, because
 * the threads of a large cgroup have small weights.
 */
SAAKM_GLOBAL int saakm_weigh(u64 thread)
{
	thread_t t = SAAKM_FIELD_AT(struct saakm_thread, thread);
	u64 weight = (u64)t->own_weight << 10, joins = t->counted ? 0 : t->own_weight;
	u32 index = t->group;

	while (index && can_loop) {
		struct saakm_group SAAKM_MEM *group = saakm_group_at(index);
		u64 word = SAAKM_LOAD(&group->word), all = saakm_load_of(word) + joins;

		if (all)
			weight = weight * saakm_share_of(word) / all;
		joins = saakm_counted_of(word) ? 0 : saakm_share_of(word);
		index = group->parent;
	}
	weight >>= 10;
	t->weight = weight < 1 ? 1 : weight > SAAKM_MAX_WEIGHT ? SAAKM_MAX_WEIGHT : weight;
	return 0;
}

/* ---- time ---------------------------------------------------------------------------------- */

SAAKM_GLOBAL u32 saakm_find_throttled(u64 thread)
{
	thread_t t = SAAKM_FIELD_AT(struct saakm_thread, thread);
	u32 index = t->group;

	while (index && !(SAAKM_LOAD(&saakm_group_at(index)->word) & SAAKM_GROUP_THROTTLED) &&
	       can_loop)
		index = saakm_group_at(index)->parent;
	return index;
}

/* Index of the nearest cgroup of t, or above, that has used up its time; 0: none. */
static __always_inline u32 saakm_throttled_by(thread_t t)
{
	return WORLD->limits ? saakm_find_throttled((u64)t) : 0;
}

SAAKM_GLOBAL int saakm_charge_groups(u64 thread, u64 now)
{
	thread_t t = SAAKM_FIELD_AT(struct saakm_thread, thread);
	u32 index = t->group;
	s64 ran = now > t->charged ? now - t->charged : 0;

	t->charged = now;
	for (; index && can_loop; index = saakm_group_at(index)->parent) {
		struct saakm_group SAAKM_MEM *group = saakm_group_at(index);

		if (group->quota &&
		    __sync_fetch_and_add(&group->used, ran) + ran >= (s64)group->quota)
			saakm_change_group(index, SAAKM_GROUP_THROTTLE, 1);
	}
	return 0;
}

/* Charges the cgroups of a thread that runs, or has just stopped. */
static __always_inline void saakm_charge(thread_t t, u64 now)
{
	if (WORLD->limits)
		saakm_charge_groups((u64)t, now);
}

/* t, not READY, has to wait for its cgroup. If it ran, event block. */
SAAKM_GLOBAL int saakm_throttle(u64 context, u64 thread)
{
	saakm_t s = SAAKM_FIELD_AT(struct saakm, context);
	thread_t t = SAAKM_FIELD_AT(struct saakm_thread, thread);

	if (saakm_state_of(t->where) == SAAKM_RUNNING) {
		saakm_change(s, saakm_core(t), SAAKM_STOPS, t->index);
		saakm_on_block(context, thread);
		saakm_core_at(s->cpu)->count.throttled++;
	}
	t->flags &= ~(SAAKM_T_YIELDS | SAAKM_T_PREEMPTS | SAAKM_T_OUTSIDE);
	t->timer_at = 0;
	while (saakm_state_of(t->where) != SAAKM_THROTTLED &&
	       !saakm_transition(s, t, t->where, SAAKM_THROTTLED, saakm_core(t), 0) && can_loop)
		;
	return 0;
}

/*
 * Places the throttled threads of a cgroup: event unblock. The kernel may dequeue a thread meanwhile: then
 * it is no longer THROTTLED, or ops.enqueue finds it READY.
 */
SAAKM_GLOBAL int saakm_unthrottle(u32 index)
{
	struct task_struct *p;

	/* Older verifiers treat a timer callback as sleepable, without RCU protection. */
	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, saakm_group_dsq(index), 0) {
		thread_t t = saakm_thread_of(p);
		u32 by, home = scx_bpf_task_cpu(p);
		saakm_t s;
		u64 where;

		if (!t)
			continue;
		by = saakm_throttled_by(t);
		if (by == index)
			break;
		if (by) {
			scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, saakm_group_dsq(by), 0);
			continue;
		}
		saakm_update_affinity(t, home, saakm_pinned(p));
		SAAKM_IRQS_OFF(irqs);
		s = saakm_begin(SAAKM_IN_TIMER, t);
		if (saakm_state_of(t->where) == SAAKM_THROTTLED)
			saakm_on_unblock((u64)s, (u64)t, home);
		saakm_end(s);
		SAAKM_IRQS_ON(irqs);
		where = t->where;
		if (saakm_state_of(where) == SAAKM_READY)
			SAAKM_MOVE_ENTRY(BPF_FOR_EACH_ITER, p, where, t->key);
		saakm_preempt_cores((u64)s);
		saakm_start_timer(t);
	}
	bpf_rcu_read_unlock();
	return 0;
}

/* Longest time for which a cgroup pays for what it used. Many cores, each up to its tick, can use a hundred
   times a small quota; and if ticks come late, more. The rest is forgiven, since the kernel's watchdog ends a policy
   under which a thread waits for 30 s. */
#define SAAKM_DEBT_NS 5000000000ULL

static __always_inline void saakm_forgive(struct saakm_group SAAKM_MEM *group)
{
	u64 quota = group->quota, most = SAAKM_DEBT_NS / (group->period ?: 1);
	u64 owed = quota && group->used > 0 ? group->used / quota : 0; /* periods */

	if (owed > most)
		__sync_fetch_and_add(&group->used, -(s64)((owed - most) * quota));
}

/* The quota of the periods that have ended pays for what was used. What is left over is kept, up to
   the burst. Returns the time until the next period ends. */
SAAKM_GLOBAL u64 saakm_refill(u32 index)
{
	struct saakm_group SAAKM_MEM *group = saakm_group_at(index);
	u64 now = scx_bpf_now(), period = group->period ?: 1;
	u64 periods = now > group->begun ? (now - group->begun) / period : 0;
	s64 due = group->used + (s64)group->burst;
	u64 paid = periods * group->quota;

	if (due > 0 && paid)
		__sync_fetch_and_add(&group->used, -(s64)(paid < due ? paid : due));
	saakm_forgive(group);
	group->begun += periods * period;
	if (group->used < (s64)group->quota)
		saakm_change_group(index, SAAKM_GROUP_THROTTLE, 0);
	now = scx_bpf_now();
	return group->begun + period > now ? group->begun + period - now : 0;
}

/* An operation that began before a limit went may still throttle the cgroup or its threads. So the
   timer goes on for a while, with a short period. */
#define SAAKM_LIMIT_GOES_NS 1000000000ULL
#define SAAKM_LIMIT_GOES_PERIOD_NS 10000000ULL

/* A period of a cgroup has ended, or its limit is gone. */
static int saakm_period_ended(void *map, u32 *key, struct saakm_timer *timer)
{
	u32 index = *key;
	struct saakm_group SAAKM_MEM *group = saakm_group_at(index);

	saakm_use_arena();
	if (group->quota) {
		bpf_timer_start(&timer->timer, saakm_refill(index), 0);
	} else {
		saakm_change_group(index, SAAKM_GROUP_THROTTLE, 0);
		if (scx_bpf_now() - group->begun < SAAKM_LIMIT_GOES_NS)
			bpf_timer_start(&timer->timer, SAAKM_LIMIT_GOES_PERIOD_NS, 0);
	}
	if (!(SAAKM_LOAD(&group->word) & SAAKM_GROUP_THROTTLED))
		saakm_unthrottle(index);
	return 0;
}

/* ---- life of a cgroup ---------------------------------------------------------------------- */

/* Index of a cgroup, 0: the root, or one that is too many. */
static __always_inline u32 saakm_group_of(struct cgroup *cgrp)
{
	u64 id = cgrp->kn->id;
	u32 *index = bpf_map_lookup_elem(&saakm_group_ids, &id);

	return index ? *index : 0;
}

/* The cgroup of a new thread. */
static __always_inline u32 saakm_first_group(struct scx_init_task_args *args)
{
	if (!bpf_core_field_exists(args->cgroup) || !args->cgroup)
		return 0;
	return saakm_group_of(args->cgroup);
}

#define SAAKM_IDLE_SHARE 3

/* Sets the weight of a cgroup in its parent. */
SAAKM_GLOBAL int saakm_set_share(u32 index, u32 weight, bool idle)
{
	u64 share = idle ? SAAKM_IDLE_SHARE : (u64)weight * SAAKM_NICE_0_WEIGHT / 100;

	saakm_group_at(index)->weight = weight;
	saakm_change_group(index, SAAKM_GROUP_SHARE, share < 1 ? 1 : share);
	return 0;
}

/* Sets the limit of a cgroup, in µs; a quota of ~0: none. */
SAAKM_GLOBAL int saakm_set_limit(u32 index, u64 period_us, u64 quota_us, u64 burst_us)
{
	struct saakm_group SAAKM_MEM *group = saakm_group_at(index);
	struct saakm_timer *timer = bpf_map_lookup_elem(&saakm_period_timers, &index);
	u64 quota = quota_us == ~0ULL || !period_us ? 0 : quota_us * 1000;

	if (!timer || (!quota && !group->quota))
		return 0;
	if (!quota != !group->quota)
		__sync_fetch_and_add(&WORLD->limits, quota ? 1 : -1);
	group->period = period_us * 1000;
	group->burst = burst_us * 1000;
	group->used = 0;
	group->begun = scx_bpf_now();
	group->quota = quota;
	saakm_change_group(index, SAAKM_GROUP_THROTTLE, 0);
	bpf_timer_start(&timer->timer, quota ? group->period : 0, 0);
	return 0;
}

/* All indexes are new again, after a hot-plug: their DSQs are gone. */
static __always_inline void saakm_forget_groups(void)
{
	u32 index;

	while (!bpf_map_pop_elem(&saakm_free_groups, &index) && can_loop)
		;
}

/* A cgroup is new, or existed when the policy started: parents first. */
s32 BPF_STRUCT_OPS_SLEEPABLE(saakm_cgroup_init, struct cgroup *cgrp,
			     struct scx_cgroup_init_args *args)
{
	struct saakm_group SAAKM_MEM *group;
	struct saakm_timer *timer;
	struct cgroup *parent;
	u64 id = cgrp->kn->id;
	u32 index;

	saakm_use_arena();
	if (!cgrp->level)
		return 0;
	if (bpf_map_pop_elem(&saakm_free_groups, &index)) {
		index = __sync_fetch_and_add(&WORLD->fresh_group, 1) + 1;
		/* Too many: their threads count as the root's. */
		if (index >= SAAKM_MAX_GROUPS)
			return 0;
		/* Fails if the page exists already, for a neighbour. */
		bpf_arena_alloc_pages(&arena,
				      (void __arena *)((u64)saakm_group_at(index) & ~4095UL), 1,
				      NUMA_NO_NODE, 0);
		if (scx_bpf_create_dsq(saakm_group_dsq(index), -1))
			return -ENOMEM;
		timer = bpf_map_lookup_elem(&saakm_period_timers, &index);
		if (!timer)
			return -ENOMEM;
		bpf_timer_init(&timer->timer, &saakm_period_timers, CLOCK_MONOTONIC);
		bpf_timer_set_callback(&timer->timer, saakm_period_ended);
	}
	group = saakm_group_at(index);
	group->word = 0;
	group->quota = 0;
	parent = bpf_cgroup_ancestor(cgrp, cgrp->level - 1);
	group->parent = parent ? saakm_group_of(parent) : 0;
	if (parent)
		bpf_cgroup_release(parent);
	saakm_set_share(index, args->weight,
			bpf_core_field_exists(args->sched_idle) && args->sched_idle);
	if (bpf_core_field_exists(args->bw_quota_us))
		saakm_set_limit(index, args->bw_period_us, args->bw_quota_us, args->bw_burst_us);
	return bpf_map_update_elem(&saakm_group_ids, &id, &index, BPF_ANY);
}

/* A cgroup is gone. It has no threads. */
void BPF_STRUCT_OPS_SLEEPABLE(saakm_cgroup_exit, struct cgroup *cgrp)
{
	u64 id = cgrp->kn->id;
	u32 index = saakm_group_of(cgrp);

	saakm_use_arena();
	if (!index)
		return;
	saakm_set_limit(index, 0, ~0ULL, 0);
	bpf_map_delete_elem(&saakm_group_ids, &id);
	bpf_map_push_elem(&saakm_free_groups, &index, BPF_ANY);
}

/* p moves to another cgroup. It is dequeued, if it was queued, and does not count in the old one. */
void BPF_STRUCT_OPS(saakm_cgroup_move, struct task_struct *p, struct cgroup *from,
		    struct cgroup *to)
{
	thread_t t = saakm_thread_of(p);

	if (!t)
		return;
	saakm_leave_group(t);
	t->group = saakm_group_of(to);
	saakm_weigh((u64)t);
}

void BPF_STRUCT_OPS(saakm_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	u32 index = saakm_group_of(cgrp);

	saakm_use_arena();
	if (index)
		saakm_set_share(index, weight, false);
}

void BPF_STRUCT_OPS(saakm_cgroup_set_idle, struct cgroup *cgrp, bool idle)
{
	u32 index = saakm_group_of(cgrp);

	saakm_use_arena();
	if (index)
		saakm_set_share(index, saakm_group_at(index)->weight, idle);
}

/* Linux 6.17. */
void BPF_STRUCT_OPS(saakm_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us, u64 quota_us,
		    u64 burst_us)
{
	u32 index = saakm_group_of(cgrp);

	saakm_use_arena();
	if (index)
		saakm_set_limit(index, period_us, quota_us, burst_us);
}

/* ---- threads of the loader's cgroup (`hearth run --cgroup`) -------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16); /* bytes: 4,096 moves */
} saakm_members_ring SEC(".maps");

/* A thread, or with `process` all threads of its process. If the ring is full, the loader's next look at the whole cgroup
   finds the thread. */
static __always_inline void saakm_member(struct task_struct *p, bool process)
{
	u64 *moved = bpf_ringbuf_reserve(&saakm_members_ring, sizeof(*moved), 0);

	if (!moved)
		return;
	*moved = (u32)p->pid | (u64)process << SAAKM_MEMBER_PROCESS_AT;
	bpf_ringbuf_submit(moved, 0);
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(saakm_moves, struct cgroup *to, const char *path, struct task_struct *p, bool process)
{
	saakm_member(p, process);
	return 0;
}

/* A child has its parent's class. It may begin in another cgroup (CLONE_INTO_CGROUP). */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(saakm_forks, struct task_struct *parent, struct task_struct *child)
{
	if (parent->cgroups->dfl_cgrp != child->cgroups->dfl_cgrp)
		saakm_member(child, false);
	return 0;
}

#endif
