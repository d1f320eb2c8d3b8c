# SPDX-License-Identifier: MIT
"""This kernel as Linux 4.18, the one of RHEL 8, would be: what is newer is answered with ENOSYS, by a seccomp filter that a
process hands down to its children.

    old_kernel.py COMMAND...        runs a command so
"""
import ctypes
import errno
import os
import struct
import sys

# Since Linux 5.1 all architectures number new system calls alike, from 424 on. 64-bit ones have none between these and those
# of 4.18. Among them are pidfd_open, clone3, close_range, openat2, faccessat2, epoll_pwait2 and those of Landlock.
FIRST_NEWER = 424


def pretend():
    """For this process, those that it starts, and for good."""
    load, jump_if_greater_or_equal, answer = 0x20, 0x35, 0x06
    allow, error = 0x7fff0000, 0x00050000
    number = 0  # offset in struct seccomp_data
    rules = b"".join(struct.pack("=HBBI", *rule) for rule in (
        (load, 0, 0, number), (jump_if_greater_or_equal, 0, 1, FIRST_NEWER), (answer, 0, 0, error | errno.ENOSYS),
        (answer, 0, 0, allow)))
    kept = ctypes.create_string_buffer(rules)
    program = struct.pack("@HP", 4, ctypes.addressof(kept))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    no_new_privileges, set_filter, mode_filter = 38, 22, 2
    # Root may do it without giving up that fusermount3 is run as root.
    if os.geteuid() != 0 and prctl(no_new_privileges, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if prctl(set_filter, mode_filter, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    pretend()
    os.execvp(sys.argv[1], sys.argv[1:])
