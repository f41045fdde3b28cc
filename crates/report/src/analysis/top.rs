//! Selection of the longest episodes.

use hearth_trace::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Keeps the `most` longest episodes. Among equally long ones, earlier ones have priority.
pub struct Top<T> {
    most: usize,
    /// A heap with the shortest on top.
    heap: BinaryHeap<Reverse<Ranked<T>>>,
}

struct Ranked<T> {
    ns: Time,
    begin: Time,
    /// Insertion order, for episodes with equal length and begin.
    order: Reverse<u64>,
    item: T,
}

impl<T> Top<T> {
    pub fn new(most: usize) -> Self {
        Top { most, heap: BinaryHeap::new() }
    }

    /// Whether an episode of this length would be kept.
    pub fn keeps(&self, ns: Time) -> bool {
        self.heap.len() < self.most || self.heap.peek().is_some_and(|Reverse(shortest)| ns > shortest.ns)
    }

    pub fn push(&mut self, begin: Time, ns: Time, order: u64, item: T) {
        if self.keeps(ns) {
            self.heap.push(Reverse(Ranked { ns, begin, order: Reverse(order), item }));
            if self.heap.len() > self.most {
                self.heap.pop();
            }
        }
    }

    /// The episodes, the longest first.
    pub fn into_items(self) -> Vec<T> {
        let mut ranked: Vec<_> = self.heap.into_iter().map(|Reverse(ranked)| ranked).collect();
        ranked.sort_by(|a, b| b.cmp(a));
        ranked.into_iter().map(|ranked| ranked.item).collect()
    }
}

impl<T> Ranked<T> {
    fn key(&self) -> (Time, Reverse<Time>, Reverse<u64>) {
        (self.ns, Reverse(self.begin), self.order)
    }
}

impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Ranked<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keeps_the_head_of_a_sorted_list(lengths in proptest::collection::vec(0..20u64, 0..60), most in 0..10usize) {
            let mut top = Top::new(most);
            for (at, ns) in lengths.iter().enumerate() {
                top.push(at as u64 / 2, *ns, at as u64, (*ns, at));
            }
            let mut all: Vec<(u64, usize)> = lengths.iter().copied().zip(0..).collect();
            all.sort_by_key(|(ns, at)| (Reverse(*ns), *at));
            all.truncate(most);
            prop_assert_eq!(top.into_items(), all);
        }
    }
}
