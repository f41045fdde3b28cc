/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SaaKM for the simulator: the memory that the simulator and a policy share. All effects go through
 * `struct saakm_ops`, which the simulator fills.
 *
 * scripts/bindings generates Rust from the structures (crates/sim/src/saakm).
 */
#ifndef SAAKM_HOST_H
#define SAAKM_HOST_H

#ifdef __TINYC__
/* The compiler has no such builtin. */
static inline int __builtin_ctzll(unsigned long long bits)
{
	int zeros = 0;
	for (; !(bits & 1); bits >>= 1)
		zeros++;
	return zeros;
}
#define __builtin_ctz(bits) __builtin_ctzll(bits)
#endif

/* The runtime's data of a thread. `attrs` points to the policy's attributes. */
struct saakm_thread {
	uint32_t tid;
	core_t core;          /* where it runs, is ready, or last ran; a new thread: its parent's */
	uint32_t weight;      /* 1024 at nice 0, as in Linux */
	uint32_t queue;       /* its ready queue, while READY */
	nsec_t runtime;       /* executed before `running_since`; saakm_runtime adds the rest */
	nsec_t running_since; /* start of the current execution, or -1 while not RUNNING */
	set_t affinity;       /* cores that it may use: never empty */
	void *attrs;
	void *runtime_private;
};

/* The runtime's data of a core. */
struct saakm_core {
	thread_t current;            /* NULL: idle or switching */
	uint32_t nr_ready;           /* threads in its ready queues */
	uint32_t nr_running;         /* nr_ready, and 1 if a thread runs */
	uint32_t seen_khz;           /* frequency at the core's last tick */
	uint32_t min_khz;            /* 0: frequencies are unknown */
	uint32_t capacity;           /* 1 to 1024: the fastest cores */
	uint32_t exit_latency_ns;    /* of its current idle state; 0: busy */
	core_t domain[SAAKM_LEVELS]; /* index into saakm.domains[level] */
	nsec_t idle_since;           /* start of the last idle period */
	void *attrs;
};

/* A topology domain: its cores, and the domains of each narrower level inside it, which are
   numbered first[level] to first[level] + count[level] - 1. */
struct saakm_domain {
	struct saakm_set cores;
	uint32_t size; /* number of cores */
	uint32_t first[SAAKM_LEVELS], count[SAAKM_LEVELS];
};

/* Effects, implemented by the simulator. `s` is the instance of the handler. */
struct saakm_ops {
	/* t => c.queue: puts t into the ready queue, or moves a READY t there. Ordered queues have
	   the smallest key first, equal keys in order of arrival. Ends the claim of c. */
	void (*ready)(saakm_t s, thread_t t, core_t c, uint32_t queue, int64_t key,
		      uint32_t reason);
	/* t => running, on the core that schedules. */
	void (*run)(saakm_t s, thread_t t);
	void (*blocked)(saakm_t s, thread_t t);
	void (*terminated)(saakm_t s, thread_t t);
	/* First thread of a ready queue and the one after t, or NULL. */
	thread_t (*first)(saakm_t s, core_t c, uint32_t queue);
	thread_t (*next)(saakm_t s, thread_t t);
	/* One-shot timer of t: event `timer` after ns, unless t is scheduled or armed again
	   before. */
	void (*arm)(saakm_t s, thread_t t, nsec_t ns);
	void (*cancel)(saakm_t s, thread_t t);
	/* The idle loop of c spins for up to ns: from now, or if c is busy, from its next idle
	   period on. */
	void (*keep_warm)(saakm_t s, core_t c, nsec_t ns);
	/* Preempts the current thread of c: event `preempt`, then `schedule`. */
	void (*preempt)(saakm_t s, core_t c);
	/* A core entered or left a policy's set (for the trace only). */
	void (*set_changed)(saakm_t s, uint32_t set, core_t c, bool member);
};

/* One instance: a policy on a machine. */
struct saakm {
	const struct saakm_ops *ops;
	void *runtime_private;
	void *state; /* the policy's sets, globals and parameters */
	nsec_t now;
	uint32_t facts; /* of the event: bit enum saakm_fact */
	uint32_t nr_cores;
	uint32_t nr_words;        /* words of a set that are in use */
	struct saakm_core *cores; /* [nr_cores] */
	struct saakm_domain *domains[SAAKM_LEVELS];
	uint32_t nr_domains[SAAKM_LEVELS];
	struct saakm_set online;
	struct saakm_set idle;       /* no thread runs, is ready, or is coming */
	struct saakm_set idle_whole; /* all hyperthreads of the physical core are in `idle` */
	struct saakm_set waiting;    /* has threads in its ready queues */
	struct saakm_set claimed;
	/* Whether a handler has read the state of each core. Bytes, because setting a bit would have to
	   wait for the bit before. */
	uint8_t looked[SAAKM_MAX_CORES];
};

struct saakm_param {
	const char *name;
	const char *doc;
	uint32_t unit;   /* enum saakm_unit */
	uint32_t offset; /* of an int64_t in the policy's state */
	int64_t min, max, initial;
};

struct saakm_queue {
	const char *name;
	uint32_t ordered; /* 0: first in, first out; 1: by key */
};

/* Emitted by the compiler for the loader: sizes, names, parameters and handlers. */
struct saakm_policy {
	uint32_t abi;
	const char *name;
	uint64_t state_size, thread_size, core_size;
	const struct saakm_param *params;
	uint32_t nr_params;
	const struct saakm_queue *queues;
	uint32_t nr_queues;
	const char *const *reasons;
	uint32_t nr_reasons;
	const char *const *sets;
	uint32_t nr_sets;
	/* Write the initial values to zeroed memory. Parameters are set after init_state. */
	void (*init_state)(void *state);
	void (*init_core)(void *attrs);
	void (*init_thread)(void *attrs);
	/* Handlers; NULL where a policy has none. */
	void (*new_thread)(saakm_t s, thread_t t, core_t parent);
	void (*unblock)(saakm_t s, thread_t t, core_t waker);
	void (*schedule)(saakm_t s, core_t c);
	void (*tick)(saakm_t s, thread_t t);
	void (*yield)(saakm_t s, thread_t t);
	void (*preempt)(saakm_t s, thread_t t);
	void (*block)(saakm_t s, thread_t t);
	void (*terminate)(saakm_t s, thread_t t);
	void (*timer)(saakm_t s, thread_t t);
	void (*newly_idle)(saakm_t s, core_t c);
	void (*enter_idle)(saakm_t s, core_t c);
	void (*exit_idle)(saakm_t s, core_t c);
	void (*balance)(saakm_t s, core_t c);
	void (*entry)(saakm_t s, core_t c);
	void (*exit)(saakm_t s, core_t c);
};

#include "saakm_access.h"
#include "../saakm_inline.h"
#include "saakm_effects.h"

#endif
