"""What a child process may not do, as far as the platform can hold it to that."""

import ctypes
import os
import platform
import struct
import sys
import sysconfig
import time
from collections.abc import Iterable
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

# Programs, processes, sockets and what goes round them, by the numbers that Linux gives its calls.
_CALLS: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {"clone": 56, "clone3": 435, "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "socket": 41, "kill": 62}
        | {"ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_open": 434, "pidfd_getfd": 438}
        | {"pidfd_send_signal": 424, "io_uring_setup": 425, "bpf": 321, "unshare": 272, "setns": 308, "mount": 165}
        | {"perf_event_open": 298, "userfaultfd": 323},
    ),
    "aarch64": (
        0xC00000B7,
        {"clone": 220, "clone3": 435, "execve": 221, "execveat": 281, "socket": 198, "kill": 129}
        | {"ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "pidfd_open": 434, "pidfd_getfd": 438}
        | {"pidfd_send_signal": 424, "io_uring_setup": 425, "bpf": 280, "unshare": 97, "setns": 268, "mount": 40}
        | {"perf_event_open": 241, "userfaultfd": 282},
    ),
}
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_CLONE_THREAD = 0x10000
_ALLOW, _EPERM, _ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
# Codes of the filter: load a word; jump if equal, if at least, if a bit is set; return.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06

_CREATE_RULESET, _ADD_RULE, _RESTRICT = 444, 445, 446
_WRITE_FILE, _READ_FILE, _READ_FOLDER = 1 << 1, 1 << 2, 1 << 3
# What the library of C, Python and time zones need beside their own folders.
_SYSTEM = (
    *("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/usr/share/zoneinfo", "/proc/self"),
    *("/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/sys/devices/system/cpu", "/proc/cpuinfo"),
)
_MOST_FILES = 256


def close_in(scratch: str) -> dict[str, bool]:
    """Take from this process, before it imports much, what it does not need.

    Args:
        scratch: The only folder that it may write to.

    Returns:
        Which walls hold: ``files``, ``network`` and ``programs``.
    """
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    if libc is None or libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return {"files": False, "network": False, "programs": False}
    has_files = _close_files(libc, scratch)
    has_calls = _close_calls(libc)
    return {"files": has_files, "network": has_calls, "programs": has_calls}


def _close_files(libc: ctypes.CDLL, scratch: str) -> bool:
    """Landlock: the libraries may be read, the scratch folder written, nothing else opened."""
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    every = (1 << (13 + (version >= 2) + (version >= 3) + (version >= 5))) - 1
    told = struct.pack("<QQQ", every, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    told = told[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = libc.syscall(_CREATE_RULESET, told, ctypes.c_size_t(len(told)), 0)
    if ruleset < 0:
        return False
    open_to = [(one, _READ_FILE | _READ_FOLDER) for one in _libraries()]
    for path, allowed in [*open_to, (os.devnull, _READ_FILE | _WRITE_FILE), (scratch, every)]:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        if not os.path.isdir(path):
            allowed &= _READ_FILE | _WRITE_FILE
        libc.syscall(_ADD_RULE, ruleset, 1, struct.pack("<Qi", allowed, place), 0)
        os.close(place)
    held = libc.syscall(_RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return held


def _libraries() -> Iterable[str]:
    """Folders of Python, of what is installed, and of this package."""
    own = Path(__file__).resolve().parents[1]
    known = sysconfig.get_paths()
    return dict.fromkeys(
        [
            *(*_SYSTEM, sys.prefix, f"{sys.base_prefix}/lib", str(own), *_folders_of(sys.path)),
            *(known[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        ]
    )


def _folders_of(path: Iterable[str]) -> list[str]:
    """Those of the search path where libraries are installed, and not where somebody works."""
    return [one for one in path if "site-packages" in one or "dist-packages" in one or one.startswith(sys.base_prefix)]


def _close_calls(libc: ctypes.CDLL) -> bool:
    """Seccomp: no socket, no program, no process; threads are allowed."""
    architecture, numbers = _CALLS.get(platform.machine(), (0, {}))
    if not numbers:
        return False
    denied = [number for name, number in numbers.items() if name not in ("clone", "clone3")]
    n = len(denied)
    # The last lines: refuse, not there, allow; every jump counts the lines that it leaves out.
    lines = [
        (_LOAD, 0, 0, 4),
        (_IF_EQUAL, 0, n + 5, architecture),
        (_LOAD, 0, 0, 0),
        (_IF_AT_LEAST, n + 3, 0, 0x40000000),  # the calls of x32 beside those of x86_64
        (_IF_EQUAL, n + 3, 0, numbers["clone3"]),  # whose flags cannot be seen; then it is tried by `clone`
        *((_IF_EQUAL, n + 1 - i, 0, number) for i, number in enumerate(denied)),
        (_IF_EQUAL, 3, 0, numbers["clone"]),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _EPERM),
        (_RETURN, 0, 0, _ENOSYS),
        (_LOAD, 0, 0, 16),
        (_IF_SET, 1, 0, _CLONE_THREAD),
        (_RETURN, 0, 0, _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    kept = ctypes.create_string_buffer(code)

    class Program(ctypes.Structure):
        _fields_ = [("n_lines", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    program = Program(len(lines), ctypes.cast(kept, ctypes.c_void_p))
    return bool(libc.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0)


def memory_of(process: int | str = "self") -> tuple[int, int]:
    """Address space and resident memory of a process in bytes; 0 where the platform does not tell."""
    try:
        sizes = Path(f"/proc/{process}/statm").read_text().split()
    except OSError:
        return 0, 0
    page = os.sysconf("SC_PAGE_SIZE")
    return int(sizes[0]) * page, int(sizes[1]) * page


def seconds_in_line(process: int) -> float:
    """Time in which threads of a process could have gone on and others had the processors; 0 where nobody tells."""
    try:
        told = [path.read_text().split() for path in Path(f"/proc/{process}/task").glob("*/schedstat")]
        return sum(int(waited) for _, waited, _ in told) / 1e9
    except (OSError, ValueError):
        return 0.0


def bound(own_bytes: int, added_bytes: int, seconds: float) -> bool:
    """Limit what this process may take from now on for one job.

    Args:
        own_bytes: Address space that it had before the first one.
        added_bytes: Bytes that the job may add.
        seconds: Of a processor; who is orphaned meanwhile ends after that.

    Returns:
        Whether the limit of memory holds.
    """
    if resource is None:
        return False
    _limit("RLIMIT_CORE", 0)
    _limit("RLIMIT_NOFILE", _MOST_FILES)
    _limit("RLIMIT_FSIZE", added_bytes)
    _limit("RLIMIT_CPU", int(time.process_time() + seconds) + 2)
    return bool(own_bytes) and sys.platform == "linux" and _limit("RLIMIT_AS", own_bytes + added_bytes)


def _limit(name: str, most: int) -> bool:
    kind = getattr(resource, name, None)
    if kind is None:
        return False
    _, hard = resource.getrlimit(kind)
    try:
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    except (ValueError, OSError):
        return False
    return True
