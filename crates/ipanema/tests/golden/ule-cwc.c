/*
 * Policy ule-cwc, made by the Ipanema compiler from ule-cwc.ipa, on top of ule.
 *
 * ULE-CWC of the Ipanema thesis: ULE that is work-conserving. A core that goes idle takes a
 * thread wherever one waits behind another.
 */
#include "saakm.h"

/* Why a thread is where it is. */
enum ule_cwc_reason {
	ULE_CWC_REASON_NONE,
	ULE_CWC_REASON_INTERACTIVE,
	ULE_CWC_REASON_TIMESHARE,
	ULE_CWC_REASON_BALANCE,
};

/* Ready queues of a core. */
enum ule_cwc_queue {
	ULE_CWC_QUEUE_INTERACTIVE,
	ULE_CWC_QUEUE_TIMESHARE,
};

struct ule_cwc_state {
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

struct ule_cwc_core {
	char none;
};

struct ule_cwc_thread {
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

SAAKM_ATTRIBUTES(ule_cwc)

static __attribute__((unused)) void ule_cwc_init_state(void SAAKM_MEM *state)
{
	struct ule_cwc_state SAAKM_MEM *p = (struct ule_cwc_state SAAKM_MEM *)state;

	p->slice = 80 * SAAKM_MS;
	p->threshold = 30;
	p->history = 5 * SAAKM_S;
}

static __attribute__((unused)) void ule_cwc_init_core(void SAAKM_MEM *attrs)
{
	(void)attrs;
}

static __attribute__((unused)) void ule_cwc_init_thread(void SAAKM_MEM *attrs)
{
	(void)attrs;
}

/*
 * ule.ipa:25
 * t => c.interactive
 */
SAAKM_LOCAL void ule_cwc_enter_interactive(saakm_t s, thread_t t, core_t c, uint32_t reason)
{
	saakm_ready(s, t, c, ULE_CWC_QUEUE_INTERACTIVE, 0, reason);
}

/*
 * ule.ipa:26
 * t => c.timeshare
 */
SAAKM_LOCAL void ule_cwc_enter_timeshare(saakm_t s, thread_t t, core_t c, uint32_t reason)
{
	saakm_ready(s, t, c, ULE_CWC_QUEUE_TIMESHARE, 0, reason);
}

/* ule.ipa:30 */
SAAKM_LOCAL int64_t ule_cwc_score(saakm_t s, thread_t t)
{
	(void)s;

	if (ule_cwc_thread(t)->slept > ule_cwc_thread(t)->ran) {
		return saakm_div(50 * ule_cwc_thread(t)->ran, ule_cwc_thread(t)->slept);
	}
	return 100 - saakm_div(50 * ule_cwc_thread(t)->slept, saakm_max(ule_cwc_thread(t)->ran, 1));
}

/* ule.ipa:35 */
SAAKM_LOCAL void ule_cwc_charge(saakm_t s, thread_t t)
{
	ule_cwc_thread(t)->ran += saakm_runtime(s, t) - ule_cwc_thread(t)->charged;
	ule_cwc_thread(t)->charged = saakm_runtime(s, t);
	if (ule_cwc_thread(t)->ran + ule_cwc_thread(t)->slept > ule_cwc_state(s)->history) {
		ule_cwc_thread(t)->ran = ule_cwc_thread(t)->ran / 2;
		ule_cwc_thread(t)->slept = ule_cwc_thread(t)->slept / 2;
	}
	ule_cwc_thread(t)->interactive = ule_cwc_score(s, t) <= ule_cwc_state(s)->threshold;
}

/* ule.ipa:47 */
SAAKM_LOCAL void ule_cwc_on_schedule(saakm_t s, core_t c)
{
	thread_t t = saakm_first(s, c, ULE_CWC_QUEUE_INTERACTIVE);

	if (t != NULL) {
		ule_cwc_thread(t)->turn = saakm_runtime(s, t);
		saakm_run(s, t);
		return;
	}
	thread_t t2 = saakm_first(s, c, ULE_CWC_QUEUE_TIMESHARE);

	if (t2 != NULL) {
		ule_cwc_thread(t2)->turn = saakm_runtime(s, t2);
		saakm_run(s, t2);
	}
}

/* ule.ipa:58 */
SAAKM_LOCAL void ule_cwc_on_tick(saakm_t s, thread_t t)
{
	core_t c = saakm_core(t);
	ule_cwc_charge(s, t);
	if (saakm_nr_ready(s, c) > 0
			&& saakm_runtime(s, t) - ule_cwc_thread(t)->turn
			>= saakm_max(saakm_div(ule_cwc_state(s)->slice, saakm_nr_running(s, c)),
				4 * SAAKM_MS)) {
		saakm_preempt(s, c);
	}
}

/*
 * ule.ipa:65
 * To the queue of its class.
 */
SAAKM_LOCAL void ule_cwc_back(saakm_t s, thread_t t)
{
	ule_cwc_charge(s, t);
	if (ule_cwc_thread(t)->interactive) {
		ule_cwc_enter_interactive(s, t, saakm_core(t), ULE_CWC_REASON_NONE);
		return;
	}
	ule_cwc_enter_timeshare(s, t, saakm_core(t), ULE_CWC_REASON_NONE);
}

/* ule.ipa:71 */
SAAKM_LOCAL void ule_cwc_on_yield(saakm_t s, thread_t t)
{
	ule_cwc_back(s, t);
}

/* ule.ipa:75 */
SAAKM_LOCAL void ule_cwc_on_preempt(saakm_t s, thread_t t)
{
	ule_cwc_back(s, t);
}

/* ule.ipa:79 */
SAAKM_LOCAL void ule_cwc_on_block(saakm_t s, thread_t t)
{
	ule_cwc_charge(s, t);
	ule_cwc_thread(t)->blocked_at = saakm_now(s);
	saakm_blocked(s, t);
}

/* ule.ipa:85 */
SAAKM_LOCAL void ule_cwc_on_terminate(saakm_t s, thread_t t)
{
	saakm_terminated(s, t);
}

/* ule.ipa:91 */
SAAKM_LOCAL core_t ule_cwc_least_loaded(saakm_t s, thread_t t, core_t near)
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
SAAKM_LOCAL core_t ule_cwc_choose_wakeup(saakm_t s, thread_t t, core_t waker)
{
	(void)waker;

	core_t prev = saakm_core(t);
	if (saakm_has(saakm_idle(s), prev) && saakm_has(saakm_affinity(t), prev)) {
		return prev;
	}
	core_t found = SAAKM_FIRST_NEAREST(s, prev, w,
			saakm_idle(s)->word[w] & saakm_llc(s, prev)->cores.word[w]
			& saakm_affinity(t)->word[w]);
	return found != SAAKM_NO_CORE ? found : ule_cwc_least_loaded(s, t, prev);
}

/*
 * ule.ipa:102
 * An interactive thread does not wait for one that is not.
 */
SAAKM_LOCAL void ule_cwc_place(saakm_t s, thread_t t, core_t c)
{
	if (ule_cwc_thread(t)->interactive) {
		thread_t r = saakm_current(s, c);

		if (r != NULL) {
			if (!ule_cwc_thread(r)->interactive) {
				saakm_preempt(s, c);
			}
		}
		ule_cwc_enter_interactive(s, t, c, ULE_CWC_REASON_INTERACTIVE);
		return;
	}
	ule_cwc_enter_timeshare(s, t, c, ULE_CWC_REASON_TIMESHARE);
}

/*
 * ule.ipa:112
 * A child is like its parent.
 */
SAAKM_LOCAL void ule_cwc_on_new(saakm_t s, thread_t t, core_t parent)
{
	thread_t p = saakm_current(s, parent);

	if (p != NULL) {
		ule_cwc_thread(t)->ran = ule_cwc_thread(p)->ran;
		ule_cwc_thread(t)->slept = ule_cwc_thread(p)->slept;
	}
	ule_cwc_charge(s, t);
	ule_cwc_place(s, t, ule_cwc_least_loaded(s, t, parent));
}

/* ule.ipa:121 */
SAAKM_LOCAL void ule_cwc_on_unblock(saakm_t s, thread_t t, core_t waker)
{
	ule_cwc_thread(t)->slept += saakm_now(s) - ule_cwc_thread(t)->blocked_at;
	ule_cwc_charge(s, t);
	ule_cwc_place(s, t, ule_cwc_choose_wakeup(s, t, waker));
}

/* ule.ipa:131 */
SAAKM_PHASE bool ule_cwc_pull_can_steal_core(saakm_t s, core_t dst, core_t src)
{
	return saakm_nr_ready(s, src) > 0
			&& saakm_nr_running(s, src) >= saakm_nr_running(s, dst) + 2;
}

/* ule.ipa:132 */
SAAKM_PHASE int64_t ule_cwc_pull_select_core(saakm_t s, core_t dst, core_t src)
{
	(void)dst;

	return saakm_nr_running(s, src);
}

/* ule.ipa:133 */
SAAKM_PHASE bool ule_cwc_pull_steal_thread(saakm_t s, core_t dst, thread_t t)
{
	(void)s;

	return saakm_has(saakm_affinity(t), dst);
}

/* ule.ipa:134 */
SAAKM_PHASE bool ule_cwc_pull_stop_core(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* ule.ipa:135 */
SAAKM_PHASE bool ule_cwc_pull_stop(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* ule.ipa:136 */
SAAKM_PHASE void ule_cwc_pull_move(saakm_t s, core_t dst, thread_t t)
{
	if (ule_cwc_thread(t)->interactive) {
		ule_cwc_enter_interactive(s, t, dst, ULE_CWC_REASON_BALANCE);
		return;
	}
	ule_cwc_enter_timeshare(s, t, dst, ULE_CWC_REASON_BALANCE);
}

/*
 * ule.ipa:130
 * dst takes one thread from a core that has at least two more.
 */
SAAKM_STEAL(ule_cwc_pull, dst, from)
{
	core_t src;
	int64_t stolen = 0;
	SAAKM_SET(candidates);

	/* First phase: whom to steal from. */
	SAAKM_ASSIGN(s, candidates, w, from->word[w]);
	SAAKM_EACH(s, src, w, from->word[w]) {
		if (src == dst || !ule_cwc_pull_can_steal_core(s, dst, src))
			saakm_exclude(candidates, src);
	}
	SAAKM_EACH_ROUND(s) {
		int64_t from_core = 0;
		thread_t t;

		/* Second phase: whom first. */
		core_t best = SAAKM_NO_CORE;
		int64_t most = 0;

		SAAKM_EACH_NEAREST(s, src, dst, w, candidates->word[w]) {
			int64_t key = ule_cwc_pull_select_core(s, dst, src);
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
		SAAKM_EACH_THREAD(s, t, src, ULE_CWC_QUEUE_INTERACTIVE) {
			if (!ule_cwc_pull_can_steal_core(s, dst, src)) {
				enough = true;
				break;
			}
			if (!ule_cwc_pull_steal_thread(s, dst, t))
				continue;
			ule_cwc_pull_move(s, dst, t);
			if (!saakm_moved(s))
				continue;
			stolen = SAAKM_FORGET(stolen + 1);
			if (ule_cwc_pull_stop(s, dst, stolen))
				return;
			from_core = SAAKM_FORGET(from_core + 1);
			if (ule_cwc_pull_stop_core(s, dst, from_core)) {
				enough = true;
				break;
			}
		}
		if (!enough) {
			SAAKM_EACH_THREAD(s, t, src, ULE_CWC_QUEUE_TIMESHARE) {
				if (!ule_cwc_pull_can_steal_core(s, dst, src)) {
					enough = true;
					break;
				}
				if (!ule_cwc_pull_steal_thread(s, dst, t))
					continue;
				ule_cwc_pull_move(s, dst, t);
				if (!saakm_moved(s))
					continue;
				stolen = SAAKM_FORGET(stolen + 1);
				if (ule_cwc_pull_stop(s, dst, stolen))
					return;
				from_core = SAAKM_FORGET(from_core + 1);
				if (ule_cwc_pull_stop_core(s, dst, from_core)) {
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
SAAKM_LOCAL void ule_cwc_on_balance(saakm_t s, core_t c)
{
	if (saakm_now(s) < ule_cwc_state(s)->next) {
		return;
	}
	ule_cwc_state(s)->next = saakm_now(s)
			+ 4 * SAAKM_MS * (64 + saakm_now(s) / (1 * SAAKM_US) % 128);
	SAAKM_SET(members);
	SAAKM_ASSIGN(s, members, w, saakm_online(s)->word[w]);
	core_t dst;

	SAAKM_EACH_FROM(s, dst, c, w, members->word[w]) {
		ule_cwc_pull(s, dst, saakm_waiting(s));
	}
}

/* ule-cwc.ipa:4 */
SAAKM_LOCAL void ule_cwc_on_newly_idle(saakm_t s, core_t c)
{
	ule_cwc_pull(s, c, saakm_waiting(s));
}

/* The handlers, for a runtime that calls them by name. */
#define SAAKM_ON_NEW ule_cwc_on_new
#define SAAKM_ON_UNBLOCK ule_cwc_on_unblock
#define SAAKM_ON_SCHEDULE ule_cwc_on_schedule
#define SAAKM_ON_TICK ule_cwc_on_tick
#define SAAKM_ON_YIELD ule_cwc_on_yield
#define SAAKM_ON_PREEMPT ule_cwc_on_preempt
#define SAAKM_ON_BLOCK ule_cwc_on_block
#define SAAKM_ON_TERMINATE ule_cwc_on_terminate
#define SAAKM_ON_NEWLY_IDLE ule_cwc_on_newly_idle
#define SAAKM_ON_BALANCE ule_cwc_on_balance
#define SAAKM_INIT_STATE ule_cwc_init_state
#define SAAKM_INIT_CORE ule_cwc_init_core
#define SAAKM_INIT_THREAD ule_cwc_init_thread

/* Its name, as the kernel can spell it; how many ready queues a core has, and which are
   ordered, as bits; sets. */
#define SAAKM_NAME "ule_cwc"
#define SAAKM_QUEUES 2
#define SAAKM_ORDERED 0x0
#define SAAKM_NR_SETS 0

#ifdef SAAKM_POLICY

static const struct saakm_param ule_cwc_params[] = {
	{
		.name = "slice",
		.doc = "Turns on a core take together as long as this, and one no less than a tick.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct ule_cwc_state, slice),
		.min = 4 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 80 * SAAKM_MS,
	},
	{
		.name = "threshold",
		.doc = "A thread with at most this score (0: only sleeps, 100: only runs) is interactive.",
		.unit = SAAKM_INT,
		.offset = offsetof(struct ule_cwc_state, threshold),
		.min = 0, .max = 100,
		.initial = 30,
	},
	{
		.name = "history",
		.doc = "History counts half once it is so long.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct ule_cwc_state, history),
		.min = 10 * SAAKM_MS, .max = 60 * SAAKM_S,
		.initial = 5 * SAAKM_S,
	},
};

static const struct saakm_queue ule_cwc_queues[] = {
	{ .name = "interactive", .ordered = 0 },
	{ .name = "timeshare", .ordered = 0 },
};

static const char *const ule_cwc_reasons[] = {
	"none",
	"interactive",
	"timeshare",
	"balance",
};

SAAKM_POLICY(ule_cwc,
	.name = "ule-cwc",
	.state_size = sizeof(struct ule_cwc_state),
	.thread_size = sizeof(struct ule_cwc_thread),
	.core_size = sizeof(struct ule_cwc_core),
	.params = ule_cwc_params, .nr_params = 3,
	.queues = ule_cwc_queues, .nr_queues = 2,
	.reasons = ule_cwc_reasons, .nr_reasons = 4,
	.sets = NULL, .nr_sets = 0,
	.init_state = ule_cwc_init_state,
	.init_core = ule_cwc_init_core,
	.init_thread = ule_cwc_init_thread,
	.new_thread = ule_cwc_on_new,
	.unblock = ule_cwc_on_unblock,
	.schedule = ule_cwc_on_schedule,
	.tick = ule_cwc_on_tick,
	.yield = ule_cwc_on_yield,
	.preempt = ule_cwc_on_preempt,
	.block = ule_cwc_on_block,
	.terminate = ule_cwc_on_terminate,
	.newly_idle = ule_cwc_on_newly_idle,
	.balance = ule_cwc_on_balance);
#endif
