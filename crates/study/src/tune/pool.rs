//! The products that a search chooses from.

use crate::methodology::{Slot, Space};
use hearth_features::Model;

/// Products, each with the number of its feature in each slot.
#[derive(Clone, Debug)]
pub struct Pool {
    pub names: Vec<String>,
    /// By product, then by slot.
    pub features: Vec<Vec<usize>>,
}

/// Number of slots in which two products differ.
pub type Distance = usize;

/// The slots of a model, as the study knows them.
pub fn space(model: &Model) -> Space {
    let slot = |slot: &hearth_features::Slot| Slot {
        name: slot.name.clone(),
        features: slot.features.clone(),
        optional: slot.optional,
    };
    Space { base: model.name().to_owned(), slots: model.slots().iter().map(slot).collect() }
}

impl Pool {
    /// All products of the model.
    pub fn of(model: &Model) -> Pool {
        Pool::from_names(&space(model), model.products().iter().map(|product| product.name()))
    }

    /// The policies among these that are products.
    pub fn from_names(space: &Space, names: impl IntoIterator<Item = String>) -> Pool {
        let known = |name: String| Some((space.features_of(&name)?, name));
        let (features, names) = names.into_iter().filter_map(known).unzip();
        Pool { names, features }
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other == name)
    }

    pub fn distance(&self, a: usize, b: usize) -> Distance {
        self.features[a].iter().zip(&self.features[b]).filter(|(a, b)| a != b).count()
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.features.first().map_or(0, Vec::len)
    }
}
