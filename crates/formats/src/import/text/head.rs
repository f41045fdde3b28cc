//! The beginning of a line: thread, core, flags, time and name of the event.

/// The parts of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Head<'a> {
    pub comm: &'a str,
    /// `None`: unknown (`perf script` of a thread that has exited).
    pub pid: Option<i32>,
    /// The thread's process; `None`: the line does not say.
    pub process: Option<i32>,
    pub cpu: u32,
    pub time: u64,
    /// Number of decimals of the time.
    pub digits: usize,
    /// True if there are flags; and if they show an interrupt.
    pub flags: bool,
    pub interrupt: bool,
    /// Without the subsystem.
    pub event: &'a str,
    pub rest: &'a str,
}

impl<'a> Head<'a> {
    /// Parses a line. `None`: it is not an event. Error: it is an event with an invalid head.
    pub fn parse(line: &'a str) -> Option<Result<Self, String>> {
        // A thread's name may look like a core.
        cores(line).find_map(|(task, cpu, rest)| Self::of(task, cpu, rest))
    }

    fn of(task: &'a str, cpu: u32, rest: &'a str) -> Option<Result<Self, String>> {
        let (comm, pid, process) = task_of(task)?;
        let mut head = Head {
            comm,
            pid,
            process,
            cpu,
            time: 0,
            digits: 0,
            flags: false,
            interrupt: false,
            event: "",
            rest: "",
        };
        let mut rest = rest.trim_start();
        loop {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            if let Some(time) = word.strip_suffix(':').filter(|word| word.starts_with(is_number)) {
                (head.time, head.digits) = match nanoseconds(time) {
                    Ok(time) => time,
                    Err(why) => return Some(Err(why)),
                };
                rest = after.trim_start();
                break;
            }
            if word.is_empty() || word.len() > 12 || head.flags {
                return None;
            }
            head.flags = true;
            head.interrupt = word.chars().any(|flag| matches!(flag, 'h' | 'H' | 's' | 'Z' | 'z'));
            rest = after.trim_start();
        }
        // `perf script` may print the sample period before the event.
        if let Some((period, after)) = rest.split_once(' ')
            && !period.is_empty()
            && period.bytes().all(|byte| byte.is_ascii_digit())
        {
            rest = after.trim_start();
        }
        let end = rest.find(": ").unwrap_or_else(|| rest.trim_end_matches(':').len());
        let name = &rest[..end];
        head.event = name.rsplit(':').next().unwrap_or(name);
        head.rest = rest[end..].trim_start_matches(':').trim();
        match head.event.is_empty() || head.event.contains(' ') {
            true => None,
            false => Some(Ok(head)),
        }
    }
}

fn is_number(c: char) -> bool {
    c.is_ascii_digit() || c == '-'
}

/// Splits a line at each `[NNN]` between blanks.
fn cores(line: &str) -> impl Iterator<Item = (&str, u32, &str)> {
    let opens = line.match_indices(" [").map(|(at, _)| at);
    opens.filter_map(|open| {
        let (digits, after) = line[open + 2..].split_once(']')?;
        let is_core = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let cpu = digits.parse().ok().filter(|_| is_core && after.starts_with(' '))?;
        Some((&line[..open], cpu, after))
    })
}

/// `comm-pid`, `comm-pid (tgid)`, `comm pid` or `comm pid/tid`, perhaps after the name of a buffer.
fn task_of(task: &str) -> Option<(&str, Option<i32>, Option<i32>)> {
    let mut task = task.trim();
    let mut process = "";
    if let Some(inside) = task.strip_suffix(')') {
        let open = task.rfind('(')?;
        process = inside[open + 1..].trim(); // `-----`: the kernel does not know it
        task = task[..open].trim_end();
    }
    let (comm, number) = match task.rsplit_once(char::is_whitespace) {
        Some((comm, number)) if number.split('/').all(|part| part.parse::<i64>().is_ok()) => {
            let (of, number) = number.rsplit_once('/').unwrap_or((process, number));
            process = of;
            (comm.trim(), number)
        }
        _ => task.rsplit_once('-')?,
    };
    // trace-cmd prints the name of an instance first.
    let comm = comm.rsplit_once(": ").map_or(comm, |(_, comm)| comm.trim_start());
    let pid = number.parse().ok().filter(|pid| *pid >= 0);
    let process = process.parse().ok().filter(|process| *process > 0);
    (pid.is_some() || number.starts_with('-')).then_some((comm, pid, process))
}

/// `SECONDS.FRACTION`, with six or nine digits.
fn nanoseconds(text: &str) -> Result<(u64, usize), String> {
    if text.starts_with('-') {
        return Err(format!("its time, {text}, is negative"));
    }
    let (seconds, fraction) = text.split_once('.').ok_or_else(|| {
        format!(
            "its time, {text}, is not in seconds: record with a clock in nanoseconds (mono, local or global)"
        )
    })?;
    let wrong = || format!("its time, {text}, is not a number of seconds");
    let digits = fraction.len();
    if !(1..=9).contains(&digits) || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let seconds: u64 = seconds.parse().map_err(|_| wrong())?;
    let fraction: u64 = fraction.parse().map_err(|_| wrong())?;
    let time = seconds.checked_mul(1_000_000_000).ok_or_else(wrong)?;
    Ok((time.checked_add(fraction * 10u64.pow(9 - digits as u32)).ok_or_else(wrong)?, digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Head<'_> {
        Head::parse(line).unwrap().unwrap()
    }

    #[test]
    fn the_three_forms() {
        let kernel = parse("      lto cgu.08-23831   [001] dNs2. 85994.892048: sched_switch: prev_comm=x");
        assert_eq!((kernel.comm, kernel.pid, kernel.cpu), ("lto cgu.08", Some(23831), 1));
        assert_eq!((kernel.time, kernel.interrupt, kernel.event), (85_994_892_048_000, true, "sched_switch"));
        assert_eq!(kernel.rest, "prev_comm=x");
        let report = parse("xchg:   bash-23843 [000] 85994.891858123: sched_process_fork:   comm=bash");
        assert_eq!((report.comm, report.pid, report.digits), ("bash", Some(23843), 9));
        let perf = parse("  migration/0    18 [000] 85969.858661:          1 sched:sched_waking: comm=perf");
        assert_eq!((perf.comm, perf.pid, perf.event), ("migration/0", Some(18), "sched_waking"));
        let named = parse(" [42]     4 [000] 1.5: sched:sched_switch: prev_comm=[42] prev_pid=4");
        assert_eq!((named.comm, named.pid, named.cpu), ("[42]", Some(4), 0));
        let perf = parse(":-1 -1/-1 [003] 1.5: sched:sched_switch: prev_comm=a");
        assert_eq!((perf.pid, perf.time), (None, 1_500_000_000));
        let tgid = parse("  sh-7 (    7) [002] d.h1. 1.000001: sched_waking: comm=a [1] pid=2");
        assert_eq!((tgid.comm, tgid.pid, tgid.interrupt), ("sh", Some(7), true));
        let processes = ["sh-7 (    6)", "sh-7 (-----)", "sh-7", "sh 6/7", "sh -1/-1"]
            .map(|task| parse(&format!("{task} [002] 1.5: sched_waking: comm=a")).process);
        assert_eq!(processes, [Some(6), None, None, Some(6), None]);
    }

    #[test]
    fn what_is_no_event_is_none() {
        for line in ["", "cpus=2", "version = 7", "a [0]", "a-1 [000] ", "x [000] 1.2: y", "a-1 [000] 1.2:"] {
            assert!(Head::parse(line).is_none(), "{line}");
        }
    }

    #[test]
    fn times_that_make_no_sense_are_errors() {
        for time in ["-1.5", "12345", "1.", "1.1234567890", "99999999999999999999.0", "18446744073.9"] {
            let line = format!("sh-7 [000] {time}: sched_switch: x");
            assert!(Head::parse(&line).is_some_and(|head| head.is_err()), "{time}");
        }
    }
}
