//! Livelock: a cycle of steps without an external event, in which every core gets its turn.

use std::collections::{HashMap, VecDeque};

use crate::step::Step;

/// A step that is no external event, between two nodes of the search.
#[derive(Clone, Copy)]
struct Edge {
    from: u32,
    to: u32,
    step: Step,
}

/// The steps between visited states that are no external events.
#[derive(Default)]
pub struct Internal {
    /// In the order of `from`: the search expands one node after the other.
    edges: Vec<Edge>,
    /// By node: where its edges begin, and the actors whose steps are enabled, as bits.
    nodes: Vec<(u32, u16)>,
}

pub fn bit(step: Step) -> u16 {
    step.actor().map_or(0, |actor| 1 << actor)
}

/// The actors of these steps, as bits.
pub fn actors(steps: &[Step]) -> u16 {
    steps.iter().fold(0, |actors, step| actors | bit(*step))
}

impl Internal {
    /// Begins the next node, in which these steps are enabled.
    pub fn expand(&mut self, steps: &[Step]) {
        self.nodes.push((self.edges.len() as u32, actors(steps)));
    }

    /// A step of the last node that `expand` began. External events are ignored.
    pub fn step(&mut self, step: Step, to: u32) {
        if step.actor().is_some() {
            let from = self.nodes.len() as u32 - 1;
            self.edges.push(Edge { from, to, step });
        }
    }

    fn of(&self, node: u32) -> &[Edge] {
        let start = |at: u32| self.nodes.get(at as usize).map_or(self.edges.len(), |node| node.0 as usize);
        // A node that is not expanded has no edges yet.
        if node as usize >= self.nodes.len() { &[] } else { &self.edges[start(node)..start(node + 1)] }
    }

    /// The first node of a cycle that can repeat for ever, and its steps. A cycle can if each actor whose step is
    /// enabled all along takes part: otherwise that step comes at some time.
    pub fn livelock(&self) -> Option<(u32, Vec<Step>)> {
        let components = self.components();
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); components.len()];
        for (node, component) in (0..).zip(&components) {
            members[*component as usize].push(node);
        }
        members.sort_by_key(|members| members.first().copied());
        let inside = |edge: &&Edge| components[edge.from as usize] == components[edge.to as usize];
        let taken = |members: &[u32]| {
            members
                .iter()
                .flat_map(|node| self.of(*node))
                .filter(inside)
                .fold(0, |taken, e| taken | bit(e.step))
        };
        let always =
            |members: &[u32]| members.iter().fold(u16::MAX, |all, node| all & self.nodes[*node as usize].1);
        let endless = |members: &&Vec<u32>| match taken(members) {
            0 => false,
            taken => always(members) & !taken == 0,
        };
        let start = *members.iter().find(endless)?.first()?;
        Some((start, self.tour(start, &inside)))
    }

    /// The steps of a walk from a node back to it, in which each actor takes part or has no step at some time.
    fn tour(&self, start: u32, inside: &impl Fn(&&Edge) -> bool) -> Vec<Step> {
        let (mut walk, mut at, mut served) = (Vec::new(), start, !self.nodes[start as usize].1);
        let serves = |edge: &Edge| bit(edge.step) | !self.nodes[edge.to as usize].1;
        while served != u16::MAX || walk.is_empty() {
            let new = |edge: &Edge| served == u16::MAX || serves(edge) & !served != 0;
            for edge in self.shortest(at, inside, new) {
                served |= serves(&edge);
                walk.push(edge.step);
                at = edge.to;
            }
        }
        if at != start {
            walk.extend(self.shortest(at, inside, |edge| edge.to == start).iter().map(|edge| edge.step));
        }
        walk
    }

    /// The shortest walk from a node that ends with such an edge. There is one.
    fn shortest(
        &self,
        from: u32,
        inside: &impl Fn(&&Edge) -> bool,
        last: impl Fn(&Edge) -> bool,
    ) -> Vec<Edge> {
        let mut came: HashMap<u32, Edge> = HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for edge in self.of(node).iter().filter(inside) {
                if last(edge) {
                    let mut walk = vec![*edge];
                    while walk[walk.len() - 1].from != from {
                        walk.push(came[&walk[walk.len() - 1].from]);
                    }
                    walk.reverse();
                    return walk;
                }
                if edge.to != from && !came.contains_key(&edge.to) {
                    came.insert(edge.to, *edge);
                    queue.push_back(edge.to);
                }
            }
        }
        unreachable!("a component is strongly connected")
    }

    /// By node, the number of its strongly connected component (Tarjan's algorithm without recursion). Nodes that
    /// are not expanded are on no cycle.
    fn components(&self) -> Vec<u32> {
        const NONE: u32 = u32::MAX;
        let count =
            self.edges.iter().map(|edge| edge.to as usize + 1).max().unwrap_or(0).max(self.nodes.len());
        let (mut index, mut low) = (vec![NONE; count], vec![NONE; count]);
        let mut component = vec![NONE; count];
        let (mut stack, mut next, mut found) = (Vec::new(), 0, 0);
        for root in 0..count as u32 {
            let mut calls: Vec<(u32, usize)> = Vec::new();
            if index[root as usize] == NONE {
                calls.push((root, 0));
            }
            while let Some((node, edge)) = calls.pop() {
                let at = node as usize;
                if edge == 0 {
                    (index[at], low[at]) = (next, next);
                    next += 1;
                    stack.push(node);
                } else {
                    let child = self.of(node)[edge - 1].to as usize;
                    if component[child] == NONE {
                        low[at] = low[at].min(low[child]);
                    }
                }
                if let Some(next) = self.of(node).get(edge) {
                    calls.push((node, edge + 1));
                    if index[next.to as usize] == NONE {
                        calls.push((next.to, 0));
                    }
                } else if low[at] == index[at] {
                    while let Some(member) = stack.pop() {
                        component[member as usize] = found;
                        if member == node {
                            break;
                        }
                    }
                    found += 1;
                }
            }
        }
        component
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Step = Step::Go(0);
    const B: Step = Step::Go(1);

    /// The graph with these edges from each node, all of them expanded.
    fn graph(nodes: &[&[(Step, u32)]]) -> Internal {
        let mut internal = Internal::default();
        for edges in nodes {
            internal.expand(&edges.iter().map(|(step, _)| *step).collect::<Vec<Step>>());
            edges.iter().for_each(|(step, to)| internal.step(*step, *to));
        }
        internal
    }

    #[test]
    fn a_cycle_that_leaves_nobody_out_is_a_livelock() {
        assert_eq!(graph(&[&[(A, 1)], &[(A, 2)], &[(A, 1)]]).livelock(), Some((1, vec![A, A])));
        assert_eq!(graph(&[&[(A, 0)]]).livelock(), Some((0, vec![A])));
        // B takes part, on another way.
        let both = graph(&[&[(A, 0), (B, 1)], &[(A, 0), (B, 0)]]);
        assert_eq!(both.livelock(), Some((0, vec![A, B, A])));
    }

    #[test]
    fn what_ends_is_none() {
        assert_eq!(graph(&[&[(A, 1), (B, 2)], &[(B, 3)], &[(A, 3)], &[]]).livelock(), None);
        // External events do not happen by themselves.
        assert_eq!(graph(&[&[(A, 1)], &[(Step::Op(0), 0)]]).livelock(), None);
        // B has a step all along, which leads out of the cycle.
        assert_eq!(graph(&[&[(A, 1), (B, 2)], &[(A, 0), (B, 2)], &[]]).livelock(), None);
    }

    #[test]
    fn who_has_no_step_at_some_time_is_not_left_out() {
        let cycle = graph(&[&[(A, 1), (B, 2)], &[(A, 0)], &[]]).livelock();
        assert_eq!(cycle, Some((0, vec![A, A])));
    }
}
