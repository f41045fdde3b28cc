/*
 * Policy cfs, made by the Ipanema compiler from cfs.ipa.
 *
 * CFS as of Linux 5.9, the baseline of both papers.
 *
 * Fair by virtual runtime. A fork looks from the whole machine down for the idlest core,
 * and avoids recently loaded ones; a wake-up looks on one die only, and does not mind
 * recent load. Idle cores pull work, busy ones balance from time to time.
 */
#include "saakm.h"

/* Why a thread is where it is. */
enum cfs_reason {
	CFS_REASON_NONE,
	CFS_REASON_CFS,
	CFS_REASON_BALANCE,
};

/* Ready queues of a core. */
enum cfs_queue {
	CFS_QUEUE_READY,
};

struct cfs_state {
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

struct cfs_core {
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

struct cfs_thread {
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

SAAKM_ATTRIBUTES(cfs)

static __attribute__((unused)) void cfs_init_state(void SAAKM_MEM *state)
{
	struct cfs_state SAAKM_MEM *p = (struct cfs_state SAAKM_MEM *)state;

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

static __attribute__((unused)) void cfs_init_core(void SAAKM_MEM *attrs)
{
	struct cfs_core SAAKM_MEM *p = (struct cfs_core SAAKM_MEM *)attrs;

	p->usual_idle = 1 * SAAKM_MS;
}

static __attribute__((unused)) void cfs_init_thread(void SAAKM_MEM *attrs)
{
	struct cfs_thread SAAKM_MEM *p = (struct cfs_thread SAAKM_MEM *)attrs;

	p->home = SAAKM_NO_CORE;
	p->ran = -1 * SAAKM_S;
	p->util = 512;
}

SAAKM_LOCAL void cfs_on_enqueue(saakm_t s, thread_t t, core_t c);
SAAKM_LOCAL int64_t cfs_busy_load(saakm_t s, core_t c);
SAAKM_LOCAL int64_t cfs_idle_load(saakm_t s, core_t c);
SAAKM_LOCAL void cfs_leave(saakm_t s, core_t c, int64_t part);
SAAKM_LOCAL int64_t cfs_asleep(saakm_t s, thread_t t);
SAAKM_LOCAL core_t cfs_fallback(saakm_t s, thread_t t, core_t c);
SAAKM_LOCAL void cfs_nohz(saakm_t s, core_t i);

/*
 * cfs.ipa:50
 * t => c.ready
 */
SAAKM_LOCAL void cfs_enter_ready(saakm_t s, thread_t t, core_t c, uint32_t reason)
{
	cfs_on_enqueue(s, t, c);
	saakm_ready(s, t, c, CFS_QUEUE_READY, cfs_thread(t)->vruntime, reason);
}

/* cfs.ipa:54 */
SAAKM_LOCAL nsec_t cfs_vruntime_now(saakm_t s, thread_t t)
{
	return cfs_thread(t)->vruntime
			+ saakm_div((saakm_runtime(s, t) - cfs_thread(t)->charged) * 1024,
				saakm_weight(t));
}

/* cfs.ipa:58 */
SAAKM_LOCAL void cfs_charge(saakm_t s, thread_t t)
{
	cfs_thread(t)->vruntime = cfs_vruntime_now(s, t);
	cfs_thread(t)->util = 1024
			- saakm_decay(1024 - cfs_thread(t)->util,
				saakm_runtime(s, t) - cfs_thread(t)->charged,
				cfs_state(s)->half_life);
	cfs_thread(t)->charged = saakm_runtime(s, t);
	cfs_thread(t)->ran = saakm_now(s);
	core_t c = saakm_core(t);
	if (saakm_nr_ready(s, c) == 0) {
		cfs_core(s, c)->min_vruntime =
				saakm_max(cfs_core(s, c)->min_vruntime, cfs_thread(t)->vruntime);
	}
}

/*
 * cfs.ipa:70
 * Called before every entry into a ready queue: puts t on the time line of core c.
 */
SAAKM_LOCAL void cfs_on_enqueue(saakm_t s, thread_t t, core_t c)
{
	core_t h = cfs_thread(t)->home;

	if (h != SAAKM_NO_CORE) {
		cfs_thread(t)->vruntime =
				saakm_max(cfs_thread(t)->vruntime - cfs_core(s, h)->min_vruntime,
					0 - cfs_state(s)->latency / 2)
				+ cfs_core(s, c)->min_vruntime;
	} else {
		cfs_thread(t)->vruntime = cfs_core(s, c)->min_vruntime
				+ saakm_max(cfs_state(s)->min_granularity,
					saakm_div(cfs_state(s)->latency,
						saakm_nr_running(s, c) + 1));
	}
	cfs_thread(t)->home = c;
	thread_t r = saakm_current(s, c);

	if (r != NULL) {
		if (cfs_vruntime_now(s, r) - cfs_thread(t)->vruntime
				> cfs_state(s)->wakeup_granularity) {
			saakm_preempt(s, c);
		}
	}
}

/* cfs.ipa:80 */
SAAKM_LOCAL void cfs_on_schedule(saakm_t s, core_t c)
{
	thread_t t = saakm_first(s, c, CFS_QUEUE_READY);

	if (t != NULL) {
		cfs_core(s, c)->min_vruntime =
				saakm_max(cfs_core(s, c)->min_vruntime, cfs_thread(t)->vruntime);
		cfs_thread(t)->started = saakm_runtime(s, t);
		saakm_run(s, t);
	}
}

/* cfs.ipa:88 */
SAAKM_LOCAL void cfs_on_tick(saakm_t s, thread_t t)
{
	core_t c = saakm_core(t);
	cfs_charge(s, t);
	if (saakm_nr_ready(s, c) > 0
			&& saakm_runtime(s, t) - cfs_thread(t)->started
			>= saakm_max(cfs_state(s)->min_granularity,
				saakm_div(cfs_state(s)->latency, saakm_nr_running(s, c)))) {
		saakm_preempt(s, c);
	}
}

/* cfs.ipa:95 */
SAAKM_LOCAL void cfs_on_yield(saakm_t s, thread_t t)
{
	cfs_charge(s, t);
	cfs_enter_ready(s, t, saakm_core(t), CFS_REASON_NONE);
}

/* cfs.ipa:100 */
SAAKM_LOCAL void cfs_on_preempt(saakm_t s, thread_t t)
{
	cfs_charge(s, t);
	cfs_enter_ready(s, t, saakm_core(t), CFS_REASON_NONE);
}

/* cfs.ipa:105 */
SAAKM_LOCAL void cfs_on_block(saakm_t s, thread_t t)
{
	cfs_charge(s, t);
	saakm_blocked(s, t);
}

/* cfs.ipa:110 */
SAAKM_LOCAL void cfs_on_terminate(saakm_t s, thread_t t)
{
	cfs_charge(s, t);
	cfs_leave(s, saakm_core(t), cfs_thread(t)->util);
	saakm_terminated(s, t);
}

/*
 * cfs.ipa:120
 * As fork placement knows it: an idle core has no tick, so its load is brought up to date
 * only every `refresh`, and what exited threads left there counts until then.
 */
SAAKM_LOCAL int64_t cfs_recent(saakm_t s, core_t c)
{
	return saakm_has(saakm_idle(s), c) ? cfs_idle_load(s, c) : cfs_busy_load(s, c);
}

/* cfs.ipa:124 */
SAAKM_LOCAL int64_t cfs_busy_load(saakm_t s, core_t c)
{
	return 1024
			- saakm_decay(1024 - cfs_core(s, c)->past,
				saakm_now(s) - cfs_core(s, c)->since, cfs_state(s)->half_life);
}

/* cfs.ipa:128 */
SAAKM_LOCAL int64_t cfs_idle_load(saakm_t s, core_t c)
{
	nsec_t last = saakm_now(s) - saakm_mod(saakm_now(s), cfs_state(s)->refresh);
	if (cfs_core(s, c)->since >= last) {
		return cfs_core(s, c)->past;
	}
	return saakm_decay(cfs_core(s, c)->past
			- saakm_min(cfs_core(s, c)->gone, cfs_core(s, c)->past),
			last - cfs_core(s, c)->since, cfs_state(s)->half_life);
}

/* cfs.ipa:134 */
SAAKM_LOCAL void cfs_on_enter_idle(saakm_t s, core_t c)
{
	cfs_core(s, c)->past = cfs_busy_load(s, c);
	cfs_core(s, c)->since = saakm_now(s);
}

/* cfs.ipa:139 */
SAAKM_LOCAL void cfs_on_exit_idle(saakm_t s, core_t c)
{
	cfs_core(s, c)->past = cfs_idle_load(s, c);
	if (cfs_core(s, c)->since < saakm_now(s) - saakm_mod(saakm_now(s), cfs_state(s)->refresh)) {
		cfs_core(s, c)->gone = 0;
	}
	cfs_core(s, c)->usual_idle =
			(cfs_core(s, c)->usual_idle * 3 + (saakm_now(s) - cfs_core(s, c)->since))
			/ 4;
	cfs_core(s, c)->since = saakm_now(s);
}

/*
 * cfs.ipa:147
 * A thread comes with half a core's load to its name, and has exited with load `part`.
 */
SAAKM_LOCAL void cfs_leave(saakm_t s, core_t c, int64_t part)
{
	cfs_core(s, c)->past = saakm_min(cfs_core(s, c)->past + 512, 1024);
	cfs_core(s, c)->gone = saakm_min(cfs_core(s, c)->gone + part, 1024);
}

/* cfs.ipa:152 */
SAAKM_LOCAL int64_t cfs_load_of(saakm_t s, domain_t d)
{
	int64_t sum = 0;
	core_t c;

	SAAKM_EACH(s, c, w, d->cores.word[w]) {
		sum = SAAKM_FORGET(sum + cfs_recent(s, c));
	}
	return sum;
}

/*
 * cfs.ipa:161
 * From the widest domain down: the die, the hyperthread pair, the core. The parent's die
 * is kept while it has an idle core; then idle cores count first, recent load second; of a
 * pair, the core that was idle for the shortest time (find_idlest_group, find_idlest_cpu).
 */
SAAKM_LOCAL core_t cfs_choose_fork(saakm_t s, thread_t t, core_t parent)
{
	domain_t die = saakm_llc(s, parent);
	if (SAAKM_EMPTY(s, w,
			saakm_idle(s)->word[w] & die->cores.word[w] & saakm_affinity(t)->word[w])) {
		domain_t best_d = NULL;
		int64_t least_d = 0;
		int64_t least_d2 = 0;
		domain_t d;

		SAAKM_EACH_GROUP(s, d, saakm_machine(s), SAAKM_LLC, parent) {
			if (SAAKM_EMPTY_IN(s, d, w, d->cores.word[w] & saakm_affinity(t)->word[w]))
				continue;
			int64_t key = SAAKM_COUNT_IN(s, d, w,
					d->cores.word[w] & saakm_affinity(t)->word[w]
					& ~saakm_idle(s)->word[w]);
			if (best_d != NULL && key > least_d)
				continue;
			int64_t key2 = cfs_load_of(s, d);
			if (best_d != NULL && key == least_d && key2 >= least_d2)
				continue;
			least_d = key;
			least_d2 = key2;
			best_d = d;
		}
		die = best_d != NULL ? best_d : die;
	}
	domain_t best_p = NULL;
	int64_t least_p = 0;
	int64_t least_p2 = 0;
	domain_t p;

	SAAKM_EACH_GROUP(s, p, die, SAAKM_SMT, parent) {
		if (SAAKM_EMPTY_IN(s, p, w, p->cores.word[w] & saakm_affinity(t)->word[w]))
			continue;
		int64_t key = SAAKM_COUNT_IN(s, p, w, p->cores.word[w] & ~saakm_idle(s)->word[w]);
		if (best_p != NULL && key > least_p)
			continue;
		int64_t key2 = cfs_load_of(s, p);
		if (best_p != NULL && key == least_p && key2 >= least_p2)
			continue;
		least_p = key;
		least_p2 = key2;
		best_p = p;
	}
	domain_t pair = best_p != NULL ? best_p : saakm_smt(s, parent);
	core_t best_c = SAAKM_NO_CORE;
	int64_t least_c = 0;
	nsec_t least_c2 = 0;
	core_t c;

	SAAKM_EACH_FROM(s, c, parent, w, pair->cores.word[w] & saakm_affinity(t)->word[w]) {
		int64_t key = saakm_nr_running(s, c);
		if (best_c != SAAKM_NO_CORE && key > least_c)
			continue;
		nsec_t key2 = saakm_now(s) - saakm_idle_since(s, c);
		if (best_c != SAAKM_NO_CORE && key == least_c && key2 >= least_c2)
			continue;
		least_c = key;
		least_c2 = key2;
		best_c = c;
	}
	return best_c != SAAKM_NO_CORE ? best_c : cfs_fallback(s, t, parent);
}

/*
 * cfs.ipa:175
 * The target is the previous core or the waker's; an idle core is sought on its die only.
 */
SAAKM_LOCAL core_t cfs_choose_wakeup(saakm_t s, thread_t t, core_t waker)
{
	core_t prev = saakm_core(t);
	core_t target = prev;
	if (saakm_has(saakm_idle(s), waker) && saakm_has(&saakm_llc(s, prev)->cores, waker)) {
		target = saakm_has(saakm_idle(s), prev) ? prev : waker;
	} else if (cfs_recent(s, waker) + cfs_asleep(s, t)
			< cfs_recent(s, prev) - saakm_min(cfs_asleep(s, t), cfs_recent(s, prev))) {
		target = waker;
	}
	target = cfs_fallback(s, t, target);
	if (saakm_has(saakm_idle(s), target)) {
		return target;
	}
	if (saakm_has(saakm_idle(s), prev) && saakm_has(saakm_affinity(t), prev)
			&& saakm_has(&saakm_llc(s, target)->cores, prev)) {
		return prev;
	}
	core_t c = SAAKM_FIRST_FROM(s, target, w,
			saakm_idle_whole(s)->word[w] & saakm_llc(s, target)->cores.word[w]
			& saakm_affinity(t)->word[w]);

	if (c != SAAKM_NO_CORE) {
		return c;
	}
	int64_t left = cfs_state(s)->scan;
	core_t c2;

	SAAKM_EACH_FROM(s, c2, target, w,
			saakm_llc(s, target)->cores.word[w] & saakm_affinity(t)->word[w]) {
		if (left-- <= 0) {
			c2 = SAAKM_NO_CORE;
			break;
		}
		if (saakm_has(saakm_idle(s), c2))
			break;
	}
	if (c2 != SAAKM_NO_CORE) {
		return c2;
	}
	core_t c3 = SAAKM_FIRST(s, w,
			saakm_smt(s, target)->cores.word[w] & saakm_idle(s)->word[w]
			& saakm_affinity(t)->word[w]);

	if (c3 != SAAKM_NO_CORE) {
		return c3;
	}
	return target;
}

/*
 * cfs.ipa:194
 * The load that t brings, having slept.
 */
SAAKM_LOCAL int64_t cfs_asleep(saakm_t s, thread_t t)
{
	return saakm_decay(cfs_thread(t)->util, saakm_now(s) - cfs_thread(t)->ran,
			cfs_state(s)->half_life);
}

/*
 * cfs.ipa:199
 * c, or a core near it if t may not run on c.
 */
SAAKM_LOCAL core_t cfs_fallback(saakm_t s, thread_t t, core_t c)
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

/* cfs.ipa:203 */
SAAKM_LOCAL void cfs_on_new(saakm_t s, thread_t t, core_t parent)
{
	cfs_enter_ready(s, t, cfs_choose_fork(s, t, parent), CFS_REASON_CFS);
}

/* cfs.ipa:207 */
SAAKM_LOCAL void cfs_on_unblock(saakm_t s, thread_t t, core_t waker)
{
	cfs_enter_ready(s, t, cfs_choose_wakeup(s, t, waker), CFS_REASON_CFS);
}

/*
 * cfs.ipa:214
 * A die with at most two threads keeps them (adjust_numa_imbalance).
 */
SAAKM_LOCAL bool cfs_crowded(saakm_t s, domain_t die)
{
	int64_t sum = 0;
	core_t c;

	SAAKM_EACH(s, c, w, die->cores.word[w]) {
		sum = SAAKM_FORGET(sum + saakm_nr_running(s, c));
	}
	return sum > 2;
}

/* cfs.ipa:220 */
SAAKM_PHASE bool cfs_pull_can_steal_core(saakm_t s, core_t dst, core_t src)
{
	return saakm_nr_ready(s, src) > 0
			&& saakm_nr_running(s, src) >= saakm_nr_running(s, dst) + 2
			&& (saakm_has(&saakm_llc(s, dst)->cores, src)
				|| cfs_crowded(s, saakm_llc(s, src)));
}

/* cfs.ipa:225 */
SAAKM_PHASE int64_t cfs_pull_select_core(saakm_t s, core_t dst, core_t src)
{
	(void)dst;

	return saakm_nr_running(s, src);
}

/* cfs.ipa:226 */
SAAKM_PHASE bool cfs_pull_steal_thread(saakm_t s, core_t dst, thread_t t)
{
	return saakm_has(saakm_affinity(t), dst)
			&& saakm_now(s) - cfs_thread(t)->ran >= cfs_state(s)->migration_cost;
}

/* cfs.ipa:227 */
SAAKM_PHASE bool cfs_pull_stop_core(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* cfs.ipa:228 */
SAAKM_PHASE bool cfs_pull_stop(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* cfs.ipa:229 */
SAAKM_PHASE void cfs_pull_move(saakm_t s, core_t dst, thread_t t)
{
	cfs_enter_ready(s, t, dst, CFS_REASON_BALANCE);
}

/*
 * cfs.ipa:219
 * dst takes one thread from the longest run queue among `from`.
 */
SAAKM_STEAL(cfs_pull, dst, from)
{
	core_t src;
	int64_t stolen = 0;
	SAAKM_SET(candidates);

	/* First phase: whom to steal from. */
	SAAKM_ASSIGN(s, candidates, w, from->word[w]);
	SAAKM_EACH(s, src, w, from->word[w]) {
		if (src == dst || !cfs_pull_can_steal_core(s, dst, src))
			saakm_exclude(candidates, src);
	}
	SAAKM_EACH_ROUND(s) {
		int64_t from_core = 0;
		thread_t t;

		/* Second phase: whom first. */
		core_t best = SAAKM_NO_CORE;
		int64_t most = 0;

		SAAKM_EACH_NEAREST(s, src, dst, w, candidates->word[w]) {
			int64_t key = cfs_pull_select_core(s, dst, src);
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
		SAAKM_EACH_THREAD(s, t, src, CFS_QUEUE_READY) {
			if (!cfs_pull_can_steal_core(s, dst, src))
				break;
			if (!cfs_pull_steal_thread(s, dst, t))
				continue;
			cfs_pull_move(s, dst, t);
			if (!saakm_moved(s))
				continue;
			stolen = SAAKM_FORGET(stolen + 1);
			if (cfs_pull_stop(s, dst, stolen))
				return;
			from_core = SAAKM_FORGET(from_core + 1);
			if (cfs_pull_stop_core(s, dst, from_core))
				break;
		}
	}
}

/* cfs.ipa:232 */
SAAKM_LOCAL void cfs_on_newly_idle(saakm_t s, core_t c)
{
	if (cfs_core(s, c)->usual_idle < cfs_state(s)->migration_cost) {
		return;
	}
	SAAKM_SET(from);
	SAAKM_ASSIGN(s, from, w, saakm_waiting(s)->word[w] & saakm_llc(s, c)->cores.word[w]);
	cfs_pull(s, c, from);
	if (saakm_nr_ready(s, c) == 0) {
		cfs_pull(s, c, saakm_waiting(s));
	}
}

/* cfs.ipa:238 */
SAAKM_LOCAL void cfs_on_balance(saakm_t s, core_t c)
{
	if (saakm_now(s) >= cfs_core(s, c)->next_die) {
		cfs_core(s, c)->next_die = saakm_now(s)
				+ cfs_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_llc(s, c)->cores.word[w])
				* cfs_state(s)->busy_factor;
		SAAKM_SET(from);
		SAAKM_ASSIGN(s, from, w,
				saakm_waiting(s)->word[w] & saakm_llc(s, c)->cores.word[w]);
		cfs_pull(s, c, from);
	}
	if (saakm_now(s) >= cfs_core(s, c)->next_machine) {
		cfs_core(s, c)->next_machine = saakm_now(s)
				+ cfs_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_machine(s)->cores.word[w])
				* cfs_state(s)->busy_factor;
		cfs_pull(s, c, saakm_waiting(s));
	}
	if (saakm_nr_ready(s, c) > 0) {
		SAAKM_SET(members);
		SAAKM_ASSIGN(s, members, w, saakm_idle(s)->word[w]);
		core_t i;

		SAAKM_EACH_FROM(s, i, c, w, members->word[w]) {
			cfs_nohz(s, i);
		}
	}
}

/*
 * cfs.ipa:253
 * Idle core i does what it would do at its tick.
 */
SAAKM_LOCAL void cfs_nohz(saakm_t s, core_t i)
{
	if (saakm_has(saakm_idle(s), i) && saakm_now(s) >= cfs_core(s, i)->next_die) {
		cfs_core(s, i)->next_die = saakm_now(s)
				+ cfs_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_llc(s, i)->cores.word[w]);
		SAAKM_SET(from);
		SAAKM_ASSIGN(s, from, w,
				saakm_waiting(s)->word[w] & saakm_llc(s, i)->cores.word[w]);
		cfs_pull(s, i, from);
	}
	if (saakm_has(saakm_idle(s), i) && saakm_now(s) >= cfs_core(s, i)->next_machine) {
		cfs_core(s, i)->next_machine = saakm_now(s)
				+ cfs_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_machine(s)->cores.word[w]);
		cfs_pull(s, i, saakm_waiting(s));
	}
}

/* The handlers, for a runtime that calls them by name. */
#define SAAKM_ON_NEW cfs_on_new
#define SAAKM_ON_UNBLOCK cfs_on_unblock
#define SAAKM_ON_ENQUEUE cfs_on_enqueue
#define SAAKM_ON_SCHEDULE cfs_on_schedule
#define SAAKM_ON_TICK cfs_on_tick
#define SAAKM_ON_YIELD cfs_on_yield
#define SAAKM_ON_PREEMPT cfs_on_preempt
#define SAAKM_ON_BLOCK cfs_on_block
#define SAAKM_ON_TERMINATE cfs_on_terminate
#define SAAKM_ON_NEWLY_IDLE cfs_on_newly_idle
#define SAAKM_ON_ENTER_IDLE cfs_on_enter_idle
#define SAAKM_ON_EXIT_IDLE cfs_on_exit_idle
#define SAAKM_ON_BALANCE cfs_on_balance
#define SAAKM_INIT_STATE cfs_init_state
#define SAAKM_INIT_CORE cfs_init_core
#define SAAKM_INIT_THREAD cfs_init_thread

/* Its name, as the kernel can spell it; how many ready queues a core has, and which are
   ordered, as bits; sets. */
#define SAAKM_NAME "cfs"
#define SAAKM_QUEUES 1
#define SAAKM_ORDERED 0x1
#define SAAKM_NR_SETS 0

#ifdef SAAKM_POLICY

static const struct saakm_param cfs_params[] = {
	{
		.name = "latency",
		.doc = "Every ready thread should run once in this time (sched_latency).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct cfs_state, latency),
		.min = 1 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 24 * SAAKM_MS,
	},
	{
		.name = "min_granularity",
		.doc = "A thread is not preempted at a tick before it ran this long (sched_min_granularity).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct cfs_state, min_granularity),
		.min = 100 * SAAKM_US, .max = 1 * SAAKM_S,
		.initial = 3 * SAAKM_MS,
	},
	{
		.name = "wakeup_granularity",
		.doc = "A woken thread preempts one that is ahead of it by more than this.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct cfs_state, wakeup_granularity),
		.min = 0, .max = 1 * SAAKM_S,
		.initial = 4 * SAAKM_MS,
	},
	{
		.name = "half_life",
		.doc = "Half-life of a core's recent load.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct cfs_state, half_life),
		.min = 1 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 32 * SAAKM_MS,
	},
	{
		.name = "refresh",
		.doc = "The load of idle cores is brought up to date this often (LOAD_AVG_PERIOD).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct cfs_state, refresh),
		.min = 1 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 32 * SAAKM_MS,
	},
	{
		.name = "scan",
		.doc = "Cores that a wake-up examines for any idle one, when no whole core is idle.",
		.unit = SAAKM_INT,
		.offset = offsetof(struct cfs_state, scan),
		.min = 0, .max = 1024,
		.initial = 4,
	},
	{
		.name = "migration_cost",
		.doc = "An idle spell shorter than this is not worth pulling a thread for; and a thread that ran so recently stays where its caches are (task_hot).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct cfs_state, migration_cost),
		.min = 0, .max = 10 * SAAKM_MS,
		.initial = 500 * SAAKM_US,
	},
	{
		.name = "interval",
		.doc = "Cores balance their die every so many ms for each core in it.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct cfs_state, interval),
		.min = 100 * SAAKM_US, .max = 1 * SAAKM_S,
		.initial = 1 * SAAKM_MS,
	},
	{
		.name = "busy_factor",
		.doc = "Busy cores balance this much more rarely than idle ones.",
		.unit = SAAKM_INT,
		.offset = offsetof(struct cfs_state, busy_factor),
		.min = 1, .max = 64,
		.initial = 16,
	},
};

static const struct saakm_queue cfs_queues[] = {
	{ .name = "ready", .ordered = 1 },
};

static const char *const cfs_reasons[] = {
	"none",
	"cfs",
	"balance",
};

SAAKM_POLICY(cfs,
	.name = "cfs",
	.state_size = sizeof(struct cfs_state),
	.thread_size = sizeof(struct cfs_thread),
	.core_size = sizeof(struct cfs_core),
	.params = cfs_params, .nr_params = 9,
	.queues = cfs_queues, .nr_queues = 1,
	.reasons = cfs_reasons, .nr_reasons = 3,
	.sets = NULL, .nr_sets = 0,
	.init_state = cfs_init_state,
	.init_core = cfs_init_core,
	.init_thread = cfs_init_thread,
	.new_thread = cfs_on_new,
	.unblock = cfs_on_unblock,
	.schedule = cfs_on_schedule,
	.tick = cfs_on_tick,
	.yield = cfs_on_yield,
	.preempt = cfs_on_preempt,
	.block = cfs_on_block,
	.terminate = cfs_on_terminate,
	.newly_idle = cfs_on_newly_idle,
	.enter_idle = cfs_on_enter_idle,
	.exit_idle = cfs_on_exit_idle,
	.balance = cfs_on_balance);
#endif
