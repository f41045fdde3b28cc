/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: runs a policy as the kernel's scheduler.
 *
 * Compile with -DSAAKM_POLICY_FILE='"nest.c"', a file that the Ipanema compiler emitted. The policy
 * decides. The headers below turn the operations of sched_ext into SaaKM's events, and carry out
 * what the policy's handlers decide. Each uses those before it:
 *
 *   saakm.h            what the policy sees. It includes:
 *     saakm_types.h    types, and macros for the verifier
 *     layout.h         the memory that the loader shares
 *     log.h            macros of the conformance log
 *     saakm_bpf.h      access to this memory
 *     saakm_effects.h  walks over queues, and the effects of handlers
 *   threads.h          slots of threads
 *   handlers.h         calls of the policy's handlers, and what precedes and follows them
 *   write_log.h        functions of the conformance log
 *   timers.h           timers that move entries of queues, and timers of threads
 *   strangers.h        cores that run a thread of another class
 *   cgroups.h          limits of cgroups
 *   dispatch.h         a core needs a thread
 *   events.h           all other operations
 *
 * Each core has one user DSQ per ready queue of the policy, because other cores cannot steal from a
 * local DSQ. The slot of a thread (struct saakm_thread) is the truth about its state, core and
 * queue; DSQs follow it. If they differ (a thread was moved, and its entry is still in the old
 * DSQ), the next core that reaches the entry moves it.
 *
 * README.md explains the states, the writers of each word, and the open races.
 */
#include "saakm.h"

char _license[] SEC("license") = "GPL";
UEI_DEFINE(uei);

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SAAKM_ARENA_PAGES);
	__ulong(map_extra, 1ull << 44); /* low half zero: an address is an offset */
} arena SEC(".maps");

#include SAAKM_POLICY_FILE

#include "threads.h"
#include "handlers.h"
#include "write_log.h"
#include "timers.h"
#include "strangers.h"
#include "cgroups.h"
#include "dispatch.h"
#include "events.h"
