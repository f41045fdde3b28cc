/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SaaKM, the Scheduler as a Kernel Module interface: the events that a policy receives, its
 * guarantees, and its permitted actions.
 *
 * The Ipanema compiler emits one C file per policy against this header. Two runtimes implement
 * it: runtime/host (the simulator) and runtime/bpf (sched_ext). Emitted code has no global
 * variables: all state is reached through `struct saakm *`, so that many instances can exist.
 *
 * Thread states and the transitions that a policy may make:
 *
 *     NOT_QUEUED --new-----> READY       BLOCKED --unblock--> READY
 *     READY --schedule-----> RUNNING     READY --timer, steal--> MIGRATING --> READY
 *     RUNNING --yield, preempt--> READY  RUNNING --block----> BLOCKED
 *     RUNNING --terminate--> TERMINATED
 *
 * Events. Each has exactly one handler; `on core` says where it runs. Two events of one thread
 * never run concurrently. Events of different cores do: what a handler has read of another core
 * may be out of date when it acts.
 *
 *   event                        on core    state of t before     the handler must
 *   new(t, parent core)          parent's   NOT_QUEUED            make it READY on one core
 *   unblock(t, waker core)       waker's    BLOCKED (see below)   make it READY on one core
 *   enqueue(t, core)             any        about to be READY     (no transition)
 *   schedule(core)               core       -                     make a thread of its own READY
 *                                                                 queues RUNNING, or none if empty
 *   tick(t)                      t's        RUNNING               (no transition; may preempt)
 *   yield(t)                     t's        RUNNING               make it READY on its core
 *   preempt(t)                   t's        RUNNING               make it READY on one core, and
 *                                                                 preempt none
 *   block(t)                     t's        RUNNING               make it BLOCKED
 *   terminate(t)                 t's        RUNNING               make it TERMINATED
 *   timer(t)                     any        READY, armed          may move it to another core
 *   newly_idle(core)             core       core has no thread    may steal for the core
 *   enter_idle(core)             core       -                     (no transition)
 *   exit_idle(core)              any        -                     (no transition)
 *   balance(core)                core       core runs a thread    may steal; at each tick
 *   entry, exit(core)            core       core on/off line      on exit: READY threads are placed
 *                                                                 again with unblock
 *
 * A core that another scheduling class has taken (real-time, deadline, or the kernel's own) counts
 * one running thread, of the largest weight and without events. READY threads behind it are placed
 * again every tick: event unblock, with t READY and the core as waker. Work conservation then means:
 * no core stays idle while a thread is READY behind a running one, whichever class that belongs to.
 *
 * If the weight or affinity of a running thread changes, `preempt` comes before and `unblock` after. If
 * a running thread comes from another class, `new` comes. During `unblock` and `new` its affinity is the
 * core where it runs; `schedule` does not follow. So t has slept before `unblock` only if `block` came.
 *
 * In `block`, `yield`, `preempt`, `terminate` the core no longer counts t as its current thread.
 * In `enter_idle` the core is already in the idle set; in `exit_idle` no longer.
 */
#ifndef SAAKM_H
#define SAAKM_H

#define SAAKM_ABI 3

/* A tick as in the papers (HZ=250), whatever the kernel's HZ. */
#define SAAKM_TICK_NS 4000000LL

/* The weight of a thread is 1 at least. */
#define SAAKM_NICE_0_WEIGHT 1024
#define SAAKM_MAX_WEIGHT (1 << 20)

#define SAAKM_MAX_CORES 1024
#define SAAKM_SET_WORDS (SAAKM_MAX_CORES / 64)
#define SAAKM_MAX_QUEUES 4 /* ready queues per core */
#define SAAKM_NO_CORE 0xffffffffu
#define SAAKM_NO_DOMAIN 0xffffffffu

/* Levels of the topology, narrowest first. On most machines the numa level equals the llc's. */
enum saakm_level { SAAKM_SMT, SAAKM_LLC, SAAKM_NUMA, SAAKM_MACHINE, SAAKM_LEVELS };

/* Sets of cores that the runtime keeps besides the online cores. Policies read the first three. */
enum saakm_kept { SAAKM_KEPT_IDLE, SAAKM_KEPT_WHOLE, SAAKM_KEPT_WAITING, SAAKM_KEPT_CLAIMED };

/* What the kernel knows of an event. */
enum saakm_fact {
	SAAKM_WAKER_EXITS, /* unblock: the waker is exiting */
	SAAKM_WAKER_SLEEPS, /* unblock: the waker says that it is about to sleep; it is not exiting */
};

/* The unit of a parameter, for the loader and for error messages. */
enum saakm_unit {
	SAAKM_BOOL,
	SAAKM_INT,
	SAAKM_TIME,      /* ns */
	SAAKM_FREQUENCY, /* kHz */
	SAAKM_LOAD,
};

#if defined(__bpf__)
#include "bpf/saakm_types.h"
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Address space of SaaKM's structures and of attributes; in the simulator, ordinary memory. */
#define SAAKM_MEM
/* Condition of every loop; always true here. It bounds the loop for the kernel's verifier. */
#define SAAKM_GO_ON true
/* Returns x. Hides the range of x so that the verifier does not enumerate loop states. */
#define SAAKM_FORGET(x) (x)
/* Attributes of a function of a policy. */
#define SAAKM_LOCAL static __attribute__((unused))
/* Attributes of a function with scalar arguments, which is not inlined in the kernel. */
#define SAAKM_FUNCTION static inline
/* Start of a read-only function that the kernel's verifier checks once, not at each call. The suffix
   is the number of parameters after s. */
#define SAAKM_SHARED(result, name, ...)                                                            \
	static inline __attribute__((unused)) result name(__VA_ARGS__)
#define SAAKM_SHARED_0(result, name) SAAKM_SHARED(result, name, saakm_t s)
#define SAAKM_SHARED_1(result, name, A, a) SAAKM_SHARED(result, name, saakm_t s, A a)
#define SAAKM_SHARED_2(result, name, A, a, B, b) SAAKM_SHARED(result, name, saakm_t s, A a, B b)
#define SAAKM_SHARED_3(result, name, A, a, B, b, C, c)                                             \
	SAAKM_SHARED(result, name, saakm_t s, A a, B b, C c)
#define SAAKM_SHARED_4(result, name, A, a, B, b, C, c, D, d)                                       \
	SAAKM_SHARED(result, name, saakm_t s, A a, B b, C c, D d)
/* In a shared function that walks over queues: their entries stay valid until it returns. */
#define SAAKM_READ_QUEUES() ((void)0)
/* Start of a function that makes thread t READY on core c, also checked once. */
#define SAAKM_ENTER(name)                                                                          \
	static inline __attribute__((unused)) void name(saakm_t s, thread_t t, core_t c,           \
							uint32_t reason)
/* Start of the function in which core `dst` steals from the cores in `from`. */
#define SAAKM_STEAL(name, dst, from) static void name(saakm_t s, core_t dst, set_t from)
#endif

typedef uint32_t core_t;
typedef int64_t nsec_t;

struct saakm_set {
	uint64_t word[SAAKM_SET_WORDS];
};

/* Memoised results of calls in a steal. Bit i of `known`: value i is valid. */
struct saakm_memo {
	uint64_t known;
	int64_t value[4];
};
typedef struct saakm_memo SAAKM_MEM *memo_t;

/* An instance; a thread; a read-only set of cores; a read-only topology domain. */
typedef struct saakm SAAKM_MEM *saakm_t;
typedef struct saakm_thread SAAKM_MEM *thread_t;
typedef const struct saakm_set SAAKM_MEM *set_t;
typedef const struct saakm_domain SAAKM_MEM *domain_t;

#if defined(__bpf__)
#include "bpf/saakm_bpf.h"
#else
#include "host/saakm_host.h"
#endif

#endif
