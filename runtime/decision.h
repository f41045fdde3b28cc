/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What a policy in the kernel reports of its decisions: the argument `what` of saakm_decided (runtime/bpf), which
 * the recorder reads (runtime/record).
 */
#ifndef SAAKM_DECISION_H
#define SAAKM_DECISION_H

enum saakm_decision {
	SAAKM_D_PLACE = 4, /* thread becomes READY on core `target` */
	SAAKM_D_MOVE = 5,  /* READY thread moves to core `target` */
	SAAKM_D_SPIN = 10, /* core `target` starts (flag 1) or stops (flag 0) spinning */
	SAAKM_D_SET = 13,  /* core `target` enters (flag 1) or leaves set number `reason` */
};

/* Packs a decision into one argument. */
#define SAAKM_D_FLAG_AT 8
#define SAAKM_D_TARGET_AT 16
#define SAAKM_D_REASON_AT 32
#define SAAKM_DECISION(kind, flag, target, reason)                                                 \
	((u64)(kind) | (u64)(flag) << SAAKM_D_FLAG_AT | (u64)(target) << SAAKM_D_TARGET_AT |       \
	 (u64)(reason) << SAAKM_D_REASON_AT)

#endif
