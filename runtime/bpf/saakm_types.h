/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: the words that saakm.h and its structures are written in. */
#ifndef SAAKM_TYPES_H
#define SAAKM_TYPES_H

#include <scx/common.bpf.h>
#include <scx/compat.bpf.h>

/* The kernel's own values of its constants, whatever they were when vmlinux.h was made. */
#define SAAKM_CONST(type, name) bpf_core_enum_value(enum type, name)
#undef SCX_TASK_QUEUED
#define SCX_TASK_QUEUED SAAKM_CONST(scx_ent_flags, SCX_TASK_QUEUED)
#undef SCX_DSQ_GLOBAL
#define SCX_DSQ_GLOBAL SAAKM_CONST(scx_dsq_id_flags, SCX_DSQ_GLOBAL)
#undef SCX_DSQ_LOCAL
#define SCX_DSQ_LOCAL SAAKM_CONST(scx_dsq_id_flags, SCX_DSQ_LOCAL)
#undef SCX_DSQ_LOCAL_ON
#define SCX_DSQ_LOCAL_ON SAAKM_CONST(scx_dsq_id_flags, SCX_DSQ_LOCAL_ON)
#undef SCX_SLICE_INF
#define SCX_SLICE_INF SAAKM_CONST(scx_public_consts, SCX_SLICE_INF)
#undef SCX_SLICE_DFL
#define SCX_SLICE_DFL SAAKM_CONST(scx_public_consts, SCX_SLICE_DFL)
#undef SCX_KICK_IDLE
#define SCX_KICK_IDLE SAAKM_CONST(scx_kick_flags, SCX_KICK_IDLE)
#undef SCX_KICK_PREEMPT
#define SCX_KICK_PREEMPT SAAKM_CONST(scx_kick_flags, SCX_KICK_PREEMPT)
#undef SCX_ENQ_WAKEUP
#define SCX_ENQ_WAKEUP SAAKM_CONST(scx_enq_flags, SCX_ENQ_WAKEUP)
#undef SCX_ENQ_PREEMPT
#define SCX_ENQ_PREEMPT SAAKM_CONST(scx_enq_flags, SCX_ENQ_PREEMPT)
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
 * SaaKM's structures lie in a BPF arena, which the loader maps as well: it fills in the topology and
 * the parameters, and reads the statistics. To the verifier an arena address is a number: an index
 * needs no proof, and an access outside of the arena reads zero.
 */
#define SAAKM_MEM __arena
/* Lets the verifier stop following a loop (may_goto); ends it after millions of rounds. */
#define SAAKM_GO_ON can_loop

/* x, with a zero from memory in it, which the verifier does not know to be zero. */
#define SAAKM_FORGET(x) ((x) | (typeof(x))(*(volatile u64 SAAKM_MEM *)(u64)SAAKM_ZERO_AT))

/* The verifier looks at a global function once, and not again at each call: it takes numbers, and
   arena addresses are numbers. Weak, because the compiler would else leave a register as it is for
   a parameter that the function does not use, and the verifier wants a number in each. */
#define SAAKM_GLOBAL __noinline __weak
#define SAAKM_FUNCTION SAAKM_GLOBAL
/* A function of the policy's: the verifier would look at it at each call anyway, a call takes five
   arguments at most, and 6.18's verifier loses its way back through a loop that calls. */
#define SAAKM_LOCAL static inline __attribute__((always_inline, unused))
/* But for the phases of a steal: together they need more stack than there is. */
#define SAAKM_PHASE static __noinline

/* Begins a function that the verifier looks at once, behind the name that the policy calls. */
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

/* Begins the function that lets core `dst` steal from the cores in `from`: one that the verifier
   looks at once, behind the name that the policy calls. */
#define SAAKM_STEAL(name, dst, from)                                                               \
	static void name##_once(saakm_t s, core_t dst, set_t from);                                \
	SAAKM_GLOBAL int name##_global(u64 s, u32 dst, u64 from)                                   \
	{                                                                                          \
		name##_once((saakm_t)s, dst, (set_t)from);                                         \
		return 0;                                                                          \
	}                                                                                          \
	static inline __attribute__((unused)) void name(saakm_t s, core_t dst, set_t from)         \
	{                                                                                          \
		name##_global((u64)s, dst, (u64)from);                                             \
	}                                                                                          \
	static void name##_once(saakm_t s, core_t dst, set_t from)

#endif
