/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: records of events for the loader (struct saakm_record), through a ring
 * buffer. They are written only while the loader records.
 */
#ifndef SAAKM_RECORDS_H
#define SAAKM_RECORDS_H

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24); /* bytes; the loader sets it */
} saakm_records SEC(".maps");

/* Packs kind, flag, target core and reason into one argument: a BPF call has at most five. */
#define SAAKM_RECORD(kind, flag, target, reason)                                                   \
	((u64)(kind) | (u64)(flag) << 8 | (u64)(target) << 16 | (u64)(reason) << 32)

SAAKM_GLOBAL int saakm_write_record(u64 s, u64 what, u32 thread, u32 other, u64 value);

static __always_inline void saakm_record(saakm_t s, u64 what, u32 thread, u32 other, u64 value)
{
	if (SAAKM_FIELD_AT(struct saakm_world, SAAKM_WORLD_AT)->recording)
		saakm_write_record((u64)s, what, thread, other, value);
}

/*
 * Hook for `hearth record`, which attaches a program here (runtime/record/record.bpf.c). Called for
 * each decision: PLACE or MOVE of thread `pid` to a core that the policy saw at `khz`; SET; SPIN.
 * Without an attached program it costs one call.
 */
SAAKM_GLOBAL int saakm_decided(u64 what, u64 pid, u64 khz)
{
	asm volatile("" : : "r"(what), "r"(pid), "r"(khz));
	return 0;
}

#endif
