"""into.py CGROUP: starts a sleeping process in a cgroup (CLONE_INTO_CGROUP), and prints its number."""

import ctypes
import os
import signal
import struct
import sys
import time

CLONE3 = 435
CLONE_INTO_CGROUP = 0x2_0000_0000

cgroup = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
# struct clone_args: flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size,
# cgroup
arguments = struct.pack("11Q", CLONE_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, cgroup)
pid = ctypes.CDLL(None, use_errno=True).syscall(CLONE3, arguments, len(arguments))
if pid < 0:
    sys.exit(f"clone3: {os.strerror(ctypes.get_errno())}")
if pid == 0:
    # Nobody waits for more output.
    os.close(1)
    time.sleep(1000)
    os._exit(0)
print(pid)
