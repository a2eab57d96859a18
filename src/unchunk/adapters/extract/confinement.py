"""What a worker process takes from itself before it touches a file.

Memory, writing and core dumps are limited everywhere. On Linux it also dies with its owner, and
can open no connection and start no program; where the kernel does not offer that, the rest
still holds. Its tests run it in processes of their own, which coverage does not see.
"""

import ctypes
import errno
import os
import platform
import resource
import signal
import struct
import sys

_DIE_WITH_PARENT, _NO_NEW_RIGHTS, _SECCOMP, _FILTER = 1, 38, 22, 2
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
# For each machine its own name in the kernel, and the numbers of: socket, connect, execve,
# execveat, ptrace, process_vm_readv, process_vm_writev, io_uring_setup, kill.
_MACHINES = {
    "x86_64": (0xC000003E, (41, 42, 59, 322, 101, 310, 311, 425, 62)),
    "aarch64": (0xC00000B7, (198, 203, 221, 281, 117, 270, 271, 425, 129)),
}
_X32 = 0x40000000  # the other way to call the same kernel on x86_64


def confine(memory: int, owner: int) -> None:  # pragma: no cover
    """Give up what no parser needs. Cannot be undone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner, who ends its workers
    _lower(resource.RLIMIT_DATA, memory)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux":
        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        _close_doors(library)
    if os.getppid() != owner:  # it died before we could ask to follow
        raise SystemExit(0)


def allow_seconds(seconds: float) -> None:  # pragma: no cover
    """Let the kernel end this process after so much more computing, if no one else does."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    end = int(used.ru_utime + used.ru_stime + seconds) + 2
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (end if most < 0 else min(end, most), most))


def _lower(limit: int, value: int) -> None:  # pragma: no cover
    _, most = resource.getrlimit(limit)
    value = value if most < 0 else min(value, most)
    resource.setrlimit(limit, (value, value))


def _close_doors(library: ctypes.CDLL) -> None:  # pragma: no cover
    """A filter of system calls: those that reach out of the process fail with EPERM."""
    machine, calls = _MACHINES.get(platform.machine(), (0, ()))
    if not calls:
        return
    program = [
        (_LOAD, 0, 0, 4),  # which machine's calls these are
        (_EQUAL, 1, 0, machine),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, 0),  # which call
        (_AT_LEAST, len(calls) + 1, 0, _X32),  # over all tests, and over what allows
        *((_EQUAL, len(calls) - place, 0, call) for place, call in enumerate(calls)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    library.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0)
    library.prctl(_SECCOMP, _FILTER, ctypes.create_string_buffer(header, len(header)), 0, 0)
