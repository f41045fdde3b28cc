/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: tells the loader which threads may have entered or left its cgroup. Only with `--cgroup`. */
#ifndef SAAKM_MEMBERS_H
#define SAAKM_MEMBERS_H

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
