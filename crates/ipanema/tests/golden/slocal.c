/*
 * Policy slocal, made by the Ipanema compiler from slocal.ipa, on top of cfs.
 *
 * S_local (Fewer Cores, More Hertz, section 3.1): a new or woken thread is placed on the core
 * of whoever made or woke it, because that core runs, and so is probably fast, and will soon be
 * free. Everything else is CFS's.
 */
#include "saakm.h"

/* Why a thread is where it is. */
enum slocal_reason {
	SLOCAL_REASON_NONE,
	SLOCAL_REASON_CFS,
	SLOCAL_REASON_BALANCE,
	SLOCAL_REASON_LOCAL,
};

/* Ready queues of a core. */
enum slocal_queue {
	SLOCAL_QUEUE_READY,
};

struct slocal_state {
	/*
	 * cfs.ipa:8
	 * Every ready thread should run once in this time (sched_latency).
	 */
	int64_t latency;
	/*
	 * cfs.ipa:10
	 * A thread is not preempted at a tick before it ran this long (sched_min_granularity).
	 */
	int64_t min_granularity;
	/*
	 * cfs.ipa:12
	 * A woken thread preempts one that is ahead of it by more than this.
	 */
	int64_t wakeup_granularity;
	/*
	 * cfs.ipa:14
	 * Half-life of a core's recent load.
	 */
	int64_t half_life;
	/*
	 * cfs.ipa:16
	 * The load of idle cores is brought up to date this often (LOAD_AVG_PERIOD).
	 */
	int64_t refresh;
	/*
	 * cfs.ipa:18
	 * Cores that a wake-up examines for any idle one, when no whole core is idle.
	 */
	int64_t scan;
	/*
	 * cfs.ipa:21
	 * An idle spell shorter than this is not worth pulling a thread for; and a thread that ran so
	 * recently stays where its caches are (task_hot).
	 */
	int64_t migration_cost;
	/*
	 * cfs.ipa:23
	 * Cores balance their die every so many ms for each core in it.
	 */
	int64_t interval;
	/*
	 * cfs.ipa:25
	 * Busy cores balance this much more rarely than idle ones.
	 */
	int64_t busy_factor;
};

struct slocal_core {
	/* cfs.ipa:40 */
	nsec_t min_vruntime;
	/*
	 * cfs.ipa:43
	 * Recent load (1024: always busy) at time `since`, when the core last changed between
	 * busy and idle; and the part of it that threads left that have exited.
	 */
	int64_t past;
	int64_t gone;
	/* cfs.ipa:44 */
	nsec_t since;
	/*
	 * cfs.ipa:46
	 * Usual length of an idle spell.
	 */
	nsec_t usual_idle;
	/* cfs.ipa:47 */
	nsec_t next_die;
	nsec_t next_machine;
};

struct slocal_thread {
	/*
	 * cfs.ipa:29
	 * Virtual runtime, on the time line of core `home`.
	 */
	nsec_t vruntime;
	/* cfs.ipa:30 */
	core_t home;
	/*
	 * cfs.ipa:32
	 * Runtime when the thread was last charged, and when it last started.
	 */
	nsec_t charged;
	nsec_t started;
	/*
	 * cfs.ipa:34
	 * When the thread was last seen running.
	 */
	nsec_t ran;
	/*
	 * cfs.ipa:36
	 * Recent load of the thread; half a core's to start with.
	 */
	int64_t util;
};

SAAKM_ATTRIBUTES(slocal)

static __attribute__((unused)) void slocal_init_state(void SAAKM_MEM *state)
{
	struct slocal_state SAAKM_MEM *p = (struct slocal_state SAAKM_MEM *)state;

	p->latency = 24 * SAAKM_MS;
	p->min_granularity = 3 * SAAKM_MS;
	p->wakeup_granularity = 4 * SAAKM_MS;
	p->half_life = 32 * SAAKM_MS;
	p->refresh = 32 * SAAKM_MS;
	p->scan = 4;
	p->migration_cost = 500 * SAAKM_US;
	p->interval = 1 * SAAKM_MS;
	p->busy_factor = 16;
}

static __attribute__((unused)) void slocal_init_core(void SAAKM_MEM *attrs)
{
	struct slocal_core SAAKM_MEM *p = (struct slocal_core SAAKM_MEM *)attrs;

	p->usual_idle = 1 * SAAKM_MS;
}

static __attribute__((unused)) void slocal_init_thread(void SAAKM_MEM *attrs)
{
	struct slocal_thread SAAKM_MEM *p = (struct slocal_thread SAAKM_MEM *)attrs;

	p->home = SAAKM_NO_CORE;
	p->ran = -1 * SAAKM_S;
	p->util = 512;
}

SAAKM_LOCAL void slocal_on_enqueue(saakm_t s, thread_t t, core_t c);
SAAKM_LOCAL void slocal_leave(saakm_t s, core_t c, int64_t part);
SAAKM_LOCAL void slocal_nohz(saakm_t s, core_t i);

/*
 * cfs.ipa:50
 * t => c.ready
 */
SAAKM_LOCAL void slocal_enter_ready(saakm_t s, thread_t t, core_t c, uint32_t reason)
{
	slocal_on_enqueue(s, t, c);
	saakm_ready(s, t, c, SLOCAL_QUEUE_READY, slocal_thread(t)->vruntime, reason);
}

/* cfs.ipa:54 */
SAAKM_LOCAL nsec_t slocal_vruntime_now(saakm_t s, thread_t t)
{
	return slocal_thread(t)->vruntime
			+ saakm_div((saakm_runtime(s, t) - slocal_thread(t)->charged) * 1024,
				saakm_weight(t));
}

/* cfs.ipa:58 */
SAAKM_LOCAL void slocal_charge(saakm_t s, thread_t t)
{
	slocal_thread(t)->vruntime = slocal_vruntime_now(s, t);
	slocal_thread(t)->util = 1024
			- saakm_decay(1024 - slocal_thread(t)->util,
				saakm_runtime(s, t) - slocal_thread(t)->charged,
				slocal_state(s)->half_life);
	slocal_thread(t)->charged = saakm_runtime(s, t);
	slocal_thread(t)->ran = saakm_now(s);
	core_t c = saakm_core(t);
	if (saakm_nr_ready(s, c) == 0) {
		slocal_core(s, c)->min_vruntime = saakm_max(slocal_core(s, c)->min_vruntime,
				slocal_thread(t)->vruntime);
	}
}

/*
 * cfs.ipa:70
 * Called before every entry into a ready queue: puts t on the time line of core c.
 */
SAAKM_LOCAL void slocal_on_enqueue(saakm_t s, thread_t t, core_t c)
{
	core_t h = slocal_thread(t)->home;

	if (h != SAAKM_NO_CORE) {
		slocal_thread(t)->vruntime =
				saakm_max(slocal_thread(t)->vruntime
					- slocal_core(s, h)->min_vruntime,
					0 - slocal_state(s)->latency / 2)
				+ slocal_core(s, c)->min_vruntime;
	} else {
		slocal_thread(t)->vruntime = slocal_core(s, c)->min_vruntime
				+ saakm_max(slocal_state(s)->min_granularity,
					saakm_div(slocal_state(s)->latency,
						saakm_nr_running(s, c) + 1));
	}
	slocal_thread(t)->home = c;
	thread_t r = saakm_current(s, c);

	if (r != NULL) {
		if (slocal_vruntime_now(s, r) - slocal_thread(t)->vruntime
				> slocal_state(s)->wakeup_granularity) {
			saakm_preempt(s, c);
		}
	}
}

/* cfs.ipa:80 */
SAAKM_LOCAL void slocal_on_schedule(saakm_t s, core_t c)
{
	thread_t t = saakm_first(s, c, SLOCAL_QUEUE_READY);

	if (t != NULL) {
		slocal_core(s, c)->min_vruntime = saakm_max(slocal_core(s, c)->min_vruntime,
				slocal_thread(t)->vruntime);
		slocal_thread(t)->started = saakm_runtime(s, t);
		saakm_run(s, t);
	}
}

/* cfs.ipa:88 */
SAAKM_LOCAL void slocal_on_tick(saakm_t s, thread_t t)
{
	core_t c = saakm_core(t);
	slocal_charge(s, t);
	if (saakm_nr_ready(s, c) > 0
			&& saakm_runtime(s, t) - slocal_thread(t)->started
			>= saakm_max(slocal_state(s)->min_granularity,
				saakm_div(slocal_state(s)->latency, saakm_nr_running(s, c)))) {
		saakm_preempt(s, c);
	}
}

/* cfs.ipa:95 */
SAAKM_LOCAL void slocal_on_yield(saakm_t s, thread_t t)
{
	slocal_charge(s, t);
	slocal_enter_ready(s, t, saakm_core(t), SLOCAL_REASON_NONE);
}

/* cfs.ipa:100 */
SAAKM_LOCAL void slocal_on_preempt(saakm_t s, thread_t t)
{
	slocal_charge(s, t);
	slocal_enter_ready(s, t, saakm_core(t), SLOCAL_REASON_NONE);
}

/* cfs.ipa:105 */
SAAKM_LOCAL void slocal_on_block(saakm_t s, thread_t t)
{
	slocal_charge(s, t);
	saakm_blocked(s, t);
}

/* cfs.ipa:110 */
SAAKM_LOCAL void slocal_on_terminate(saakm_t s, thread_t t)
{
	slocal_charge(s, t);
	slocal_leave(s, saakm_core(t), slocal_thread(t)->util);
	saakm_terminated(s, t);
}

/* cfs.ipa:124 */
SAAKM_LOCAL int64_t slocal_busy_load(saakm_t s, core_t c)
{
	return 1024
			- saakm_decay(1024 - slocal_core(s, c)->past,
				saakm_now(s) - slocal_core(s, c)->since,
				slocal_state(s)->half_life);
}

/* cfs.ipa:128 */
SAAKM_LOCAL int64_t slocal_idle_load(saakm_t s, core_t c)
{
	nsec_t last = saakm_now(s) - saakm_mod(saakm_now(s), slocal_state(s)->refresh);
	if (slocal_core(s, c)->since >= last) {
		return slocal_core(s, c)->past;
	}
	return saakm_decay(slocal_core(s, c)->past
			- saakm_min(slocal_core(s, c)->gone, slocal_core(s, c)->past),
			last - slocal_core(s, c)->since, slocal_state(s)->half_life);
}

/* cfs.ipa:134 */
SAAKM_LOCAL void slocal_on_enter_idle(saakm_t s, core_t c)
{
	slocal_core(s, c)->past = slocal_busy_load(s, c);
	slocal_core(s, c)->since = saakm_now(s);
}

/* cfs.ipa:139 */
SAAKM_LOCAL void slocal_on_exit_idle(saakm_t s, core_t c)
{
	slocal_core(s, c)->past = slocal_idle_load(s, c);
	if (slocal_core(s, c)->since
			< saakm_now(s) - saakm_mod(saakm_now(s), slocal_state(s)->refresh)) {
		slocal_core(s, c)->gone = 0;
	}
	slocal_core(s, c)->usual_idle =
			(slocal_core(s, c)->usual_idle * 3
				+ (saakm_now(s) - slocal_core(s, c)->since)) / 4;
	slocal_core(s, c)->since = saakm_now(s);
}

/*
 * cfs.ipa:147
 * A thread comes with half a core's load to its name, and has exited with load `part`.
 */
SAAKM_LOCAL void slocal_leave(saakm_t s, core_t c, int64_t part)
{
	slocal_core(s, c)->past = saakm_min(slocal_core(s, c)->past + 512, 1024);
	slocal_core(s, c)->gone = saakm_min(slocal_core(s, c)->gone + part, 1024);
}

/*
 * cfs.ipa:199
 * c, or a core near it if t may not run on c.
 */
SAAKM_LOCAL core_t slocal_fallback(saakm_t s, thread_t t, core_t c)
{
	core_t choice;
	if (saakm_has(saakm_affinity(t), c)) {
		choice = c;
	} else {
		core_t found = SAAKM_FIRST_NEAREST(s, c, w, saakm_affinity(t)->word[w]);
		choice = found != SAAKM_NO_CORE ? found : c;
	}
	return choice;
}

/*
 * cfs.ipa:214
 * A die with at most two threads keeps them (adjust_numa_imbalance).
 */
SAAKM_LOCAL bool slocal_crowded(saakm_t s, domain_t die)
{
	int64_t sum = 0;
	core_t c;

	SAAKM_EACH(s, c, w, die->cores.word[w]) {
		sum = SAAKM_FORGET(sum + saakm_nr_running(s, c));
	}
	return sum > 2;
}

/* cfs.ipa:220 */
SAAKM_PHASE bool slocal_pull_can_steal_core(saakm_t s, core_t dst, core_t src)
{
	return saakm_nr_ready(s, src) > 0
			&& saakm_nr_running(s, src) >= saakm_nr_running(s, dst) + 2
			&& (saakm_has(&saakm_llc(s, dst)->cores, src)
				|| slocal_crowded(s, saakm_llc(s, src)));
}

/* cfs.ipa:225 */
SAAKM_PHASE int64_t slocal_pull_select_core(saakm_t s, core_t dst, core_t src)
{
	(void)dst;

	return saakm_nr_running(s, src);
}

/* cfs.ipa:226 */
SAAKM_PHASE bool slocal_pull_steal_thread(saakm_t s, core_t dst, thread_t t)
{
	return saakm_has(saakm_affinity(t), dst)
			&& saakm_now(s) - slocal_thread(t)->ran >= slocal_state(s)->migration_cost;
}

/* cfs.ipa:227 */
SAAKM_PHASE bool slocal_pull_stop_core(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* cfs.ipa:228 */
SAAKM_PHASE bool slocal_pull_stop(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* cfs.ipa:229 */
SAAKM_PHASE void slocal_pull_move(saakm_t s, core_t dst, thread_t t)
{
	slocal_enter_ready(s, t, dst, SLOCAL_REASON_BALANCE);
}

/*
 * cfs.ipa:219
 * dst takes one thread from the longest run queue among `from`.
 */
SAAKM_STEAL(slocal_pull, dst, from)
{
	core_t src;
	int64_t stolen = 0;
	SAAKM_SET(candidates);

	/* First phase: whom to steal from. */
	SAAKM_ASSIGN(s, candidates, w, from->word[w]);
	SAAKM_EACH(s, src, w, from->word[w]) {
		if (src == dst || !slocal_pull_can_steal_core(s, dst, src))
			saakm_exclude(candidates, src);
	}
	SAAKM_EACH_ROUND(s) {
		int64_t from_core = 0;
		thread_t t;

		/* Second phase: whom first. */
		core_t best = SAAKM_NO_CORE;
		int64_t most = 0;

		SAAKM_EACH_NEAREST(s, src, dst, w, candidates->word[w]) {
			int64_t key = slocal_pull_select_core(s, dst, src);
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
		SAAKM_EACH_THREAD(s, t, src, SLOCAL_QUEUE_READY) {
			if (!slocal_pull_can_steal_core(s, dst, src))
				break;
			if (!slocal_pull_steal_thread(s, dst, t))
				continue;
			slocal_pull_move(s, dst, t);
			if (!saakm_moved(s))
				continue;
			stolen = SAAKM_FORGET(stolen + 1);
			if (slocal_pull_stop(s, dst, stolen))
				return;
			from_core = SAAKM_FORGET(from_core + 1);
			if (slocal_pull_stop_core(s, dst, from_core))
				break;
		}
	}
}

/* cfs.ipa:232 */
SAAKM_LOCAL void slocal_on_newly_idle(saakm_t s, core_t c)
{
	if (slocal_core(s, c)->usual_idle < slocal_state(s)->migration_cost) {
		return;
	}
	SAAKM_SET(from);
	SAAKM_ASSIGN(s, from, w, saakm_waiting(s)->word[w] & saakm_llc(s, c)->cores.word[w]);
	slocal_pull(s, c, from);
	if (saakm_nr_ready(s, c) == 0) {
		slocal_pull(s, c, saakm_waiting(s));
	}
}

/* cfs.ipa:238 */
SAAKM_LOCAL void slocal_on_balance(saakm_t s, core_t c)
{
	if (saakm_now(s) >= slocal_core(s, c)->next_die) {
		slocal_core(s, c)->next_die = saakm_now(s)
				+ slocal_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_llc(s, c)->cores.word[w])
				* slocal_state(s)->busy_factor;
		SAAKM_SET(from);
		SAAKM_ASSIGN(s, from, w,
				saakm_waiting(s)->word[w] & saakm_llc(s, c)->cores.word[w]);
		slocal_pull(s, c, from);
	}
	if (saakm_now(s) >= slocal_core(s, c)->next_machine) {
		slocal_core(s, c)->next_machine = saakm_now(s)
				+ slocal_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_machine(s)->cores.word[w])
				* slocal_state(s)->busy_factor;
		slocal_pull(s, c, saakm_waiting(s));
	}
	if (saakm_nr_ready(s, c) > 0) {
		SAAKM_SET(members);
		SAAKM_ASSIGN(s, members, w, saakm_idle(s)->word[w]);
		core_t i;

		SAAKM_EACH_FROM(s, i, c, w, members->word[w]) {
			slocal_nohz(s, i);
		}
	}
}

/*
 * cfs.ipa:253
 * Idle core i does what it would do at its tick.
 */
SAAKM_LOCAL void slocal_nohz(saakm_t s, core_t i)
{
	if (saakm_has(saakm_idle(s), i) && saakm_now(s) >= slocal_core(s, i)->next_die) {
		slocal_core(s, i)->next_die = saakm_now(s)
				+ slocal_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_llc(s, i)->cores.word[w]);
		SAAKM_SET(from);
		SAAKM_ASSIGN(s, from, w,
				saakm_waiting(s)->word[w] & saakm_llc(s, i)->cores.word[w]);
		slocal_pull(s, i, from);
	}
	if (saakm_has(saakm_idle(s), i) && saakm_now(s) >= slocal_core(s, i)->next_machine) {
		slocal_core(s, i)->next_machine = saakm_now(s)
				+ slocal_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_machine(s)->cores.word[w]);
		slocal_pull(s, i, saakm_waiting(s));
	}
}

/* slocal.ipa:5 */
SAAKM_LOCAL void slocal_on_new(saakm_t s, thread_t t, core_t parent)
{
	slocal_enter_ready(s, t, slocal_fallback(s, t, parent), SLOCAL_REASON_LOCAL);
}

/* slocal.ipa:9 */
SAAKM_LOCAL void slocal_on_unblock(saakm_t s, thread_t t, core_t waker)
{
	slocal_enter_ready(s, t, slocal_fallback(s, t, waker), SLOCAL_REASON_LOCAL);
}

/* The handlers, for a runtime that calls them by name. */
#define SAAKM_ON_NEW slocal_on_new
#define SAAKM_ON_UNBLOCK slocal_on_unblock
#define SAAKM_ON_ENQUEUE slocal_on_enqueue
#define SAAKM_ON_SCHEDULE slocal_on_schedule
#define SAAKM_ON_TICK slocal_on_tick
#define SAAKM_ON_YIELD slocal_on_yield
#define SAAKM_ON_PREEMPT slocal_on_preempt
#define SAAKM_ON_BLOCK slocal_on_block
#define SAAKM_ON_TERMINATE slocal_on_terminate
#define SAAKM_ON_NEWLY_IDLE slocal_on_newly_idle
#define SAAKM_ON_ENTER_IDLE slocal_on_enter_idle
#define SAAKM_ON_EXIT_IDLE slocal_on_exit_idle
#define SAAKM_ON_BALANCE slocal_on_balance
#define SAAKM_INIT_STATE slocal_init_state
#define SAAKM_INIT_CORE slocal_init_core
#define SAAKM_INIT_THREAD slocal_init_thread

/* Its name, as the kernel can spell it; how many ready queues a core has, and which are
   ordered, as bits; sets. */
#define SAAKM_NAME "slocal"
#define SAAKM_QUEUES 1
#define SAAKM_ORDERED 0x1
#define SAAKM_NR_SETS 0

#ifdef SAAKM_POLICY

static const struct saakm_param slocal_params[] = {
	{
		.name = "latency",
		.doc = "Every ready thread should run once in this time (sched_latency).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct slocal_state, latency),
		.min = 1 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 24 * SAAKM_MS,
	},
	{
		.name = "min_granularity",
		.doc = "A thread is not preempted at a tick before it ran this long (sched_min_granularity).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct slocal_state, min_granularity),
		.min = 100 * SAAKM_US, .max = 1 * SAAKM_S,
		.initial = 3 * SAAKM_MS,
	},
	{
		.name = "wakeup_granularity",
		.doc = "A woken thread preempts one that is ahead of it by more than this.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct slocal_state, wakeup_granularity),
		.min = 0, .max = 1 * SAAKM_S,
		.initial = 4 * SAAKM_MS,
	},
	{
		.name = "half_life",
		.doc = "Half-life of a core's recent load.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct slocal_state, half_life),
		.min = 1 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 32 * SAAKM_MS,
	},
	{
		.name = "refresh",
		.doc = "The load of idle cores is brought up to date this often (LOAD_AVG_PERIOD).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct slocal_state, refresh),
		.min = 1 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 32 * SAAKM_MS,
	},
	{
		.name = "scan",
		.doc = "Cores that a wake-up examines for any idle one, when no whole core is idle.",
		.unit = SAAKM_INT,
		.offset = offsetof(struct slocal_state, scan),
		.min = 0, .max = 1024,
		.initial = 4,
	},
	{
		.name = "migration_cost",
		.doc = "An idle spell shorter than this is not worth pulling a thread for; and a thread that ran so recently stays where its caches are (task_hot).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct slocal_state, migration_cost),
		.min = 0, .max = 10 * SAAKM_MS,
		.initial = 500 * SAAKM_US,
	},
	{
		.name = "interval",
		.doc = "Cores balance their die every so many ms for each core in it.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct slocal_state, interval),
		.min = 100 * SAAKM_US, .max = 1 * SAAKM_S,
		.initial = 1 * SAAKM_MS,
	},
	{
		.name = "busy_factor",
		.doc = "Busy cores balance this much more rarely than idle ones.",
		.unit = SAAKM_INT,
		.offset = offsetof(struct slocal_state, busy_factor),
		.min = 1, .max = 64,
		.initial = 16,
	},
};

static const struct saakm_queue slocal_queues[] = {
	{ .name = "ready", .ordered = 1 },
};

static const char *const slocal_reasons[] = {
	"none",
	"cfs",
	"balance",
	"local",
};

SAAKM_POLICY(slocal,
	.name = "slocal",
	.state_size = sizeof(struct slocal_state),
	.thread_size = sizeof(struct slocal_thread),
	.core_size = sizeof(struct slocal_core),
	.params = slocal_params, .nr_params = 9,
	.queues = slocal_queues, .nr_queues = 1,
	.reasons = slocal_reasons, .nr_reasons = 4,
	.sets = NULL, .nr_sets = 0,
	.init_state = slocal_init_state,
	.init_core = slocal_init_core,
	.init_thread = slocal_init_thread,
	.new_thread = slocal_on_new,
	.unblock = slocal_on_unblock,
	.schedule = slocal_on_schedule,
	.tick = slocal_on_tick,
	.yield = slocal_on_yield,
	.preempt = slocal_on_preempt,
	.block = slocal_on_block,
	.terminate = slocal_on_terminate,
	.newly_idle = slocal_on_newly_idle,
	.enter_idle = slocal_on_enter_idle,
	.exit_idle = slocal_on_exit_idle,
	.balance = slocal_on_balance);
#endif
