/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Words of 64 bits under contracts. `bit` is abstract: what it says of C's operators are the axioms
 * below. `hearth prove --code` reads them here and proves each of 64-bit vectors with Z3.
 */
#ifndef SAAKM_WORDS_H
#define SAAKM_WORDS_H

/*@ axiomatic Words {
  @   predicate bit(integer w, integer i);
  @   axiom test: \forall uint64_t w, integer i; 0 <= i < 64 ==> (bit(w, i) <==> ((w >> i) & 1) != 0);
  @   axiom none: \forall integer i; 0 <= i < 64 ==> !bit(0, i);
  @   axiom some: \forall uint64_t w; w != 0 ==> \exists integer i; 0 <= i < 64 && bit(w, i);
  @   axiom one: \forall integer b, integer i; 0 <= b < 64 && 0 <= i < 64 ==>
  @     (bit((uint64_t)(1 << b), i) <==> i == b);
  @   axiom not: \forall uint64_t w, integer i; 0 <= i < 64 ==> (bit((uint64_t)(~w), i) <==> !bit(w, i));
  @   axiom both: \forall uint64_t v, uint64_t w, integer i; 0 <= i < 64 ==>
  @     (bit(v & w, i) <==> bit(v, i) && bit(w, i));
  @   axiom either: \forall uint64_t v, uint64_t w, integer i; 0 <= i < 64 ==>
  @     (bit(v | w, i) <==> bit(v, i) || bit(w, i));
  @   axiom minus: \forall uint64_t v, uint64_t w, integer i; 0 <= i < 64 ==>
  @     (bit(v & (uint64_t)(~w), i) <==> bit(v, i) && !bit(w, i));
  @   axiom drop: \forall uint64_t w, integer k, integer i; 0 <= k < 64 && 0 <= i < 64 ==> bit(w, k) ==>
  @     (\forall integer j; 0 <= j < 64 ==> j < k ==> !bit(w, j)) ==>
  @     (bit(w & (uint64_t)(w - 1), i) <==> bit(w, i) && i != k);
  @ } */

#endif
