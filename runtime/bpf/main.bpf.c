/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: a policy becomes a scheduler of the kernel.
 *
 * Compile with -DSAAKM_POLICY_FILE='"nest.c"', a file that the Ipanema compiler emitted. That file
 * decides; this one, with threads.h and cores.h, turns the kernel's operations into SaaKM's events
 * and carries out what the handlers decided.
 *
 * Each core has a user dispatch queue for each ready queue of the policy, so that other cores can
 * steal from it: a core's local queue cannot be stolen from. A thread's state, core and key are in
 * `struct saakm_thread`, and that is the truth; the kernel's queues follow it. Where the two differ
 * (a thread was moved, and its entry is still in the old core's queue), the next core that comes to
 * the entry mends it.
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

#include "handlers.h"
#include "threads.h"
#include "write_log.h"
#include "cores.h"
#include "timers.h"
#include "dispatch.h"
#include "events.h"
#include "hotplug.h"
