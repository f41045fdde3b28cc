/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The runtime's functions on numbers and sets, in the text that runs, under the contracts of
 * sets.h. Frama-C merges the contract of a declaration with the definition in saakm_inline.h or
 * runtime/host.
 */
#include <stdint.h>
#include "words.h"

/* The compiler's. */
/*@ requires w != 0;
  @ assigns \nothing;
  @ ensures 0 <= \result < 64 && bit(w, \result);
  @ ensures \forall integer j; 0 <= j < \result ==> !bit(w, j); */
int __builtin_ctzll(uint64_t w);

#include "../saakm.h"
#include "sets.h"

/*@ axiomatic Cores {
  @   axiom slot_is: \forall integer c; 0 <= c < SAAKM_MAX_CORES ==> slot(c) == c / 64;
  @   axiom part_is: \forall integer c; 0 <= c < SAAKM_MAX_CORES ==> part(c) == c % 64;
  @ } */
/* With these definitions, the axioms of sets.h are theorems. */
/*@ lemma slots_are: \forall integer c; 0 <= c < SAAKM_MAX_CORES ==> 0 <= c / 64 < SAAKM_SET_WORDS; */
/*@ lemma parts_are: \forall integer c; 0 <= c < SAAKM_MAX_CORES ==> 0 <= c % 64 < 64; */
/*@ lemma whole_is: \forall integer c; 0 <= c < SAAKM_MAX_CORES ==> c == 64 * (c / 64) + c % 64; */

/*@ requires \valid(s) && c < SAAKM_MAX_CORES;
  @ assigns s->claimed.word[0 .. SAAKM_SET_WORDS - 1];
  @ ensures \result <==> in(&s->idle, c) && !\old(in(&s->claimed, c));
  @ ensures \forall integer k; 0 <= k < SAAKM_MAX_CORES ==>
  @   (in(&s->claimed, k) <==> \old(in(&s->claimed, k)) || k == c && \result); */
static bool saakm_claim(saakm_t s, core_t c);

/*@ requires \valid(s) && c < SAAKM_MAX_CORES;
  @ assigns s->claimed.word[0 .. SAAKM_SET_WORDS - 1];
  @ ensures \forall integer k; 0 <= k < SAAKM_MAX_CORES ==>
  @   (in(&s->claimed, k) <==> \old(in(&s->claimed, k)) && k != c); */
static void saakm_release(saakm_t s, core_t c);

/*@ requires \valid(scan) && scan->word < SAAKM_SET_WORDS;
  @ assigns scan->bits;
  @ ensures \old(scan->bits) == 0 ==> \result == SAAKM_NO_CORE && scan->bits == 0;
  @ ensures \old(scan->bits) != 0 ==> scan->word * 64 <= \result < scan->word * 64 + 64;
  @ ensures \old(scan->bits) != 0 ==> bit(\old(scan->bits), \result - scan->word * 64);
  @ ensures \old(scan->bits) != 0 ==> (\forall integer i; 0 <= i < 64 ==>
  @   (bit(scan->bits, i) <==> bit(\old(scan->bits), i) && i != \result - scan->word * 64));
  @ ensures \old(scan->bits) != 0 ==> (\forall integer i; 0 <= i < \result - scan->word * 64 ==>
  @   !bit(\old(scan->bits), i)); */
static core_t saakm_scan_take(struct saakm_scan *scan);

/*@ requires \valid(walk) && walk->word < SAAKM_SET_WORDS;
  @ assigns walk->bits;
  @ ensures \old(walk->bits) == 0 ==> \result == SAAKM_NO_CORE && walk->bits == 0;
  @ ensures \old(walk->bits) != 0 ==> walk->word * 64 <= \result < walk->word * 64 + 64;
  @ ensures \old(walk->bits) != 0 ==> bit(\old(walk->bits), \result - walk->word * 64);
  @ ensures \old(walk->bits) != 0 ==> (\forall integer i; 0 <= i < 64 ==>
  @   (bit(walk->bits, i) <==> bit(\old(walk->bits), i) && i != \result - walk->word * 64));
  @ ensures \old(walk->bits) != 0 ==> (\forall integer i; 0 <= i < \result - walk->word * 64 ==>
  @   !bit(\old(walk->bits), i)); */
static core_t saakm_walk_take(struct saakm_walk *walk);
