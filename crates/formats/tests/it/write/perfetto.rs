//! Perfetto's protobuf.

use super::{Entry, Kernel, Task, What, cores};
use prost::encoding::{WireType, encode_key, encode_varint};

#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(mut self, field: u32, value: i64) -> Self {
        encode_key(field, WireType::Varint, &mut self.0);
        encode_varint(value as u64, &mut self.0);
        self
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        encode_key(field, WireType::LengthDelimited, &mut self.0);
        encode_varint(bytes.len() as u64, &mut self.0);
        self.0.extend(bytes);
        self
    }

    fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u32, message: Message) -> Self {
        self.bytes(field, &message.0)
    }
}

/// Writes a file. `named`: with the kernel's release, behind the events.
pub fn write(entries: &[Entry], kernel: Kernel, named: bool) -> Vec<u8> {
    let mut file = Message::default();
    for chunk in entries.chunks(50) {
        for cpu in 0..cores(entries) {
            let of = chunk.iter().filter(|entry| entry.cpu == cpu);
            let bundle = of.fold(Message::default().number(1, cpu.into()), |bundle, entry| {
                bundle.message(2, event(entry, kernel))
            });
            file = file.message(1, Message::default().message(1, bundle));
        }
    }
    let tree = entries.iter().fold(Message::default(), |tree, entry| {
        let Task { pid, process, .. } = &entry.task;
        let of = |number: i32| Message::default().number(1, number.into());
        match pid {
            0 => tree,
            pid if pid == process => tree.message(1, of(*pid)),
            pid => tree.message(2, of(*pid).number(3, (*process).into())),
        }
    });
    file = file.message(1, Message::default().message(2, tree));
    let release = Message::default().text(3, if named { kernel.release } else { "" });
    let info = Message::default().message(1, release).number(8, cores(entries).into());
    file.message(1, Message::default().message(45, info)).0
}

fn event(entry: &Entry, kernel: Kernel) -> Message {
    let task = &entry.task;
    let woken = |woken: &super::Task, target: u32| {
        let message = Message::default().text(1, &woken.comm).number(2, woken.pid.into()).number(3, 120);
        message.number(4, 1).number(5, target.into())
    };
    let new = Message::default;
    let (field, content) = match &entry.what {
        What::Switch { state, next } => {
            let prev = new().text(1, &task.comm).number(2, task.pid.into()).number(3, 120);
            let state = prev.number(4, kernel.bits(*state));
            (4, state.text(5, &next.comm).number(6, next.pid.into()).number(7, 120))
        }
        What::Waking { woken: task, target } => (20, woken(task, *target)),
        What::Wakeup { woken: task, target } => (17, woken(task, *target)),
        What::WakeupNew { woken: task, target } => (114, woken(task, *target)),
        What::NewTask { child, in_process } => {
            let child = new().number(1, child.pid.into()).text(2, &child.comm);
            (235, child.number(3, super::clone_flags(*in_process)).number(4, 0))
        }
        What::Fork { child } => {
            let parent = new().text(1, &task.comm).number(2, task.pid.into());
            (239, parent.text(3, &child.comm).number(4, child.pid.into()))
        }
        What::Exec { filename } => {
            (237, new().text(1, filename).number(2, task.pid.into()).number(3, task.pid.into()))
        }
        What::Exit => (238, new().text(1, &task.comm).number(2, task.pid.into()).number(3, 120)),
        What::Wait => (242, new().text(1, &task.comm).number(2, 0).number(3, 120)),
        What::Migrate { moved, from, to } => {
            let moved = new().text(1, &moved.comm).number(2, moved.pid.into()).number(3, 120);
            (491, moved.number(4, (*from).into()).number(5, (*to).into()))
        }
        What::Frequency { of, khz } => (11, new().number(1, (*khz).into()).number(2, (*of).into())),
        What::Idle { of, state } => (13, new().number(1, (*state).into()).number(2, (*of).into())),
        What::Rename { new: name } => {
            (236, new().number(1, task.pid.into()).text(2, &task.comm).text(3, name).number(4, 0))
        }
    };
    let flags = if entry.interrupt { 0x09 } else { 0x01 };
    let head = Message::default().number(1, entry.time as i64).number(2, task.pid.into());
    head.number(5, flags).message(field, content)
}
