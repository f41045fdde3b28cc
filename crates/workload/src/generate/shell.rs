//! Processes started by a shell: fork, exec, wait; pipelines; subshells; the compiler.

use super::builder::{Builder, run};
use super::programs::*;
use super::random::{Quantiles, Random};
use crate::{Op, ThreadIdx};

/// A program and its CPU time.
pub(super) type Program = (&'static str, Quantiles);

/// A process that runs other processes: a shell, a compiler driver, `make`.
pub(super) struct Shell<'a> {
    pub builder: &'a mut Builder,
    pub random: &'a mut Random,
    pub me: ThreadIdx,
}

impl Shell<'_> {
    /// Adds work of the process itself.
    pub fn work(&mut self, cost: Quantiles) {
        let us = cost.draw(self.random);
        self.builder.push(self.me, run(us));
    }

    pub fn step(&mut self, op: Op) {
        self.builder.push(self.me, op);
    }

    /// Forks a process that executes `name`, including the `exec`.
    fn spawn(&mut self, name: &str) -> ThreadIdx {
        let child = self.fork();
        self.builder.extend(child, [run(UNTIL_EXEC), Op::Exec(name.into())]);
        child
    }

    /// Forks a process that continues with the same program.
    fn fork(&mut self) -> ThreadIdx {
        let child = self.builder.thread("sh");
        self.builder.extend(self.me, [run(FORK), Op::Fork(child), run(BEFORE_WAIT)]);
        child
    }

    pub fn wait_for(&mut self, child: ThreadIdx) {
        self.builder.push(self.me, Op::Join(child));
    }

    /// Starts a program without waiting for it.
    pub fn start(&mut self, (name, cost): Program) -> ThreadIdx {
        let child = self.spawn(name);
        let us = cost.draw(self.random);
        self.builder.push(child, run(us));
        child
    }

    /// Runs a program and waits for it.
    pub fn command(&mut self, program: Program) {
        let child = self.start(program);
        self.wait_for(child);
    }

    /// Runs `first | second | ...`: forks all processes at once. Each one except the first starts
    /// up and then waits for its input, which arrives when its predecessor has finished its work.
    pub fn pipeline(&mut self, programs: &[Program]) {
        let mut input = None;
        let mut children = Vec::new();
        for (index, (name, cost)) in programs.iter().enumerate() {
            let child = self.spawn(name);
            let us = cost.draw(self.random);
            // A small filter spends most of its time on startup, before the first read.
            let startup = us * 3 / 4;
            self.builder.push(child, run(startup));
            self.builder.extend(child, input.map(Op::Wait));
            self.builder.push(child, run(us - startup));
            input = (index + 1 < programs.len()).then(|| self.builder.semaphore(0));
            self.builder.extend(child, input.map(Op::Post));
            children.push(child);
        }
        for child in children {
            self.wait_for(child);
        }
    }

    /// Runs `( ... )` or `$( ... )`: a forked shell that executes `body`.
    pub fn subshell(&mut self, body: impl FnOnce(&mut Shell)) {
        let child = self.fork();
        let mut shell = Shell { builder: self.builder, random: self.random, me: child };
        shell.work(SUBSHELL);
        body(&mut shell);
        self.wait_for(child);
    }

    /// Runs a program that starts children, and waits for it.
    pub fn run_children(&mut self, (name, cost): Program, children: impl FnOnce(&mut Shell)) {
        let me = self.spawn(name);
        let mut inner = Shell { builder: self.builder, random: self.random, me };
        inner.work(cost);
        children(&mut inner);
        self.wait_for(me);
    }

    /// Runs the compiler driver, which starts the compiler or the linker.
    pub fn driver(&mut self, children: impl FnOnce(&mut Shell)) {
        self.run_children(("gcc", DRIVER), children);
    }

    /// Compiles a small test: `cc1`, then `as`.
    pub fn compile(&mut self) {
        self.command(("cc1", CC1_TEST));
        self.command(("as", AS_TEST));
    }

    /// Links a small test: `collect2`, which runs `ld`.
    pub fn link(&mut self) {
        self.run_children(("collect2", COLLECT2), |linker| linker.command(("ld", LD_TEST)));
    }

    /// Runs the compiler on a small test: driver, `cc1`, `as`, and for linking also `collect2` and
    /// `ld`. Each waits for its child, so one process computes at a time.
    pub fn compiler_test(&mut self, link: bool) {
        self.driver(|gcc| {
            gcc.compile();
            if link {
                gcc.link();
            }
        });
    }
}
