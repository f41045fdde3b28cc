/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The words of runtime/words.h for the explorer. build.rs compiles this file once per variant, with
 * EXPLORE_OPERATIONS as the name of the exported table.
 *
 * Addresses are those of `cells`, but the cells hold nothing: every access is a call of Rust, which
 * maps the address to an atomic of loom.
 */
#include "saakm.h"

#define CORES 3
#define THREADS 4
/* Cores 0 and 1, and core 2, which has another last-level cache. */
#define PARTS 2

struct cells {
	uint64_t core[CORES], place[THREADS], set[4][PARTS], missed;
};
static struct cells cells;

extern uint64_t explore_load(size_t cell);
extern uint64_t explore_swap(size_t cell, uint64_t old, uint64_t new);
extern uint64_t explore_pair(core_t c);
extern void explore_kick(core_t c, bool search);

static size_t cell(const uint64_t *word)
{
	return (size_t)(word - (const uint64_t *)&cells);
}

static uint64_t load(const uint64_t *word)
{
	return explore_load(cell(word));
}

static uint64_t swap(const uint64_t *word, uint64_t old, uint64_t new)
{
	return explore_swap(cell(word), old, new);
}

static uint64_t *saakm_word_of(core_t c)
{
	return &cells.core[c];
}

static uint64_t *saakm_place_of(uint32_t thread)
{
	return &cells.place[thread];
}

static uint64_t *saakm_kept(uint32_t set, core_t c)
{
	return &cells.set[set][c / 2];
}

static core_t saakm_last_core(void)
{
	return CORES - 1;
}

static uint32_t saakm_kept_words(void)
{
	return 1;
}

static uint64_t saakm_pair_word(core_t c, uint32_t w)
{
	return w ? 0 : explore_pair(c);
}

static bool saakm_has_pairs(void)
{
	return explore_pair(0) | explore_pair(1) | explore_pair(2);
}

static uint64_t *saakm_missed(void)
{
	return &cells.missed;
}

static void saakm_kick(core_t c)
{
	explore_kick(c, false);
}

static void saakm_search_again(core_t c)
{
	explore_kick(c, true);
}

#define SAAKM_LOAD(word) load(word)
#define SAAKM_CAS(word, old, new) swap(word, old, new)
#include WORDS

static uint32_t change_place(uint32_t thread, uint64_t old, uint32_t state, core_t c)
{
	return saakm_change_place(&cells.place[thread], thread, old, state, c, 0);
}

static uint32_t take_core(uint32_t thread, uint64_t old, core_t c)
{
	return saakm_take_core(&cells.place[thread], thread, old, c, 0);
}

static uint32_t change_core(core_t c, uint32_t change, uint32_t thread)
{
	return saakm_change_core_inline(c, change, thread);
}

static void release_claim(core_t c)
{
	saakm_return_claim(c);
}

extern const struct operations {
	uint64_t (*word_after)(uint64_t word, uint32_t change, uint32_t thread);
	uint32_t (*change_core)(core_t c, uint32_t change, uint32_t thread);
	uint32_t (*change_place)(uint32_t thread, uint64_t old, uint32_t state, core_t c);
	uint32_t (*take_core)(uint32_t thread, uint64_t old, core_t c);
	bool (*awaits)(core_t c, uint32_t not_coming);
	uint32_t (*take_claim)(core_t c);
	void (*release_claim)(core_t c);
	bool (*has_missed)(uint64_t *heard);
} EXPLORE_OPERATIONS;

const struct operations EXPLORE_OPERATIONS = {
	.word_after = saakm_word_after,
	.change_core = change_core,
	.change_place = change_place,
	.take_core = take_core,
	.awaits = saakm_awaits,
	.take_claim = saakm_take_claim,
	.release_claim = release_claim,
	.has_missed = saakm_has_missed,
};
