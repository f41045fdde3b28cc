/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: the conformance log, which the simulator's build of the same policy replays.
 * Only with -DSAAKM_CONFORMANCE; otherwise all macros are empty.
 *
 * Handlers then run one at a time. The log contains the input of each, its effects, and the state
 * of the runtime and of the policy afterwards. Cores and sets of cores are logged by difference: a
 * record is written only if something has changed since the last one.
 *
 * layout.h defines the records; crates/scx/src/log reads them; docs/src/results.md (Conformance) explains it.
 */
#ifndef SAAKM_LOG_H
#define SAAKM_LOG_H

/* Packs kind, flag, core and thread into one argument. */
#define SAAKM_LOG_WHAT(kind, flag, core, thread)                                                   \
	((u64)(kind) | (u64)(flag) << 8 | (u64)((core) & 0xffff) << 16 | (u64)(thread) << 32)

#ifdef SAAKM_CONFORMANCE

/* ---- the lock of handlers ---------------------------------------------------------------- */

SAAKM_GLOBAL int saakm_lock(void);
SAAKM_GLOBAL int saakm_unlock(void);
/* No underload in this build: the stack is used up. */
#define SAAKM_UNDERLOAD 0
/* Walks log what they visit. */
#define SAAKM_PEEKS 0
#define SAAKM_LOCK() saakm_lock()
#define SAAKM_UNLOCK() saakm_unlock()
/*
 * For timers, which run with interrupts on: an operation that interrupts the owner of the lock
 * would wait forever.
 */
#define SAAKM_IRQS_OFF(flags)                                                                      \
	unsigned long flags;                                                                       \
	bpf_local_irq_save(&flags)
#define SAAKM_IRQS_ON(flags) bpf_local_irq_restore(&flags)

/* ---- the log ----------------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24); /* bytes; the loader sets it */
} saakm_log_ring SEC(".maps");

SAAKM_GLOBAL int saakm_log(u64 what, u64 a, u64 b, u64 c);
SAAKM_GLOBAL int saakm_log_thread(u64 thread);
SAAKM_GLOBAL int saakm_log_begin(u64 context, u32 event, u64 thread, u32 core);
SAAKM_GLOBAL int saakm_log_end(u64 thread);

/* The handler is a call of its own, so that its stack does not add to the log's. The caller is
   inlined, because the kernel allows eight nested calls and the log needs the last. */
#define SAAKM_HANDLER SAAKM_GLOBAL
#define SAAKM_EVENT static __always_inline
#define SAAKM_LOG(kind, flag, core, thread, a, b, c)                                               \
	saakm_log(SAAKM_LOG_WHAT(kind, flag, core, thread), a, b, c)
/* Starts a walk. Walks can nest, even over one queue; the record's number identifies each. */
#define SAAKM_LOG_WALK(c, queue)                                                                   \
	({                                                                                         \
		u64 name = WORLD->logged;                                                          \
		SAAKM_LOG(SAAKM_L_WALK, queue, c, 0, name, 0, 0);                                  \
		name;                                                                              \
	})
/* Logs a visited thread, in the condition of a walk. */
#define SAAKM_LOG_VISIT(t, walk)                                                                   \
	(saakm_log_thread((u64)(t)), SAAKM_LOG(SAAKM_L_VISIT, 0, 0, (t)->serial, walk, 0, 0), true)
#define SAAKM_LOG_BEGIN(s, event, t, c) saakm_log_begin((u64)(s), event, (u64)(t), c)
#define SAAKM_LOG_END(t) saakm_log_end((u64)(t))

/* State of a core as last logged. */
struct saakm_logged_core {
	u32 nr_ready, current, seen_khz, weight;
	u64 idle_since, running_since;
};

/* A handler sees what was logged: the idle state can change at any time. */
#define SAAKM_EXIT_LATENCY(c) saakm_core_at(c)->exit_latency
#define SAAKM_LOGGED_CORES ((struct saakm_logged_core SAAKM_MEM *)(u64)SAAKM_TOLD_AT)
#define SAAKM_LOGGED_SETS ((struct saakm_set SAAKM_MEM *)(u64)SAAKM_TOLD_SETS_AT)
_Static_assert(sizeof(struct saakm_logged_core) * SAAKM_MAX_CORES <= SAAKM_CORES_AT - SAAKM_TOLD_AT,
	       "overlap");
_Static_assert(SAAKM_WORLD_AT + sizeof(struct saakm_world) <= SAAKM_TOLD_SETS_AT, "overlap");

#else

#define SAAKM_HANDLER static __always_inline
#define SAAKM_EVENT SAAKM_GLOBAL
#define SAAKM_UNDERLOAD WORLD->underload
#define SAAKM_PEEKS 1
#define SAAKM_LOCK() ((void)0)
#define SAAKM_UNLOCK() ((void)0)
#define SAAKM_IRQS_OFF(flags) ((void)0)
#define SAAKM_IRQS_ON(flags) ((void)0)
#define SAAKM_EXIT_LATENCY(c) saakm_cpuidle_latency(c)
#define SAAKM_LOG(kind, flag, core, thread, a, b, c) ((void)0)
#define SAAKM_LOG_WALK(c, queue) 0
#define SAAKM_LOG_VISIT(t, walk) ((void)(walk), true)
#define SAAKM_LOG_BEGIN(s, event, t, c) ((void)0)
#define SAAKM_LOG_END(t) ((void)0)

#endif

#endif
