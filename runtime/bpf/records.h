/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: what it tells the loader of what happens, through a ring buffer, while
 * someone records. crates/scx/src/records.rs reads them.
 */
#ifndef SAAKM_RECORDS_H
#define SAAKM_RECORDS_H

struct saakm_record {
	u64 time;     /* CLOCK_MONOTONIC, ns */
	u64 value;
	u32 thread;   /* serial of a thread, 0: none */
	u32 other;
	u32 khz;      /* that the policy could see of the target core */
	u16 core;     /* where it happened */
	u16 target;
	u16 reason;
	u8 kind;
	u8 flag;
	u32 pad;
	u64 text[2];  /* a thread's name */
};

enum saakm_record_kind {
	SAAKM_R_NONE,
	SAAKM_R_THREAD,  /* a thread, its pid (other), weight (value) and name */
	SAAKM_R_NEW,     /* thread was made on core by thread `other` */
	SAAKM_R_WAKE,    /* thread was woken on core by thread `other` (0: an interrupt) */
	SAAKM_R_PLACE,   /* thread was placed on target for reason; key in value; nests in other */
	SAAKM_R_MOVE,    /* READY thread went from core `other` to target, for reason */
	SAAKM_R_RUN,     /* thread runs on core target from now on */
	SAAKM_R_STOP,    /* thread no longer runs on core target; flag: why (saakm_stop) */
	SAAKM_R_EXIT,    /* thread has ended */
	SAAKM_R_IDLE,    /* core target is idle (flag) or no longer so */
	SAAKM_R_SPIN,    /* core target is kept awake (flag) or no longer so */
	SAAKM_R_TICK,    /* tick on core target, at khz */
	SAAKM_R_TIMER,   /* the timer of thread, READY on core target, is due */
	SAAKM_R_SET,     /* core target entered (flag) or left set number reason */
};

enum saakm_stop { SAAKM_PREEMPTED, SAAKM_YIELDED, SAAKM_STOPPED_BLOCKED, SAAKM_EXITED };

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
