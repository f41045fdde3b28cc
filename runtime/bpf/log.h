/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: the log of a run that is to be repeated by the simulator's build of the same policy. Compiled in
 * with -DSAAKM_CONFORMANCE only; else nothing remains of it.
 *
 * Handlers then run one at a time. The log has, for each, all that the runtime lets it see, what it did, and what
 * became of the runtime's and the policy's state: enough to call the same handler elsewhere, and to compare.
 * layout.h has its records; crates/scx/src/log reads it; docs/src/conformance.md describes it.
 *
 * What handlers see of cores and of sets of cores is told by differences: a record where something is not what was
 * last told.
 */
#ifndef SAAKM_LOG_H
#define SAAKM_LOG_H

/* kind, flag, core and thread as one argument. */
#define SAAKM_LOG_WHAT(kind, flag, core, thread)                                                   \
	((u64)(kind) | (u64)(flag) << 8 | (u64)((core) & 0xffff) << 16 | (u64)(thread) << 32)

#ifdef SAAKM_CONFORMANCE

/* ---- one handler at a time --------------------------------------------------------------- */

SAAKM_GLOBAL int saakm_lock(void);
SAAKM_GLOBAL int saakm_unlock(void);
/* Windows are not watched: there is no stack left. */
#define SAAKM_UNDERLOAD 0
#define SAAKM_LOCK() saakm_lock()
#define SAAKM_UNLOCK() saakm_unlock()
/* Where interrupts are on: an operation that interrupts the owner of the lock would wait for ever. */
#define SAAKM_IRQS_OFF(flags)                                                                      \
	unsigned long flags;                                                                       \
	bpf_local_irq_save(&flags)
#define SAAKM_IRQS_ON(flags) bpf_local_irq_restore(&flags)

/* ---- the log ----------------------------------------------------------------------------- */

SAAKM_GLOBAL int saakm_log(u64 what, u64 a, u64 b, u64 c);
SAAKM_GLOBAL int saakm_log_thread(u64 thread);
SAAKM_GLOBAL int saakm_log_begin(u64 context, u32 event, u64 thread, u32 core);
SAAKM_GLOBAL int saakm_log_end(u64 thread);

/* A handler's own stack does not add to that of the log; and of the eight functions that may call one another, the log
   needs the last one. */
#define SAAKM_HANDLER SAAKM_GLOBAL
#define SAAKM_EVENT static __always_inline
#define SAAKM_LOG(kind, flag, core, thread, a, b, c)                                               \
	saakm_log(SAAKM_LOG_WHAT(kind, flag, core, thread), a, b, c)
/* Names a walk: walks may be within each other, even over one queue. */
#define SAAKM_LOG_WALK(c, queue)                                                                   \
	({                                                                                         \
		u64 name = WORLD->logged;                                                          \
		SAAKM_LOG(SAAKM_L_WALK, queue, c, 0, name, 0, 0);                                  \
		name;                                                                              \
	})
/* In the condition of a walk. */
#define SAAKM_LOG_VISIT(t, walk)                                                                   \
	(saakm_log_thread((u64)(t)), SAAKM_LOG(SAAKM_L_VISIT, 0, 0, (t)->serial, walk, 0, 0), true)
#define SAAKM_LOG_BEGIN(s, event, t, c) saakm_log_begin((u64)(s), event, (u64)(t), c)
#define SAAKM_LOG_END(t) saakm_log_end((u64)(t))

/* What was last told of a core. */
struct saakm_told {
	u32 nr_ready, current, seen_khz, weight;
	u64 idle_since, running_since;
};

#define SAAKM_TOLD ((struct saakm_told SAAKM_MEM *)(u64)SAAKM_TOLD_AT)
#define SAAKM_TOLD_SETS ((struct saakm_set SAAKM_MEM *)(u64)SAAKM_TOLD_SETS_AT)
_Static_assert(sizeof(struct saakm_told) * SAAKM_MAX_CORES <= SAAKM_CORES_AT - SAAKM_TOLD_AT,
	       "overlap");
_Static_assert(SAAKM_WORLD_AT + sizeof(struct saakm_world) <= SAAKM_TOLD_SETS_AT, "overlap");

#else

#define SAAKM_HANDLER static __always_inline
#define SAAKM_EVENT SAAKM_GLOBAL
#define SAAKM_UNDERLOAD WORLD->underload
#define SAAKM_LOCK() ((void)0)
#define SAAKM_UNLOCK() ((void)0)
#define SAAKM_IRQS_OFF(flags) ((void)0)
#define SAAKM_IRQS_ON(flags) ((void)0)
#define SAAKM_LOG(kind, flag, core, thread, a, b, c) ((void)0)
#define SAAKM_LOG_WALK(c, queue) 0
#define SAAKM_LOG_VISIT(t, walk) ((void)(walk), true)
#define SAAKM_LOG_BEGIN(s, event, t, c) ((void)0)
#define SAAKM_LOG_END(t) ((void)0)

#endif

#endif
