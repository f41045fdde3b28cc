use super::*;
use hearth_trace::CoreInfo;

const MS: Time = 1_000_000;

fn switch(time: Time, core: CoreId, prev: Tid, stop: Stop, next: Tid) -> Event {
    Event { time, core, kind: Kind::Switch { prev, stop, next } }
}

fn header() -> Header {
    let core = |socket| CoreInfo { socket, ..CoreInfo::default() };
    Header { cores: vec![core(0), core(0), core(1)], ..Header::default() }
}

fn seen(watch: Watch, events: &[Event]) -> Observation {
    let mut observer = Observer::new(&[watch], &header());
    events.iter().for_each(|event| observer.event(event));
    observer.finish(1_000 * MS).remove(0)
}

#[test]
fn a_ramp_has_three_times() {
    let khz = |time, khz| Event { time, core: 0, kind: Kind::Frequency { khz } };
    let mut events = vec![switch(5 * MS, 0, IDLE, Stop::Preempted, 1), khz(6 * MS, 1_200_000)];
    events.extend([khz(20 * MS, 2_000_000), khz(34 * MS, 3_000_000), khz(90 * MS, 2_900_000)]);
    // Another core does not matter.
    events.push(Event { time: 95 * MS, core: 1, kind: Kind::Frequency { khz: 3_100_000 } });
    events.push(switch(105 * MS, 0, 1, Stop::Exited, IDLE));
    // Down to the lowest after 10 ms, up again, and to stay after 98 ms.
    events.extend([khz(115 * MS, 1_200_000), khz(140 * MS, 2_000_000), khz(203 * MS, 1_200_000)]);
    let Observation::Ramp(times) = seen(Watch::Ramp, &events) else { panic!("a ramp") };
    assert_eq!((times.rise, times.fall, times.settle), (Some(29.0), Some(10.0), Some(98.0)));
    assert_eq!((times.stop_s, times.steps[0], times.steps.len()), (0.1, (0.001, 1.2), 7));
    let Observation::Ramp(times) = seen(Watch::Ramp, &events[..3]) else { panic!("a ramp") };
    assert_eq!(times, RampTimes::default());
}

#[test]
fn forks_count_until_the_parent_blocks() {
    let fork = |time| Event { time, core: 0, kind: Kind::Fork { parent: 1, child: 2, target: 1 } };
    let events = [
        fork(10),
        switch(50, 0, 1, Stop::Blocked, IDLE),
        // Preempted before it waits: not a fork and a wait.
        fork(100),
        switch(120, 0, 1, Stop::Preempted, 3),
        switch(130, 0, 3, Stop::Blocked, 1),
        fork(200),
        switch(260, 0, 1, Stop::Blocked, IDLE),
        fork(300),
        switch(370, 0, 1, Stop::Blocked, IDLE),
    ];
    // 40, 60 and 70.
    assert!(matches!(seen(Watch::Forks, &events), Observation::Forks(Some(60))));
    assert!(matches!(seen(Watch::Forks, &[]), Observation::Forks(None)));
}

#[test]
fn the_busiest_socket() {
    let run = |core, from, to| {
        [switch(from, core, IDLE, Stop::Preempted, 1), switch(to, core, 1, Stop::Exited, IDLE)]
    };
    let events = [run(0, 0, 10), run(1, 10, 30), run(2, 30, 40)].concat();
    let Observation::Sockets(Some(share)) = seen(Watch::Sockets, &events) else { panic!("a share") };
    assert_eq!(share, 0.75);
    assert!(matches!(seen(Watch::Sockets, &[]), Observation::Sockets(None)));
}

#[test]
fn a_part_ends_once() {
    let exit = |time, thread| Event { time, core: 0, kind: Kind::Exit { thread } };
    let mut header = header();
    header.threads =
        vec![hearth_trace::ThreadInfo { tid: 7, name: "main".into(), traced: true, ..Default::default() }];
    header.names = vec!["cc1".into(), "make".into()];
    let part = |until: Until, events: &[Event]| {
        let mut observer = Observer::new(&[Watch::Part(until)], &header);
        events.iter().for_each(|event| observer.event(event));
        match observer.finish(1_000 * MS).remove(0) {
            Observation::Part(summary) => Some(summary.duration_s),
            _ => None,
        }
    };
    let exec = |time, name| Event { time, core: 0, kind: Kind::Exec { thread: 1, name } };
    let events = [exec(MS, 0), exec(2 * MS, 1), exit(3 * MS, 1), exit(4 * MS, 7), exec(5 * MS, 1)];
    assert_eq!(part(Until::Exec("make".into()), &events), Some(0.002));
    assert_eq!(part(Until::Exit("main".into()), &events), Some(0.004));
    assert_eq!(part(Until::Seconds(0.003), &events), Some(0.003));
    assert_eq!(part(Until::Seconds(7.0), &events), Some(1.0));
    assert_eq!(part(Until::Exec("make".into()), &events[..1]), None);
}
