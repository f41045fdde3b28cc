/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * SaaKM on sched_ext: the memory that the loader and a running policy share: the layout of the arena
 * and the records of the ring buffers. scripts/bindings generates Rust from it (crates/scx/src/layout).
 *
 * Addresses are offsets from the start of the arena, fixed for the largest machine, so that no
 * address has to be stored. Untouched pages take no memory.
 */
#ifndef SAAKM_LAYOUT_H
#define SAAKM_LAYOUT_H

#define SAAKM_LAYOUT 5 /* increment on any change below */

#define SAAKM_WORLD_AT 0x1000UL
#define SAAKM_TOLD_SETS_AT 0x2000UL /* state of sets and cores as last logged (log.h) */
#define SAAKM_ZERO_AT 0x3000UL      /* always 0 */
#define SAAKM_STATE_AT 0x4000UL     /* the policy's parameters, sets and globals */
#define SAAKM_STATE_BYTES 0x4000UL
#define SAAKM_TOLD_AT 0x8000UL
#define SAAKM_CORES_AT 0x10000UL
#define SAAKM_CORE_BYTES 1024UL
#define SAAKM_DOMAINS_AT 0x200000UL /* [SAAKM_LEVELS][SAAKM_MAX_CORES] */
#define SAAKM_DOMAIN_BYTES 256UL
#define SAAKM_CONTEXTS_AT 0x400000UL /* [SAAKM_MAX_CORES][SAAKM_CONTEXTS] */
#define SAAKM_CONTEXT_BYTES 4096UL
#define SAAKM_THREADS_AT 0x4000000UL
#define SAAKM_THREAD_BYTES 512UL
#define SAAKM_MAX_THREADS (1UL << 20)
#define SAAKM_ARENA_PAGES ((SAAKM_THREADS_AT + SAAKM_MAX_THREADS * SAAKM_THREAD_BYTES) / 4096)

#define SAAKM_CORE_ATTRS 256   /* bytes that a policy may keep per core */
#define SAAKM_THREAD_ATTRS 128 /* and per thread */
#define SAAKM_MAX_REASONS 32
#define SAAKM_MAX_SETS 16
#define SAAKM_MAX_QUEUES 4
#define SAAKM_MAX_PARAMS 64
#define SAAKM_MOVES 32
#define SAAKM_SCRATCH_SETS 16

/*
 * Each nesting level on a core has its own context: operations of sched_ext run with interrupts off
 * and may interrupt timers. The third context holds moves that wait for a timer.
 */
enum saakm_context_level { SAAKM_IN_OPERATION, SAAKM_IN_TIMER, SAAKM_POSTPONED, SAAKM_CONTEXTS };

/* States of a thread, and the events that lead there, are those of saakm.h. */
enum saakm_state {
	SAAKM_NOT_QUEUED,
	SAAKM_BLOCKED,
	SAAKM_READY,
	SAAKM_RUNNING,
	SAAKM_TERMINATED,
	/* Taken off its queue or core by the kernel, which will bring it back: a changed affinity. */
	SAAKM_DETACHED,
};

/* Source of frequencies. */
enum saakm_frequency_source { SAAKM_KHZ_UNKNOWN, SAAKM_KHZ_KERNEL, SAAKM_KHZ_MODEL };

/* Counters of a core: only that core adds to them. */
struct saakm_counters {
	uint64_t placed[SAAKM_MAX_REASONS]; /* placements of new and woken threads, by reason */
	uint64_t place_ns;                  /* time spent in them */
	uint64_t news, wakeups;             /* events new and unblock */
	uint64_t switches;                  /* threads that began to run here */
	uint64_t preemptions;
	uint64_t migrations;   /* threads that began to run here and last ran elsewhere */
	uint64_t steals;       /* threads moved by balancing */
	uint64_t moves_failed; /* moves whose thread was gone when the move was due */
	uint64_t timers_armed, timers_fired, timers_moved;
	uint64_t claims_lost; /* claims of a core that another placement already held */
	uint64_t idles;       /* times that the core went idle */
	uint64_t idle_ns;
	uint64_t spins, spin_ns; /* number and total time of spins in the idle loop */
	uint64_t kicks;          /* rounds of these spins */
	uint64_t bypassed;       /* threads that the kernel or we ran without the policy */
	uint64_t lost;           /* records that did not fit into the ring buffer */
};

/*
 * A thread. `where` changes by compare and swap. saakm_ready stores `key` after the swap, so a reader may
 * see the new `where` with the old `key`.
 */
struct saakm_thread {
	uint64_t where; /* state | queue << 8 | core << 16 | version << 32 */
	int64_t key;
	uint32_t index;  /* of this slot */
	uint32_t serial; /* unique, unlike the slot, which is reused */
	uint32_t pid;
	uint32_t weight;
	int64_t runtime;
	int64_t running_since; /* -1: not running */
	uint64_t affinity;     /* address of a set */
	uint64_t timer_at;     /* expiry of the timer; 0: not armed */
	uint64_t woken_at;
	uint32_t flags;
	uint32_t ran_on; /* core of the last execution */
	uint32_t next_free;
	uint32_t reason;
	uint32_t pad[10];
	uint8_t attrs[SAAKM_THREAD_ATTRS];
	struct saakm_set allowed; /* affinity set by the user, if not every core */
};

#define SAAKM_T_OUTSIDE 1u    /* READY, but not yet in the kernel's queue of its core */
#define SAAKM_T_RESTRICTED 2u /* may run only on `allowed` */
#define SAAKM_T_YIELDS 4u
#define SAAKM_T_NAMED 8u     /* the recording contains its name */
#define SAAKM_T_PREEMPTS 16u /* when it is in the queue, it preempts the core's thread */

struct saakm_core {
	uint32_t current; /* index of the thread that runs, 0: none */
	uint32_t nr_ready;
	uint32_t seen_khz, min_khz, max_khz, model_khz;
	uint32_t domain[SAAKM_LEVELS];
	uint32_t searched; /* newly_idle was tried since the core was last busy */
	/* Of the moves that wait for the timer, in POSTPONED. */
	uint32_t pending_head, pending_tail;
	uint32_t known; /* the core is part of the topology */
	uint64_t idle_since;
	uint64_t last_tick;
	uint64_t warm_ns;    /* duration of the spin at the next idle */
	uint64_t warm_until; /* spins until then */
	uint64_t spin_since;
	uint64_t busy_ns;
	uint64_t rounds;       /* polls for an arriving thread since one last ran */
	struct saakm_set self; /* only this core */
	struct saakm_counters count;
	uint8_t attrs[SAAKM_CORE_ATTRS];
};

struct saakm_domain {
	struct saakm_set cores;
	uint32_t first[SAAKM_LEVELS], count[SAAKM_LEVELS];
};

/* A move of a thread between cores' queues by a handler, to be repeated in the kernel's queues. */
struct saakm_move {
	uint32_t thread;
	uint16_t from, queue;
};

/* A running handler and its actions to carry out when it has ended. */
struct saakm {
	int64_t now;
	uint32_t cpu;
	uint32_t subject; /* thread of the event, 0: none */
	uint32_t placed;  /* the subject entered a queue */
	uint32_t run;     /* thread to run, 0: none */
	uint32_t nr_moves;
	uint32_t nr_claims;
	uint32_t nr_preempts;
	uint32_t armed;                   /* the subject's timer was armed */
	uint32_t heads[SAAKM_MAX_QUEUES]; /* first thread of each queue of `scheduling` */
	uint32_t scheduling;              /* that core + 1 */
	uint32_t left_idle;               /* first core + 1 that a placement makes non-idle */
	uint32_t nr_left;                 /* and the others */
	uint32_t on_timer;                /* the event is that of a timer */
	uint32_t moved;                   /* the last attempt to make a thread READY succeeded */
	uint32_t held;                    /* the thread that a steal is about to move, */
	uint64_t from;                    /* and the `where` that it found */
	struct saakm_move moves[SAAKM_MOVES];
	struct saakm_set claims, preempts, left;
	struct saakm_set scratch[SAAKM_SCRATCH_SETS];
};

/* Underload (Nest, section 5.2), by intervals of a tick. */
struct saakm_window {
	uint64_t interval;   /* number of the current interval */
	int64_t runnable;    /* threads that are READY or RUNNING */
	int64_t most;        /* maximum of that in this interval */
	uint64_t intervals;  /* number of complete intervals */
	uint64_t cores_used; /* sums over complete intervals */
	uint64_t underload;
	uint64_t pad[2];
	struct saakm_set used; /* cores that ran something in this interval */
};

struct saakm_world {
	uint32_t layout, ready; /* the loader's SAAKM_LAYOUT; the policy's state is set up */
	uint32_t nr_cores, nr_words;
	uint32_t nr_domains[SAAKM_LEVELS];
	uint32_t frequency_source;
	uint32_t recording; /* records are wanted */
	uint32_t torn;      /* failed attempts to take the lock */
	uint32_t nr_params;
	uint32_t underload; /* windows are wanted */
	uint32_t pad[3];
	uint64_t lock;    /* serialises logged handlers */
	uint64_t logged;  /* records of the log */
	uint64_t free;    /* free thread slots: index | version << 32 */
	uint64_t fresh;   /* first slot that was never used */
	uint64_t threads; /* in use */
	uint64_t no_slot; /* threads without a slot, which run from the kernel's global queue */
	uint64_t serials;
	uint64_t pad2[1];
	struct saakm_set online, kernel_idle, idle, idle_whole, waiting, claimed;
	int64_t members[SAAKM_MAX_SETS];  /* number of members of each set of the policy */
	int64_t params[SAAKM_MAX_PARAMS]; /* the loader's values of the policy's parameters */
	struct saakm_window window;
};

/* A record of what happened, for the recorder (records.h). */
struct saakm_record {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t value;
	uint32_t thread; /* serial of a thread, 0: none */
	uint32_t other;
	uint32_t khz;  /* that the policy could see of the target core */
	uint16_t core; /* where it happened */
	uint16_t target;
	uint16_t reason;
	uint8_t kind;
	uint8_t flag;
	uint32_t pad;
	uint64_t text[2]; /* a thread's name */
};

enum saakm_record_kind {
	SAAKM_R_NONE,
	SAAKM_R_THREAD, /* a thread, its pid (other), weight (value) and name */
	SAAKM_R_NEW,    /* thread was made on core by thread `other` */
	SAAKM_R_WAKE,   /* thread was woken on core by thread `other` (0: an interrupt) */
	SAAKM_R_PLACE,  /* thread was placed on target for reason; key in value; nests in other */
	SAAKM_R_MOVE,   /* READY thread went from core `other` to target, for reason */
	SAAKM_R_RUN,    /* thread runs on core target from now on */
	SAAKM_R_STOP,   /* thread no longer runs on core target; flag: why (saakm_stop) */
	SAAKM_R_EXIT,   /* thread has ended */
	SAAKM_R_IDLE,   /* core target is idle (flag) or no longer so */
	SAAKM_R_SPIN,   /* core target is kept awake (flag) or no longer so */
	SAAKM_R_TICK,   /* tick on core target, at khz */
	SAAKM_R_TIMER,  /* the timer of thread, READY on core target, is due */
	SAAKM_R_SET,    /* core target entered (flag) or left set number reason */
};

enum saakm_stop { SAAKM_PREEMPTED, SAAKM_YIELDED, SAAKM_STOPPED_BLOCKED, SAAKM_EXITED };

/* A record of the log (log.h). */
struct saakm_log_record {
	uint64_t number; /* of the record, from 0: a gap says that some were lost */
	uint8_t kind;
	uint8_t flag; /* an event, or a word's number */
	uint16_t core;
	uint32_t thread; /* serial, 0: none */
	uint64_t a, b, c, d, e, f;
};

enum saakm_log_kind {
	SAAKM_L_NONE,
	/* What handlers see. */
	SAAKM_L_SETS, /* word `flag`: online, idle, idle_whole, waiting, claimed */
	SAAKM_L_CORE, /* core and the thread that it runs: nr_ready, seen kHz, idle since */
	SAAKM_L_THREAD, /* thread: core, weight, runtime, running since, word 0 of its affinity, queue | state << 8 */
	SAAKM_L_AFFINITY, /* thread: word `flag` of its affinity, if not 0 */
	SAAKM_L_HEAD,     /* thread, or none, is first in queue `flag` of the core that schedules */
	/* A handler, from here to its end. */
	SAAKM_L_BEGIN, /* event `flag` of thread or core, or of both: now, the CPU that it runs on */
	SAAKM_L_WALK,  /* it walks over queue `flag` of core; a names the walk */
	SAAKM_L_VISIT, /* and comes to thread, on walk a */
	SAAKM_L_END,   /* hash of the policy's state */
	/* What it does. */
	SAAKM_L_READY,      /* thread => core: queue, key, reason */
	SAAKM_L_RUN,        /* thread => running */
	SAAKM_L_BLOCKED,    /* thread => blocked */
	SAAKM_L_TERMINATED, /* thread => terminated */
	SAAKM_L_ARM,        /* thread's timer: ns */
	SAAKM_L_CANCEL,     /* thread's timer */
	SAAKM_L_KEEP_WARM,  /* core: ns */
	SAAKM_L_PREEMPT,    /* core */
	SAAKM_L_SET,        /* core enters (a) or leaves set number `flag` */
};

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
