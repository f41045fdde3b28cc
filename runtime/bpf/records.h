/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: what it tells the loader of what happens, through a ring buffer, while
 * someone records. layout.h has their structure.
 */
#ifndef SAAKM_RECORDS_H
#define SAAKM_RECORDS_H

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24); /* bytes; the loader changes it */
} saakm_records SEC(".maps");

/* kind, flag, target core and reason as one argument: a BPF call has five at most. */
#define SAAKM_RECORD(kind, flag, target, reason)                                                   \
	((u64)(kind) | (u64)(flag) << 8 | (u64)(target) << 16 | (u64)(reason) << 32)

SAAKM_GLOBAL int saakm_write_record(u64 s, u64 what, u32 thread, u32 other, u64 value);

static __always_inline void saakm_record(saakm_t s, u64 what, u32 thread, u32 other, u64 value)
{
	if (SAAKM_FIELD_AT(struct saakm_world, SAAKM_WORLD_AT)->recording)
		saakm_write_record((u64)s, what, thread, other, value);
}

/*
 * A decision: PLACE or MOVE of the thread `pid`, whose target the policy saw at `khz`; SET; SPIN. Nobody listens, until
 * `hearth record` attaches a program here (runtime/record/record.bpf.c): so it costs a call.
 */
SAAKM_GLOBAL int saakm_decided(u64 what, u64 pid, u64 khz)
{
	asm volatile("" : : "r"(what), "r"(pid), "r"(khz));
	return 0;
}

#endif
