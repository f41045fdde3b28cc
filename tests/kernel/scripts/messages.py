"""messages.py: core 1 sends 3000 messages to a thread on core 2, beside a thread `worker` there that reads in long
system calls and sleeps between them."""

import os
import time

receives, sends = os.pipe()
worker = os.fork()
if worker == 0:
    os.sched_setaffinity(0, {2})
    with open("/proc/self/comm", "w") as name:
        name.write("worker")
    zeros = os.open("/dev/zero", os.O_RDONLY)
    while True:
        os.read(zeros, 1 << 18)
        time.sleep(0.0001)
receiver = os.fork()
if receiver == 0:
    os.sched_setaffinity(0, {2})
    while True:
        os.read(receives, 1)
os.sched_setaffinity(0, {1})
for _ in range(3000):
    os.write(sends, b"m")
    time.sleep(0.0003)
os.kill(worker, 9)
os.kill(receiver, 9)
