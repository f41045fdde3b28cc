//! Several workloads at once.

use crate::{Error, Op, Workload};

/// Separates the parts of a specification.
const PLUS: &str = " + ";

/// The parts of a specification `A + B`; `None` if it has one part only.
pub(crate) fn parts(spec: &str) -> Option<Vec<&str>> {
    spec.contains(PLUS).then(|| spec.split(PLUS).map(str::trim).collect())
}

/// All threads of these workloads in one graph. All start at time 0. The names of the threads of part 2 begin with
/// `2/`, and so on.
///
/// # Errors
/// If threads of two parts spin for different times at barriers, or for semaphores: a graph has one such time each.
pub(crate) fn together(parts: Vec<Workload>, spec: &str) -> Result<Workload, Error> {
    let names = |name: fn(&Workload) -> &str| parts.iter().map(name).collect::<Vec<_>>().join(PLUS);
    let mut all = Workload {
        name: names(|part| &part.name),
        origin: names(|part| &part.origin),
        ..Workload::default()
    };
    let spins = |places: fn(&Workload) -> &[u32], spin: fn(&Workload) -> u64, what: &str| {
        let mut spins: Vec<u64> = parts.iter().filter(|part| !places(part).is_empty()).map(spin).collect();
        spins.dedup();
        match spins[..] {
            [_, _, ..] => {
                let message = format!("its parts spin {what} for different times; give all the same");
                Err(Error::Spec { spec: spec.to_owned(), message })
            }
            _ => Ok(spins.first().copied().unwrap_or(0)),
        }
    };
    all.barrier_spin = spins(|part| &part.barriers, |part| part.barrier_spin, "at barriers")?;
    all.wait_spin = spins(|part| &part.semaphores, |part| part.wait_spin, "for semaphores")?;
    for (index, part) in parts.into_iter().enumerate() {
        let shift = Shift {
            threads: all.threads.len() as u32,
            semaphores: all.semaphores.len() as u32,
            barriers: all.barriers.len() as u32,
            timers: all.timers.len() as u32,
        };
        for mut thread in part.threads {
            shift.all(&mut thread.ops);
            thread.name = format!("{}/{}", index + 1, thread.name);
            all.threads.push(thread);
        }
        all.semaphores.extend(part.semaphores);
        all.sync.extend(part.sync.iter().map(|semaphore| semaphore + shift.semaphores));
        all.barriers.extend(part.barriers);
        all.timers.extend(part.timers);
    }
    Ok(all)
}

/// Distances by which the indices of a part move.
struct Shift {
    threads: u32,
    semaphores: u32,
    barriers: u32,
    timers: u32,
}

impl Shift {
    fn all(&self, ops: &mut [Op]) {
        ops.iter_mut().for_each(|op| self.one(op));
    }

    fn one(&self, op: &mut Op) {
        match op {
            Op::Fork(thread) | Op::Join(thread) => *thread += self.threads,
            Op::Post(semaphore) | Op::Wait(semaphore) => *semaphore += self.semaphores,
            Op::Barrier(barrier) => *barrier += self.barriers,
            Op::Timer(timer, _) => *timer += self.timers,
            Op::Repeat(_, body) => self.all(&mut body.0),
            Op::Run(_) | Op::Sleep(_) | Op::Io(_) | Op::Yield | Op::Exec(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_meaning() {
        let both = Workload::resolve("barrier:threads=3 + mkl:threads=2").unwrap_err();
        assert!(both.to_string().contains("different times"), "{both}");
        let both = Workload::resolve("server:clients=2,workers=1 + barrier:threads=3").unwrap();
        let (server, barrier) = (
            Workload::resolve("server:clients=2,workers=1").unwrap(),
            Workload::resolve("barrier:threads=3").unwrap(),
        );
        assert_eq!(both.threads.len(), server.threads.len() + barrier.threads.len());
        assert_eq!(both.semaphores, [server.semaphores.clone(), barrier.semaphores].concat());
        assert_eq!((&both.barriers, both.barrier_spin), (&barrier.barriers, barrier.barrier_spin));
        // The first part is unchanged but for its names; the master of the second forks its own team.
        assert_eq!(both.threads[0].ops, server.threads[0].ops);
        assert_eq!(both.threads[0].name, format!("1/{}", server.threads[0].name));
        let master = server.threads.len();
        assert_eq!(both.threads[master].name, "2/master");
        let forked: Vec<u32> = both.threads[master]
            .ops
            .iter()
            .filter_map(|op| if let Op::Fork(t) = op { Some(*t) } else { None })
            .collect();
        assert_eq!(forked, [master as u32 + 1, master as u32 + 2]);
        assert!(both.check("both").is_ok());
        assert_eq!(both.name, "server + barrier");
    }

    #[test]
    fn a_wrong_part_is_an_error() {
        let error = Workload::resolve("server + sever").unwrap_err();
        assert!(error.to_string().contains("did you mean `server`"), "{error}");
    }
}
