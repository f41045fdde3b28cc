/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: the hook through which `hearth record` sees the policy's decisions. */
#ifndef SAAKM_DECISIONS_H
#define SAAKM_DECISIONS_H

#include "../decision.h"

/*
 * `hearth record` attaches a program here (runtime/record/record.bpf.c). For PLACE and MOVE, `pid`
 * is the thread and `khz` the frequency of the target core that the policy saw. Without an attached
 * program it costs one call.
 */
SAAKM_GLOBAL int saakm_decided(u64 what, u64 pid, u64 khz)
{
	asm volatile("" : : "r"(what), "r"(pid), "r"(khz));
	return 0;
}

#endif
