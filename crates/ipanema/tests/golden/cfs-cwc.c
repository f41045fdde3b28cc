/*
 * Policy cfs-cwc, made by the Ipanema compiler from cfs-cwc.ipa, on top of cfs-cwc-flat.
 *
 * CFS-CWC of the Ipanema thesis: CFS-CWC-FLAT that knows dies. A fork goes to the least loaded
 * die, and a core takes threads from its own die first, then from the one with the most load.
 */
#include "saakm.h"

/* Why a thread is where it is. */
enum cfs_cwc_reason {
	CFS_CWC_REASON_NONE,
	CFS_CWC_REASON_FORK,
	CFS_CWC_REASON_WAKEUP,
	CFS_CWC_REASON_BALANCE,
};

/* Ready queues of a core. */
enum cfs_cwc_queue {
	CFS_CWC_QUEUE_READY,
};

struct cfs_cwc_state {
	/*
	 * cfs-cwc-flat.ipa:8
	 * A thread runs so long before others have their turn.
	 */
	int64_t quantum;
	/*
	 * cfs-cwc-flat.ipa:10
	 * Cores balance this often.
	 */
	int64_t interval;
};

struct cfs_cwc_core {
	/* cfs-cwc-flat.ipa:23 */
	nsec_t min_vruntime;
	nsec_t next;
};

struct cfs_cwc_thread {
	/*
	 * cfs-cwc-flat.ipa:14
	 * Virtual runtime, on the time line of core `home`.
	 */
	nsec_t vruntime;
	/* cfs-cwc-flat.ipa:15 */
	core_t home;
	/*
	 * cfs-cwc-flat.ipa:17
	 * Runtime when the thread was last charged.
	 */
	nsec_t charged;
	/*
	 * cfs-cwc-flat.ipa:19
	 * 1024: it uses its quanta fully.
	 */
	int64_t share;
};

SAAKM_ATTRIBUTES(cfs_cwc)

static __attribute__((unused)) void cfs_cwc_init_state(void SAAKM_MEM *state)
{
	struct cfs_cwc_state SAAKM_MEM *p = (struct cfs_cwc_state SAAKM_MEM *)state;

	p->quantum = 10 * SAAKM_MS;
	p->interval = 32 * SAAKM_MS;
}

static __attribute__((unused)) void cfs_cwc_init_core(void SAAKM_MEM *attrs)
{
	(void)attrs;
}

static __attribute__((unused)) void cfs_cwc_init_thread(void SAAKM_MEM *attrs)
{
	struct cfs_cwc_thread SAAKM_MEM *p = (struct cfs_cwc_thread SAAKM_MEM *)attrs;

	p->home = SAAKM_NO_CORE;
	p->share = 1024;
}

SAAKM_LOCAL void cfs_cwc_on_enqueue(saakm_t s, thread_t t, core_t c);
SAAKM_LOCAL core_t cfs_cwc_choose_fork(saakm_t s, thread_t t, core_t parent);
static void cfs_cwc_pull(saakm_t s, core_t dst, set_t from);

/*
 * cfs-cwc-flat.ipa:26
 * t => c.ready
 */
SAAKM_LOCAL void cfs_cwc_enter_ready(saakm_t s, thread_t t, core_t c, uint32_t reason)
{
	cfs_cwc_on_enqueue(s, t, c);
	saakm_ready(s, t, c, CFS_CWC_QUEUE_READY, cfs_cwc_thread(t)->vruntime, reason);
}

/*
 * cfs-cwc-flat.ipa:31
 * At the end of each turn, and of each quantum.
 */
SAAKM_LOCAL void cfs_cwc_charge(saakm_t s, thread_t t)
{
	nsec_t ran = saakm_runtime(s, t) - cfs_cwc_thread(t)->charged;
	cfs_cwc_thread(t)->vruntime += saakm_div(ran * 1024, saakm_weight(t));
	cfs_cwc_thread(t)->share = saakm_max((cfs_cwc_thread(t)->share * 8
			+ saakm_div(ran * 1024 * 2, cfs_cwc_state(s)->quantum)) / 10, 1);
	cfs_cwc_thread(t)->charged = saakm_runtime(s, t);
}

/*
 * cfs-cwc-flat.ipa:39
 * Called before every entry into a ready queue: puts t on the time line of core c.
 */
SAAKM_LOCAL void cfs_cwc_on_enqueue(saakm_t s, thread_t t, core_t c)
{
	nsec_t ahead = 0;
	core_t h = cfs_cwc_thread(t)->home;

	if (h != SAAKM_NO_CORE) {
		ahead = saakm_max(cfs_cwc_thread(t)->vruntime - cfs_cwc_core(s, h)->min_vruntime,
				0);
	}
	cfs_cwc_thread(t)->vruntime = cfs_cwc_core(s, c)->min_vruntime + ahead;
	cfs_cwc_thread(t)->home = c;
}

/* cfs-cwc-flat.ipa:46 */
SAAKM_LOCAL void cfs_cwc_on_schedule(saakm_t s, core_t c)
{
	thread_t t = saakm_first(s, c, CFS_CWC_QUEUE_READY);

	if (t != NULL) {
		cfs_cwc_core(s, c)->min_vruntime = saakm_max(cfs_cwc_core(s, c)->min_vruntime,
				cfs_cwc_thread(t)->vruntime);
		saakm_run(s, t);
	}
}

/* cfs-cwc-flat.ipa:53 */
SAAKM_LOCAL void cfs_cwc_on_tick(saakm_t s, thread_t t)
{
	if (saakm_runtime(s, t) - cfs_cwc_thread(t)->charged < cfs_cwc_state(s)->quantum) {
		return;
	}
	cfs_cwc_charge(s, t);
	if (saakm_nr_ready(s, saakm_core(t)) > 0) {
		saakm_preempt(s, saakm_core(t));
	}
}

/* cfs-cwc-flat.ipa:59 */
SAAKM_LOCAL void cfs_cwc_on_yield(saakm_t s, thread_t t)
{
	cfs_cwc_charge(s, t);
	cfs_cwc_enter_ready(s, t, saakm_core(t), CFS_CWC_REASON_NONE);
}

/* cfs-cwc-flat.ipa:64 */
SAAKM_LOCAL void cfs_cwc_on_preempt(saakm_t s, thread_t t)
{
	cfs_cwc_charge(s, t);
	cfs_cwc_enter_ready(s, t, saakm_core(t), CFS_CWC_REASON_NONE);
}

/* cfs-cwc-flat.ipa:69 */
SAAKM_LOCAL void cfs_cwc_on_block(saakm_t s, thread_t t)
{
	cfs_cwc_charge(s, t);
	saakm_blocked(s, t);
}

/* cfs-cwc-flat.ipa:74 */
SAAKM_LOCAL void cfs_cwc_on_terminate(saakm_t s, thread_t t)
{
	saakm_terminated(s, t);
}

/* cfs-cwc-flat.ipa:80 */
SAAKM_SHARED_1(int64_t, cfs_cwc_load_of, core_t, c)
{
	int64_t running = 0;
	thread_t t = saakm_current(s, c);

	if (t != NULL) {
		running = cfs_cwc_thread(t)->share;
	}
	int64_t sum = 0;
	thread_t t2;

	SAAKM_EACH_THREAD(s, t2, c, CFS_CWC_QUEUE_READY) {
		sum = SAAKM_FORGET(sum + cfs_cwc_thread(t2)->share);
	}
	return running + sum;
}

/*
 * cfs-cwc-flat.ipa:89
 * c, or a core near it if t may not run on c.
 */
SAAKM_LOCAL core_t cfs_cwc_fallback(saakm_t s, thread_t t, core_t c)
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
 * cfs-cwc-flat.ipa:100
 * The previous core if it is idle, else the nearest idle one. The thesis's search ends at the
 * widest cache: then a core can stay idle elsewhere.
 */
SAAKM_LOCAL core_t cfs_cwc_choose_wakeup(saakm_t s, thread_t t, core_t waker)
{
	(void)waker;

	core_t prev = saakm_core(t);
	core_t c = SAAKM_FIRST_NEAREST(s, prev, w,
			saakm_idle(s)->word[w] & saakm_affinity(t)->word[w]);

	if (c != SAAKM_NO_CORE) {
		return c;
	}
	core_t best_c = SAAKM_NO_CORE;
	int64_t least_c = 0;
	core_t c2;

	SAAKM_EACH_NEAREST(s, c2, prev, w,
			saakm_llc(s, prev)->cores.word[w] & saakm_affinity(t)->word[w]) {
		int64_t key = cfs_cwc_load_of(s, c2);
		if (best_c != SAAKM_NO_CORE && key >= least_c)
			continue;
		least_c = key;
		best_c = c2;
	}
	return best_c != SAAKM_NO_CORE ? best_c : cfs_cwc_fallback(s, t, prev);
}

/* cfs-cwc-flat.ipa:106 */
SAAKM_LOCAL void cfs_cwc_on_new(saakm_t s, thread_t t, core_t parent)
{
	cfs_cwc_enter_ready(s, t, cfs_cwc_choose_fork(s, t, parent), CFS_CWC_REASON_FORK);
}

/* cfs-cwc-flat.ipa:110 */
SAAKM_LOCAL void cfs_cwc_on_unblock(saakm_t s, thread_t t, core_t waker)
{
	cfs_cwc_enter_ready(s, t, cfs_cwc_choose_wakeup(s, t, waker), CFS_CWC_REASON_WAKEUP);
}

/* cfs-cwc-flat.ipa:126 */
SAAKM_LOCAL void cfs_cwc_on_newly_idle(saakm_t s, core_t c)
{
	cfs_cwc_pull(s, c, saakm_waiting(s));
}

/* cfs-cwc-flat.ipa:130 */
SAAKM_LOCAL void cfs_cwc_on_balance(saakm_t s, core_t c)
{
	if (saakm_now(s) < cfs_cwc_core(s, c)->next) {
		return;
	}
	cfs_cwc_core(s, c)->next = saakm_now(s) + cfs_cwc_state(s)->interval;
	cfs_cwc_pull(s, c, saakm_waiting(s));
	if (saakm_nr_ready(s, c) > 0) {
		SAAKM_SET(members);
		SAAKM_ASSIGN(s, members, w, saakm_idle(s)->word[w]);
		core_t i;

		SAAKM_EACH_NEAREST(s, i, c, w, members->word[w]) {
			cfs_cwc_pull(s, i, saakm_waiting(s));
		}
	}
}

/* cfs-cwc.ipa:4 */
SAAKM_SHARED_1(int64_t, cfs_cwc_average, domain_t, d)
{
	int64_t sum = 0;
	core_t c;

	SAAKM_EACH(s, c, w, d->cores.word[w]) {
		sum = SAAKM_FORGET(sum + cfs_cwc_load_of(s, c));
	}
	return saakm_div(sum, SAAKM_COUNT(s, w, d->cores.word[w]));
}

/*
 * cfs-cwc.ipa:9
 * Of the machine's dies, those with an idle core come first.
 */
SAAKM_LOCAL core_t cfs_cwc_choose_fork(saakm_t s, thread_t t, core_t parent)
{
	domain_t best_d = NULL;
	int64_t least_d = 0;
	int64_t least_d2 = 0;
	domain_t d;

	SAAKM_EACH_GROUP(s, d, saakm_machine(s), SAAKM_LLC, parent) {
		if (SAAKM_EMPTY_IN(s, d, w, d->cores.word[w] & saakm_affinity(t)->word[w]))
			continue;
		int64_t key =
				SAAKM_EMPTY_IN(s, d, w,
					d->cores.word[w] & saakm_idle(s)->word[w]
					& saakm_affinity(t)->word[w]) ? 1LL : 0LL;
		if (best_d != NULL && key > least_d)
			continue;
		int64_t key2 = cfs_cwc_average(s, d);
		if (best_d != NULL && key == least_d && key2 >= least_d2)
			continue;
		least_d = key;
		least_d2 = key2;
		best_d = d;
	}
	domain_t die = best_d != NULL ? best_d : saakm_llc(s, parent);
	core_t best_c = SAAKM_NO_CORE;
	int64_t least_c = 0;
	int64_t least_c2 = 0;
	core_t c;

	SAAKM_EACH_NEAREST(s, c, parent, w, die->cores.word[w] & saakm_affinity(t)->word[w]) {
		int64_t key = saakm_has(saakm_idle(s), c) ? 0LL : 1LL;
		if (best_c != SAAKM_NO_CORE && key > least_c)
			continue;
		int64_t key2 = cfs_cwc_load_of(s, c);
		if (best_c != SAAKM_NO_CORE && key == least_c && key2 >= least_c2)
			continue;
		least_c = key;
		least_c2 = key2;
		best_c = c;
	}
	core_t best = best_c != SAAKM_NO_CORE ? best_c : cfs_cwc_fallback(s, t, parent);
	if (saakm_has(saakm_idle(s), best)) {
		return best;
	}
	core_t found = SAAKM_FIRST_NEAREST(s, parent, w,
			saakm_idle(s)->word[w] & saakm_affinity(t)->word[w]);
	return found != SAAKM_NO_CORE ? found : best;
}

/* cfs-cwc.ipa:22 */
SAAKM_PHASE bool cfs_cwc_pull_can_steal_core(saakm_t s, core_t dst, core_t src)
{
	(void)dst;

	return saakm_nr_ready(s, src) > 0 && saakm_nr_running(s, src) >= 2;
}

/* cfs-cwc.ipa:23 */
SAAKM_PHASE int64_t cfs_cwc_pull_select_core(saakm_t s, core_t dst, core_t src)
{
	return saakm_has(&saakm_llc(s, dst)->cores, src) ? 1LL : 0LL;
}

/* cfs-cwc.ipa:23 */
SAAKM_PHASE int64_t cfs_cwc_pull_select_core_2(saakm_t s, core_t dst, core_t src)
{
	(void)dst;

	return cfs_cwc_average(s, saakm_llc(s, src));
}

/* cfs-cwc.ipa:23 */
SAAKM_PHASE int64_t cfs_cwc_pull_select_core_3(saakm_t s, core_t dst, core_t src)
{
	(void)dst;

	return cfs_cwc_load_of(s, src);
}

/* cfs-cwc.ipa:24 */
SAAKM_PHASE bool cfs_cwc_pull_steal_thread(saakm_t s, core_t dst, thread_t t)
{
	return cfs_cwc_load_of(s, saakm_core(t)) - cfs_cwc_load_of(s, dst)
			> cfs_cwc_thread(t)->share && saakm_has(saakm_affinity(t), dst);
}

/* cfs-cwc.ipa:25 */
SAAKM_PHASE bool cfs_cwc_pull_stop_core(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* cfs-cwc.ipa:26 */
SAAKM_PHASE bool cfs_cwc_pull_stop(saakm_t s, core_t dst, int64_t stolen)
{
	(void)s;
	(void)dst;

	return stolen > 0;
}

/* cfs-cwc.ipa:27 */
SAAKM_PHASE void cfs_cwc_pull_move(saakm_t s, core_t dst, thread_t t)
{
	cfs_cwc_enter_ready(s, t, dst, CFS_CWC_REASON_BALANCE);
}

/*
 * cfs-cwc.ipa:21
 * The dies only say in which order cores are tried: none is left out.
 */
SAAKM_STEAL(cfs_cwc_pull, dst, from)
{
	core_t src;
	int64_t stolen = 0;
	SAAKM_SET(candidates);

	/* First phase: whom to steal from. */
	SAAKM_ASSIGN(s, candidates, w, from->word[w]);
	SAAKM_EACH(s, src, w, from->word[w]) {
		if (src == dst || !cfs_cwc_pull_can_steal_core(s, dst, src))
			saakm_exclude(candidates, src);
	}
	SAAKM_EACH_ROUND(s) {
		int64_t from_core = 0;
		thread_t t;

		/* Second phase: whom first. */
		core_t best = SAAKM_NO_CORE;
		int64_t most = 0;
		int64_t most2 = 0;
		int64_t most3 = 0;

		SAAKM_EACH_NEAREST(s, src, dst, w, candidates->word[w]) {
			int64_t key = cfs_cwc_pull_select_core(s, dst, src);
			if (best != SAAKM_NO_CORE && key < most)
				continue;
			int64_t key2 = cfs_cwc_pull_select_core_2(s, dst, src);
			if (best != SAAKM_NO_CORE && key == most && key2 < most2)
				continue;
			int64_t key3 = cfs_cwc_pull_select_core_3(s, dst, src);
			if (best != SAAKM_NO_CORE && key == most && key2 == most2 && key3 <= most3)
				continue;
			most = key;
			most2 = key2;
			most3 = key3;
			best = src;
		}
		src = best;
		if (src == SAAKM_NO_CORE)
			return;
		saakm_exclude(candidates, src);

		/* Third phase: which threads; what was true may be so no longer. */
		SAAKM_EACH_THREAD(s, t, src, CFS_CWC_QUEUE_READY) {
			if (!cfs_cwc_pull_can_steal_core(s, dst, src))
				break;
			if (!cfs_cwc_pull_steal_thread(s, dst, t))
				continue;
			SAAKM_FROM(s, t);
			cfs_cwc_pull_move(s, dst, t);
			if (!saakm_moved(s))
				continue;
			stolen = SAAKM_FORGET(stolen + 1);
			if (cfs_cwc_pull_stop(s, dst, stolen))
				return;
			from_core = SAAKM_FORGET(from_core + 1);
			if (cfs_cwc_pull_stop_core(s, dst, from_core))
				break;
		}
	}
}

/* The handlers, for a runtime that calls them by name. */
#define SAAKM_ON_NEW cfs_cwc_on_new
#define SAAKM_ON_UNBLOCK cfs_cwc_on_unblock
#define SAAKM_ON_ENQUEUE cfs_cwc_on_enqueue
#define SAAKM_ON_SCHEDULE cfs_cwc_on_schedule
#define SAAKM_ON_TICK cfs_cwc_on_tick
#define SAAKM_ON_YIELD cfs_cwc_on_yield
#define SAAKM_ON_PREEMPT cfs_cwc_on_preempt
#define SAAKM_ON_BLOCK cfs_cwc_on_block
#define SAAKM_ON_TERMINATE cfs_cwc_on_terminate
#define SAAKM_ON_NEWLY_IDLE cfs_cwc_on_newly_idle
#define SAAKM_ON_BALANCE cfs_cwc_on_balance
#define SAAKM_INIT_STATE cfs_cwc_init_state
#define SAAKM_INIT_CORE cfs_cwc_init_core
#define SAAKM_INIT_THREAD cfs_cwc_init_thread

/* Its name, as the kernel can spell it; how many ready queues a core has, and which are
   ordered, as bits; sets. */
#define SAAKM_NAME "cfs_cwc"
#define SAAKM_QUEUES 1
#define SAAKM_ORDERED 0x1
#define SAAKM_NR_SETS 0

#ifdef SAAKM_POLICY

static const struct saakm_param cfs_cwc_params[] = {
	{
		.name = "quantum",
		.doc = "A thread runs so long before others have their turn.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct cfs_cwc_state, quantum),
		.min = 100 * SAAKM_US, .max = 1 * SAAKM_S,
		.initial = 10 * SAAKM_MS,
	},
	{
		.name = "interval",
		.doc = "Cores balance this often.",
		.unit = SAAKM_TIME,
		.offset = offsetof(struct cfs_cwc_state, interval),
		.min = 1 * SAAKM_MS, .max = 1 * SAAKM_S,
		.initial = 32 * SAAKM_MS,
	},
};

static const struct saakm_queue cfs_cwc_queues[] = {
	{ .name = "ready", .ordered = 1 },
};

static const char *const cfs_cwc_reasons[] = {
	"none",
	"fork",
	"wakeup",
	"balance",
};

SAAKM_POLICY(cfs_cwc,
	.name = "cfs-cwc",
	.state_size = sizeof(struct cfs_cwc_state),
	.thread_size = sizeof(struct cfs_cwc_thread),
	.core_size = sizeof(struct cfs_cwc_core),
	.params = cfs_cwc_params, .nr_params = 2,
	.queues = cfs_cwc_queues, .nr_queues = 1,
	.reasons = cfs_cwc_reasons, .nr_reasons = 4,
	.sets = NULL, .nr_sets = 0,
	.init_state = cfs_cwc_init_state,
	.init_core = cfs_cwc_init_core,
	.init_thread = cfs_cwc_init_thread,
	.new_thread = cfs_cwc_on_new,
	.unblock = cfs_cwc_on_unblock,
	.schedule = cfs_cwc_on_schedule,
	.tick = cfs_cwc_on_tick,
	.yield = cfs_cwc_on_yield,
	.preempt = cfs_cwc_on_preempt,
	.block = cfs_cwc_on_block,
	.terminate = cfs_cwc_on_terminate,
	.newly_idle = cfs_cwc_on_newly_idle,
	.balance = cfs_cwc_on_balance);
#endif
