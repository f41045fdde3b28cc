/*
 * Policy nest, made by the Ipanema compiler from nest.ipa, on top of cfs.
 *
 * Nest (OS Scheduling with Nest, sections 3 and 4): keep threads on few, warm cores.
 *
 * Cores in use, or used recently, form the primary nest; a few more that may become useful form
 * the reserve nest. A thread goes to an idle core of the primary nest, else of the reserve nest,
 * else where CFS says. Everything not said here is CFS's.
 */
#include "saakm.h"

/* Why a thread is where it is. */
enum nest_reason {
	NEST_REASON_NONE,
	NEST_REASON_CFS,
	NEST_REASON_BALANCE,
	NEST_REASON_PRIMARY,
	NEST_REASON_RESERVE,
	NEST_REASON_ATTACHED,
};

/* Ready queues of a core. */
enum nest_queue {
	NEST_QUEUE_READY,
};

/* Sets of cores. */
enum nest_set {
	NEST_SET_PRIMARY,
	NEST_SET_RESERVE,
};

struct nest_state {
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
	/*
	 * nest.ipa:8
	 * A primary core unused for longer than this may be demoted.
	 */
	int64_t p_remove;
	/*
	 * nest.ipa:10
	 * Most cores in the reserve nest; 0: none ever.
	 */
	int64_t r_max;
	/*
	 * nest.ipa:12
	 * There is a reserve nest. Without it, what CFS chooses enters the primary nest at once.
	 */
	int64_t reserve_nest;
	/*
	 * nest.ipa:14
	 * A thread tolerates so many busy previous cores in a row, and is impatient at the next; 0: never.
	 */
	int64_t r_impatient;
	/*
	 * nest.ipa:16
	 * The idle loop spins this long after a thread blocks; 0: it never spins.
	 */
	int64_t s_max;
	/*
	 * nest.ipa:18
	 * Unused primary cores are demoted when a thread tries to use them.
	 */
	int64_t compaction;
	/*
	 * nest.ipa:20
	 * A core whose thread exits, and which goes idle, is demoted at once.
	 */
	int64_t exit_demotion;
	/*
	 * nest.ipa:22
	 * A thread that returned to its core once is attached to it, and tries it first.
	 */
	int64_t attachment;
	/*
	 * nest.ipa:24
	 * Cores of the previous core's die come before all others.
	 */
	int64_t die_first;
	/*
	 * nest.ipa:26
	 * A wake-up looks on all dies when CFS finds no idle core on its own.
	 */
	int64_t work_conserving;
	/*
	 * nest.ipa:28
	 * A flag on each core lets one placement at a time have it.
	 */
	int64_t placement_flag;
	/* nest.ipa:30 */
	struct saakm_set primary;
	/* nest.ipa:31 */
	struct saakm_set reserve;
	/*
	 * nest.ipa:39
	 * The core on which Nest made its first placement. It is in use, so it is the first in the
	 * primary nest; and the search of the reserve nest starts here.
	 */
	core_t anchor;
};

struct nest_core {
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

struct nest_thread {
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
	/*
	 * nest.ipa:44
	 * Cores of the last execution and of the one before.
	 */
	core_t last;
	core_t before;
	/*
	 * nest.ipa:46
	 * Times in a row that the previous core was busy.
	 */
	int64_t misses;
};

SAAKM_ATTRIBUTES(nest)

static __attribute__((unused)) void nest_init_state(void SAAKM_MEM *state)
{
	struct nest_state SAAKM_MEM *p = (struct nest_state SAAKM_MEM *)state;

	p->latency = 24 * SAAKM_MS;
	p->min_granularity = 3 * SAAKM_MS;
	p->wakeup_granularity = 4 * SAAKM_MS;
	p->half_life = 32 * SAAKM_MS;
	p->refresh = 32 * SAAKM_MS;
	p->scan = 4;
	p->migration_cost = 500 * SAAKM_US;
	p->interval = 1 * SAAKM_MS;
	p->busy_factor = 16;
	p->p_remove = 8 * SAAKM_MS;
	p->r_max = 5;
	p->reserve_nest = 1;
	p->r_impatient = 2;
	p->s_max = 8 * SAAKM_MS;
	p->compaction = 1;
	p->exit_demotion = 1;
	p->attachment = 1;
	p->die_first = 1;
	p->work_conserving = 1;
	p->placement_flag = 1;
	p->anchor = SAAKM_NO_CORE;
}

static __attribute__((unused)) void nest_init_core(void SAAKM_MEM *attrs)
{
	struct nest_core SAAKM_MEM *p = (struct nest_core SAAKM_MEM *)attrs;

	p->usual_idle = 1 * SAAKM_MS;
}

static __attribute__((unused)) void nest_init_thread(void SAAKM_MEM *attrs)
{
	struct nest_thread SAAKM_MEM *p = (struct nest_thread SAAKM_MEM *)attrs;

	p->home = SAAKM_NO_CORE;
	p->ran = -1 * SAAKM_S;
	p->util = 512;
	p->last = SAAKM_NO_CORE;
	p->before = SAAKM_NO_CORE;
}

SAAKM_LOCAL void nest_on_enqueue(saakm_t s, thread_t t, core_t c);
SAAKM_LOCAL int64_t nest_busy_load(saakm_t s, core_t c);
SAAKM_LOCAL int64_t nest_idle_load(saakm_t s, core_t c);
SAAKM_LOCAL void nest_leave(saakm_t s, core_t c, int64_t part);
SAAKM_LOCAL int64_t nest_asleep(saakm_t s, thread_t t);
SAAKM_LOCAL core_t nest_fallback(saakm_t s, thread_t t, core_t c);
SAAKM_LOCAL void nest_nohz(saakm_t s, core_t i);
SAAKM_LOCAL void nest_set_aside(saakm_t s, core_t c);
SAAKM_LOCAL core_t nest_choose_wakeup(saakm_t s, thread_t t, core_t waker);

/*
 * cfs.ipa:50
 * t => c.ready
 */
SAAKM_LOCAL void nest_enter_ready(saakm_t s, thread_t t, core_t c, uint32_t reason)
{
	nest_on_enqueue(s, t, c);
	saakm_ready(s, t, c, NEST_QUEUE_READY, nest_thread(t)->vruntime, reason);
}

/* cfs.ipa:54 */
SAAKM_LOCAL nsec_t nest_vruntime_now(saakm_t s, thread_t t)
{
	return nest_thread(t)->vruntime
			+ saakm_div((saakm_runtime(s, t) - nest_thread(t)->charged) * 1024,
				saakm_weight(t));
}

/* cfs.ipa:58 */
SAAKM_LOCAL void nest_charge(saakm_t s, thread_t t)
{
	nest_thread(t)->vruntime = nest_vruntime_now(s, t);
	nest_thread(t)->util = 1024
			- saakm_decay(1024 - nest_thread(t)->util,
				saakm_runtime(s, t) - nest_thread(t)->charged,
				nest_state(s)->half_life);
	nest_thread(t)->charged = saakm_runtime(s, t);
	nest_thread(t)->ran = saakm_now(s);
	core_t c = saakm_core(t);
	if (saakm_nr_ready(s, c) == 0) {
		nest_core(s, c)->min_vruntime =
				saakm_max(nest_core(s, c)->min_vruntime, nest_thread(t)->vruntime);
	}
}

/*
 * cfs.ipa:70
 * Called before every entry into a ready queue: puts t on the time line of core c.
 */
SAAKM_LOCAL void nest_on_enqueue(saakm_t s, thread_t t, core_t c)
{
	core_t h = nest_thread(t)->home;

	if (h != SAAKM_NO_CORE) {
		nest_thread(t)->vruntime =
				saakm_max(nest_thread(t)->vruntime - nest_core(s, h)->min_vruntime,
					0 - nest_state(s)->latency / 2)
				+ nest_core(s, c)->min_vruntime;
	} else {
		nest_thread(t)->vruntime = nest_core(s, c)->min_vruntime
				+ saakm_max(nest_state(s)->min_granularity,
					saakm_div(nest_state(s)->latency,
						saakm_nr_running(s, c) + 1));
	}
	nest_thread(t)->home = c;
	thread_t r = saakm_current(s, c);

	if (r != NULL) {
		if (nest_vruntime_now(s, r) - nest_thread(t)->vruntime
				> nest_state(s)->wakeup_granularity) {
			saakm_preempt(s, c);
		}
	}
}

/* cfs.ipa:80 */
SAAKM_LOCAL void nest_on_schedule(saakm_t s, core_t c)
{
	thread_t t = saakm_first(s, c, NEST_QUEUE_READY);

	if (t != NULL) {
		nest_core(s, c)->min_vruntime =
				saakm_max(nest_core(s, c)->min_vruntime, nest_thread(t)->vruntime);
		nest_thread(t)->started = saakm_runtime(s, t);
		saakm_run(s, t);
	}
}

/* cfs.ipa:88 */
SAAKM_LOCAL void nest_on_tick(saakm_t s, thread_t t)
{
	core_t c = saakm_core(t);
	nest_charge(s, t);
	if (saakm_nr_ready(s, c) > 0
			&& saakm_runtime(s, t) - nest_thread(t)->started
			>= saakm_max(nest_state(s)->min_granularity,
				saakm_div(nest_state(s)->latency, saakm_nr_running(s, c)))) {
		saakm_preempt(s, c);
	}
}

/* cfs.ipa:95 */
SAAKM_LOCAL void nest_on_yield(saakm_t s, thread_t t)
{
	nest_charge(s, t);
	nest_enter_ready(s, t, saakm_core(t), NEST_REASON_NONE);
}

/* cfs.ipa:100 */
SAAKM_LOCAL void nest_on_preempt(saakm_t s, thread_t t)
{
	nest_charge(s, t);
	nest_enter_ready(s, t, saakm_core(t), NEST_REASON_NONE);
}

/* cfs.ipa:105 */
SAAKM_LOCAL void nest__cfs_on_block(saakm_t s, thread_t t)
{
	nest_charge(s, t);
	saakm_blocked(s, t);
}

/* cfs.ipa:110 */
SAAKM_LOCAL void nest__cfs_on_terminate(saakm_t s, thread_t t)
{
	nest_charge(s, t);
	nest_leave(s, saakm_core(t), nest_thread(t)->util);
	saakm_terminated(s, t);
}

/*
 * cfs.ipa:120
 * As fork placement knows it: an idle core has no tick, so its load is brought up to date
 * only every `refresh`, and what exited threads left there counts until then.
 */
SAAKM_LOCAL int64_t nest_recent(saakm_t s, core_t c)
{
	return saakm_has(saakm_idle(s), c) ? nest_idle_load(s, c) : nest_busy_load(s, c);
}

/* cfs.ipa:124 */
SAAKM_LOCAL int64_t nest_busy_load(saakm_t s, core_t c)
{
	return 1024
			- saakm_decay(1024 - nest_core(s, c)->past,
				saakm_now(s) - nest_core(s, c)->since, nest_state(s)->half_life);
}

/* cfs.ipa:128 */
SAAKM_LOCAL int64_t nest_idle_load(saakm_t s, core_t c)
{
	nsec_t last = saakm_now(s) - saakm_mod(saakm_now(s), nest_state(s)->refresh);
	if (nest_core(s, c)->since >= last) {
		return nest_core(s, c)->past;
	}
	return saakm_decay(nest_core(s, c)->past
			- saakm_min(nest_core(s, c)->gone, nest_core(s, c)->past),
			last - nest_core(s, c)->since, nest_state(s)->half_life);
}

/* cfs.ipa:134 */
SAAKM_LOCAL void nest_on_enter_idle(saakm_t s, core_t c)
{
	nest_core(s, c)->past = nest_busy_load(s, c);
	nest_core(s, c)->since = saakm_now(s);
}

/* cfs.ipa:139 */
SAAKM_LOCAL void nest_on_exit_idle(saakm_t s, core_t c)
{
	nest_core(s, c)->past = nest_idle_load(s, c);
	if (nest_core(s, c)->since
			< saakm_now(s) - saakm_mod(saakm_now(s), nest_state(s)->refresh)) {
		nest_core(s, c)->gone = 0;
	}
	nest_core(s, c)->usual_idle =
			(nest_core(s, c)->usual_idle * 3 + (saakm_now(s) - nest_core(s, c)->since))
			/ 4;
	nest_core(s, c)->since = saakm_now(s);
}

/*
 * cfs.ipa:147
 * A thread comes with half a core's load to its name, and has exited with load `part`.
 */
SAAKM_LOCAL void nest_leave(saakm_t s, core_t c, int64_t part)
{
	nest_core(s, c)->past = saakm_min(nest_core(s, c)->past + 512, 1024);
	nest_core(s, c)->gone = saakm_min(nest_core(s, c)->gone + part, 1024);
}

/* cfs.ipa:152 */
SAAKM_LOCAL int64_t nest_load_of(saakm_t s, domain_t d)
{
	int64_t sum = 0;
	core_t c;

	SAAKM_EACH(s, c, w, d->cores.word[w]) {
		sum = SAAKM_FORGET(sum + nest_recent(s, c));
	}
	return sum;
}

/*
 * cfs.ipa:161
 * From the widest domain down: the die, the hyperthread pair, the core. The parent's die
 * is kept while it has an idle core; then idle cores count first, recent load second; of a
 * pair, the core that was idle for the shortest time (find_idlest_group, find_idlest_cpu).
 */
SAAKM_LOCAL core_t nest_choose_fork(saakm_t s, thread_t t, core_t parent)
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
			int64_t key2 = nest_load_of(s, d);
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
		int64_t key2 = nest_load_of(s, p);
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
	return best_c != SAAKM_NO_CORE ? best_c : nest_fallback(s, t, parent);
}

/*
 * cfs.ipa:175
 * The target is the previous core or the waker's; an idle core is sought on its die only.
 */
SAAKM_LOCAL core_t nest__cfs_choose_wakeup(saakm_t s, thread_t t, core_t waker)
{
	core_t prev = saakm_core(t);
	core_t target = prev;
	if (saakm_has(saakm_idle(s), waker) && saakm_has(&saakm_llc(s, prev)->cores, waker)) {
		target = saakm_has(saakm_idle(s), prev) ? prev : waker;
	} else if (waker != prev) {
		int64_t mine = nest_asleep(s, t);
		int64_t there = nest_recent(s, prev);
		if (nest_recent(s, waker) + mine < there - saakm_min(mine, there)) {
			target = waker;
		}
	}
	target = nest_fallback(s, t, target);
	if (SAAKM_EMPTY(s, w,
			saakm_idle(s)->word[w] & saakm_llc(s, target)->cores.word[w]
			& saakm_affinity(t)->word[w])) {
		return target;
	}
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
	int64_t left = nest_state(s)->scan;
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
 * cfs.ipa:199
 * The load that t brings, having slept.
 */
SAAKM_LOCAL int64_t nest_asleep(saakm_t s, thread_t t)
{
	return saakm_decay(nest_thread(t)->util, saakm_now(s) - nest_thread(t)->ran,
			nest_state(s)->half_life);
}

/*
 * cfs.ipa:204
 * c, or a core near it if t may not run on c.
 */
SAAKM_LOCAL core_t nest_fallback(saakm_t s, thread_t t, core_t c)
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
 * cfs.ipa:219
 * A die with at most two threads keeps them (adjust_numa_imbalance).
 */
SAAKM_LOCAL bool nest_crowded(saakm_t s, domain_t die)
{
	int64_t sum = 0;
	core_t c;

	SAAKM_EACH(s, c, w, die->cores.word[w]) {
		sum = SAAKM_FORGET(sum + saakm_nr_running(s, c));
	}
	return sum > 2;
}

/* cfs.ipa:225 */
SAAKM_PHASE bool nest_pull_can_steal_core(saakm_t s, core_t dst, core_t src)
{
	return saakm_nr_ready(s, src) > 0
			&& saakm_nr_running(s, src) >= saakm_nr_running(s, dst) + 2
			&& (saakm_has(&saakm_llc(s, dst)->cores, src)
				|| nest_crowded(s, saakm_llc(s, src)));
}

/* cfs.ipa:230 */
SAAKM_PHASE int64_t nest_pull_select_core(saakm_t s, core_t dst, core_t src)
{
	(void)dst;

	return saakm_nr_running(s, src);
}

/* cfs.ipa:231 */
SAAKM_PHASE bool nest_pull_steal_thread(saakm_t s, core_t dst, thread_t t)
{
	return saakm_has(saakm_affinity(t), dst)
			&& saakm_now(s) - nest_thread(t)->ran >= nest_state(s)->migration_cost;
}

/* cfs.ipa:232 */
SAAKM_PHASE bool nest_pull_stop_core(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* cfs.ipa:233 */
SAAKM_PHASE bool nest_pull_stop(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* cfs.ipa:234 */
SAAKM_PHASE void nest_pull_move(saakm_t s, core_t dst, thread_t t)
{
	nest_enter_ready(s, t, dst, NEST_REASON_BALANCE);
}

/*
 * cfs.ipa:224
 * dst takes one thread from the longest run queue among `from`.
 */
SAAKM_STEAL(nest_pull, dst, from)
{
	core_t src;
	int64_t stolen = 0;
	SAAKM_SET(candidates);

	/* First phase: whom to steal from. */
	SAAKM_ASSIGN(s, candidates, w, from->word[w]);
	SAAKM_EACH(s, src, w, from->word[w]) {
		if (src == dst || !nest_pull_can_steal_core(s, dst, src))
			saakm_exclude(candidates, src);
	}
	SAAKM_EACH_ROUND(s) {
		int64_t from_core = 0;
		thread_t t;

		/* Second phase: whom first. */
		core_t best = SAAKM_NO_CORE;
		int64_t most = 0;

		SAAKM_EACH_NEAREST(s, src, dst, w, candidates->word[w]) {
			int64_t key = nest_pull_select_core(s, dst, src);
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
		SAAKM_EACH_THREAD(s, t, src, NEST_QUEUE_READY) {
			if (!nest_pull_can_steal_core(s, dst, src))
				break;
			if (!nest_pull_steal_thread(s, dst, t))
				continue;
			SAAKM_FROM(s, t);
			nest_pull_move(s, dst, t);
			if (!saakm_moved(s))
				continue;
			stolen = SAAKM_FORGET(stolen + 1);
			if (nest_pull_stop(s, dst, stolen))
				return;
			from_core = SAAKM_FORGET(from_core + 1);
			if (nest_pull_stop_core(s, dst, from_core))
				break;
		}
	}
}

/* cfs.ipa:237 */
SAAKM_LOCAL void nest_on_newly_idle(saakm_t s, core_t c)
{
	if (nest_core(s, c)->usual_idle < nest_state(s)->migration_cost) {
		return;
	}
	SAAKM_SET(from);
	SAAKM_ASSIGN(s, from, w, saakm_waiting(s)->word[w] & saakm_llc(s, c)->cores.word[w]);
	nest_pull(s, c, from);
	if (saakm_nr_ready(s, c) == 0) {
		nest_pull(s, c, saakm_waiting(s));
	}
}

/* cfs.ipa:243 */
SAAKM_LOCAL void nest_on_balance(saakm_t s, core_t c)
{
	if (saakm_now(s) >= nest_core(s, c)->next_die) {
		nest_core(s, c)->next_die = saakm_now(s)
				+ nest_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_llc(s, c)->cores.word[w])
				* nest_state(s)->busy_factor;
		SAAKM_SET(from);
		SAAKM_ASSIGN(s, from, w,
				saakm_waiting(s)->word[w] & saakm_llc(s, c)->cores.word[w]);
		nest_pull(s, c, from);
	}
	if (saakm_now(s) >= nest_core(s, c)->next_machine) {
		nest_core(s, c)->next_machine = saakm_now(s)
				+ nest_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_machine(s)->cores.word[w])
				* nest_state(s)->busy_factor;
		nest_pull(s, c, saakm_waiting(s));
	}
	if (saakm_nr_ready(s, c) > 0) {
		SAAKM_SET(members);
		SAAKM_ASSIGN(s, members, w, saakm_idle(s)->word[w]);
		core_t i;

		SAAKM_EACH_FROM(s, i, c, w, members->word[w]) {
			nest_nohz(s, i);
		}
	}
}

/*
 * cfs.ipa:258
 * Idle core i does what it would do at its tick.
 */
SAAKM_LOCAL void nest_nohz(saakm_t s, core_t i)
{
	if (saakm_has(saakm_idle(s), i) && saakm_now(s) >= nest_core(s, i)->next_die) {
		nest_core(s, i)->next_die = saakm_now(s)
				+ nest_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_llc(s, i)->cores.word[w]);
		SAAKM_SET(from);
		SAAKM_ASSIGN(s, from, w,
				saakm_waiting(s)->word[w] & saakm_llc(s, i)->cores.word[w]);
		nest_pull(s, i, from);
	}
	if (saakm_has(saakm_idle(s), i) && saakm_now(s) >= nest_core(s, i)->next_machine) {
		nest_core(s, i)->next_machine = saakm_now(s)
				+ nest_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_machine(s)->cores.word[w]);
		nest_pull(s, i, saakm_waiting(s));
	}
}

/*
 * nest.ipa:52
 * c is idle, and no other placement has it.
 */
SAAKM_LOCAL bool nest_take(saakm_t s, core_t c)
{
	return nest_state(s)->placement_flag ? saakm_claim(s, c) : saakm_has(saakm_idle(s), c);
}

/* nest.ipa:56 */
SAAKM_LOCAL bool nest_stale(saakm_t s, core_t c)
{
	return nest_state(s)->compaction && saakm_has(saakm_idle(s), c)
			&& saakm_now(s) - saakm_idle_since(s, c) > nest_state(s)->p_remove;
}

/*
 * nest.ipa:65
 * To the reserve nest, or out of both if that is full.
 */
SAAKM_LOCAL void nest_demote(saakm_t s, core_t c)
{
	saakm_remove(s, &nest_state(s)->primary, NEST_SET_PRIMARY, c);
	if (nest_state(s)->reserve_nest) {
		nest_set_aside(s, c);
	}
}

/* nest.ipa:70 */
SAAKM_LOCAL void nest_promote(saakm_t s, core_t c)
{
	saakm_add(s, &nest_state(s)->primary, NEST_SET_PRIMARY, c, SAAKM_MAX_CORES);
	saakm_remove(s, &nest_state(s)->reserve, NEST_SET_RESERVE, c);
}

/* nest.ipa:75 */
SAAKM_LOCAL void nest_set_aside(saakm_t s, core_t c)
{
	saakm_add(s, &nest_state(s)->reserve, NEST_SET_RESERVE, c, nest_state(s)->r_max);
	if (saakm_has(&nest_state(s)->primary, c)) {
		saakm_remove(s, &nest_state(s)->reserve, NEST_SET_RESERVE, c);
	}
}

/*
 * nest.ipa:82
 * Starts at the previous core, to stay clear of concurrent searches. A stale core is demoted
 * on the way.
 */
SAAKM_LOCAL core_t nest_search_primary(saakm_t s, set_t allowed, core_t home)
{
	SAAKM_SET(members);
	SAAKM_ASSIGN(s, members, w,
			nest_state(s)->primary.word[w] & saakm_idle(s)->word[w] & allowed->word[w]);
	core_t c;

	SAAKM_EACH_FROM(s, c, home, w, members->word[w]) {
		if (nest_stale(s, c)) {
			nest_demote(s, c);
		} else if (nest_take(s, c)) {
			return c;
		}
	}
	return SAAKM_NO_CORE;
}

/*
 * nest.ipa:90
 * Starts at a fixed core, to gather threads.
 */
SAAKM_LOCAL core_t nest_search_reserve(saakm_t s, set_t allowed, core_t home)
{
	core_t origin = nest_state(s)->anchor != SAAKM_NO_CORE ? nest_state(s)->anchor : home;
	core_t c;

	SAAKM_EACH_FROM(s, c, origin, w,
			nest_state(s)->reserve.word[w] & saakm_idle(s)->word[w]
			& allowed->word[w]) {
		if (nest_take(s, c))
			break;
	}
	return c;
}

/*
 * nest.ipa:95
 * The die of `home` first, then the others.
 */
SAAKM_LOCAL core_t nest_primary_of(saakm_t s, thread_t t, core_t home)
{
	if (nest_state(s)->die_first) {
		SAAKM_SET(allowed);
		SAAKM_ASSIGN(s, allowed, w,
				saakm_affinity(t)->word[w] & saakm_llc(s, home)->cores.word[w]);
		core_t c = nest_search_primary(s, allowed, home);

		if (c != SAAKM_NO_CORE) {
			return c;
		}
	}
	return nest_search_primary(s, saakm_affinity(t), home);
}

/* nest.ipa:101 */
SAAKM_LOCAL core_t nest_reserve_of(saakm_t s, thread_t t, core_t home)
{
	if (nest_state(s)->die_first) {
		SAAKM_SET(allowed);
		SAAKM_ASSIGN(s, allowed, w,
				saakm_affinity(t)->word[w] & saakm_llc(s, home)->cores.word[w]);
		core_t c = nest_search_reserve(s, allowed, home);

		if (c != SAAKM_NO_CORE) {
			return c;
		}
	}
	return nest_search_reserve(s, saakm_affinity(t), home);
}

/*
 * nest.ipa:110
 * An attached thread may take its core even if it is stale.
 */
SAAKM_LOCAL core_t nest_attached_of(saakm_t s, thread_t t)
{
	core_t c = nest_thread(t)->last;

	if (c != SAAKM_NO_CORE) {
		if (nest_state(s)->attachment && nest_thread(t)->last == nest_thread(t)->before
				&& saakm_has(&nest_state(s)->primary, c)
				&& saakm_has(saakm_idle(s), c) && saakm_has(saakm_affinity(t), c)
				&& nest_take(s, c)) {
			return c;
		}
	}
	return SAAKM_NO_CORE;
}

/*
 * nest.ipa:118
 * Counts how often in a row the previous core was busy.
 */
SAAKM_LOCAL bool nest_impatient(saakm_t s, thread_t t, core_t home)
{
	nest_thread(t)->misses = saakm_has(saakm_idle(s), home) ? 0LL : nest_thread(t)->misses + 1;
	return nest_state(s)->r_impatient > 0
			&& nest_thread(t)->misses > nest_state(s)->r_impatient;
}

/*
 * nest.ipa:124
 * Places t. `home` is its previous core or its parent's, `waker` the core that wakes or forks.
 */
SAAKM_LOCAL void nest_nest_place(saakm_t s, thread_t t, core_t home, core_t waker, bool forked,
		bool hurry)
{
	if (nest_state(s)->anchor == SAAKM_NO_CORE) {
		nest_state(s)->anchor = waker;
		nest_promote(s, waker);
	}
	if (!hurry) {
		core_t c = nest_primary_of(s, t, home);

		if (c != SAAKM_NO_CORE) {
			nest_enter_ready(s, t, c, NEST_REASON_PRIMARY);
			return;
		}
	}
	if (hurry) {
		nest_thread(t)->misses = 0;
	}
	core_t c = nest_reserve_of(s, t, home);

	if (c != SAAKM_NO_CORE) {
		nest_promote(s, c);
		nest_enter_ready(s, t, c, NEST_REASON_RESERVE);
		return;
	}
	core_t c2 = forked ? nest_choose_fork(s, t, waker) : nest_choose_wakeup(s, t, waker);
	if (hurry || !nest_state(s)->reserve_nest) {
		nest_promote(s, c2);
	} else if (!saakm_has(&nest_state(s)->primary, c2)) {
		nest_set_aside(s, c2);
	}
	nest_enter_ready(s, t, c2, NEST_REASON_CFS);
}

/* nest.ipa:142 */
SAAKM_LOCAL void nest_on_new(saakm_t s, thread_t t, core_t parent)
{
	nest_nest_place(s, t, parent, parent, true, false);
}

/* nest.ipa:146 */
SAAKM_LOCAL void nest_on_unblock(saakm_t s, thread_t t, core_t waker)
{
	bool hurry = nest_impatient(s, t, saakm_core(t));
	if (!hurry) {
		core_t c = nest_attached_of(s, t);

		if (c != SAAKM_NO_CORE) {
			nest_enter_ready(s, t, c, NEST_REASON_ATTACHED);
			return;
		}
	}
	nest_nest_place(s, t, saakm_core(t), waker, false, hurry);
}

/*
 * nest.ipa:154
 * CFS's choice; where its die has no idle core, the other dies are searched too.
 */
SAAKM_LOCAL core_t nest_choose_wakeup(saakm_t s, thread_t t, core_t waker)
{
	core_t c = nest__cfs_choose_wakeup(s, t, waker);
	if (saakm_has(saakm_idle(s), c) || !nest_state(s)->work_conserving) {
		return c;
	}
	core_t found = SAAKM_FIRST_NEAREST(s, c, w,
			saakm_idle(s)->word[w] & saakm_affinity(t)->word[w]);
	return found != SAAKM_NO_CORE ? found : c;
}

/* nest.ipa:162 */
SAAKM_LOCAL void nest_on_block(saakm_t s, thread_t t)
{
	nest_thread(t)->before = nest_thread(t)->last;
	nest_thread(t)->last = saakm_core(t);
	if (nest_state(s)->s_max > 0) {
		saakm_keep_warm(s, saakm_core(t), nest_state(s)->s_max);
	}
	nest__cfs_on_block(s, t);
}

/* nest.ipa:169 */
SAAKM_LOCAL void nest_on_terminate(saakm_t s, thread_t t)
{
	if (nest_state(s)->exit_demotion && saakm_has(&nest_state(s)->primary, saakm_core(t))
			&& saakm_nr_ready(s, saakm_core(t)) == 0) {
		nest_demote(s, saakm_core(t));
	}
	nest__cfs_on_terminate(s, t);
}

/* The handlers, for a runtime that calls them by name. */
#define SAAKM_ON_NEW nest_on_new
#define SAAKM_ON_UNBLOCK nest_on_unblock
#define SAAKM_ON_ENQUEUE nest_on_enqueue
#define SAAKM_ON_SCHEDULE nest_on_schedule
#define SAAKM_ON_TICK nest_on_tick
#define SAAKM_ON_YIELD nest_on_yield
#define SAAKM_ON_PREEMPT nest_on_preempt
#define SAAKM_ON_BLOCK nest_on_block
#define SAAKM_ON_TERMINATE nest_on_terminate
#define SAAKM_ON_NEWLY_IDLE nest_on_newly_idle
#define SAAKM_ON_ENTER_IDLE nest_on_enter_idle
#define SAAKM_ON_EXIT_IDLE nest_on_exit_idle
#define SAAKM_ON_BALANCE nest_on_balance
#define SAAKM_INIT_STATE nest_init_state
#define SAAKM_INIT_CORE nest_init_core
#define SAAKM_INIT_THREAD nest_init_thread

/* Its name, as the kernel can spell it; how many ready queues a core has, and which are
   ordered, as bits; sets. */
#define SAAKM_NAME "nest"
#define SAAKM_QUEUES 1
#define SAAKM_ORDERED 0x1
#define SAAKM_NR_SETS 2

#ifdef SAAKM_POLICY

static const struct saakm_param nest_params[] = {
	{
		.name = "latency",
		.doc = "Every ready thread should run once in this time (sched_latency).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct nest_state, latency),
		.min = 1 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 24 * SAAKM_MS,
	},
	{
		.name = "min_granularity",
		.doc = "A thread is not preempted at a tick before it ran this long (sched_min_granularity).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct nest_state, min_granularity),
		.min = 100 * SAAKM_US, .max = 1 * SAAKM_S,
		.initial = 3 * SAAKM_MS,
	},
	{
		.name = "wakeup_granularity",
		.doc = "A woken thread preempts one that is ahead of it by more than this.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct nest_state, wakeup_granularity),
		.min = 0, .max = 1 * SAAKM_S,
		.initial = 4 * SAAKM_MS,
	},
	{
		.name = "half_life",
		.doc = "Half-life of a core's recent load.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct nest_state, half_life),
		.min = 1 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 32 * SAAKM_MS,
	},
	{
		.name = "refresh",
		.doc = "The load of idle cores is brought up to date this often (LOAD_AVG_PERIOD).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct nest_state, refresh),
		.min = 1 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 32 * SAAKM_MS,
	},
	{
		.name = "scan",
		.doc = "Cores that a wake-up examines for any idle one, when no whole core is idle.",
		.unit = SAAKM_INT,
		.offset = offsetof(struct nest_state, scan),
		.min = 0, .max = 1024,
		.initial = 4,
	},
	{
		.name = "migration_cost",
		.doc = "An idle spell shorter than this is not worth pulling a thread for; and a thread that ran so recently stays where its caches are (task_hot).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct nest_state, migration_cost),
		.min = 0, .max = 10 * SAAKM_MS,
		.initial = 500 * SAAKM_US,
	},
	{
		.name = "interval",
		.doc = "Cores balance their die every so many ms for each core in it.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct nest_state, interval),
		.min = 100 * SAAKM_US, .max = 1 * SAAKM_S,
		.initial = 1 * SAAKM_MS,
	},
	{
		.name = "busy_factor",
		.doc = "Busy cores balance this much more rarely than idle ones.",
		.unit = SAAKM_INT,
		.offset = offsetof(struct nest_state, busy_factor),
		.min = 1, .max = 64,
		.initial = 16,
	},
	{
		.name = "p_remove",
		.doc = "A primary core unused for longer than this may be demoted.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct nest_state, p_remove),
		.min = 0, .max = 1 * SAAKM_S,
		.initial = 8 * SAAKM_MS,
	},
	{
		.name = "r_max",
		.doc = "Most cores in the reserve nest; 0: none ever.",
		.unit = SAAKM_INT,
		.offset = offsetof(struct nest_state, r_max),
		.min = 0, .max = 1024,
		.initial = 5,
	},
	{
		.name = "reserve_nest",
		.doc = "There is a reserve nest. Without it, what CFS chooses enters the primary nest at once.",
		.unit = SAAKM_BOOL,
		.offset = offsetof(struct nest_state, reserve_nest),
		.min = 0, .max = 1,
		.initial = 1,
	},
	{
		.name = "r_impatient",
		.doc = "A thread tolerates so many busy previous cores in a row, and is impatient at the next; 0: never.",
		.unit = SAAKM_INT,
		.offset = offsetof(struct nest_state, r_impatient),
		.min = 0, .max = 1000,
		.initial = 2,
	},
	{
		.name = "s_max",
		.doc = "The idle loop spins this long after a thread blocks; 0: it never spins.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct nest_state, s_max),
		.min = 0, .max = 1 * SAAKM_S,
		.initial = 8 * SAAKM_MS,
	},
	{
		.name = "compaction",
		.doc = "Unused primary cores are demoted when a thread tries to use them.",
		.unit = SAAKM_BOOL,
		.offset = offsetof(struct nest_state, compaction),
		.min = 0, .max = 1,
		.initial = 1,
	},
	{
		.name = "exit_demotion",
		.doc = "A core whose thread exits, and which goes idle, is demoted at once.",
		.unit = SAAKM_BOOL,
		.offset = offsetof(struct nest_state, exit_demotion),
		.min = 0, .max = 1,
		.initial = 1,
	},
	{
		.name = "attachment",
		.doc = "A thread that returned to its core once is attached to it, and tries it first.",
		.unit = SAAKM_BOOL,
		.offset = offsetof(struct nest_state, attachment),
		.min = 0, .max = 1,
		.initial = 1,
	},
	{
		.name = "die_first",
		.doc = "Cores of the previous core's die come before all others.",
		.unit = SAAKM_BOOL,
		.offset = offsetof(struct nest_state, die_first),
		.min = 0, .max = 1,
		.initial = 1,
	},
	{
		.name = "work_conserving",
		.doc = "A wake-up looks on all dies when CFS finds no idle core on its own.",
		.unit = SAAKM_BOOL,
		.offset = offsetof(struct nest_state, work_conserving),
		.min = 0, .max = 1,
		.initial = 1,
	},
	{
		.name = "placement_flag",
		.doc = "A flag on each core lets one placement at a time have it.",
		.unit = SAAKM_BOOL,
		.offset = offsetof(struct nest_state, placement_flag),
		.min = 0, .max = 1,
		.initial = 1,
	},
};

static const struct saakm_queue nest_queues[] = {
	{ .name = "ready", .ordered = 1 },
};

static const char *const nest_reasons[] = {
	"none",
	"cfs",
	"balance",
	"primary",
	"reserve",
	"attached",
};

static const char *const nest_sets[] = {
	"primary",
	"reserve",
};

SAAKM_POLICY(nest,
	.name = "nest",
	.state_size = sizeof(struct nest_state),
	.thread_size = sizeof(struct nest_thread),
	.core_size = sizeof(struct nest_core),
	.params = nest_params, .nr_params = 20,
	.queues = nest_queues, .nr_queues = 1,
	.reasons = nest_reasons, .nr_reasons = 6,
	.sets = nest_sets, .nr_sets = 2,
	.init_state = nest_init_state,
	.init_core = nest_init_core,
	.init_thread = nest_init_thread,
	.new_thread = nest_on_new,
	.unblock = nest_on_unblock,
	.schedule = nest_on_schedule,
	.tick = nest_on_tick,
	.yield = nest_on_yield,
	.preempt = nest_on_preempt,
	.block = nest_on_block,
	.terminate = nest_on_terminate,
	.newly_idle = nest_on_newly_idle,
	.enter_idle = nest_on_enter_idle,
	.exit_idle = nest_on_exit_idle,
	.balance = nest_on_balance);
#endif
