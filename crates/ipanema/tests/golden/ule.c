/*
 * Policy ule, made by the Ipanema compiler from ule.ipa.
 *
 * ULE, FreeBSD's scheduler, as far as the Ipanema thesis took it: two queues on each core, for
 * interactive threads and for others; load is the number of threads; cores balance now and then,
 * but not when they go idle.
 */
#include "saakm.h"

/* Why a thread is where it is. */
enum ule_reason {
	ULE_REASON_NONE,
	ULE_REASON_INTERACTIVE,
	ULE_REASON_TIMESHARE,
	ULE_REASON_BALANCE,
};

/* Ready queues of a core. */
enum ule_queue {
	ULE_QUEUE_INTERACTIVE,
	ULE_QUEUE_TIMESHARE,
};

struct ule_state {
	/*
	 * ule.ipa:6
	 * Turns on a core take together as long as this, and one no less than a tick.
	 */
	int64_t slice;
	/*
	 * ule.ipa:8
	 * A thread with at most this score (0: only sleeps, 100: only runs) is interactive.
	 */
	int64_t threshold;
	/*
	 * ule.ipa:10
	 * History counts half once it is so long.
	 */
	int64_t history;
	/* ule.ipa:22 */
	nsec_t next;
};

struct ule_core {
	char none;
};

struct ule_thread {
	/* ule.ipa:13 */
	nsec_t ran;
	nsec_t slept;
	/*
	 * ule.ipa:15
	 * Runtime and point in time when these were last brought up to date.
	 */
	nsec_t charged;
	nsec_t blocked_at;
	/*
	 * ule.ipa:17
	 * Runtime at the start of the turn.
	 */
	nsec_t turn;
	/* ule.ipa:18 */
	bool interactive;
};

SAAKM_ATTRIBUTES(ule)

static __attribute__((unused)) void ule_init_state(void SAAKM_MEM *state)
{
	struct ule_state SAAKM_MEM *p = (struct ule_state SAAKM_MEM *)state;

	p->slice = 80 * SAAKM_MS;
	p->threshold = 30;
	p->history = 5 * SAAKM_S;
}

static __attribute__((unused)) void ule_init_core(void SAAKM_MEM *attrs)
{
	(void)attrs;
}

static __attribute__((unused)) void ule_init_thread(void SAAKM_MEM *attrs)
{
	(void)attrs;
}

/*
 * ule.ipa:25
 * t => c.interactive
 */
SAAKM_LOCAL void ule_enter_interactive(saakm_t s, thread_t t, core_t c, uint32_t reason)
{
	saakm_ready(s, t, c, ULE_QUEUE_INTERACTIVE, 0, reason);
}

/*
 * ule.ipa:26
 * t => c.timeshare
 */
SAAKM_LOCAL void ule_enter_timeshare(saakm_t s, thread_t t, core_t c, uint32_t reason)
{
	saakm_ready(s, t, c, ULE_QUEUE_TIMESHARE, 0, reason);
}

/* ule.ipa:30 */
SAAKM_LOCAL int64_t ule_score(saakm_t s, thread_t t)
{
	(void)s;

	if (ule_thread(t)->slept > ule_thread(t)->ran) {
		return saakm_div(50 * ule_thread(t)->ran, ule_thread(t)->slept);
	}
	return 100 - saakm_div(50 * ule_thread(t)->slept, saakm_max(ule_thread(t)->ran, 1));
}

/* ule.ipa:35 */
SAAKM_LOCAL void ule_charge(saakm_t s, thread_t t)
{
	ule_thread(t)->ran += saakm_runtime(s, t) - ule_thread(t)->charged;
	ule_thread(t)->charged = saakm_runtime(s, t);
	if (ule_thread(t)->ran + ule_thread(t)->slept > ule_state(s)->history) {
		ule_thread(t)->ran = ule_thread(t)->ran / 2;
		ule_thread(t)->slept = ule_thread(t)->slept / 2;
	}
	ule_thread(t)->interactive = ule_score(s, t) <= ule_state(s)->threshold;
}

/* ule.ipa:47 */
SAAKM_LOCAL void ule_on_schedule(saakm_t s, core_t c)
{
	thread_t t = saakm_first(s, c, ULE_QUEUE_INTERACTIVE);

	if (t != NULL) {
		ule_thread(t)->turn = saakm_runtime(s, t);
		saakm_run(s, t);
		return;
	}
	thread_t t2 = saakm_first(s, c, ULE_QUEUE_TIMESHARE);

	if (t2 != NULL) {
		ule_thread(t2)->turn = saakm_runtime(s, t2);
		saakm_run(s, t2);
	}
}

/* ule.ipa:58 */
SAAKM_LOCAL void ule_on_tick(saakm_t s, thread_t t)
{
	core_t c = saakm_core(t);
	ule_charge(s, t);
	if (saakm_nr_ready(s, c) > 0
			&& saakm_runtime(s, t) - ule_thread(t)->turn
			>= saakm_max(saakm_div(ule_state(s)->slice, saakm_nr_running(s, c)),
				4 * SAAKM_MS)) {
		saakm_preempt(s, c);
	}
}

/*
 * ule.ipa:65
 * To the queue of its class.
 */
SAAKM_LOCAL void ule_back(saakm_t s, thread_t t)
{
	ule_charge(s, t);
	if (ule_thread(t)->interactive) {
		ule_enter_interactive(s, t, saakm_core(t), ULE_REASON_NONE);
		return;
	}
	ule_enter_timeshare(s, t, saakm_core(t), ULE_REASON_NONE);
}

/* ule.ipa:71 */
SAAKM_LOCAL void ule_on_yield(saakm_t s, thread_t t)
{
	ule_back(s, t);
}

/* ule.ipa:75 */
SAAKM_LOCAL void ule_on_preempt(saakm_t s, thread_t t)
{
	ule_back(s, t);
}

/* ule.ipa:79 */
SAAKM_LOCAL void ule_on_block(saakm_t s, thread_t t)
{
	ule_charge(s, t);
	ule_thread(t)->blocked_at = saakm_now(s);
	saakm_blocked(s, t);
}

/* ule.ipa:85 */
SAAKM_LOCAL void ule_on_terminate(saakm_t s, thread_t t)
{
	saakm_terminated(s, t);
}

/* ule.ipa:91 */
SAAKM_LOCAL core_t ule_least_loaded(saakm_t s, thread_t t, core_t near)
{
	core_t best_c = SAAKM_NO_CORE;
	int64_t least_c = 0;
	core_t c;

	SAAKM_EACH_NEAREST(s, c, near, w, saakm_affinity(t)->word[w]) {
		int64_t key = saakm_nr_running(s, c);
		if (best_c != SAAKM_NO_CORE && key >= least_c)
			continue;
		least_c = key;
		best_c = c;
	}
	return best_c != SAAKM_NO_CORE ? best_c : near;
}

/* ule.ipa:95 */
SAAKM_LOCAL core_t ule_choose_wakeup(saakm_t s, thread_t t, core_t waker)
{
	(void)waker;

	core_t prev = saakm_core(t);
	if (saakm_has(saakm_idle(s), prev) && saakm_has(saakm_affinity(t), prev)) {
		return prev;
	}
	core_t found = SAAKM_FIRST_NEAREST(s, prev, w,
			saakm_idle(s)->word[w] & saakm_llc(s, prev)->cores.word[w]
			& saakm_affinity(t)->word[w]);
	return found != SAAKM_NO_CORE ? found : ule_least_loaded(s, t, prev);
}

/*
 * ule.ipa:102
 * An interactive thread does not wait for one that is not.
 */
SAAKM_LOCAL void ule_place(saakm_t s, thread_t t, core_t c)
{
	if (ule_thread(t)->interactive) {
		thread_t r = saakm_current(s, c);

		if (r != NULL) {
			if (!ule_thread(r)->interactive) {
				saakm_preempt(s, c);
			}
		}
		ule_enter_interactive(s, t, c, ULE_REASON_INTERACTIVE);
		return;
	}
	ule_enter_timeshare(s, t, c, ULE_REASON_TIMESHARE);
}

/*
 * ule.ipa:112
 * A child is like its parent.
 */
SAAKM_LOCAL void ule_on_new(saakm_t s, thread_t t, core_t parent)
{
	thread_t p = saakm_current(s, parent);

	if (p != NULL) {
		ule_thread(t)->ran = ule_thread(p)->ran;
		ule_thread(t)->slept = ule_thread(p)->slept;
	}
	ule_charge(s, t);
	ule_place(s, t, ule_least_loaded(s, t, parent));
}

/* ule.ipa:121 */
SAAKM_LOCAL void ule_on_unblock(saakm_t s, thread_t t, core_t waker)
{
	ule_thread(t)->slept += saakm_now(s) - ule_thread(t)->blocked_at;
	ule_charge(s, t);
	ule_place(s, t, ule_choose_wakeup(s, t, waker));
}

/* ule.ipa:131 */
SAAKM_PHASE bool ule_pull_can_steal_core(saakm_t s, core_t dst, core_t src)
{
	return saakm_nr_ready(s, src) > 0
			&& saakm_nr_running(s, src) >= saakm_nr_running(s, dst) + 2;
}

/* ule.ipa:132 */
SAAKM_PHASE int64_t ule_pull_select_core(saakm_t s, core_t dst, core_t src)
{
	(void)dst;

	return saakm_nr_running(s, src);
}

/* ule.ipa:133 */
SAAKM_PHASE bool ule_pull_steal_thread(saakm_t s, core_t dst, thread_t t)
{
	(void)s;

	return saakm_has(saakm_affinity(t), dst);
}

/* ule.ipa:134 */
SAAKM_PHASE bool ule_pull_stop_core(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* ule.ipa:135 */
SAAKM_PHASE bool ule_pull_stop(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* ule.ipa:136 */
SAAKM_PHASE void ule_pull_move(saakm_t s, core_t dst, thread_t t)
{
	if (ule_thread(t)->interactive) {
		ule_enter_interactive(s, t, dst, ULE_REASON_BALANCE);
		return;
	}
	ule_enter_timeshare(s, t, dst, ULE_REASON_BALANCE);
}

/*
 * ule.ipa:130
 * dst takes one thread from a core that has at least two more.
 */
SAAKM_STEAL(ule_pull, dst, from)
{
	core_t src;
	int64_t stolen = 0;
	SAAKM_SET(candidates);

	/* First phase: whom to steal from. */
	SAAKM_ASSIGN(s, candidates, w, from->word[w]);
	SAAKM_EACH(s, src, w, from->word[w]) {
		if (src == dst || !ule_pull_can_steal_core(s, dst, src))
			saakm_exclude(candidates, src);
	}
	SAAKM_EACH_ROUND(s) {
		int64_t from_core = 0;
		thread_t t;

		/* Second phase: whom first. */
		core_t best = SAAKM_NO_CORE;
		int64_t most = 0;

		SAAKM_EACH_NEAREST(s, src, dst, w, candidates->word[w]) {
			int64_t key = ule_pull_select_core(s, dst, src);
			if (best != SAAKM_NO_CORE && key <= most)
				continue;
			most = key;
			best = src;
		}
		src = best;
		if (src == SAAKM_NO_CORE)
			return;
		saakm_exclude(candidates, src);

		/* Third phase: which threads; what was true may be so no longer. */
		bool enough = false;
		SAAKM_EACH_THREAD(s, t, src, ULE_QUEUE_INTERACTIVE) {
			if (!ule_pull_can_steal_core(s, dst, src)) {
				enough = true;
				break;
			}
			if (!ule_pull_steal_thread(s, dst, t))
				continue;
			ule_pull_move(s, dst, t);
			if (!saakm_moved(s))
				continue;
			stolen = SAAKM_FORGET(stolen + 1);
			if (ule_pull_stop(s, dst, stolen))
				return;
			from_core = SAAKM_FORGET(from_core + 1);
			if (ule_pull_stop_core(s, dst, from_core)) {
				enough = true;
				break;
			}
		}
		if (!enough) {
			SAAKM_EACH_THREAD(s, t, src, ULE_QUEUE_TIMESHARE) {
				if (!ule_pull_can_steal_core(s, dst, src)) {
					enough = true;
					break;
				}
				if (!ule_pull_steal_thread(s, dst, t))
					continue;
				ule_pull_move(s, dst, t);
				if (!saakm_moved(s))
					continue;
				stolen = SAAKM_FORGET(stolen + 1);
				if (ule_pull_stop(s, dst, stolen))
					return;
				from_core = SAAKM_FORGET(from_core + 1);
				if (ule_pull_stop_core(s, dst, from_core)) {
					enough = true;
					break;
				}
			}
		}
	}
}

/*
 * ule.ipa:143
 * Every 64 to 191 ticks, by the last digits of the clock.
 */
SAAKM_LOCAL void ule_on_balance(saakm_t s, core_t c)
{
	if (saakm_now(s) < ule_state(s)->next) {
		return;
	}
	ule_state(s)->next = saakm_now(s)
			+ 4 * SAAKM_MS * (64 + saakm_now(s) / (1 * SAAKM_US) % 128);
	SAAKM_SET(members);
	SAAKM_ASSIGN(s, members, w, saakm_online(s)->word[w]);
	core_t dst;

	SAAKM_EACH_FROM(s, dst, c, w, members->word[w]) {
		ule_pull(s, dst, saakm_waiting(s));
	}
}

/* The handlers, for a runtime that calls them by name. */
#define SAAKM_ON_NEW ule_on_new
#define SAAKM_ON_UNBLOCK ule_on_unblock
#define SAAKM_ON_SCHEDULE ule_on_schedule
#define SAAKM_ON_TICK ule_on_tick
#define SAAKM_ON_YIELD ule_on_yield
#define SAAKM_ON_PREEMPT ule_on_preempt
#define SAAKM_ON_BLOCK ule_on_block
#define SAAKM_ON_TERMINATE ule_on_terminate
#define SAAKM_ON_BALANCE ule_on_balance
#define SAAKM_INIT_STATE ule_init_state
#define SAAKM_INIT_CORE ule_init_core
#define SAAKM_INIT_THREAD ule_init_thread

/* Its name, as the kernel can spell it; how many ready queues a core has, and which are
   ordered, as bits; sets. */
#define SAAKM_NAME "ule"
#define SAAKM_QUEUES 2
#define SAAKM_ORDERED 0x0
#define SAAKM_NR_SETS 0

#ifdef SAAKM_POLICY

static const struct saakm_param ule_params[] = {
	{
		.name = "slice",
		.doc = "Turns on a core take together as long as this, and one no less than a tick.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct ule_state, slice),
		.min = 4 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 80 * SAAKM_MS,
	},
	{
		.name = "threshold",
		.doc = "A thread with at most this score (0: only sleeps, 100: only runs) is interactive.",
		.unit = SAAKM_INT,
		.offset = offsetof(struct ule_state, threshold),
		.min = 0, .max = 100,
		.initial = 30,
	},
	{
		.name = "history",
		.doc = "History counts half once it is so long.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct ule_state, history),
		.min = 10 * SAAKM_MS, .max = 60 * SAAKM_S,
		.initial = 5 * SAAKM_S,
	},
};

static const struct saakm_queue ule_queues[] = {
	{ .name = "interactive", .ordered = 0 },
	{ .name = "timeshare", .ordered = 0 },
};

static const char *const ule_reasons[] = {
	"none",
	"interactive",
	"timeshare",
	"balance",
};

SAAKM_POLICY(ule,
	.name = "ule",
	.state_size = sizeof(struct ule_state),
	.thread_size = sizeof(struct ule_thread),
	.core_size = sizeof(struct ule_core),
	.params = ule_params, .nr_params = 3,
	.queues = ule_queues, .nr_queues = 2,
	.reasons = ule_reasons, .nr_reasons = 4,
	.sets = NULL, .nr_sets = 0,
	.init_state = ule_init_state,
	.init_core = ule_init_core,
	.init_thread = ule_init_thread,
	.new_thread = ule_on_new,
	.unblock = ule_on_unblock,
	.schedule = ule_on_schedule,
	.tick = ule_on_tick,
	.yield = ule_on_yield,
	.preempt = ule_on_preempt,
	.block = ule_on_block,
	.terminate = ule_on_terminate,
	.balance = ule_on_balance);
#endif
