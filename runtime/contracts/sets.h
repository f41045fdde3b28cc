/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Contracts of the runtime's functions on numbers and sets. runtime.c proves them of the text of
 * saakm_inline.h; emitted code is proved against them.
 */
#ifndef SAAKM_SETS_H
#define SAAKM_SETS_H

#include "words.h"

/*@ axiomatic Places {
  @   // The word of core c in a set, and its bit there: c / 64 and c % 64 (runtime.c).
  @   logic integer slot(integer c);
  @   logic integer part(integer c);
  @   axiom slots: \forall integer c; 0 <= c < SAAKM_MAX_CORES ==> 0 <= slot(c) < SAAKM_SET_WORDS;
  @   axiom parts: \forall integer c; 0 <= c < SAAKM_MAX_CORES ==> 0 <= part(c) < 64;
  @   axiom whole: \forall integer c; 0 <= c < SAAKM_MAX_CORES ==> c == 64 * slot(c) + part(c);
  @ } */
/*@ predicate in{L}(struct saakm_set *all, integer c) = bit(all->word[slot(c)], part(c)); */

/*@ logic integer quotient(integer a, integer b) = b == 0 ? 0 : a / b; */
/*@ logic integer remainder(integer a, integer b) = b == 0 || b == -1 ? 0 : a % b; */
/*@ axiomatic Decay { logic integer decay(integer value, integer dt, integer half_life); } */

/*@ assigns \nothing; ensures \result == (a < b ? a : b); */
static int64_t saakm_min(int64_t a, int64_t b);

/*@ assigns \nothing; ensures \result == (a > b ? a : b); */
static int64_t saakm_max(int64_t a, int64_t b);

/*@ assigns \nothing;
  @ // The division by -1, which wraps, is not stated: WP knows no remainder of 2^64.
  @ ensures b != -1 ==> \result == quotient(a, b); */
static int64_t saakm_div(int64_t a, int64_t b);

/*@ assigns \nothing;
  @ ensures \result == remainder(a, b); */
static int64_t saakm_mod(int64_t a, int64_t b);

/*@ requires c < SAAKM_MAX_CORES && \valid_read(all->word + (0 .. SAAKM_SET_WORDS - 1));
  @ assigns \nothing;
  @ ensures \result <==> in(all, c); */
static bool saakm_has(set_t all, core_t c);

/*@ requires c < SAAKM_MAX_CORES && \valid(all->word + (0 .. SAAKM_SET_WORDS - 1));
  @ assigns all->word[0 .. SAAKM_SET_WORDS - 1];
  @ ensures \forall integer k; 0 <= k < SAAKM_MAX_CORES ==> (in(all, k) <==> \old(in(all, k)) || k == c); */
static void saakm_include(struct saakm_set *all, core_t c);

/*@ requires c < SAAKM_MAX_CORES && \valid(all->word + (0 .. SAAKM_SET_WORDS - 1));
  @ assigns all->word[0 .. SAAKM_SET_WORDS - 1];
  @ ensures \forall integer k; 0 <= k < SAAKM_MAX_CORES ==> (in(all, k) <==> \old(in(all, k)) && k != c); */
static void saakm_exclude(struct saakm_set *all, core_t c);

#endif
