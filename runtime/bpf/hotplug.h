/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: a core goes off line. */
#ifndef SAAKM_HOTPLUG_H
#define SAAKM_HOTPLUG_H

/*
 * Ends the policy before a core goes off line; the loader starts it again for the remaining cores.
 *
 * Without cpu_offline, the kernel does the same by itself, but only after it has deactivated the
 * core and waited for an RCU grace period. Until then the core takes no threads from DSQs, which
 * the policy cannot know. If the policy places rcu_preempt there, the grace period never ends, and
 * the watchdog reports a stall of rcu_preempt (observed).
 */
SEC("tp_btf/cpuhp_enter")
int BPF_PROG(saakm_core_goes, unsigned int cpu, int target, int state)
{
	int active = bpf_core_enum_value(enum cpuhp_state, CPUHP_AP_ACTIVE);

	if (state == active && target < state)
		scx_bpf_exit(SCX_ECODE_RSN_HOTPLUG | SCX_ECODE_ACT_RESTART, "core %d goes", cpu);
	return 0;
}

#endif
