//! What the socket answers.

use super::events::Event;
use super::slot::{Running, Slot};
use crate::arena::Arena;
use crate::frequency::Source;
use crate::protocol::{Changed, Info, ParamInfo, Place, Refusal, Request, SetInfo};
use crate::server::Service;
use crate::statistics::{self, Cores};
use hearth_policy::{Capacity, ParamError, Policy};
use serde::Serialize;
use serde_json::Value;
use std::sync::mpsc::Sender;
use std::time::{SystemTime, UNIX_EPOCH};

/// What the threads of a session share.
pub struct Shared {
    pub policy: Policy,
    pub scope: String,
    pub frequency: Source,
    pub since: SystemTime,
    pub slot: Slot,
    pub events: Sender<Event>,
}

impl Service for Shared {
    fn answer(&self, request: &Request, root: bool) -> Result<Value, Refusal> {
        let changes = matches!(request.req.as_str(), "set" | "stop");
        if changes && !root {
            return Err(Refusal::new(libc::EPERM, "only root may change the kernel's scheduler"));
        }
        if request.req == "stop" {
            let _ = self.events.send(Event::Asked);
            return Ok(Value::Null);
        }
        self.slot.read(|running| self.answer_of(running, request)).unwrap_or_else(|| {
            Err(Refusal::new(libc::EAGAIN, "the policy starts again after a hot-plug; try again"))
        })
    }
}

impl Shared {
    fn answer_of(&self, running: &Running, request: &Request) -> Result<Value, Refusal> {
        let argument = |name: &str| {
            let value = request.args.get(name).map(String::as_str);
            value.ok_or_else(|| Refusal::new(libc::EINVAL, format!("the argument `{name}` is missing")))
        };
        match request.req.as_str() {
            "stats" => match request.args.get("target").map_or("top", String::as_str) {
                "top" => json(running.statistics(&self.policy)),
                "cores" => {
                    json(Cores::read(&running.loaded.arena, &self.policy, &running.host, running.since))
                }
                other => Err(Refusal::new(
                    libc::EINVAL,
                    format!("unknown statistics `{other}`; known are `top` and `cores`"),
                )),
            },
            "stats_meta" => Ok(statistics::meta()),
            "info" => json(self.info(running)),
            "set" => json(self.set(running, argument("name")?, argument("value")?)?),
            other => Err(Refusal::new(libc::EINVAL, format!("unknown request `{other}`"))),
        }
    }

    pub(super) fn info(&self, Running { loaded, host, recording, .. }: &Running) -> Info {
        let value = |index: usize| loaded.arena.read_param(index);
        let params = self.policy.params().iter().enumerate().map(|(index, param)| ParamInfo {
            name: param.name.clone(),
            doc: param.doc.clone(),
            value: value(index),
            initial: param.initial,
            min: param.min,
            max: param.max,
            shown: param.unit.show(value(index)),
        });
        let places = host.cpus.iter().zip(&host.cores).map(|(cpu, at)| Place { cpu: *cpu, at: *at });
        Info {
            policy: self.policy.name().to_owned(),
            doc: self.policy.doc().to_owned(),
            version: env!("CARGO_PKG_VERSION").into(),
            kernel: host.kernel.clone(),
            machine: host.model.clone(),
            pid: std::process::id(),
            since: self.since.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            scope: self.scope.clone(),
            frequency: self.frequency.to_string(),
            recording: recording.as_ref().map(|path| path.display().to_string()),
            params: params.collect(),
            reasons: self.policy.reasons().to_vec(),
            sets: self.sets(&loaded.arena),
            topology: places.collect(),
        }
    }

    fn sets(&self, arena: &Arena) -> Vec<SetInfo> {
        let sets = self.policy.sets().iter().enumerate().map(|(index, set)| SetInfo {
            name: set.name.clone(),
            doc: set.doc.clone(),
            most: match set.capacity {
                Capacity::All => None,
                Capacity::Constant(most) => Some(most),
                Capacity::Param(param) => Some(arena.read_param(param)),
            },
            members: arena.set(self.policy.params().len(), index),
        });
        sets.collect()
    }

    fn set(&self, running: &Running, name: &str, text: &str) -> Result<Changed, Refusal> {
        if running.logging {
            return Err(Refusal::new(
                libc::EBUSY,
                "parameters cannot change while a log is being written; stop the policy and run it without --log",
            ));
        }
        let refused = |error: ParamError| Refusal::new(libc::EINVAL, error.to_string());
        let (index, new) = self.policy.parse_value(name, text).map_err(refused)?;
        let arena = &running.loaded.arena;
        let old = arena.read_param(index);
        arena.write_param(index, new);
        let unit = self.policy.params()[index].unit;
        Ok(Changed {
            name: name.into(),
            old: unit.show(old),
            new: unit.show(new),
            note: note(&self.policy, index, old, new),
        })
    }
}

fn json(value: impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(value).map_err(|error| Refusal::new(libc::EINVAL, error.to_string()))
}

/// A remark on the change of parameter `index` of a running policy.
fn note(policy: &Policy, index: usize, old: i64, new: i64) -> Option<String> {
    let set = policy.sets().iter().find(|set| set.capacity == Capacity::Param(index))?;
    (new < old).then(|| format!("{} may have more members until cores leave it", set.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_set_may_stay_too_large_for_a_while() {
        let nest = hearth_policy::load("nest").unwrap();
        let (r_max, _) = nest.parse_value("r_max", "1").unwrap();
        let told = note(&nest, r_max, 5, 1).unwrap();
        assert!(told.starts_with("reserve"), "{told}");
        assert_eq!(note(&nest, r_max, 5, 6), None);
        assert_eq!(note(&nest, nest.parse_value("s_max", "0").unwrap().0, 8, 0), None);
    }
}
