/*
 * Policy smove, made by the Ipanema compiler from smove.ipa, on top of cfs.
 *
 * S_move (Fewer Cores, More Hertz, section 3.2): CFS chooses. If that core was last seen fast, it
 * is used; if not, the thread waits a moment on the waker's core, which is probably fast and may
 * be free at once, and moves to the core of CFS only if it was not scheduled by then.
 */
#include "saakm.h"

/* Why a thread is where it is. */
enum smove_reason {
	SMOVE_REASON_NONE,
	SMOVE_REASON_CFS,
	SMOVE_REASON_BALANCE,
	SMOVE_REASON_LOCAL,
	SMOVE_REASON_MOVED,
};

/* Ready queues of a core. */
enum smove_queue {
	SMOVE_QUEUE_READY,
};

struct smove_state {
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
	 * smove.ipa:6
	 * How long a thread may wait on the waker's core (D in the paper).
	 */
	int64_t delay;
};

struct smove_core {
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

struct smove_thread {
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
	 * smove.ipa:10
	 * Where CFS wanted it.
	 */
	core_t chosen;
};

SAAKM_ATTRIBUTES(smove)

static __attribute__((unused)) void smove_init_state(void SAAKM_MEM *state)
{
	struct smove_state SAAKM_MEM *p = (struct smove_state SAAKM_MEM *)state;

	p->latency = 24 * SAAKM_MS;
	p->min_granularity = 3 * SAAKM_MS;
	p->wakeup_granularity = 4 * SAAKM_MS;
	p->half_life = 32 * SAAKM_MS;
	p->refresh = 32 * SAAKM_MS;
	p->scan = 4;
	p->migration_cost = 500 * SAAKM_US;
	p->interval = 1 * SAAKM_MS;
	p->busy_factor = 16;
	p->delay = 50 * SAAKM_US;
}

static __attribute__((unused)) void smove_init_core(void SAAKM_MEM *attrs)
{
	struct smove_core SAAKM_MEM *p = (struct smove_core SAAKM_MEM *)attrs;

	p->usual_idle = 1 * SAAKM_MS;
}

static __attribute__((unused)) void smove_init_thread(void SAAKM_MEM *attrs)
{
	struct smove_thread SAAKM_MEM *p = (struct smove_thread SAAKM_MEM *)attrs;

	p->home = SAAKM_NO_CORE;
	p->ran = -1 * SAAKM_S;
	p->util = 512;
	p->chosen = SAAKM_NO_CORE;
}

SAAKM_LOCAL void smove_on_enqueue(saakm_t s, thread_t t, core_t c);
SAAKM_LOCAL int64_t smove_busy_load(saakm_t s, core_t c);
SAAKM_LOCAL int64_t smove_idle_load(saakm_t s, core_t c);
SAAKM_LOCAL void smove_leave(saakm_t s, core_t c, int64_t part);
SAAKM_LOCAL int64_t smove_asleep(saakm_t s, thread_t t);
SAAKM_LOCAL core_t smove_fallback(saakm_t s, thread_t t, core_t c);
SAAKM_LOCAL void smove_nohz(saakm_t s, core_t i);

/*
 * cfs.ipa:50
 * t => c.ready
 */
SAAKM_LOCAL void smove_enter_ready(saakm_t s, thread_t t, core_t c, uint32_t reason)
{
	smove_on_enqueue(s, t, c);
	saakm_ready(s, t, c, SMOVE_QUEUE_READY, smove_thread(t)->vruntime, reason);
}

/* cfs.ipa:54 */
SAAKM_LOCAL nsec_t smove_vruntime_now(saakm_t s, thread_t t)
{
	return smove_thread(t)->vruntime
			+ saakm_div((saakm_runtime(s, t) - smove_thread(t)->charged) * 1024,
				saakm_weight(t));
}

/* cfs.ipa:58 */
SAAKM_LOCAL void smove_charge(saakm_t s, thread_t t)
{
	smove_thread(t)->vruntime = smove_vruntime_now(s, t);
	smove_thread(t)->util = 1024
			- saakm_decay(1024 - smove_thread(t)->util,
				saakm_runtime(s, t) - smove_thread(t)->charged,
				smove_state(s)->half_life);
	smove_thread(t)->charged = saakm_runtime(s, t);
	smove_thread(t)->ran = saakm_now(s);
	core_t c = saakm_core(t);
	if (saakm_nr_ready(s, c) == 0) {
		smove_core(s, c)->min_vruntime = saakm_max(smove_core(s, c)->min_vruntime,
				smove_thread(t)->vruntime);
	}
}

/*
 * cfs.ipa:70
 * Called before every entry into a ready queue: puts t on the time line of core c.
 */
SAAKM_LOCAL void smove_on_enqueue(saakm_t s, thread_t t, core_t c)
{
	core_t h = smove_thread(t)->home;

	if (h != SAAKM_NO_CORE) {
		smove_thread(t)->vruntime =
				saakm_max(smove_thread(t)->vruntime
					- smove_core(s, h)->min_vruntime,
					0 - smove_state(s)->latency / 2)
				+ smove_core(s, c)->min_vruntime;
	} else {
		smove_thread(t)->vruntime = smove_core(s, c)->min_vruntime
				+ saakm_max(smove_state(s)->min_granularity,
					saakm_div(smove_state(s)->latency,
						saakm_nr_running(s, c) + 1));
	}
	smove_thread(t)->home = c;
	thread_t r = saakm_current(s, c);

	if (r != NULL) {
		if (smove_vruntime_now(s, r) - smove_thread(t)->vruntime
				> smove_state(s)->wakeup_granularity) {
			saakm_preempt(s, c);
		}
	}
}

/* cfs.ipa:80 */
SAAKM_LOCAL void smove_on_schedule(saakm_t s, core_t c)
{
	thread_t t = saakm_first(s, c, SMOVE_QUEUE_READY);

	if (t != NULL) {
		smove_core(s, c)->min_vruntime = saakm_max(smove_core(s, c)->min_vruntime,
				smove_thread(t)->vruntime);
		smove_thread(t)->started = saakm_runtime(s, t);
		saakm_run(s, t);
	}
}

/* cfs.ipa:88 */
SAAKM_LOCAL void smove_on_tick(saakm_t s, thread_t t)
{
	core_t c = saakm_core(t);
	smove_charge(s, t);
	if (saakm_nr_ready(s, c) > 0
			&& saakm_runtime(s, t) - smove_thread(t)->started
			>= saakm_max(smove_state(s)->min_granularity,
				saakm_div(smove_state(s)->latency, saakm_nr_running(s, c)))) {
		saakm_preempt(s, c);
	}
}

/* cfs.ipa:95 */
SAAKM_LOCAL void smove_on_yield(saakm_t s, thread_t t)
{
	smove_charge(s, t);
	smove_enter_ready(s, t, saakm_core(t), SMOVE_REASON_NONE);
}

/* cfs.ipa:100 */
SAAKM_LOCAL void smove_on_preempt(saakm_t s, thread_t t)
{
	smove_charge(s, t);
	smove_enter_ready(s, t, saakm_core(t), SMOVE_REASON_NONE);
}

/* cfs.ipa:105 */
SAAKM_LOCAL void smove_on_block(saakm_t s, thread_t t)
{
	smove_charge(s, t);
	saakm_blocked(s, t);
}

/* cfs.ipa:110 */
SAAKM_LOCAL void smove_on_terminate(saakm_t s, thread_t t)
{
	smove_charge(s, t);
	smove_leave(s, saakm_core(t), smove_thread(t)->util);
	saakm_terminated(s, t);
}

/*
 * cfs.ipa:120
 * As fork placement knows it: an idle core has no tick, so its load is brought up to date
 * only every `refresh`, and what exited threads left there counts until then.
 */
SAAKM_LOCAL int64_t smove_recent(saakm_t s, core_t c)
{
	return saakm_has(saakm_idle(s), c) ? smove_idle_load(s, c) : smove_busy_load(s, c);
}

/* cfs.ipa:124 */
SAAKM_LOCAL int64_t smove_busy_load(saakm_t s, core_t c)
{
	return 1024
			- saakm_decay(1024 - smove_core(s, c)->past,
				saakm_now(s) - smove_core(s, c)->since, smove_state(s)->half_life);
}

/* cfs.ipa:128 */
SAAKM_LOCAL int64_t smove_idle_load(saakm_t s, core_t c)
{
	nsec_t last = saakm_now(s) - saakm_mod(saakm_now(s), smove_state(s)->refresh);
	if (smove_core(s, c)->since >= last) {
		return smove_core(s, c)->past;
	}
	return saakm_decay(smove_core(s, c)->past
			- saakm_min(smove_core(s, c)->gone, smove_core(s, c)->past),
			last - smove_core(s, c)->since, smove_state(s)->half_life);
}

/* cfs.ipa:134 */
SAAKM_LOCAL void smove_on_enter_idle(saakm_t s, core_t c)
{
	smove_core(s, c)->past = smove_busy_load(s, c);
	smove_core(s, c)->since = saakm_now(s);
}

/* cfs.ipa:139 */
SAAKM_LOCAL void smove_on_exit_idle(saakm_t s, core_t c)
{
	smove_core(s, c)->past = smove_idle_load(s, c);
	if (smove_core(s, c)->since
			< saakm_now(s) - saakm_mod(saakm_now(s), smove_state(s)->refresh)) {
		smove_core(s, c)->gone = 0;
	}
	smove_core(s, c)->usual_idle =
			(smove_core(s, c)->usual_idle * 3
				+ (saakm_now(s) - smove_core(s, c)->since)) / 4;
	smove_core(s, c)->since = saakm_now(s);
}

/*
 * cfs.ipa:147
 * A thread comes with half a core's load to its name, and has exited with load `part`.
 */
SAAKM_LOCAL void smove_leave(saakm_t s, core_t c, int64_t part)
{
	smove_core(s, c)->past = saakm_min(smove_core(s, c)->past + 512, 1024);
	smove_core(s, c)->gone = saakm_min(smove_core(s, c)->gone + part, 1024);
}

/* cfs.ipa:152 */
SAAKM_LOCAL int64_t smove_load_of(saakm_t s, domain_t d)
{
	int64_t sum = 0;
	core_t c;

	SAAKM_EACH(s, c, w, d->cores.word[w]) {
		sum = SAAKM_FORGET(sum + smove_recent(s, c));
	}
	return sum;
}

/*
 * cfs.ipa:161
 * From the widest domain down: the die, the hyperthread pair, the core. The parent's die
 * is kept while it has an idle core; then idle cores count first, recent load second; of a
 * pair, the core that was idle for the shortest time (find_idlest_group, find_idlest_cpu).
 */
SAAKM_LOCAL core_t smove_choose_fork(saakm_t s, thread_t t, core_t parent)
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
			int64_t key2 = smove_load_of(s, d);
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
		int64_t key2 = smove_load_of(s, p);
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
	return best_c != SAAKM_NO_CORE ? best_c : smove_fallback(s, t, parent);
}

/*
 * cfs.ipa:175
 * The target is the previous core or the waker's; an idle core is sought on its die only.
 */
SAAKM_LOCAL core_t smove_choose_wakeup(saakm_t s, thread_t t, core_t waker)
{
	core_t prev = saakm_core(t);
	core_t target = prev;
	if (saakm_has(saakm_idle(s), waker) && saakm_has(&saakm_llc(s, prev)->cores, waker)) {
		target = saakm_has(saakm_idle(s), prev) ? prev : waker;
	} else if (smove_recent(s, waker) + smove_asleep(s, t)
			< smove_recent(s, prev)
			- saakm_min(smove_asleep(s, t), smove_recent(s, prev))) {
		target = waker;
	}
	target = smove_fallback(s, t, target);
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
	int64_t left = smove_state(s)->scan;
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
SAAKM_LOCAL int64_t smove_asleep(saakm_t s, thread_t t)
{
	return saakm_decay(smove_thread(t)->util, saakm_now(s) - smove_thread(t)->ran,
			smove_state(s)->half_life);
}

/*
 * cfs.ipa:199
 * c, or a core near it if t may not run on c.
 */
SAAKM_LOCAL core_t smove_fallback(saakm_t s, thread_t t, core_t c)
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
SAAKM_LOCAL bool smove_crowded(saakm_t s, domain_t die)
{
	int64_t sum = 0;
	core_t c;

	SAAKM_EACH(s, c, w, die->cores.word[w]) {
		sum = SAAKM_FORGET(sum + saakm_nr_running(s, c));
	}
	return sum > 2;
}

/* cfs.ipa:220 */
SAAKM_PHASE bool smove_pull_can_steal_core(saakm_t s, core_t dst, core_t src)
{
	return saakm_nr_ready(s, src) > 0
			&& saakm_nr_running(s, src) >= saakm_nr_running(s, dst) + 2
			&& (saakm_has(&saakm_llc(s, dst)->cores, src)
				|| smove_crowded(s, saakm_llc(s, src)));
}

/* cfs.ipa:225 */
SAAKM_PHASE int64_t smove_pull_select_core(saakm_t s, core_t dst, core_t src)
{
	(void)dst;

	return saakm_nr_running(s, src);
}

/* cfs.ipa:226 */
SAAKM_PHASE bool smove_pull_steal_thread(saakm_t s, core_t dst, thread_t t)
{
	return saakm_has(saakm_affinity(t), dst)
			&& saakm_now(s) - smove_thread(t)->ran >= smove_state(s)->migration_cost;
}

/* cfs.ipa:227 */
SAAKM_PHASE bool smove_pull_stop_core(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* cfs.ipa:228 */
SAAKM_PHASE bool smove_pull_stop(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* cfs.ipa:229 */
SAAKM_PHASE void smove_pull_move(saakm_t s, core_t dst, thread_t t)
{
	smove_enter_ready(s, t, dst, SMOVE_REASON_BALANCE);
}

/*
 * cfs.ipa:219
 * dst takes one thread from the longest run queue among `from`.
 */
SAAKM_STEAL(smove_pull, dst, from)
{
	core_t src;
	int64_t stolen = 0;
	SAAKM_SET(candidates);

	/* First phase: whom to steal from. */
	SAAKM_ASSIGN(s, candidates, w, from->word[w]);
	SAAKM_EACH(s, src, w, from->word[w]) {
		if (src == dst || !smove_pull_can_steal_core(s, dst, src))
			saakm_exclude(candidates, src);
	}
	SAAKM_EACH_ROUND(s) {
		int64_t from_core = 0;
		thread_t t;

		/* Second phase: whom first. */
		core_t best = SAAKM_NO_CORE;
		int64_t most = 0;

		SAAKM_EACH_NEAREST(s, src, dst, w, candidates->word[w]) {
			int64_t key = smove_pull_select_core(s, dst, src);
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
		SAAKM_EACH_THREAD(s, t, src, SMOVE_QUEUE_READY) {
			if (!smove_pull_can_steal_core(s, dst, src))
				break;
			if (!smove_pull_steal_thread(s, dst, t))
				continue;
			smove_pull_move(s, dst, t);
			if (!saakm_moved(s))
				continue;
			stolen = SAAKM_FORGET(stolen + 1);
			if (smove_pull_stop(s, dst, stolen))
				return;
			from_core = SAAKM_FORGET(from_core + 1);
			if (smove_pull_stop_core(s, dst, from_core))
				break;
		}
	}
}

/* cfs.ipa:232 */
SAAKM_LOCAL void smove_on_newly_idle(saakm_t s, core_t c)
{
	if (smove_core(s, c)->usual_idle < smove_state(s)->migration_cost) {
		return;
	}
	SAAKM_SET(from);
	SAAKM_ASSIGN(s, from, w, saakm_waiting(s)->word[w] & saakm_llc(s, c)->cores.word[w]);
	smove_pull(s, c, from);
	if (saakm_nr_ready(s, c) == 0) {
		smove_pull(s, c, saakm_waiting(s));
	}
}

/* cfs.ipa:238 */
SAAKM_LOCAL void smove_on_balance(saakm_t s, core_t c)
{
	if (saakm_now(s) >= smove_core(s, c)->next_die) {
		smove_core(s, c)->next_die = saakm_now(s)
				+ smove_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_llc(s, c)->cores.word[w])
				* smove_state(s)->busy_factor;
		SAAKM_SET(from);
		SAAKM_ASSIGN(s, from, w,
				saakm_waiting(s)->word[w] & saakm_llc(s, c)->cores.word[w]);
		smove_pull(s, c, from);
	}
	if (saakm_now(s) >= smove_core(s, c)->next_machine) {
		smove_core(s, c)->next_machine = saakm_now(s)
				+ smove_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_machine(s)->cores.word[w])
				* smove_state(s)->busy_factor;
		smove_pull(s, c, saakm_waiting(s));
	}
	if (saakm_nr_ready(s, c) > 0) {
		SAAKM_SET(members);
		SAAKM_ASSIGN(s, members, w, saakm_idle(s)->word[w]);
		core_t i;

		SAAKM_EACH_FROM(s, i, c, w, members->word[w]) {
			smove_nohz(s, i);
		}
	}
}

/*
 * cfs.ipa:253
 * Idle core i does what it would do at its tick.
 */
SAAKM_LOCAL void smove_nohz(saakm_t s, core_t i)
{
	if (saakm_has(saakm_idle(s), i) && saakm_now(s) >= smove_core(s, i)->next_die) {
		smove_core(s, i)->next_die = saakm_now(s)
				+ smove_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_llc(s, i)->cores.word[w]);
		SAAKM_SET(from);
		SAAKM_ASSIGN(s, from, w,
				saakm_waiting(s)->word[w] & saakm_llc(s, i)->cores.word[w]);
		smove_pull(s, i, from);
	}
	if (saakm_has(saakm_idle(s), i) && saakm_now(s) >= smove_core(s, i)->next_machine) {
		smove_core(s, i)->next_machine = saakm_now(s)
				+ smove_state(s)->interval
				* SAAKM_COUNT(s, w, saakm_machine(s)->cores.word[w]);
		smove_pull(s, i, saakm_waiting(s));
	}
}

/* smove.ipa:13 */
SAAKM_LOCAL void smove_defer(saakm_t s, thread_t t, core_t chosen, core_t waker)
{
	if (saakm_frequency(s, chosen) > saakm_min_frequency(s, chosen)
			|| !saakm_has(saakm_affinity(t), waker)) {
		smove_enter_ready(s, t, chosen, SMOVE_REASON_CFS);
		return;
	}
	smove_thread(t)->chosen = chosen;
	saakm_arm(s, t, smove_state(s)->delay);
	smove_enter_ready(s, t, waker, SMOVE_REASON_LOCAL);
}

/* smove.ipa:21 */
SAAKM_LOCAL void smove_on_new(saakm_t s, thread_t t, core_t parent)
{
	smove_defer(s, t, smove_choose_fork(s, t, parent), parent);
}

/* smove.ipa:25 */
SAAKM_LOCAL void smove_on_unblock(saakm_t s, thread_t t, core_t waker)
{
	smove_defer(s, t, smove_choose_wakeup(s, t, waker), waker);
}

/*
 * smove.ipa:30
 * Still waiting after the delay (it is cancelled when the thread is scheduled).
 */
SAAKM_LOCAL void smove_on_timer(saakm_t s, thread_t t)
{
	core_t c = smove_thread(t)->chosen;

	if (c != SAAKM_NO_CORE) {
		smove_enter_ready(s, t, c, SMOVE_REASON_MOVED);
	}
}

/* The handlers, for a runtime that calls them by name. */
#define SAAKM_ON_NEW smove_on_new
#define SAAKM_ON_UNBLOCK smove_on_unblock
#define SAAKM_ON_ENQUEUE smove_on_enqueue
#define SAAKM_ON_SCHEDULE smove_on_schedule
#define SAAKM_ON_TICK smove_on_tick
#define SAAKM_ON_YIELD smove_on_yield
#define SAAKM_ON_PREEMPT smove_on_preempt
#define SAAKM_ON_BLOCK smove_on_block
#define SAAKM_ON_TERMINATE smove_on_terminate
#define SAAKM_ON_TIMER smove_on_timer
#define SAAKM_ON_NEWLY_IDLE smove_on_newly_idle
#define SAAKM_ON_ENTER_IDLE smove_on_enter_idle
#define SAAKM_ON_EXIT_IDLE smove_on_exit_idle
#define SAAKM_ON_BALANCE smove_on_balance
#define SAAKM_INIT_STATE smove_init_state
#define SAAKM_INIT_CORE smove_init_core
#define SAAKM_INIT_THREAD smove_init_thread

/* Its name, as the kernel can spell it; how many ready queues a core has, and which are
   ordered, as bits; sets. */
#define SAAKM_NAME "smove"
#define SAAKM_QUEUES 1
#define SAAKM_ORDERED 0x1
#define SAAKM_NR_SETS 0

#ifdef SAAKM_POLICY

static const struct saakm_param smove_params[] = {
	{
		.name = "latency",
		.doc = "Every ready thread should run once in this time (sched_latency).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct smove_state, latency),
		.min = 1 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 24 * SAAKM_MS,
	},
	{
		.name = "min_granularity",
		.doc = "A thread is not preempted at a tick before it ran this long (sched_min_granularity).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct smove_state, min_granularity),
		.min = 100 * SAAKM_US, .max = 1 * SAAKM_S,
		.initial = 3 * SAAKM_MS,
	},
	{
		.name = "wakeup_granularity",
		.doc = "A woken thread preempts one that is ahead of it by more than this.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct smove_state, wakeup_granularity),
		.min = 0, .max = 1 * SAAKM_S,
		.initial = 4 * SAAKM_MS,
	},
	{
		.name = "half_life",
		.doc = "Half-life of a core's recent load.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct smove_state, half_life),
		.min = 1 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 32 * SAAKM_MS,
	},
	{
		.name = "refresh",
		.doc = "The load of idle cores is brought up to date this often (LOAD_AVG_PERIOD).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct smove_state, refresh),
		.min = 1 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 32 * SAAKM_MS,
	},
	{
		.name = "scan",
		.doc = "Cores that a wake-up examines for any idle one, when no whole core is idle.",
		.unit = SAAKM_INT,
		.offset = offsetof(struct smove_state, scan),
		.min = 0, .max = 1024,
		.initial = 4,
	},
	{
		.name = "migration_cost",
		.doc = "An idle spell shorter than this is not worth pulling a thread for; and a thread that ran so recently stays where its caches are (task_hot).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct smove_state, migration_cost),
		.min = 0, .max = 10 * SAAKM_MS,
		.initial = 500 * SAAKM_US,
	},
	{
		.name = "interval",
		.doc = "Cores balance their die every so many ms for each core in it.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct smove_state, interval),
		.min = 100 * SAAKM_US, .max = 1 * SAAKM_S,
		.initial = 1 * SAAKM_MS,
	},
	{
		.name = "busy_factor",
		.doc = "Busy cores balance this much more rarely than idle ones.",
		.unit = SAAKM_INT,
		.offset = offsetof(struct smove_state, busy_factor),
		.min = 1, .max = 64,
		.initial = 16,
	},
	{
		.name = "delay",
		.doc = "How long a thread may wait on the waker's core (D in the paper).",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct smove_state, delay),
		.min = 1 * SAAKM_US, .max = 10 * SAAKM_MS,
		.initial = 50 * SAAKM_US,
	},
};

static const struct saakm_queue smove_queues[] = {
	{ .name = "ready", .ordered = 1 },
};

static const char *const smove_reasons[] = {
	"none",
	"cfs",
	"balance",
	"local",
	"moved",
};

SAAKM_POLICY(smove,
	.name = "smove",
	.state_size = sizeof(struct smove_state),
	.thread_size = sizeof(struct smove_thread),
	.core_size = sizeof(struct smove_core),
	.params = smove_params, .nr_params = 10,
	.queues = smove_queues, .nr_queues = 1,
	.reasons = smove_reasons, .nr_reasons = 5,
	.sets = NULL, .nr_sets = 0,
	.init_state = smove_init_state,
	.init_core = smove_init_core,
	.init_thread = smove_init_thread,
	.new_thread = smove_on_new,
	.unblock = smove_on_unblock,
	.schedule = smove_on_schedule,
	.tick = smove_on_tick,
	.yield = smove_on_yield,
	.preempt = smove_on_preempt,
	.block = smove_on_block,
	.terminate = smove_on_terminate,
	.timer = smove_on_timer,
	.newly_idle = smove_on_newly_idle,
	.enter_idle = smove_on_enter_idle,
	.exit_idle = smove_on_exit_idle,
	.balance = smove_on_balance);
#endif
