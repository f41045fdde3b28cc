//! Fields of a sample up to the content of its event (`PERF_RECORD_SAMPLE` of `include/uapi/linux/perf_event.h`).

use hearth_trace::ftrace::Order;

/// `PERF_SAMPLE_*`.
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const CPU: u64 = 1 << 7;
const RAW: u64 = 1 << 10;
pub const IDENTIFIER: u64 = 1 << 16;
/// The fields before `READ`, in order. Each has 8 bytes: identifier, ip, tid, time, addr, id, stream, cpu, period.
const FIXED: [u64; 9] = [IDENTIFIER, 1, TID, TIME, 1 << 3, 1 << 6, 1 << 9, CPU, 1 << 8];
/// `PERF_FORMAT_*`.
const TIMES: u64 = 1 | 2;
const GROUP: u64 = 8;
const OF_COUNTER: u64 = 4 | 16;

/// `sample_type` and `read_format` of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    pub format: u64,
    pub read_format: u64,
}

/// What is read of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sample<'a> {
    pub time: Option<u64>,
    pub cpu: Option<u32>,
    /// Process and thread that were running; -1: unknown.
    pub running: Option<(i32, i32)>,
    /// Content of the event.
    pub raw: Option<&'a [u8]>,
}

impl Layout {
    /// Reads a sample; `None` if it ends within a field.
    pub fn sample(self, mut body: &[u8], order: Order) -> Option<Sample<'_>> {
        let mut sample = Sample::default();
        for field in FIXED.into_iter().filter(|field| self.format & field != 0) {
            let bytes = take(&mut body, 8)?;
            match field {
                TIME => sample.time = Some(order.number(bytes)),
                TID => {
                    let [process, thread] = [0, 4].map(|at| order.number(&bytes[at..at + 4]) as i32);
                    sample.running = Some((process, thread));
                }
                CPU => sample.cpu = Some(order.number(&bytes[..4]) as u32),
                _ => {}
            }
        }
        if self.format & READ != 0 {
            let times = u64::from((self.read_format & TIMES).count_ones());
            let each = 1 + u64::from((self.read_format & OF_COUNTER).count_ones());
            let words = match self.read_format & GROUP {
                0 => each + times,
                _ => order.number(take(&mut body, 8)?).checked_mul(each)?.checked_add(times)?,
            };
            take(&mut body, words.checked_mul(8)?)?;
        }
        if self.format & CALLCHAIN != 0 {
            let words = order.number(take(&mut body, 8)?);
            take(&mut body, words.checked_mul(8)?)?;
        }
        if self.format & RAW != 0 {
            let size = order.number(take(&mut body, 4)?);
            sample.raw = Some(take(&mut body, size)?);
        }
        Some(sample)
    }
}

fn take<'a>(rest: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = left;
    Some(taken)
}
