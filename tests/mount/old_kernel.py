# SPDX-License-Identifier: MIT
"""This kernel as Linux 4.18, the one of RHEL 8, would be: what is newer is answered with ENOSYS, by a seccomp filter that a
process hands down to its children.

    old_kernel.py COMMAND...        runs a command so
    old_kernel.py --without-passthrough COMMAND...
                                    runs a command whose kernel offers passthrough for FUSE, and refuses it, as Linux 6.9 does
                                    to processes without CAP_SYS_ADMIN
"""
import ctypes
import errno
import os
import struct
import sys

# Since Linux 5.1 all architectures number new system calls alike, from 424 on. 64-bit ones have none between these and those
# of 4.18. Among them are pidfd_open, clone3, close_range, openat2, faccessat2, epoll_pwait2 and those of Landlock.
FIRST_NEWER = 424


# FUSE_DEV_IOC_BACKING_OPEN of linux/fuse.h.
BACKING_OPEN = 0x4010e501

LOAD, JUMP_IF_EQUAL, JUMP_IF_GREATER_OR_EQUAL, ANSWER = 0x20, 0x15, 0x35, 0x06
ALLOW, ERROR = 0x7fff0000, 0x00050000
NUMBER, SECOND_ARGUMENT = 0, 24  # offsets in struct seccomp_data; of the argument, the lower half where bytes begin with it
IOCTL = {"x86_64": 16, "aarch64": 29}.get(os.uname().machine)


def pretend():
    """For this process, those that it starts, and for good."""
    _set_filter((LOAD, 0, 0, NUMBER), (JUMP_IF_GREATER_OR_EQUAL, 0, 1, FIRST_NEWER), (ANSWER, 0, 0, ERROR | errno.ENOSYS),
                (ANSWER, 0, 0, ALLOW))


def refuse_passthrough():
    """In the same way. Does nothing on machines whose number of ioctl() is not known here."""
    if IOCTL is None:
        return
    _set_filter((LOAD, 0, 0, NUMBER), (JUMP_IF_EQUAL, 0, 3, IOCTL), (LOAD, 0, 0, SECOND_ARGUMENT),
                (JUMP_IF_EQUAL, 0, 1, BACKING_OPEN), (ANSWER, 0, 0, ERROR | errno.EPERM), (ANSWER, 0, 0, ALLOW))


def _set_filter(*instructions):
    rules = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    kept = ctypes.create_string_buffer(rules)
    program = struct.pack("@HP", len(instructions), ctypes.addressof(kept))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    no_new_privileges, set_filter, mode_filter = 38, 22, 2
    # Root may do it without giving up that fusermount3 is run as root.
    if os.geteuid() != 0 and prctl(no_new_privileges, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if prctl(set_filter, mode_filter, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    command = sys.argv[1:]
    if command[0] == "--without-passthrough":
        command = command[1:]
        refuse_passthrough()
    else:
        pretend()
    os.execvp(command[0], command)
