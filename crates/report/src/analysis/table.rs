//! A table with a row for each thread.

use hearth_trace::Tid;
use std::collections::HashMap;

/// A map from thread numbers to rows. Small numbers, which recorders and the simulator use, are looked up in an
/// array. Other numbers are hashed. Memory is linear in the largest small number and the number of rows.
#[derive(Debug)]
pub struct Table<T> {
    /// 1 + the index in `rows`, or 0.
    dense: Vec<u32>,
    sparse: HashMap<Tid, u32>,
    rows: Vec<(Tid, T)>,
}

/// Numbers below this are small.
const DENSE: usize = 1 << 20;

impl<T: Default> Table<T> {
    pub fn new() -> Self {
        Table { dense: Vec::new(), sparse: HashMap::new(), rows: Vec::new() }
    }

    pub fn get(&self, tid: Tid) -> Option<&T> {
        let slot = match tid as usize {
            index if index < DENSE => *self.dense.get(index)?,
            _ => *self.sparse.get(&tid)?,
        };
        self.rows.get((slot as usize).checked_sub(1)?).map(|(_, row)| row)
    }

    /// The thread's row. Inserts one if it has none.
    pub fn row(&mut self, tid: Tid) -> &mut T {
        let index = tid as usize;
        let slot = if index < DENSE {
            if index >= self.dense.len() {
                self.dense.resize(index + 1, 0);
            }
            &mut self.dense[index]
        } else {
            self.sparse.entry(tid).or_default()
        };
        if *slot == 0 {
            self.rows.push((tid, T::default()));
            *slot = self.rows.len() as u32;
        }
        &mut self.rows[*slot as usize - 1].1
    }

    /// All rows, in order of insertion.
    pub fn into_rows(self) -> Vec<(Tid, T)> {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_map(tids in proptest::collection::vec(prop_oneof![0..9u32, any::<u32>()], 0..50)) {
            let mut table = Table::<u32>::new();
            let mut expected = HashMap::<u32, u32>::new();
            for tid in &tids {
                *table.row(*tid) += 1;
                *expected.entry(*tid).or_default() += 1;
            }
            prop_assert!(tids.iter().all(|tid| table.get(*tid) == expected.get(tid)));
            prop_assert!(table.get(12).copied() == expected.get(&12).copied());
            prop_assert_eq!(table.into_rows().into_iter().collect::<HashMap<_, _>>(), expected);
        }
    }
}
