//! Decisions in a log.

use hearth_scx::log::{Record, kind};
use hearth_sim::saakm::Decision;

/// The decision of a record, if it has one. Its thread is the serial in the kernel.
pub fn decision(record: &Record) -> Option<Decision> {
    let (thread, core) = (record.thread, u32::from(record.core));
    Some(match record.kind {
        kind::READY => Decision::Ready {
            thread,
            core,
            queue: record.a as u32,
            key: record.b as i64,
            reason: record.c as u32,
        },
        kind::RUN => Decision::Run { thread },
        kind::BLOCKED => Decision::Blocked { thread },
        kind::TERMINATED => Decision::Terminated { thread },
        kind::ARM => Decision::Arm { thread, ns: record.a as i64 },
        kind::CANCEL => Decision::Cancel { thread },
        kind::KEEP_WARM => Decision::KeepWarm { core, ns: record.a as i64 },
        kind::PREEMPT => Decision::Preempt { core },
        kind::SET => Decision::Set { set: record.flag.into(), core, member: record.a != 0 },
        _ => return None,
    })
}
