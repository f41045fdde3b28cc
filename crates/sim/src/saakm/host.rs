//! Calls from a runtime to a policy's handlers, and from handlers back to the runtime.

use super::{Decision, Instance, Memory, OnCore, OnThread, OnThreadCore, Ops, Thread};
use std::ptr;

/// What a handler asks of its environment: the operations of `struct saakm_ops`. Threads are indices into [`Memory`].
///
/// The simulator computes the answers, the replay of a kernel's log looks them up.
pub trait Runtime: Sized {
    fn decide(&mut self, memory: &mut Memory<'_>, decision: Decision);

    /// The first thread of a ready queue.
    fn first(&mut self, memory: &mut Memory<'_>, core: u32, queue: u32) -> Option<u32>;

    /// The thread after `thread` in its ready queue.
    fn next(&mut self, memory: &mut Memory<'_>, thread: u32) -> Option<u32>;
}

/// An event of a thread or of a core, for whose handler the policy's table has an entry.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    New { thread: u32, parent: u32 },
    Unblock { thread: u32, waker: u32 },
    Tick { thread: u32 },
    Yield { thread: u32 },
    Preempt { thread: u32 },
    Block { thread: u32 },
    Terminate { thread: u32 },
    Timer { thread: u32 },
    Schedule { core: u32 },
    NewlyIdle { core: u32 },
    EnterIdle { core: u32 },
    ExitIdle { core: u32 },
    Balance { core: u32 },
    Entry { core: u32 },
    Exit { core: u32 },
}

impl Call {
    /// The thread, if the event is of one.
    pub fn thread(self) -> Option<u32> {
        match self {
            Call::New { thread, .. }
            | Call::Unblock { thread, .. }
            | Call::Tick { thread }
            | Call::Yield { thread }
            | Call::Preempt { thread }
            | Call::Block { thread }
            | Call::Terminate { thread }
            | Call::Timer { thread } => Some(thread),
            _ => None,
        }
    }
}

/// A policy with its memory and its runtime.
pub struct Host<'a, R> {
    pub memory: Memory<'a>,
    pub runtime: R,
}

impl<R: Runtime> Host<'_, R> {
    const OPS: &'static Ops = &Ops {
        ready: Some(ready::<R>),
        run: Some(run::<R>),
        blocked: Some(blocked::<R>),
        terminated: Some(terminated::<R>),
        first: Some(first::<R>),
        next: Some(next::<R>),
        arm: Some(arm::<R>),
        cancel: Some(cancel::<R>),
        keep_warm: Some(keep_warm::<R>),
        preempt: Some(preempt::<R>),
        set_changed: Some(set_changed::<R>),
    };

    /// Calls the event's handler. Returns whether the policy has one.
    // Inlined, because callers know the event.
    #[inline(always)]
    pub fn call(&mut self, call: Call) -> bool {
        let table = self.memory.table;
        match call {
            Call::New { thread, parent } => self.on_place(table.new_thread, thread, parent),
            Call::Unblock { thread, waker } => self.on_place(table.unblock, thread, waker),
            Call::Tick { thread } => self.on_thread(table.tick, thread),
            Call::Yield { thread } => self.on_thread(table.yield_, thread),
            Call::Preempt { thread } => self.on_thread(table.preempt, thread),
            Call::Block { thread } => self.on_thread(table.block, thread),
            Call::Terminate { thread } => self.on_thread(table.terminate, thread),
            Call::Timer { thread } => self.on_thread(table.timer, thread),
            Call::Schedule { core } => self.on_core(table.schedule, core),
            Call::NewlyIdle { core } => self.on_core(table.newly_idle, core),
            Call::EnterIdle { core } => self.on_core(table.enter_idle, core),
            Call::ExitIdle { core } => self.on_core(table.exit_idle, core),
            Call::Balance { core } => self.on_core(table.balance, core),
            Call::Entry { core } => self.on_core(table.entry, core),
            Call::Exit { core } => self.on_core(table.exit, core),
        }
    }

    fn on_place(&mut self, handler: OnThreadCore, thread: u32, core: u32) -> bool {
        let Some(handler) = handler else { return false };
        let t = self.memory.pointer(thread);
        // SAFETY: a handler of the memory's policy, with its own instance and one of its threads.
        self.enter(|s| unsafe { handler(s, t, core) })
    }

    fn on_thread(&mut self, handler: OnThread, thread: u32) -> bool {
        let Some(handler) = handler else { return false };
        let t = self.memory.pointer(thread);
        // SAFETY: as above.
        self.enter(|s| unsafe { handler(s, t) })
    }

    fn on_core(&mut self, handler: OnCore, core: u32) -> bool {
        let Some(handler) = handler else { return false };
        // SAFETY: as above.
        self.enter(|s| unsafe { handler(s, core) })
    }

    /// Calls a handler, which exists. It and its operations access the host through the instance: until it has returned,
    /// no reference to the host is used.
    fn enter(&mut self, handler: impl FnOnce(*mut Instance)) -> bool {
        let this: *mut Self = self;
        // SAFETY: `this` is valid, and only an address is taken.
        let s = unsafe { &raw mut (*this).memory.instance };
        // SAFETY: `s` is valid, also after the handler.
        unsafe {
            ((*s).ops, (*s).runtime_private) = (Self::OPS, this.cast());
            handler(s);
            (*s).runtime_private = ptr::null_mut();
        }
        true
    }
}

/// The host of a running handler.
///
/// # Safety
/// [`Host::call`] passed `s` to the handler. No other reference to the host is in use.
unsafe fn host<'a, R>(s: *mut Instance) -> &'a mut Host<'a, R> {
    // SAFETY: `Host::call` sets it.
    unsafe { &mut *(*s).runtime_private.cast() }
}

macro_rules! decisions {
    ($($op:ident($($argument:ident: $type:ty),*) => $decision:expr;)*) => {
        $(extern "C" fn $op<R: Runtime>(s: *mut Instance, $($argument: $type),*) {
            // SAFETY: the policy passes the instance that it was called with, and threads that it was given.
            let (host, decision) = unsafe { (host::<R>(s), $decision) };
            host.runtime.decide(&mut host.memory, decision);
        })*
    };
}

decisions! {
    ready(t: *mut Thread, core: u32, queue: u32, key: i64, reason: u32)
        => Decision::Ready { thread: (*t).index(), core, queue, key, reason };
    run(t: *mut Thread) => Decision::Run { thread: (*t).index() };
    blocked(t: *mut Thread) => Decision::Blocked { thread: (*t).index() };
    terminated(t: *mut Thread) => Decision::Terminated { thread: (*t).index() };
    arm(t: *mut Thread, ns: i64) => Decision::Arm { thread: (*t).index(), ns };
    cancel(t: *mut Thread) => Decision::Cancel { thread: (*t).index() };
    keep_warm(core: u32, ns: i64) => Decision::KeepWarm { core, ns };
    preempt(core: u32) => Decision::Preempt { core };
    set_changed(set: u32, core: u32, member: bool) => Decision::Set { set, core, member };
}

extern "C" fn first<R: Runtime>(s: *mut Instance, core: u32, queue: u32) -> *mut Thread {
    // SAFETY: as for the decisions.
    let Host { memory, runtime } = unsafe { host::<R>(s) };
    let first = runtime.first(memory, core, queue);
    first.map_or(ptr::null_mut(), |thread| memory.pointer(thread))
}

extern "C" fn next<R: Runtime>(s: *mut Instance, t: *mut Thread) -> *mut Thread {
    // SAFETY: as for the decisions.
    let (Host { memory, runtime }, thread) = unsafe { (host::<R>(s), (*t).index()) };
    let next = runtime.next(memory, thread);
    next.map_or(ptr::null_mut(), |thread| memory.pointer(thread))
}
