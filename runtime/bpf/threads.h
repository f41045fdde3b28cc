/* SPDX-License-Identifier: GPL-2.0-only */
/* SaaKM on sched_ext: slots of threads, and affinity. */
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
 * Returns a free slot, or 0. Sleeps: it may allocate a page.
 *
 * WORLD->free is the head of the free list, and a version in its upper half. The compare-and-swap
 * fails if another core took and returned the slot since next_free was loaded, because each change
 * of the head increments the version.
 */
SAAKM_GLOBAL u32 saakm_alloc_slot(void)
{
	u64 old = WORLD->free, seen;
	u64 fresh, page;
	thread_t t;

	while ((u32)old && can_loop) {
		u64 next = saakm_thread_at((u32)old)->next_free;

		seen = old;
		old = __sync_val_compare_and_swap(&WORLD->free, seen,
						  next | ((seen >> 32) + 1) << 32);
		if (old == seen)
			return (u32)seen;
	}
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

/*
 * Returns a slot to the free list. next_free is stored before the fully ordered swap of the head
 * publishes it. saakm_alloc_slot loads it through the index in the head (address dependency).
 */
SAAKM_GLOBAL int saakm_free_slot(u32 index)
{
	u64 old = WORLD->free, seen;
	thread_t t = saakm_thread_at(index);

	if (!t)
		return 0;
	do {
		t->next_free = (u32)old;
		seen = old;
		old = __sync_val_compare_and_swap(&WORLD->free, seen,
						  index | ((seen >> 32) + 1) << 32);
	} while (old != seen && can_loop);
	return 0;
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
