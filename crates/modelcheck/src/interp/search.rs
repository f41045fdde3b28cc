//! Loops over finite collections and searches.

use hearth_ipanema::ir::{Extreme, Iteration, OrderKind, Over, Search, SearchKind};

use super::{Interp, Value};
use crate::access::Access;
use crate::cores::Cores;
use crate::env::Stop;
use crate::topology::DomainId;
use crate::world::Line;

/// Compares a key with the best one so far. `Less` means better.
fn compare_keys(extreme: Extreme, key: i64, best: i64) -> std::cmp::Ordering {
    match extreme {
        Extreme::Min => key.cmp(&best),
        Extreme::Max => best.cmp(&key),
    }
}

impl<'x> Interp<'_, '_, 'x> {
    /// A snapshot of the collection, in the order of the walk.
    pub(super) fn elements(&mut self, iteration: &'x Iteration) -> Result<Vec<i64>, Stop> {
        let order = match &iteration.order {
            Some(order) => Some((order.kind, self.expr(&order.origin)? as u8)),
            None => None,
        };
        let limit = match &iteration.limit {
            Some(limit) => self.expr(limit)?.max(0) as usize,
            None => usize::MAX,
        };
        let elements: Vec<i64> = match &iteration.over {
            Over::Cores(set) => {
                let set = Cores(self.expr(set)? as u8);
                let (kind, origin) = order.unwrap_or((OrderKind::From, 0));
                let walk = self.env.model.map.order(kind, origin);
                walk.iter().filter(|core| set.contains(**core)).map(|core| i64::from(*core)).collect()
            }
            Over::Threads { core, queue } => {
                let core = self.expr(core)? as u8;
                let line = Line(self.env.access(Access::Queue(core, *queue))? as u32);
                line.iter().map(i64::from).collect()
            }
            Over::Groups { domain, level } => {
                let domain = DomainId::from_value(self.expr(domain)?);
                let groups = self.env.model.map.groups(domain, *level, order.map(|(_, origin)| origin));
                groups.into_iter().map(DomainId::to_value).collect()
            }
        };
        Ok(elements.into_iter().take(limit).collect())
    }

    pub(super) fn search(&mut self, search: &'x Search) -> Value {
        let elements = self.elements(&search.iteration)?;
        match &search.kind {
            SearchKind::First => Ok(self.first(search, &elements)?.unwrap_or(-1)),
            SearchKind::Any => Ok(i64::from(self.first(search, &elements)?.is_some())),
            SearchKind::Extreme { extreme, by } => {
                let mut best: Option<(i64, Vec<i64>)> = None;
                for element in elements {
                    if !self.passes_filter(search, element)? {
                        continue;
                    }
                    let so_far = best.as_ref().map(|(_, keys)| keys.as_slice());
                    let keys = by.iter().map(|key| move |this: &mut Self| this.expr(key));
                    if let Some(keys) = self.improving_keys(*extreme, keys, so_far)? {
                        best = Some((element, keys));
                    }
                }
                Ok(best.map_or(-1, |(element, _)| element))
            }
            SearchKind::Sum { of } => {
                let mut sum = 0i64;
                for element in elements {
                    if self.passes_filter(search, element)? {
                        sum = sum.wrapping_add(self.expr(of)?);
                    }
                }
                Ok(sum)
            }
        }
    }

    fn first(&mut self, search: &'x Search, elements: &[i64]) -> Result<Option<i64>, Stop> {
        for element in elements {
            if self.passes_filter(search, *element)? {
                return Ok(Some(*element));
            }
        }
        Ok(None)
    }

    /// Binds the element and evaluates the filter.
    fn passes_filter(&mut self, search: &'x Search, element: i64) -> Result<bool, Stop> {
        let at = self.base + search.iteration.local.index();
        // An invariant is outside of any function, so nothing has allocated its locals.
        if at >= self.locals.len() {
            self.locals.resize(at + 1, 0);
        }
        self.locals[at] = element;
        match &search.filter {
            Some(filter) => self.holds(filter),
            None => Ok(true),
        }
    }

    /// The keys of an element if they are better than the best so far. Evaluation stops at the first key that is
    /// worse.
    pub(super) fn improving_keys<K: FnOnce(&mut Self) -> Value>(
        &mut self,
        extreme: Extreme,
        keys: impl Iterator<Item = K>,
        best: Option<&[i64]>,
    ) -> Result<Option<Vec<i64>>, Stop> {
        let mut own: Vec<i64> = Vec::new();
        let mut equal = best.is_some();
        for (at, key) in keys.enumerate() {
            let key = key(self)?;
            own.push(key);
            if let Some(best) = best
                && equal
            {
                match compare_keys(extreme, key, best[at]) {
                    std::cmp::Ordering::Greater => return Ok(None),
                    std::cmp::Ordering::Equal => {}
                    std::cmp::Ordering::Less => equal = false,
                }
            }
        }
        // Among equals the first wins.
        Ok((!equal).then_some(own))
    }
}
