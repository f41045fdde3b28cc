/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * SaaKM on sched_ext: the memory that the loader and a running policy share, that is, the layout of
 * the BPF arena and the records of the conformance log. scripts/bindings generates Rust from it
 * (crates/scx/src/layout).
 *
 * Addresses are offsets from the start of the arena. They are fixed for the largest machine, so
 * that no address has to be stored. Untouched pages take no memory.
 *
 * README.md lists the writers of each shared word and the order of their writes.
 */
#ifndef SAAKM_LAYOUT_H
#define SAAKM_LAYOUT_H

#define SAAKM_LAYOUT 18 /* increment on any change below */

#define SAAKM_WORLD_AT 0x1000UL     /* struct saakm_world */
#define SAAKM_TOLD_SETS_AT 0x2000UL /* log.h: sets of cores as last logged */
#define SAAKM_ZERO_AT 0x3000UL      /* always 0 (SAAKM_FORGET) */
#define SAAKM_STATE_AT 0x4000UL     /* the policy's parameters, sets and globals */
#define SAAKM_STATE_BYTES 0x4000UL
#define SAAKM_TOLD_AT 0x8000UL   /* log.h: cores as last logged */
#define SAAKM_CORES_AT 0x10000UL /* struct saakm_core [SAAKM_MAX_CORES] */
#define SAAKM_CORE_BYTES 1024UL
#define SAAKM_LINES_AT 0x110000UL   /* struct saakm_line [SAAKM_MAX_CORES] */
#define SAAKM_PARTS_AT 0x120000UL   /* struct saakm_parts */
#define SAAKM_DOMAINS_AT 0x200000UL /* struct saakm_domain [SAAKM_LEVELS][SAAKM_MAX_CORES] */
#define SAAKM_DOMAIN_BYTES 256UL
#define SAAKM_CONTEXTS_AT 0x400000UL /* struct saakm [SAAKM_MAX_CORES][SAAKM_CONTEXTS] */
#define SAAKM_CONTEXT_BYTES 8192UL
#define SAAKM_GROUPS_AT 0x2000000UL /* struct saakm_group [SAAKM_MAX_GROUPS]; 0: the root */
#define SAAKM_GROUP_BYTES 64UL
#define SAAKM_MAX_GROUPS (1UL << 14)
#define SAAKM_THREADS_AT 0x4000000UL /* struct saakm_thread [SAAKM_MAX_THREADS]; 0: no thread */
#define SAAKM_THREAD_BYTES 512UL
#define SAAKM_MAX_THREADS (1UL << 20)
/* Slots 1 to SAAKM_MAX_CORES: the stranger of each core (strangers.h). The loader stores it in `fresh`. */
#define SAAKM_FIRST_THREAD (SAAKM_MAX_CORES + 1)
#define SAAKM_ARENA_PAGES ((SAAKM_THREADS_AT + SAAKM_MAX_THREADS * SAAKM_THREAD_BYTES) / 4096)

#define SAAKM_CORE_ATTRS 256   /* bytes that a policy may keep per core */
#define SAAKM_THREAD_ATTRS 256 /* bytes that a policy may keep per thread */
#define SAAKM_MAX_REASONS 32
#define SAAKM_MAX_SETS 16
#define SAAKM_KEPT_SETS 8 /* enum saakm_kept, and: */
#define SAAKM_KEPT_USED 4 /* cores that ran a thread in this interval (struct saakm_window) */
#define SAAKM_MAX_PARAMS 64
#define SAAKM_MOVES 32 /* moves that one handler can request; also postponed moves per core */
#define SAAKM_SCRATCH_SETS 48 /* temporary sets and walks per context */

/*
 * Each nesting level on a core has its own context: operations of sched_ext run with interrupts off
 * and may interrupt BPF timers. The third context holds moves that wait for a timer.
 */
enum saakm_context_level { SAAKM_IN_OPERATION, SAAKM_IN_TIMER, SAAKM_POSTPONED, SAAKM_CONTEXTS };

/* A core switches threads in one go: ops.quiescent, ops.dispatch, ops.running. The next one may use the time of the one
   before. */
enum saakm_next { SAAKM_NEXT_ANY, SAAKM_NEXT_DISPATCH, SAAKM_NEXT_RUNNING };

/* Whether an idle core has called newly_idle since a thread last ran there. */
enum saakm_search {
	SAAKM_NOT_SEARCHED,
	SAAKM_SEARCHED,
	SAAKM_AWAITS, /* in vain, but a thread was on its way into a queue: search again */
};

/* Source of the frequencies that a policy sees. */
enum saakm_frequency_source {
	SAAKM_KHZ_UNKNOWN, /* always 0 */
	SAAKM_KHZ_KERNEL,  /* scx_bpf_cpuperf_cur */
	SAAKM_KHZ_MODEL,   /* the loader writes saakm_core.model_khz */
};

/*
 * Counters of a core. The core itself adds to them, with plain additions. Two exceptions: the core
 * that ends c's idleness adds to c's idle_ns, and the core that inserts a preempting thread into
 * c's queue adds to c's preemptions. Concurrent additions may be lost.
 */
struct saakm_counters {
	uint64_t placed[SAAKM_MAX_REASONS]; /* placements of new and woken threads, by reason */
	uint64_t news, wakeups;             /* events new and unblock */
	uint64_t switches;                  /* threads that started to run */
	uint64_t preemptions;               /* requests to preempt a core's thread */
	uint64_t migrations;                /* switches to a thread that last ran elsewhere */
	uint64_t steals;                    /* moves that newly_idle and balance requested */
	uint64_t moves_failed;              /* moves that found no READY thread in the old queue */
	uint64_t moves_refused;             /* moves beyond SAAKM_MOVES of one event */
	uint64_t timers_armed, timers_fired, timers_moved;
	uint64_t claims_lost;    /* claims of a core that another placement already held */
	uint64_t idles;          /* times that the core became idle */
	uint64_t idle_ns;        /* complete idle periods */
	uint64_t spins, spin_ns; /* number and total time of spins in the idle loop */
	uint64_t kicks;          /* rounds of these spins */
	uint64_t bypassed;       /* insertions into a queue of the kernel, past the policy */
	uint64_t throttled;      /* threads whose cgroup had used up its time */
};

/*
 * The slot of a thread. `where` is the truth about its place and changes by compare-and-swap only
 * (words.h). saakm_ready stores `key` after the swap: a reader may see the new `where`
 * with the old `key`.
 */
struct saakm_thread {
	uint64_t where;  /* state | queue << 8 | core << 16 | version << 32 */
	int64_t key;     /* position in an ordered queue; the smallest key runs first */
	uint32_t index;  /* index of this slot */
	uint32_t serial; /* unique, unlike `index`: slots are reused */
	uint32_t pid;    /* the kernel's thread id */
	uint32_t weight; /* its share of the weight of its cgroups; 1024 at nice 0 in the root */
	int64_t runtime; /* ns executed before `running_since` */
	int64_t running_since; /* start of the current execution, or -1 while not running */
	uint64_t affinity;     /* arena address of the set of cores that it may use */
	uint64_t timer_at;     /* expiry of the timer; 0: not armed */
	uint32_t flags;        /* SAAKM_T_* */
	uint32_t ran_on;       /* core of the last execution, or SAAKM_NO_CORE */
	uint32_t next_free;    /* rest of the list of free slots: next | length << 20 */
	uint32_t reason;       /* the policy's reason for the last placement or move */
	uint32_t group;        /* index of its cgroup, 0: the root */
	uint32_t own_weight;   /* 1024 at nice 0 */
	uint32_t counted;      /* weight with which it counts in its cgroup, 0: not at all */
	uint64_t charged;      /* time until which its cgroup is charged, while it runs */
	uint32_t pad[6];
	uint8_t attrs[SAAKM_THREAD_ATTRS]; /* the policy's attributes */
	struct saakm_set allowed;          /* valid with SAAKM_T_RESTRICTED */
};

#define SAAKM_T_OUTSIDE 1u    /* placed or preempted, but not yet inserted into a DSQ */
#define SAAKM_T_RESTRICTED 2u /* may run only on `allowed` */
#define SAAKM_T_YIELDS 4u     /* called sched_yield since it was last inserted */
#define SAAKM_T_PREEMPTS 8u   /* saakm_insert preempts the core's thread */

/* A cgroup with a controller `cpu` of its own (cgroups.h). */
struct saakm_group {
	uint64_t word;   /* weight of its runnable members | share << 40 | SAAKM_GROUP_THROTTLED */
	uint64_t quota;  /* ns of execution in a period, 0: no limit (cpu.max) */
	uint64_t period; /* ns */
	uint64_t burst;  /* most unused ns that it keeps for later periods (cpu.max.burst) */
	int64_t used;    /* ns of execution that no quota has covered yet */
	uint64_t begun;  /* start of the current period */
	uint32_t parent; /* index, 0: the root */
	uint32_t weight; /* cpu.weight */
};

/* Cache lines: the first is written by other cores, the second is read by them, the third is the
   core's own. */
struct saakm_core {
	uint64_t word;     /* its threads, and whether it is idle (words.h) */
	uint32_t searched; /* enum saakm_search */
	uint32_t pad_word[13];
	uint32_t domain[SAAKM_LEVELS];       /* index of its domain at each level */
	uint32_t known;                      /* the core is part of the topology */
	uint32_t min_khz, max_khz;           /* written by the loader; 0: unknown */
	uint32_t model_khz;                  /* written by the loader (SAAKM_KHZ_MODEL) */
	uint32_t seen_khz;                   /* frequency at the last tick, 0: unknown */
	uint32_t pending_head, pending_tail; /* ring of postponed moves, in context POSTPONED */
	uint32_t part;                       /* struct saakm_parts */
	uint32_t capacity;     /* written by the loader: 1 to 1024, the fastest cores */
	uint32_t exit_latency; /* of its idle state, as last logged (log.h) */
	uint32_t pad_domain[2];
	uint64_t idle_since;   /* start of the last idle period */
	uint64_t last_tick;    /* time of the last event tick */
	uint64_t warm_ns;      /* duration of the spin at the next idle */
	uint64_t warm_until;   /* end of the current spin, 0: none */
	uint64_t spin_since;   /* start of the current spin, 0: none */
	uint64_t busy_ns;      /* complete executions of the policy's threads */
	uint64_t rounds;       /* polls for an arriving thread since one last ran */
	uint64_t heard;        /* value of `missed` before the last search */
	struct saakm_set self; /* only this core */
	struct saakm_counters count;
	uint64_t free;    /* its free slots (threads.h) */
	uint64_t serials; /* serials that it has given to threads */
	int64_t threads;  /* slots that it has taken, less those that it has returned */
	uint64_t pad_threads[2];
	uint8_t attrs[SAAKM_CORE_ATTRS]; /* the policy's attributes */
};

/*
 * A topology domain: its cores, and the domains of each narrower level inside it, which are
 * numbered first[level] to first[level] + count[level] - 1.
 */
struct saakm_domain {
	struct saakm_set cores;
	uint32_t size; /* number of cores */
	uint32_t first[SAAKM_LEVELS], count[SAAKM_LEVELS];
};

/*
 * Where the kept sets store a core. A part is the cores 64 w to 64 w + 63 that share a last-level
 * cache, and has a cache line of its own: what its cores write stays in their cache. Core c is bit
 * c % 64 of each of the line's words.
 */
struct saakm_line {
	uint64_t kept[SAAKM_KEPT_SETS];
};

/* Written by the loader. Every range of 64 cores has one part at least. */
struct saakm_parts {
	uint32_t first[SAAKM_SET_WORDS + 1]; /* first part of each range, and the number of parts */
	uint32_t pad[15];
	uint64_t cores[SAAKM_MAX_CORES]; /* the online cores of each part */
};

/* A READY thread that a handler moved: its DSQ entry is still in `queue` of core `from`. */
struct saakm_move {
	uint32_t thread;
	uint16_t from, queue;
};

/* A running handler, and the actions to carry out after it. */
struct saakm {
	int64_t now;                      /* time of the event, ns */
	uint32_t cpu;                     /* core on which the handler runs */
	uint32_t subject;                 /* index of the event's thread, 0: none */
	uint32_t run;                     /* index of the thread that schedule chose, 0: none */
	uint32_t nr_moves;                /* entries of `moves` */
	uint32_t nr_claims;               /* members of `claims` */
	uint32_t nr_preempts;             /* members of `preempts` */
	uint32_t heads[SAAKM_MAX_QUEUES]; /* schedule: index of the first thread of each queue */
	uint32_t scheduling;              /* schedule: number of the core + 1, 0: another event */
	uint32_t left_idle;               /* number of the first core that left idle + 1 */
	uint32_t nr_left;                 /* members of `left` */
	uint32_t on_timer;                /* the event is `timer` */
	uint32_t on_preempt;              /* the event is `preempt` */
	uint32_t facts;                   /* what the kernel knows: bit enum saakm_fact */
	uint32_t direct;                  /* a placement on an idle core is dispatched directly */
	uint32_t next;                    /* enum saakm_next: what may use `now` again */
	uint32_t moved;                   /* the last saakm_ready succeeded */
	uint32_t held;                    /* index of the thread that a steal may move, */
	uint64_t from;                    /* and its `where` when the walk reached it */
	uint64_t room;                    /* most entries of `moves` */
	struct saakm_move moves[SAAKM_MOVES];
	struct saakm_set claims;   /* cores that this handler has claimed */
	struct saakm_set preempts; /* cores to preempt */
	struct saakm_set left;     /* cores that left idle after the first */
	struct saakm_set scratch[SAAKM_SCRATCH_SETS];
};

/* Underload (Nest, section 5.2), in intervals of SAAKM_TICK_NS. */
struct saakm_window {
	uint64_t interval;   /* number of the current interval */
	int64_t runnable;    /* threads that are READY or RUNNING */
	int64_t most;        /* maximum of `runnable` in this interval */
	uint64_t intervals;  /* number of complete intervals */
	uint64_t cores_used; /* cores used, summed over complete intervals */
	uint64_t underload;  /* underload, summed over complete intervals */
	uint64_t pad[2];
};

/* What forks and exits write is in a cache line of its own. So is what every wake-up reads, and `online`. */
struct saakm_world {
	uint32_t layout;   /* the loader's SAAKM_LAYOUT */
	uint32_t nr_cores; /* highest core number + 1 */
	uint32_t nr_words; /* words of a set that are in use */
	uint32_t nr_domains[SAAKM_LEVELS];
	uint32_t frequency_source; /* enum saakm_frequency_source */
	uint32_t torn;             /* times that saakm_lock gave up (log.h) */
	uint32_t nr_params;
	uint32_t underload; /* measure underload */
	uint32_t pairs;     /* some physical core has several hyperthreads */
	uint32_t lazy;      /* the kernel preempts lazily (saakm_take_slice) */
	uint32_t split;     /* some range of 64 cores has several parts */
	uint32_t pad[2];
	uint64_t missed; /* times that a core entered `waiting` late (words.h) */
	uint64_t limits; /* cgroups with a quota */
	uint64_t pad_of_reads[6];
	uint64_t lock;        /* serialises logged handlers */
	uint64_t logged;      /* log records so far, including lost ones */
	uint64_t free;        /* free slots that no core keeps (threads.h) */
	uint64_t fresh;       /* first slot that was never used */
	uint64_t no_slot;     /* threads without a slot: the kernel's global DSQ runs them */
	uint64_t fresh_group; /* first index of a cgroup that was never used */
	uint64_t pad_of_slots[2];
	struct saakm_set online;          /* written by the loader */
	int64_t members[SAAKM_MAX_SETS];  /* number of members of each set of the policy */
	int64_t params[SAAKM_MAX_PARAMS]; /* the loader's values of the policy's parameters */
	struct saakm_window window;
};
#define SAAKM_STARTS_LINE(field) (__builtin_offsetof(struct saakm_world, field) % 64 == 0)
_Static_assert(SAAKM_STARTS_LINE(missed) && SAAKM_STARTS_LINE(lock) && SAAKM_STARTS_LINE(online),
	       "fields that are written often share a line with others");

/* Position of the flag "with all threads of its process" in a move between cgroups; below it, the thread's id. */
#define SAAKM_MEMBER_PROCESS_AT 32

/* A record of the conformance log (log.h). */
struct saakm_log_record {
	uint64_t number; /* counts from 0; a gap means lost records */
	uint8_t kind;    /* enum saakm_log_kind */
	uint8_t flag;    /* see the kinds */
	uint16_t core;
	uint32_t thread; /* serial, 0: none */
	uint64_t a, b, c, d, e, f;
};

/* The kinds of log records, with their fields a to f in order. */
enum saakm_log_kind {
	SAAKM_L_NONE,
	/* Input of handlers. */
	SAAKM_L_SETS, /* word `flag` of online, idle, idle_whole, waiting, claimed */
	SAAKM_L_CORE, /* core and its running thread: nr_ready, seen_khz, idle_since, exit latency */
	/* thread: core, weight, runtime, running_since, affinity word 0, queue | state << 8 */
	SAAKM_L_THREAD,
	SAAKM_L_AFFINITY, /* thread: word `flag` of its affinity, if not 0 */
	SAAKM_L_HEAD,     /* schedule: thread (or none) is first in queue `flag` of core */
	/* A handler, from BEGIN to END. */
	SAAKM_L_BEGIN, /* event `flag` of thread, core or both: now, CPU of the handler, facts */
	SAAKM_L_WALK,  /* starts a walk over queue `flag` of core: a identifies the walk */
	SAAKM_L_VISIT, /* walk a reaches thread */
	SAAKM_L_END,   /* hash of the policy's state */
	/* Effects. */
	SAAKM_L_READY,      /* thread => core: queue, key, reason */
	SAAKM_L_RUN,        /* thread => running */
	SAAKM_L_BLOCKED,    /* thread => blocked */
	SAAKM_L_TERMINATED, /* thread => terminated */
	SAAKM_L_ARM,        /* thread's timer: ns */
	SAAKM_L_CANCEL,     /* thread's timer */
	SAAKM_L_KEEP_WARM,  /* core: ns */
	SAAKM_L_PREEMPT,    /* core */
	SAAKM_L_SET,        /* core enters (a = 1) or leaves (a = 0) set number `flag` */
};

/* The events of saakm.h. */
enum saakm_event {
	SAAKM_E_NEW,
	SAAKM_E_UNBLOCK,
	SAAKM_E_SCHEDULE,
	SAAKM_E_TICK,
	SAAKM_E_YIELD,
	SAAKM_E_PREEMPT,
	SAAKM_E_BLOCK,
	SAAKM_E_TERMINATE,
	SAAKM_E_TIMER,
	SAAKM_E_NEWLY_IDLE,
	SAAKM_E_ENTER_IDLE,
	SAAKM_E_EXIT_IDLE,
	SAAKM_E_BALANCE,
	SAAKM_E_ENTRY,
	SAAKM_E_EXIT,
};

#endif
