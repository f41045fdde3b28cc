//! Something about each thread, found by its number.

use hearth_trace::Tid;
use std::collections::HashMap;

/// Recorders and simulators number threads from 1, so their places lie in a table; a file may
/// hold any number, so the table is bounded and the rest is hashed. Memory is in proportion to
/// the threads that were asked for.
#[derive(Debug)]
pub struct Table<T> {
    /// 1 + the place in `rows`; 0: none yet.
    dense: Vec<u32>,
    sparse: HashMap<Tid, u32>,
    rows: Vec<(Tid, T)>,
}

const DENSE: usize = 1 << 20;

impl<T: Default> Table<T> {
    pub fn new() -> Self {
        Table { dense: Vec::new(), sparse: HashMap::new(), rows: Vec::new() }
    }

    pub fn get(&self, tid: Tid) -> Option<&T> {
        let place = match tid as usize {
            index if index < DENSE => *self.dense.get(index)?,
            _ => *self.sparse.get(&tid)?,
        };
        self.rows.get((place as usize).checked_sub(1)?).map(|(_, row)| row)
    }

    /// The thread's row, made if it has none yet.
    pub fn row(&mut self, tid: Tid) -> &mut T {
        let index = tid as usize;
        let place = if index < DENSE {
            if index >= self.dense.len() {
                self.dense.resize(index + 1, 0);
            }
            &mut self.dense[index]
        } else {
            self.sparse.entry(tid).or_default()
        };
        if *place == 0 {
            self.rows.push((tid, T::default()));
            *place = self.rows.len() as u32;
        }
        &mut self.rows[*place as usize - 1].1
    }

    /// In the order in which they were first asked for.
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
        fn it_is_a_map(tids in proptest::collection::vec(prop_oneof![0..9u32, any::<u32>()], 0..50)) {
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
