/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: a core is about to go. */
#ifndef SAAKM_HOTPLUG_H
#define SAAKM_HOTPLUG_H

/*
 * Lets the kernel take over before a core goes, and the loader load the policy again for the cores
 * that remain. The kernel would do that by itself (we have no cpu_offline), but only after it has
 * taken the core out of use and waited for a grace period of RCU. Until then the core takes no more
 * threads from queues, and nobody tells the policy so: RCU's own thread, placed there, never runs, and
 * the grace period never ends. Tried: the watchdog then finds rcu_preempt stalled.
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
