/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The kernel side of the recorder: it writes scheduling events as 64-bit words into a ring for each core ("lane").
 *
 * It takes no lock and wakes no thread, and each core writes only its own lane. User space polls the lanes through
 * shared memory (record.h).
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
typedef _Bool bool;

enum bpf_map_type_we_use { BPF_MAP_TYPE_ARRAY = 2 };
enum { BPF_F_MMAPABLE = 1 << 10 };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "Dual MIT/GPL";

/* The parts of kernel types in use. The loader finds them by name. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct {
	int pid;
	int tgid;
	unsigned on_rq; /* signed in older kernels, of 8 bits in newer ones */
	char comm[16];
	struct sched_entity {
		struct cfs_rq *cfs_rq;
	} se;
	unsigned in_execve : 1;
	struct thread_info {
		u32 cpu;
	} thread_info;
};
struct linux_binprm {
	const char *filename;
};
struct cfs_rq {
	struct rq *rq;
};
struct rq {
	unsigned nr_running;
};
#pragma clang attribute pop

/* The preempt count of arm64 is in the thread. */
struct task_struct___preempt {
	struct thread_info___preempt {
		struct {
			u32 count;
		} preempt;
	} thread_info;
} __attribute__((preserve_access_index));

extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym __weak;

#include "record.h"

/* Number of words of a lane, a power of two. The loader sets all constants. */
const volatile u64 words = 1 << 12;
/* Frequency at which MPERF counts; 0: ticks have no frequency. */
const volatile u64 base_khz = 0;
/*
 * Offsets of per-CPU variables from the core's run queue, in bytes; 0: unknown. They come from the type information,
 * because not every kernel's symbol table has these variables.
 */
const volatile s64 preempt_count_offset = 0;
const volatile s64 samples_offset = 0;
/* Bits of the preempt count that are set while an interrupt is handled. */
const volatile u64 interrupt_bits = 0;
/* WF_SYNC, a flag of try_to_wake_up. */
const volatile u64 sync_flag = 0x10;

/* One value per core. The loader sets both sizes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct lane) + (8 << 12));
} lanes SEC(".maps");

/* Room for records that are begun after another one has checked for room. */
#define SLACK 256
/* Maximum time between fast records without a RESYNC, in ns. */
#define SPAN (1 << (TIME_BITS - 1))
#define MASK(bits) ((1ull << (bits)) - 1)

static __always_inline struct lane *lane(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&lanes, &cpu);
}

static __always_inline void put(struct lane *lane, u64 at, u64 content)
{
	u64 *word = (void *)lane->words + ((at & (words - 1)) << 3);
	*(volatile u64 *)word = content << 1 | !(at & words);
}

static __always_inline u64 header(u64 kind, u64 time, u64 payload)
{
	return kind | (time & MASK(TIME_BITS)) << KIND_BITS | payload << PAYLOAD_AT;
}

static __always_inline u64 length_of(u64 kind)
{
	return LENGTHS >> LENGTH_BITS * kind & MASK(LENGTH_BITS);
}

static __always_inline bool has_room(struct lane *lane, u64 head, u64 count)
{
	if (head + count <= lane->limit)
		return 1;
	lane->limit = *(volatile u64 *)&lane->tail + words - SLACK;
	return head + count <= lane->limit;
}

static __noinline int resync(struct lane *lane, u64 now)
{
	u64 at;
	if (!lane)
		return 0;
	at = lane->head;
	if (!has_room(lane, at, 8))
		return 0;
	lane->head = at + length_of(RESYNC);
	lane->running = (u32)bpf_get_current_pid_tgid();
	put(lane, at, header(RESYNC, now, lane->running));
	put(lane, at + 1, now);
	put(lane, at + 2, lane->lost);
	lane->lost = 0;
	return 1;
}

/* Interrupts are off: nothing happens between reading and writing the head. */
static __always_inline void fast(struct lane *lane, u64 kind, u64 payload, u64 more, bool two)
{
	u64 at, now = bpf_ktime_get_ns();
	int current = ((struct task_struct *)bpf_get_current_task_btf())->pid;
	if (!lane)
		return;
	/* Some kernels omit a switch now and then: then a RESYNC reports the running thread. */
	if (lane->running != current || now - lane->last > SPAN || lane->lost) {
		if (!resync(lane, now)) {
			lane->lost++;
			return;
		}
	}
	at = lane->head;
	if (!has_room(lane, at, 2)) {
		lane->lost++;
		return;
	}
	lane->last = now;
	lane->head = at + 1 + two;
	put(lane, at, header(kind, now, payload));
	if (two)
		put(lane, at + 1, more);
}

/* Reserves room for a slow record; `at`: its first word. Interrupts may come at any time. */
static __always_inline bool reserve(struct lane *lane, u64 count, u64 *at)
{
	if (!has_room(lane, *(volatile u64 *)&lane->head, count)) {
		__sync_fetch_and_add(&lane->lost, 1);
		return 0;
	}
	*at = __sync_fetch_and_add(&lane->head, count);
	return 1;
}

/* A record of the running thread. */
static __always_inline void slow(u64 kind, u64 flags)
{
	u64 at, pid = (u32)bpf_get_current_pid_tgid();
	struct lane *to = lane();
	u64 now = bpf_ktime_get_ns();
	if (to && reserve(to, length_of(kind), &at)) {
		put(to, at, header(kind, now, pid | flags << PID_BITS));
		put(to, at + 1, now);
	}
}

/* A record of a thread with its name, which is 15 bytes in two words, and its process. */
static __always_inline void named(u64 kind, struct task_struct *task, const char *comm)
{
	u64 at, now, name[2] = {};
	struct lane *to = lane();
	bpf_probe_read_kernel_str(name, sizeof name, comm);
	now = bpf_ktime_get_ns();
	if (to && reserve(to, length_of(kind), &at)) {
		put(to, at, header(kind, now, task->pid));
		put(to, at + 1, now);
		put(to, at + 2, name[0] & MASK(NAME_BITS));
		put(to, at + 3, name[0] >> NAME_BITS | name[1] << (64 - NAME_BITS));
		put(to, at + 4, (u32)bpf_get_current_pid_tgid() | (u64)task->tgid << PROCESS_AT);
	}
}

/* Run queue of the core of a running thread; NULL without CONFIG_FAIR_GROUP_SCHED. */
static __always_inline struct rq *run_queue(struct task_struct *running)
{
	if (!bpf_core_field_exists(struct cfs_rq, rq) ||
	    !bpf_core_field_exists(struct task_struct, se.cfs_rq))
		return 0;
	return running->se.cfs_rq->rq;
}

static __always_inline u32 preempt_count(void)
{
	struct task_struct *current = (void *)bpf_get_current_task_btf();
	struct task_struct___preempt *with_count = (void *)current;
	u32 count = 0;
	if (preempt_count_offset && bpf_ksym_exists(bpf_rdonly_cast)) {
		/* A load as if from a member of a run queue needs no call. */
		void *place = (void *)run_queue(current) + preempt_count_offset;
		struct rq *as_queue =
			bpf_rdonly_cast(place - bpf_core_field_offset(struct rq, nr_running),
					bpf_core_type_id_kernel(struct rq));
		count = as_queue->nr_running;
	} else if (preempt_count_offset)
		bpf_probe_read_kernel(&count, sizeof count,
				      (void *)run_queue(current) + preempt_count_offset);
	else if (bpf_core_field_exists(with_count->thread_info.preempt.count))
		count = with_count->thread_info.preempt.count;
	return count;
}

static __always_inline bool in_interrupt(void)
{
	return (preempt_count() & interrupt_bits) != 0;
}

static __always_inline u64 cpu_of(struct task_struct *task)
{
	return task->thread_info.cpu;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned state)
{
	u64 stop = preempt || !state ? PREEMPTED : state & 0x80 ? EXITED : BLOCKED; /* TASK_DEAD */
	struct rq *queue = run_queue(prev);
	u64 length = queue ? queue->nr_running : 0;
	struct lane *to = lane();
	length = length > MASK(QUEUE_BITS) ? MASK(QUEUE_BITS) : length;
	fast(to, SWITCH, next->pid | stop << PID_BITS | length << QUEUE_AT, 0, 0);
	if (to)
		to->running = next->pid;
	return 0;
}

/* sched_waking follows, unless the thread is awake. It does not have the flags. */
SEC("fentry/try_to_wake_up")
int BPF_PROG(wakes, struct task_struct *task, unsigned state, int flags)
{
	struct lane *to = lane();
	if (!to)
		return 0;
	if (flags & sync_flag)
		to->sync = task->pid;
	else if (to->sync == task->pid)
		to->sync = 0;
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
	struct lane *to = lane();
	u64 kind = WAKING;
	if (to && to->sync == task->pid) {
		to->sync = 0;
		kind = WAKING_SYNC;
	}
	if (in_interrupt())
		kind = WAKING_IN_INTERRUPT;
	fast(to, kind, task->pid | cpu_of(task) << PID_BITS, 0, 0);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(wakeup_new, struct task_struct *task)
{
	fast(lane(), WAKEUP_NEW, task->pid | cpu_of(task) << PID_BITS, 0, 0);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(migrate, struct task_struct *task, int to)
{
	u64 queued = task->on_rq ==
		     2; /* TASK_ON_RQ_MIGRATING: moved while queued, not placed by a wake-up */
	fast(lane(), MIGRATE, task->pid | (u64)to << PID_BITS, cpu_of(task) | queued << QUEUED_AT,
	     1);
	return 0;
}

SEC("tp_btf/cpu_idle")
int BPF_PROG(idle, unsigned state, unsigned cpu)
{
	if (state <= 255)
		fast(lane(), IDLE, state, 0, 0);
	return 0;
}

/* The kernel reads both counters at every tick. */
SEC("fentry/sched_tick")
int BPF_PROG(tick)
{
	struct {
		u64 aperf, mperf;
	} counted = {};
	if (samples_offset)
		bpf_probe_read_kernel(&counted, sizeof counted,
				      (void *)run_queue((void *)bpf_get_current_task_btf()) +
					      samples_offset);
	if (counted.mperf)
		fast(lane(), TICK, counted.aperf * base_khz / counted.mperf & MASK(63 - PAYLOAD_AT),
		     0, 0);
	else if (!base_khz)
		fast(lane(), TICK, 0, 0, 0);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	named(FORK, child, child->comm);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(renamed, struct task_struct *task, const char *comm)
{
	/* EXEC reports the name of an executed program. */
	if (!bpf_core_field_exists(task->in_execve) || !BPF_CORE_READ_BITFIELD(task, in_execve))
		named(NAME, task, comm);
	return 0;
}

#define PATH_MOST 256

SEC("tp_btf/sched_process_exec")
int BPF_PROG(execed, struct task_struct *task, int old_pid, struct linux_binprm *program)
{
	u64 at, now, path[PATH_WORDS] = {};
	const char *name = program->filename;
	struct lane *to = lane();
	char whole[PATH_MOST];
	s64 length = bpf_probe_read_kernel_str(whole, sizeof whole, name);
	/* The end of the path has the program's name. */
	if (length > 0 && length < PATH_MOST && length > (s64)sizeof path)
		name += length - sizeof path;
	bpf_probe_read_kernel_str(path, sizeof path, name);
	now = bpf_ktime_get_ns();
	if (to && reserve(to, length_of(EXEC), &at)) {
		u64 left = 0;
		put(to, at, header(EXEC, now, old_pid));
		put(to, at + 1, now);
		put(to, at + 2, task->pid);
		/* A word has 63 bits: the highest bits are in the last word. */
		for (int i = 0; i < PATH_WORDS; i++) {
			put(to, at + 3 + i, path[i] & MASK(63));
			left |= path[i] >> 63 << i;
		}
		put(to, at + 3 + PATH_WORDS, left);
	}
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited)
{
	slow(EXIT, 0);
	return 0;
}

SEC("tp_btf/sched_process_wait")
int BPF_PROG(waits)
{
	slow(EXIT, WAITS);
	return 0;
}

SEC("tp_btf/cpu_frequency")
int BPF_PROG(frequency, unsigned khz, unsigned cpu)
{
	u64 at, now = bpf_ktime_get_ns();
	struct lane *to = lane();
	if (to && reserve(to, length_of(FREQUENCY), &at)) {
		put(to, at, header(FREQUENCY, now, cpu));
		put(to, at + 1, now);
		put(to, at + 2, khz);
	}
	return 0;
}

/*
 * Attached to saakm_decided() of runtime/bpf in each program of a policy that Hearth runs.
 */
SEC("?fentry")
int BPF_PROG(decided, u64 what, u64 pid, u64 khz)
{
	u64 at, now = bpf_ktime_get_ns(), decision = what & MASK(8),
		flag = what >> SAAKM_D_FLAG_AT & 1;
	u64 target = what >> SAAKM_D_TARGET_AT & MASK(CPU_BITS);
	u64 reason = what >> SAAKM_D_REASON_AT & MASK(16);
	struct lane *to = lane();
	if (to && reserve(to, length_of(DECISION), &at)) {
		put(to, at, header(DECISION, now, (pid & MASK(PID_BITS)) | target << PID_BITS));
		put(to, at + 1, now);
		put(to, at + 2,
		    (khz & MASK(32)) | reason << REASON_AT | decision << DECISION_AT |
			    flag << FLAG_AT);
	}
	return 0;
}

/* Run on each core when recording begins: reports the running thread. */
SEC("raw_tp")
int here(void *context)
{
	slow(HERE, in_interrupt());
	return 0;
}
