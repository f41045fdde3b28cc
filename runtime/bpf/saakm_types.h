/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: the types and macros that saakm.h requires from a runtime. */
#ifndef SAAKM_TYPES_H
#define SAAKM_TYPES_H

#include <scx/common.bpf.h>
#include <scx/compat.bpf.h>

/*
 * scx's headers make constants variables that its own loaders set. Ours does not: they would all be 0. So a use of one
 * does not compile until it is defined below.
 */
#undef __weak
#define __weak __attribute__((weak, unavailable("define the constant by SAAKM_CONST")))
#include <scx/enums.autogen.bpf.h>
#undef __weak
#define __weak __attribute__((weak))

/* Values of the running kernel's constants (CO-RE), not those of vmlinux.h. */
#define SAAKM_CONST(type, name) bpf_core_enum_value(enum type, name)
#undef SCX_TASK_QUEUED
#define SCX_TASK_QUEUED SAAKM_CONST(scx_ent_flags, SCX_TASK_QUEUED)
#undef SCX_DSQ_GLOBAL
#define SCX_DSQ_GLOBAL SAAKM_CONST(scx_dsq_id_flags, SCX_DSQ_GLOBAL)
#undef SCX_DSQ_LOCAL
#define SCX_DSQ_LOCAL SAAKM_CONST(scx_dsq_id_flags, SCX_DSQ_LOCAL)
#undef SCX_DSQ_LOCAL_ON
#define SCX_DSQ_LOCAL_ON SAAKM_CONST(scx_dsq_id_flags, SCX_DSQ_LOCAL_ON)
#undef SCX_SLICE_DFL
#define SCX_SLICE_DFL SAAKM_CONST(scx_public_consts, SCX_SLICE_DFL)
#undef SCX_KICK_IDLE
#define SCX_KICK_IDLE SAAKM_CONST(scx_kick_flags, SCX_KICK_IDLE)
#undef SCX_KICK_PREEMPT
#define SCX_KICK_PREEMPT SAAKM_CONST(scx_kick_flags, SCX_KICK_PREEMPT)
#undef SCX_ENQ_WAKEUP
#define SCX_ENQ_WAKEUP SAAKM_CONST(scx_enq_flags, SCX_ENQ_WAKEUP)
#undef SCX_ENQ_LAST
#define SCX_ENQ_LAST SAAKM_CONST(scx_enq_flags, SCX_ENQ_LAST)
#undef SCX_ENQ_PREEMPT
#define SCX_ENQ_PREEMPT SAAKM_CONST(scx_enq_flags, SCX_ENQ_PREEMPT)
#undef SCX_WAKE_SYNC
#define SCX_WAKE_SYNC SAAKM_CONST(scx_wake_flags, SCX_WAKE_SYNC)
#undef SCX_DEQ_SLEEP
#define SCX_DEQ_SLEEP SAAKM_CONST(scx_deq_flags, SCX_DEQ_SLEEP)
#undef SCX_ECODE_RSN_HOTPLUG
#define SCX_ECODE_RSN_HOTPLUG SAAKM_CONST(scx_exit_code, SCX_ECODE_RSN_HOTPLUG)
#undef SCX_ECODE_ACT_RESTART
#define SCX_ECODE_ACT_RESTART SAAKM_CONST(scx_exit_code, SCX_ECODE_ACT_RESTART)

#ifndef NULL
#define NULL ((void *)0)
#endif
#ifndef INT64_MAX
#define INT64_MAX 0x7fffffffffffffffLL
#endif

/*
 * SaaKM's structures are in a BPF arena, which the loader maps too: it writes the topology and the
 * parameters, and reads the statistics. To the verifier an arena address is a scalar: an index
 * needs no bounds check, and a load from an unmapped page yields zero.
 */
#define SAAKM_MEM __arena
/* Condition of every loop (may_goto): bounds it for the verifier, and ends it after millions of
   iterations. */
#define SAAKM_GO_ON can_loop

/*
 * Returns x, or'ed with a zero from memory. Hides the range of x so that the verifier does not
 * enumerate loop states. Also for the first value of a loop variable: then the verifier's first pass
 * through the loop covers all others.
 */
#define SAAKM_FORGET(x) ((x) | (typeof(x))(*(volatile u64 SAAKM_MEM *)(u64)SAAKM_ZERO_AT))

/*
 * A global function: the verifier checks it once, not at each call. Its arguments must be scalars,
 * which arena addresses are. Weak, so that the compiler passes unused parameters too: otherwise it
 * leaves their registers unset, which the verifier rejects.
 */
#define SAAKM_GLOBAL __noinline __weak
#define SAAKM_FUNCTION SAAKM_GLOBAL
/*
 * A function of a policy, inlined: the verifier would check a static function at each call anyway,
 * a call has at most five arguments, and 6.18's verifier cannot backtrack through a loop that
 * calls.
 */
#define SAAKM_LOCAL static inline __attribute__((always_inline, unused))

static __always_inline void saakm_end_rcu(const bool *held)
{
	bpf_rcu_read_unlock();
}

/*
 * Until the function returns, the entries of queues stay valid: an RCU read lock. Older verifiers
 * (6.18) treat a timer callback as sleepable and want one around a walk over a DSQ, in each global
 * function by itself, and not twice.
 */
#define SAAKM_READ_QUEUES()                                                                        \
	const bool rcu_ __attribute__((cleanup(saakm_end_rcu), unused)) =                          \
		(bpf_rcu_read_lock(), true)

/* Start of a function `name` of a policy that the verifier checks once: a global function with
   scalar arguments, and a wrapper with the policy's types. */
#define SAAKM_SHARED(result, name, typed, plain, back, there)                                      \
	static __always_inline result name##_once typed;                                           \
	SAAKM_GLOBAL u64 name##_global plain                                                       \
	{                                                                                          \
		return (u64)name##_once back;                                                      \
	}                                                                                          \
	static inline __attribute__((unused)) result name typed                                    \
	{                                                                                          \
		return (result)name##_global there;                                                \
	}                                                                                          \
	static __always_inline result name##_once typed
#define SAAKM_SHARED_0(result, name)                                                               \
	SAAKM_SHARED(result, name, (saakm_t s), (u64 s), ((saakm_t)s), ((u64)s))
#define SAAKM_SHARED_1(result, name, A, a)                                                         \
	SAAKM_SHARED(result, name, (saakm_t s, A a), (u64 s, u64 a), ((saakm_t)s, (A)a),           \
		     ((u64)s, (u64)a))
#define SAAKM_SHARED_2(result, name, A, a, B, b)                                                   \
	SAAKM_SHARED(result, name, (saakm_t s, A a, B b), (u64 s, u64 a, u64 b),                   \
		     ((saakm_t)s, (A)a, (B)b), ((u64)s, (u64)a, (u64)b))
#define SAAKM_SHARED_3(result, name, A, a, B, b, C, c)                                             \
	SAAKM_SHARED(result, name, (saakm_t s, A a, B b, C c), (u64 s, u64 a, u64 b, u64 c),       \
		     ((saakm_t)s, (A)a, (B)b, (C)c), ((u64)s, (u64)a, (u64)b, (u64)c))
#define SAAKM_SHARED_4(result, name, A, a, B, b, C, c, D, d)                                       \
	SAAKM_SHARED(result, name, (saakm_t s, A a, B b, C c, D d),                                \
		     (u64 s, u64 a, u64 b, u64 c, u64 d), ((saakm_t)s, (A)a, (B)b, (C)c, (D)d),    \
		     ((u64)s, (u64)a, (u64)b, (u64)c, (u64)d))

/* Start of a function that makes thread t READY on core c, also checked once. */
#define SAAKM_ENTER(name)                                                                          \
	static __always_inline void name##_once(saakm_t s, thread_t t, core_t c, u32 reason);      \
	SAAKM_GLOBAL int name##_global(u64 s, u64 t, u32 c, u32 reason)                            \
	{                                                                                          \
		name##_once((saakm_t)s, (thread_t)t, c, reason);                                   \
		return 0;                                                                          \
	}                                                                                          \
	static inline __attribute__((unused)) void name(saakm_t s, thread_t t, core_t c,           \
							u32 reason)                                \
	{                                                                                          \
		name##_global((u64)s, (u64)t, c, reason);                                          \
	}                                                                                          \
	static __always_inline void name##_once(saakm_t s, thread_t t, core_t c, u32 reason)

/* Start of the function in which core `dst` steals from the cores in `from`, also checked once. From no core, it does
   nothing: most cores that become idle find none. */
#define SAAKM_STEAL(name, dst, from)                                                               \
	static void name##_once(saakm_t s, core_t dst, set_t from);                                \
	SAAKM_GLOBAL int name##_global(u64 s, u32 dst, u64 from)                                   \
	{                                                                                          \
		SAAKM_READ_QUEUES();                                                               \
		name##_once((saakm_t)s, dst, (set_t)from);                                         \
		return 0;                                                                          \
	}                                                                                          \
	static inline __attribute__((unused)) void name(saakm_t s, core_t dst, set_t from)         \
	{                                                                                          \
		if (!SAAKM_EMPTY(s, w, from->word[w]))                                             \
			name##_global((u64)s, dst, (u64)from);                                     \
	}                                                                                          \
	static void name##_once(saakm_t s, core_t dst, set_t from)

#endif
