//! A set of cores.

/// A bitmap with one bit for each core.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CoreSet(Vec<u64>);

impl CoreSet {
    pub fn new(cores: usize) -> Self {
        CoreSet(vec![0; cores.div_ceil(64)])
    }

    pub fn insert(&mut self, core: usize) {
        self.0[core / 64] |= 1 << (core % 64);
    }

    pub fn remove(&mut self, core: usize) {
        self.0[core / 64] &= !(1 << (core % 64));
    }

    pub fn contains(&self, core: usize) -> bool {
        self.0[core / 64] >> (core % 64) & 1 == 1
    }

    pub fn set(&mut self, core: usize, member: bool) {
        if member { self.insert(core) } else { self.remove(core) }
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// The cores in order of number.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut word = *word;
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                // Clears the lowest bit.
                (word != 0).then(|| word &= word - 1)?;
                Some(at * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_like_a_set(changes in proptest::collection::vec((0..130usize, any::<bool>()), 0..60)) {
            let (mut set, mut expected) = (CoreSet::new(130), BTreeSet::new());
            for (core, member) in changes {
                set.set(core, member);
                if member { expected.insert(core); } else { expected.remove(&core); }
                prop_assert_eq!(set.contains(core), member);
            }
            prop_assert_eq!(set.iter().collect::<BTreeSet<_>>(), expected.clone());
            prop_assert_eq!((set.len(), set.first()), (expected.len(), expected.first().copied()));
            prop_assert_eq!(set.is_empty(), expected.is_empty());
        }
    }
}
