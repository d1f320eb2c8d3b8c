# SPDX-License-Identifier: MIT
"""What tests/support/nth_fault.cc and the tests that use it agree on."""
import errno
import mmap
import os
import struct

LAYOUT = struct.Struct("<qqqqqiiii512s512s")  # Control in nth_fault.cc
CALLS, FAILED, OPEN = 1, 2, 3  # its fields
ERRNO, SHORT, END, MEMORY = range(4)

# By name: the number in Control, the errno, and whether a program has to go on as if nothing had happened.
FAULTS = {
    "EIO": (ERRNO, errno.EIO, False),
    "EMFILE": (ERRNO, errno.EMFILE, False),
    "ENOMEM": (ERRNO, errno.ENOMEM, False),
    "ENOSPC": (ERRNO, errno.ENOSPC, False),
    "ESTALE": (ERRNO, errno.ESTALE, False),
    "EINTR": (ERRNO, errno.EINTR, True),
    "short": (SHORT, 0, True),
    "end": (END, 0, False),
    "memory": (MEMORY, 0, False),
}
# Of connections.
CONNECTION_FAULTS = {
    "ECONNRESET": (ERRNO, errno.ECONNRESET, False),
    **{name: FAULTS[name] for name in ("EMFILE", "ENOMEM", "EINTR", "short", "end")},
}
LEAST = 1 << 16  # bytes of an allocation that fails


class Control:
    """The memory that is shared with a program in which one call fails."""

    def __init__(self, path, below):
        self.path = path
        self.below = below.encode()
        with open(path, "wb") as file:
            file.truncate(LAYOUT.size)
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), LAYOUT.size)

    def close(self):
        self.memory.close()

    def environment(self, library):
        return {**os.environ, "LD_PRELOAD": library, "NDLFS_NTH_FAULT": self.path}

    def arm(self, fault, at, lasts=False):
        """From now on the call `at` fails, counted from 1, and those after it if the fault lasts; none for 0."""
        kind, error, _ = (FAULTS | CONNECTION_FAULTS)[fault]
        new = LAYOUT.pack(0, 0, 0, 0, LEAST, kind, error, lasts, 0, self.below, b"")
        # The program may be closing a descriptor just now: it alone writes that field.
        self.memory[:8 * OPEN] = new[:8 * OPEN]
        self.memory[8 * (OPEN + 1):] = new[8 * (OPEN + 1):]
        self.memory[:8] = struct.pack("<q", at)

    def disarm(self):
        self.memory[:8] = bytes(8)

    def forget_open(self):
        """As if all descriptors were closed: those of a program that has ended are."""
        self.memory[8 * OPEN:8 * OPEN + 8] = bytes(8)

    def field(self, number):
        return LAYOUT.unpack(self.memory[:])[number]

    def what(self):
        """"pread /path" of the call that failed; "" if none has."""
        return LAYOUT.unpack(self.memory[:])[-1].partition(b"\0")[0].decode()
