/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: a global function per handler of the policy, which the verifier checks once.
 */
#ifndef SAAKM_HANDLERS_H
#define SAAKM_HANDLERS_H

#define SAAKM_THREAD_AT(at) SAAKM_FIELD_AT(struct saakm_thread, at)
#define SAAKM_CONTEXT_AT(at) SAAKM_FIELD_AT(struct saakm, at)

/* saakm_do_EVENT calls the policy's handler; saakm_on_EVENT adds the log before and after it. */
#define SAAKM_HANDLER_OF(event, EVENT, parameters, call, thread, core, ...)                        \
	SAAKM_HANDLER int saakm_do_##event parameters                                              \
	{                                                                                          \
		SAAKM_READ_QUEUES();                                                               \
		SAAKM_ON_##EVENT(__VA_ARGS__);                                                     \
		return 0;                                                                          \
	}                                                                                          \
	SAAKM_EVENT int saakm_on_##event parameters                                                \
	{                                                                                          \
		SAAKM_LOG_BEGIN(s, SAAKM_E_##EVENT, thread, core);                                 \
		saakm_do_##event call;                                                             \
		SAAKM_LOG_END(thread);                                                             \
		return 0;                                                                          \
	}
#define SAAKM_PLACEMENT_HANDLER(event, EVENT)                                                      \
	SAAKM_HANDLER_OF(event, EVENT, (u64 s, u64 t, u32 c), (s, t, c), t, c,                     \
			 SAAKM_CONTEXT_AT(s), SAAKM_THREAD_AT(t), c)
#define SAAKM_THREAD_HANDLER(event, EVENT)                                                         \
	SAAKM_HANDLER_OF(event, EVENT, (u64 s, u64 t), (s, t), t, 0, SAAKM_CONTEXT_AT(s),          \
			 SAAKM_THREAD_AT(t))
#define SAAKM_CORE_HANDLER(event, EVENT)                                                           \
	SAAKM_HANDLER_OF(event, EVENT, (u64 s, u32 c), (s, c), 0, c, SAAKM_CONTEXT_AT(s), c)

SAAKM_PLACEMENT_HANDLER(new, NEW)
SAAKM_PLACEMENT_HANDLER(unblock, UNBLOCK)
SAAKM_CORE_HANDLER(schedule, SCHEDULE)
SAAKM_THREAD_HANDLER(preempt, PREEMPT)
SAAKM_THREAD_HANDLER(yield, YIELD)
SAAKM_THREAD_HANDLER(block, BLOCK)
SAAKM_THREAD_HANDLER(terminate, TERMINATE)
#ifdef SAAKM_ON_TICK
SAAKM_THREAD_HANDLER(tick, TICK)
#endif
#ifdef SAAKM_ON_TIMER
SAAKM_THREAD_HANDLER(timer, TIMER)
#endif
#ifdef SAAKM_ON_NEWLY_IDLE
SAAKM_CORE_HANDLER(newly_idle, NEWLY_IDLE)
#endif
#ifdef SAAKM_ON_BALANCE
SAAKM_CORE_HANDLER(balance, BALANCE)
#endif
#ifdef SAAKM_ON_ENTER_IDLE
SAAKM_CORE_HANDLER(enter_idle, ENTER_IDLE)
#endif
#ifdef SAAKM_ON_EXIT_IDLE
SAAKM_CORE_HANDLER(exit_idle, EXIT_IDLE)
#endif
#ifdef SAAKM_ON_ENTRY
SAAKM_CORE_HANDLER(entry, ENTRY)
#endif
#ifdef SAAKM_ON_EXIT
SAAKM_CORE_HANDLER(exit, EXIT)
#endif

#endif
