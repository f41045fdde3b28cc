/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The words that the recorder's programs write (record.bpf.c) and user space reads (crates/recorder/src/bpf).
 * scripts/bindings generates Rust from this file.
 *
 * A word is written by one store. Its lowest bit changes with every lap around the ring, so that the reader can tell
 * whether the word is new: 1 in the first lap, 0 in the second, ... The other 63 bits are the content. The first word
 * of a record contains, from its lowest bit on:
 *
 *   KIND_BITS   enum kind
 *   TIME_BITS   the lowest bits of the time in ns
 *   the rest    payload
 *
 * A fast record is written with interrupts off. Its full time follows from that of the previous fast record: if more
 * than half the range of TIME_BITS lies between them, a RESYNC comes first. Slow records may be delayed by interrupts
 * and preemption. Their second word is their full time, which does not affect the times of fast records.
 *
 * The running thread of a fast record is that of the last RESYNC, HERE, SWITCH or slow record. Slow records name it.
 */
#include "../decision.h"

#define KIND_BITS 4
#define TIME_BITS 24
#define PAYLOAD_AT (KIND_BITS + TIME_BITS)

enum kind {
	DECISION, /* slow, as all from RESYNC on */
	SWITCH,
	WAKING,
	WAKING_IN_INTERRUPT,
	WAKING_SYNC, /* the waker says that it is about to sleep */
	WAKEUP_NEW,
	MIGRATE,
	IDLE,
	TICK,
	RESYNC,
	FORK,
	EXEC,
	EXIT, /* or WAITS */
	FREQUENCY,
	NAME,
	HERE,
};

/* Words of a path in EXEC. One word more has their highest bits. */
#define PATH_WORDS 7

/* Number of words of each kind of record, in LENGTH_BITS each. */
#define LENGTH_BITS 4
#define LENGTH(kind, words) ((u64)(words) << LENGTH_BITS * (kind))
static const u64 LENGTHS = LENGTH(DECISION, 3) | LENGTH(SWITCH, 1) | LENGTH(WAKING, 1) |
			   LENGTH(WAKING_IN_INTERRUPT, 1) | LENGTH(WAKING_SYNC, 1) |
			   LENGTH(WAKEUP_NEW, 1) | LENGTH(MIGRATE, 2) | LENGTH(IDLE, 1) |
			   LENGTH(TICK, 1) | LENGTH(RESYNC, 3) | LENGTH(FORK, 5) |
			   LENGTH(EXEC, 3 + PATH_WORDS + 1) | LENGTH(EXIT, 2) |
			   LENGTH(FREQUENCY, 3) | LENGTH(NAME, 5) | LENGTH(HERE, 2);

/* A payload begins with a thread's id. A core follows, */
#define PID_BITS 22
#define CPU_BITS 13
/* or, in a SWITCH, why the previous thread stopped, and the length of the run queue, which saturates. */
#define STOP_BITS 2
#define QUEUE_AT (PID_BITS + STOP_BITS)
#define QUEUE_BITS 8

enum stop { PREEMPTED, BLOCKED = 2, EXITED };

/* Flag of EXIT, after the thread's id: the thread does not exit, but starts to wait for a child. */
#define WAITS 1

/* Second word of MIGRATE: the core that the thread leaves, and from this bit on, whether it was queued. */
#define QUEUED_AT 32
/* Bits of the name in the third word of FORK and NAME; the fourth has the others. */
#define NAME_BITS 62
/* Fifth word of FORK and NAME: the running thread, and from this bit on the process of the record's thread. */
#define PROCESS_AT 32
/* Third word of DECISION: frequency, reason (16 bits), enum saakm_decision (8 bits) and flag. */
#define REASON_AT 32
#define DECISION_AT 48
#define FLAG_AT 56

/* The ring of a core. */
struct lane {
	/* Number of the next word. */
	u64 head;
	/* Time of the last fast record. */
	u64 last;
	/* Last known bound of the head. */
	u64 limit;
	/* Number of events dropped since the last RESYNC. */
	u64 lost;
	/* The thread of the last switch. */
	u64 running;
	/* The thread that this core is waking synchronously; 0: none. */
	u64 sync;
	u64 line[10];
	/* Written by the reader: words before this one are free. */
	u64 tail;
	u64 lines[15];
	u64 words[];
};

enum offset {
	LOST_AT = __builtin_offsetof(struct lane, lost),
	TAIL_AT = __builtin_offsetof(struct lane, tail),
	WORDS_AT = __builtin_offsetof(struct lane, words),
};
