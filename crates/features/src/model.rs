//! A feature model: its slots and its products.

use crate::uvl::{self, Feature, Group, Kind, Uvl};
use hearth_base::suggest::closest;

/// Name and text of each built-in model.
const MODELS: [(&str, &str); 1] = [("family", include_str!("../../../policies/features/model.uvl"))];

/// Built-in policies that are products: model and name.
const POINTS: [(&str, &str); 2] = [("family", "cfs-like"), ("family", "ule-like")];

/// Names of the built-in models: the policies that their products extend.
pub const NAMES: [&str; MODELS.len()] = {
    let mut names = [""; MODELS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = MODELS[i].0;
        i += 1;
    }
    names
};

/// A feature model. Its root is the policy that the products extend.
#[derive(Clone, Debug)]
pub struct Model {
    uvl: Uvl,
    slots: Vec<Slot>,
}

/// A decision: which of several features a product has, or which of them.
#[derive(Clone, Debug)]
pub struct Slot {
    pub name: String,
    pub features: Vec<String>,
    /// A product may have none of them.
    pub optional: bool,
}

impl Slot {
    /// The feature of a product for this slot; `no` if it has none.
    pub fn value<'p>(&self, product: &'p Product) -> &'p str {
        let own = |name: &&String| self.features.contains(name);
        product.features.iter().find(own).map_or("no", String::as_str)
    }

    /// All values: the features, and `no`.
    pub fn values(&self) -> Vec<&str> {
        let no = self.optional.then_some("no");
        no.into_iter().chain(self.features.iter().map(String::as_str)).collect()
    }
}

/// A configuration of the model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Product {
    base: String,
    /// Its features, in the order of the model.
    pub features: Vec<String>,
}

impl Product {
    /// The name by which [`hearth_policy::load`] takes it.
    pub fn name(&self) -> String {
        let base = (self.base != "family").then_some(&self.base);
        base.into_iter().chain(&self.features).map(String::as_str).collect::<Vec<_>>().join("+")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error(transparent)]
    Policy(#[from] hearth_policy::Error),
    #[error("there is no feature model `{name}`; there are {}", NAMES.join(", "))]
    Unknown { name: String },
    #[error("`{name}` is no product of the model `{model}`: {why}")]
    NoProduct { model: String, name: String, why: String },
}

impl Model {
    /// A built-in model.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn named(name: &str) -> Result<Model, ModelError> {
        let found = MODELS.iter().find(|(known, _)| *known == name);
        let (_, text) = found.ok_or_else(|| ModelError::Unknown { name: name.into() })?;
        Ok(Model::of(uvl::parse(text).expect("a test parses it")))
    }

    pub fn of(uvl: Uvl) -> Model {
        let mut slots = Vec::new();
        find_slots(&uvl.root, &mut slots);
        Model { uvl, slots }
    }

    pub fn name(&self) -> &str {
        &self.uvl.root.name
    }

    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The features that a product can have.
    pub fn features(&self) -> impl Iterator<Item = &str> {
        self.uvl.features().into_iter().filter(|f| !f.is_abstract).map(|f| f.name.as_str())
    }

    pub fn constraints(&self) -> impl Iterator<Item = &str> {
        self.uvl.constraints.iter().map(|constraint| constraint.text.as_str())
    }

    /// All products, in the order of the model.
    pub fn products(&self) -> Vec<Product> {
        let all = self.uvl.features();
        let mut index = 0;
        let selections = selections(&self.uvl.root, &mut index);
        let valid = |selection: &u64| {
            let selected = |name: &str| {
                let at = all.iter().position(|feature| feature.name == name);
                at.is_some_and(|at| selection & (1 << at) != 0)
            };
            self.uvl.constraints.iter().all(|constraint| constraint.formula.holds(&selected))
        };
        let product = |selection: u64| {
            let own = all.iter().enumerate().filter(|(at, f)| !f.is_abstract && selection & (1 << at) != 0);
            Product { base: self.name().to_owned(), features: own.map(|(_, f)| f.name.clone()).collect() }
        };
        selections.into_iter().filter(valid).map(product).collect()
    }

    /// Built-in policies that are products of this model, with their features.
    pub fn points(&self) -> Vec<(&'static str, Product)> {
        let points = POINTS.iter().filter(|(model, _)| *model == self.name());
        points.map(|(_, name)| (*name, self.product_of(name).expect("a test loads it"))).collect()
    }

    /// The product that a policy is: by its features, or of a policy that extends the model's base with features.
    ///
    /// # Errors
    /// If the policy cannot be loaded, or is no product of the model.
    pub fn product_of(&self, name_or_path: &str) -> Result<Product, ModelError> {
        if name_or_path.contains('+') && !name_or_path.contains('/') {
            return self.product(name_or_path);
        }
        let policy = hearth_policy::load(name_or_path)?;
        match policy.ir().bases.split_last() {
            Some((base, features)) if base == self.name() => self.product(&features.join("+")),
            _ => Err(ModelError::NoProduct {
                model: self.name().into(),
                name: name_or_path.into(),
                why: format!("it does not extend `{}` with features", self.name()),
            }),
        }
    }

    /// The product with these features, in any order, joined with `+`; the name of the model may come first.
    ///
    /// # Errors
    /// If it is none of the model's products. The error says why.
    pub fn product(&self, name: &str) -> Result<Product, ModelError> {
        let error = |why: String| ModelError::NoProduct { model: self.name().into(), name: name.into(), why };
        let mut wanted: Vec<&str> = name.split('+').collect();
        if wanted[0] == self.name() {
            wanted.remove(0);
        }
        for feature in &wanted {
            if !self.features().any(|known| known == *feature) {
                let near = closest(feature, self.features());
                let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                return Err(error(format!("there is no feature `{feature}`{near}")));
            }
        }
        for slot in &self.slots {
            let own: Vec<&str> =
                wanted.iter().copied().filter(|f| slot.features.iter().any(|own| own == f)).collect();
            if own.len() != 1 && !(slot.optional && own.is_empty()) {
                let what = if own.is_empty() { "no feature" } else { "several features" };
                let choices = slot.features.join(", ");
                return Err(error(format!("it has {what} for {}: choose one of {choices}", slot.name)));
            }
        }
        let selected = |feature: &str| wanted.contains(&feature) || self.is_group_of(feature, &wanted);
        if let Some(broken) = self.uvl.constraints.iter().find(|c| !c.formula.holds(&selected)) {
            return Err(error(format!("it breaks the constraint `{}`", broken.text)));
        }
        let features = self.features().filter(|known| wanted.contains(known)).map(str::to_owned).collect();
        Ok(Product { base: self.name().to_owned(), features })
    }

    /// True for an abstract feature of which a selected one is a child.
    fn is_group_of(&self, name: &str, selected: &[&str]) -> bool {
        self.slots
            .iter()
            .any(|slot| slot.name == name && slot.features.iter().any(|f| selected.contains(&&**f)))
    }
}

/// The abstract features that have concrete ones.
fn find_slots(feature: &Feature, slots: &mut Vec<Slot>) {
    for group in &feature.groups {
        if feature.is_abstract && group.features.iter().all(|child| !child.is_abstract) {
            let features = group.features.iter().map(|child| child.name.clone()).collect();
            slots.push(Slot { name: feature.name.clone(), features, optional: group.kind == Kind::Optional });
        }
        group.features.iter().for_each(|child| find_slots(child, slots));
    }
}

/// The selections of a feature and its descendants, as sets of indices from `index` on.
fn selections(feature: &Feature, index: &mut usize) -> Vec<u64> {
    let own = 1 << *index;
    *index += 1;
    let mut all = vec![own];
    for group in &feature.groups {
        let of_group = of_group(group, index);
        all = all.iter().flat_map(|a| of_group.iter().map(move |b| a | b)).collect();
    }
    all
}

fn of_group(group: &Group, index: &mut usize) -> Vec<u64> {
    let children: Vec<Vec<u64>> = group.features.iter().map(|child| selections(child, index)).collect();
    let any_of = |children: &[Vec<u64>], none: bool| {
        let mut all = vec![0];
        for child in children {
            let child: Vec<u64> = none.then_some(0).into_iter().chain(child.iter().copied()).collect();
            all = all.iter().flat_map(|a: &u64| child.iter().map(move |b| a | b)).collect();
        }
        all
    };
    match group.kind {
        Kind::Mandatory => any_of(&children, false),
        Kind::Optional => any_of(&children, true),
        Kind::Alternative => children.concat(),
        Kind::Or => any_of(&children, true).into_iter().filter(|selection| *selection != 0).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(text: &str) -> Model {
        Model::of(uvl::parse(text).unwrap())
    }

    #[test]
    fn the_thesis_has_16_features_and_486_products() {
        let model = Model::named("family").unwrap();
        assert_eq!((model.features().count(), model.products().len()), (16, 486));
        let slots: Vec<usize> = model.slots().iter().map(|slot| slot.values().len()).collect();
        assert_eq!(slots, [3, 3, 3, 3, 3, 2]);
    }

    #[test]
    fn groups_select_as_they_say() {
        let count =
            |kind: &str| model(&format!("features\n r\n  {kind}\n   a\n   b\n   c\n")).products().len();
        assert_eq!(["mandatory", "optional", "alternative", "or"].map(count), [1, 8, 3, 7]);
        let nested = "features\n r {abstract}\n  optional\n   a\n    alternative\n     b\n     c\n   d\n";
        let names: Vec<String> = model(nested).products().iter().map(Product::name).collect();
        assert_eq!(names, ["r", "r+d", "r+a+b", "r+a+b+d", "r+a+c", "r+a+c+d"]);
    }

    #[test]
    fn constraints_exclude_products() {
        let text = "features\n r {abstract}\n  optional\n   a\n   b\nconstraints\n a => b\n !(a & b) | a\n";
        let names: Vec<String> = model(text).products().iter().map(Product::name).collect();
        assert_eq!(names, ["r", "r+b", "r+a+b"]);
        let error = model(text).product("r+a").unwrap_err().to_string();
        assert!(error.ends_with("it breaks the constraint `a => b`"), "{error}");
    }

    #[test]
    fn points_are_products() {
        let model = Model::named("family").unwrap();
        let points: Vec<(&str, String)> =
            model.points().into_iter().map(|(name, product)| (name, product.name())).collect();
        assert_eq!(points[0], ("cfs-like", "rbtree+split+usedTime+llc+each+idle".to_owned()));
        assert_eq!(points[1], ("ule-like", "fifo+split+nrRun+llc+one".to_owned()));
        assert!(model.product_of("nest").unwrap_err().to_string().contains("does not extend `family`"));
        assert_eq!(model.product_of("idle+fifo+split+nrRun+llc+one").unwrap().features[5], "idle");
    }

    #[test]
    fn products_are_found_by_their_features() {
        let model = Model::named("family").unwrap();
        for product in model.products() {
            let mut reversed: Vec<&str> = product.features.iter().map(String::as_str).collect();
            reversed.reverse();
            assert_eq!(model.product(&reversed.join("+")).unwrap(), product);
        }
        for (name, why) in [
            ("fifo+fixd+nrRun+all+one", "there is no feature `fixd`; did you mean `fixed`?"),
            ("fifo+fixed+nrRun+all", "it has no feature for Executor: choose one of one, node, each"),
            (
                "fifo+list+fixed+nrRun+all+one",
                "it has several features for Election: choose one of rbtree, list, fifo",
            ),
        ] {
            let error = model.product(name).unwrap_err().to_string();
            assert_eq!(error, format!("`{name}` is no product of the model `family`: {why}"));
        }
    }
}
