/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SaaKM on sched_ext: from a task of the kernel to its slot. Owns the map of slots, the lists of free slots, and
 * the affinity in a slot. Called by the operations in events.h.
 */
#ifndef SAAKM_THREADS_H
#define SAAKM_THREADS_H

#define TASK_DEAD 0x80

/*
 * Slice of the policy's threads. ops.tick refills it long before it is used up, so that only the
 * policy ends a turn. It is finite, because the kernel stops the tick of a core whose thread has an
 * infinite slice (nohz_full), and the policy's events with it.
 */
#define SAAKM_SLICE_NS 100000000ULL

/* Maps a task to the index of its slot; 0 or no entry: none. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} saakm_slots SEC(".maps");

/* The verifier allows arena accesses only in a program that references the arena map. */
static __always_inline void saakm_use_arena(void)
{
	asm volatile("" ::"r"(&arena));
}

static __always_inline thread_t saakm_thread_of(struct task_struct *p)
{
	u32 *slot;

	saakm_use_arena();
	slot = bpf_task_storage_get(&saakm_slots, p, 0, 0);
	return slot ? saakm_thread_at(*slot) : NULL;
}

/*
 * The same for a thread that runs on cpu, or is about to: mostly that of the core's word. Ids of threads are unique, and
 * a thread that execs and takes another's id is found in the map.
 */
static __always_inline thread_t saakm_thread_on(struct task_struct *p, u32 cpu)
{
	thread_t t;

	saakm_use_arena();
	t = saakm_thread_at(saakm_current_of(SAAKM_LOAD(saakm_word_of(cpu))));
	return t && t->pid == p->pid ? t : saakm_thread_of(p);
}

/*
 * Lists of free slots. A core keeps up to SAAKM_SPARE_SLOTS for itself, so that most forks and exits
 * write no word of other cores. The others are in WORLD->free.
 *
 * A head is: first slot | length << 20 | version << 32. The length saturates at SAAKM_MOST_SLOTS.
 * The compare-and-swap of the head fails if the slot was taken and returned since next_free was loaded,
 * because each change increments the version.
 */
#define SAAKM_SPARE_SLOTS 16
#define SAAKM_MOST_SLOTS 4095 /* length of a list without a limit */
#define SAAKM_FREE_SLOTS (SAAKM_WORLD_AT + offsetof(struct saakm_world, free))
#define SAAKM_FREE_SLOTS_OF(c) ((u64)&saakm_core_at(c)->free)
_Static_assert(SAAKM_MAX_THREADS <= 1 << 20, "a slot does not fit into the head of a list");

static __always_inline u32 saakm_slot_of(u64 head)
{
	return head & ((1 << 20) - 1);
}

/* Takes a slot from the list whose head is at `list`. Returns 0 if it is empty. */
SAAKM_GLOBAL u32 saakm_take_slot(u64 list)
{
	u64 SAAKM_MEM *head = SAAKM_FIELD_AT(u64, list);
	u64 old = *head, seen;

	while (saakm_slot_of(old) && can_loop) {
		u64 rest = saakm_thread_at(saakm_slot_of(old))->next_free;

		seen = old;
		old = __sync_val_compare_and_swap(head, seen, rest | ((seen >> 32) + 1) << 32);
		if (old == seen)
			return saakm_slot_of(seen);
	}
	return 0;
}

/*
 * Adds slot `index` to the list whose head is at `list`, unless it has `most` slots. True if added.
 * next_free is stored before the fully ordered swap of the head publishes it. saakm_take_slot loads
 * it through the index in the head (address dependency).
 */
SAAKM_GLOBAL u32 saakm_add_slot(u64 list, u32 index, u32 most)
{
	u64 SAAKM_MEM *head = SAAKM_FIELD_AT(u64, list);
	thread_t t = saakm_thread_at(index);
	u64 old = *head, seen, length;

	if (!t)
		return 0;
	do {
		length = (u32)old >> 20;
		if (length >= most && most < SAAKM_MOST_SLOTS)
			return 0;
		length = length < SAAKM_MOST_SLOTS ? length + 1 : length;
		t->next_free = (u32)old;
		seen = old;
		old = __sync_val_compare_and_swap(head, seen,
						  index | length << 20 | ((seen >> 32) + 1) << 32);
	} while (old != seen && can_loop);
	return old == seen;
}

/* Returns a free slot, or 0. Sleeps: it may allocate a page. */
SAAKM_GLOBAL u32 saakm_alloc_slot(void)
{
	u32 index = saakm_take_slot(SAAKM_FREE_SLOTS_OF(bpf_get_smp_processor_id()));
	u64 fresh, page;
	thread_t t;

	if (!index)
		index = saakm_take_slot(SAAKM_FREE_SLOTS);
	if (index)
		return index;
	fresh = __sync_fetch_and_add(&WORLD->fresh, 1);
	if (fresh >= SAAKM_MAX_THREADS)
		return 0;
	page = (SAAKM_THREADS_AT + fresh * SAAKM_THREAD_BYTES) & ~4095UL;
	/* Fails if the page exists already, for a neighbouring slot. */
	bpf_arena_alloc_pages(&arena, (void __arena *)page, 1, NUMA_NO_NODE, 0);
	t = saakm_thread_at(fresh);
	t->index = fresh;
	return t->index == fresh ? fresh : 0;
}

/* Returns a slot. */
SAAKM_GLOBAL int saakm_free_slot(u32 index)
{
	if (!saakm_add_slot(SAAKM_FREE_SLOTS_OF(bpf_get_smp_processor_id()), index,
			    SAAKM_SPARE_SLOTS))
		saakm_add_slot(SAAKM_FREE_SLOTS, index, SAAKM_MOST_SLOTS);
	return 0;
}

/*
 * A serial for the log: core c gives c + 1 and every nr_cores-th after it. Unique until a core has given
 * 2^32 / nr_cores of them.
 */
static __always_inline u32 saakm_new_serial(u32 cpu)
{
	return __sync_fetch_and_add(&saakm_core_at(cpu)->serials, 1) * WORLD->nr_cores + cpu + 1;
}

/* Clears the policy's attributes of a reused slot: they start as zeros in every runtime. */
SAAKM_GLOBAL int saakm_clear_attrs(u64 thread)
{
	u64 SAAKM_MEM *word = SAAKM_FIELD_AT(u64, thread + offsetof(struct saakm_thread, attrs));
	u32 i;

	for (i = SAAKM_FORGET(0U); i < SAAKM_THREAD_WORDS && can_loop; i = SAAKM_FORGET(i + 1))
		word[i] = 0;
	return 0;
}

/* ---- affinity --------------------------------------------------------------------------- */

/* Whether p must stay on its core: affinity of one core, or migration disabled. */
static __always_inline bool saakm_pinned(struct task_struct *p)
{
	return p->nr_cpus_allowed == 1 || is_migration_disabled(p);
}

/* Whether p is a kernel thread bound to one core. These run at once, past the policy. */
static __always_inline bool saakm_is_percpu_kthread(struct task_struct *p)
{
	return (p->flags & PF_KTHREAD) && p->nr_cpus_allowed == 1;
}

/*
 * Copies p's affinity to t->allowed; called when it changes. If p may use no online core, t counts as
 * unrestricted: the kernel is about to change the affinity.
 */
static __noinline int saakm_read_allowed(struct task_struct *p, u64 thread)
{
	thread_t t = SAAKM_FIELD_AT(struct saakm_thread, thread);
	u64 mask = (u64)p->cpus_ptr;
	bool some = false, all = true;
	u32 w;

	for (w = SAAKM_FORGET(0U); w < WORLD->nr_words && can_loop; w = SAAKM_FORGET(w + 1)) {
		u64 online = WORLD->online.word[w & (SAAKM_SET_WORDS - 1)], word = 0;

		bpf_probe_read_kernel(&word, sizeof(word), (void *)(mask + w * sizeof(word)));
		word &= online;
		t->allowed.word[w & (SAAKM_SET_WORDS - 1)] = word;
		some |= word != 0;
		all &= word == online;
	}
	if (some && !all)
		t->flags |= SAAKM_T_RESTRICTED;
	else
		t->flags &= ~SAAKM_T_RESTRICTED;
	return 0;
}

/* Updates t->affinity before a handler of t. `home` is p's core. */
static __always_inline void saakm_update_affinity(thread_t t, u32 home, bool pinned)
{
	if (pinned)
		t->affinity = (u64)&saakm_core_at(home)->self;
	else if (t->flags & SAAKM_T_RESTRICTED)
		t->affinity = (u64)&t->allowed;
	else
		t->affinity = SAAKM_WORLD_SET(online);
}

#endif
