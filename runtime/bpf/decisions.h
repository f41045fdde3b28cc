/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: the hook through which `hearth record` sees the policy's decisions. */
#ifndef SAAKM_DECISIONS_H
#define SAAKM_DECISIONS_H

/* The numbers are known to crates/recorder/src/bpf/words.rs. */
enum saakm_decision {
	SAAKM_D_PLACE = 4, /* thread becomes READY on core `target` */
	SAAKM_D_MOVE = 5,  /* READY thread moves to core `target` */
	SAAKM_D_SPIN = 10, /* core `target` starts (flag 1) or stops (flag 0) spinning */
	SAAKM_D_SET = 13,  /* core `target` enters (flag 1) or leaves set number `reason` */
};

/* Packs a decision into one argument. */
#define SAAKM_DECISION(kind, flag, target, reason)                                                 \
	((u64)(kind) | (u64)(flag) << 8 | (u64)(target) << 16 | (u64)(reason) << 32)

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
