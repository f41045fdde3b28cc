/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: the policy's handlers as functions that the verifier looks at once each. */
#ifndef SAAKM_HANDLERS_H
#define SAAKM_HANDLERS_H

#define SAAKM_THREAD_AT(at) SAAKM_FIELD_AT(struct saakm_thread, at)
#define SAAKM_CONTEXT_AT(at) SAAKM_FIELD_AT(struct saakm, at)

#define SAAKM_THREAD_HANDLER(event, HANDLER)                                                       \
	SAAKM_GLOBAL int saakm_on_##event(u64 s, u64 t)                                            \
	{                                                                                          \
		HANDLER(SAAKM_CONTEXT_AT(s), SAAKM_THREAD_AT(t));                                  \
		return 0;                                                                          \
	}
#define SAAKM_CORE_HANDLER(event, HANDLER)                                                         \
	SAAKM_GLOBAL int saakm_on_##event(u64 s, u32 c)                                            \
	{                                                                                          \
		HANDLER(SAAKM_CONTEXT_AT(s), c);                                                   \
		return 0;                                                                          \
	}

SAAKM_GLOBAL int saakm_on_new(u64 s, u64 t, u32 c)
{
	SAAKM_ON_NEW(SAAKM_CONTEXT_AT(s), SAAKM_THREAD_AT(t), c);
	return 0;
}

SAAKM_GLOBAL int saakm_on_unblock(u64 s, u64 t, u32 c)
{
	SAAKM_ON_UNBLOCK(SAAKM_CONTEXT_AT(s), SAAKM_THREAD_AT(t), c);
	return 0;
}

SAAKM_CORE_HANDLER(schedule, SAAKM_ON_SCHEDULE)
SAAKM_THREAD_HANDLER(preempt, SAAKM_ON_PREEMPT)
SAAKM_THREAD_HANDLER(yield, SAAKM_ON_YIELD)
SAAKM_THREAD_HANDLER(block, SAAKM_ON_BLOCK)
SAAKM_THREAD_HANDLER(terminate, SAAKM_ON_TERMINATE)
#ifdef SAAKM_ON_TICK
SAAKM_THREAD_HANDLER(tick, SAAKM_ON_TICK)
#endif
#ifdef SAAKM_ON_TIMER
SAAKM_THREAD_HANDLER(timer, SAAKM_ON_TIMER)
#endif
#ifdef SAAKM_ON_NEWLY_IDLE
SAAKM_CORE_HANDLER(newly_idle, SAAKM_ON_NEWLY_IDLE)
#endif
#ifdef SAAKM_ON_BALANCE
SAAKM_CORE_HANDLER(balance, SAAKM_ON_BALANCE)
#endif
#ifdef SAAKM_ON_ENTER_IDLE
SAAKM_CORE_HANDLER(enter_idle, SAAKM_ON_ENTER_IDLE)
#endif
#ifdef SAAKM_ON_EXIT_IDLE
SAAKM_CORE_HANDLER(exit_idle, SAAKM_ON_EXIT_IDLE)
#endif
#ifdef SAAKM_ON_ENTRY
SAAKM_CORE_HANDLER(entry, SAAKM_ON_ENTRY)
#endif
#ifdef SAAKM_ON_EXIT
SAAKM_CORE_HANDLER(exit, SAAKM_ON_EXIT)
#endif

#endif
