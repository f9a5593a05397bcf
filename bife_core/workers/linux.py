"""The sandbox on Linux: each function binds, for good, this thread and all it starts later, or raises `OSError`.

Numbers and structures are from ``linux/landlock.h``, ``linux/seccomp.h``, ``linux/audit.h`` and ``asm/unistd.h``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_libc = ctypes.CDLL(None, use_errno=True)

# prctl
_SET_PARENT_DEATH_SIGNAL: Final = 1
_SET_SECCOMP: Final = 22
_SET_NO_NEW_PRIVILEGES: Final = 38
_SECCOMP_FILTER: Final = 2

# clone and unshare
_THREAD: Final = 0x0001_0000
_NEW_USER: Final = 0x1000_0000
_NEW_NET: Final = 0x4000_0000

# Landlock: the same three numbers on every architecture
_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_PATH_BENEATH: Final = 1
_READ_FILE: Final = 1 << 2
_DIRECTORY_ONLY: Final = (1 << 3) | (1 << 4) | (1 << 5) | (0x7F << 6) | (1 << 13)
_CHANGES: Final = (1 << 1) | (1 << 4) | (1 << 5) | (0x7F << 6) | (1 << 13) | (1 << 14)
"""Write, remove, make (any kind), link or move elsewhere, truncate."""
_RIGHTS_BY_VERSION: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Numbers of rights by version of the interface; later ones have no fewer."""

_MACHINES: Final = {"x86_64": (0xC000_003E, 0), "aarch64": (0xC000_00B7, 1)}
"""Audit architecture, and the position of the machine's number in `_DENIED`."""
_NONE: Final = -1

_DENIED: Final[dict[str, tuple[int, int]]] = {
    # no network, not even a socket of this machine (a container daemon's, say)
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202),
    "socketpair": (53, 199),
    # no other program and no other process
    "fork": (57, _NONE), "vfork": (58, _NONE), "execve": (59, 221), "execveat": (322, 281),
    "setsid": (112, 157), "setpgid": (109, 154), "unshare": (272, 97), "setns": (308, 268),
    # no hand on other processes of the same user
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "migrate_pages": (256, 238), "move_pages": (279, 239),
    "setpriority": (141, 140), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274), "ioprio_set": (251, 30),
    # no memory that outlives the process or is not counted as its own
    "shmget": (29, 194), "shmat": (30, 196), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
    "mq_unlink": (241, 181), "memfd_create": (319, 279), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219),
    # no change of files that Landlock does not see
    "chmod": (90, _NONE), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, _NONE), "lchown": (94, _NONE), "fchown": (93, 55), "fchownat": (260, 54),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "utime": (132, _NONE), "utimes": (235, _NONE), "futimesat": (261, _NONE), "utimensat": (280, 88),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "open_by_handle_at": (304, 265), "chroot": (161, 51), "pivot_root": (155, 41),
    "mount": (165, 40), "umount2": (166, 39), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "quotactl": (179, 60), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89),
    # no way round this filter, and nothing of the kernel a rule could need
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "personality": (135, 92),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "sethostname": (170, 161), "setdomainname": (171, 162),
}  # fmt: skip
"""Refused whatever the arguments: numbers for x86_64 and aarch64 (which lacks some)."""

_GUARDED: Final[dict[str, tuple[int, int]]] = {
    "clone": (56, 220), "clone3": (435, 435), "kill": (62, 129), "tgkill": (234, 131), "fcntl": (72, 25),
    "prctl": (157, 167), "prlimit64": (302, 261), "sched_setaffinity": (203, 122),
}  # fmt: skip
"""Refused but for some arguments."""

_SIGNAL_OWNER: Final = (8, 10, 15)  # the commands of `fcntl` that direct signals

_LOAD: Final = 0x20
_EQUAL: Final = 0x15
_AT_LEAST: Final = 0x35
_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06
_ARGUMENTS: Final = 16  # of the first one's lower half, on a little-endian machine
_ALLOW: Final = 0x7FFF_0000
_REFUSE: Final = 0x0005_0000
_KILL_PROCESS: Final = 0x8000_0000


def die_with_parent(signal_number: int) -> None:
    """Ask for a signal when the thread that started this process ends."""
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal_number)


def leave_network() -> None:
    """Move to new namespaces, while there is one thread: no network, no rights but those to the user's files."""
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_NEW_USER | _NEW_NET) != 0:
        raise _error("unshare")
    maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    for name, text in maps.items():
        Path("/proc/self", name).write_text(text)


def restrict_files(readable: Iterable[Path], writable: Iterable[Path]) -> int:
    """Allow reading below `readable` and `writable` only, and changes below `writable` only; return Landlock's version.

    All versions refuse looking into other processes by ``/proc``, and those from 6 on signals to them.
    """
    version = int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))
    if version <= 0:
        raise OSError(errno.EOPNOTSUPP, "the kernel has no Landlock")
    supported = (1 << _RIGHTS_BY_VERSION.get(version, 16)) - 1
    handled = (_CHANGES | _READ_FILE) & supported
    # File system, network (from version 4), scopes (from version 6): signals and abstract sockets.
    attributes = struct.pack("=QQQ", handled, 0b11, 0b11)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = _libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0:
        raise _error("landlock_create_ruleset")
    try:
        for path in readable:
            _allow(ruleset, path, _READ_FILE)
        for path in writable:
            _allow(ruleset, path, handled)
        if _libc.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)) != 0:
            raise _error("landlock_restrict_self")
    finally:
        os.close(ruleset)
    return version


def filter_system_calls() -> None:
    """Refuse the system calls of `_DENIED`, new processes, and signals to any process but this one."""
    _prctl(_SET_NO_NEW_PRIVILEGES, 1)  # all that set-user-id programs could give
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        raise OSError(errno.EOPNOTSUPP, f"no filter is written for {platform.machine()}")
    program = b"".join(_filter(*machine, os.getpid()))
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("=H6xQ", len(program) // 8, ctypes.addressof(buffer))
    _prctl(_SET_SECCOMP, _SECCOMP_FILTER, header)


def _filter(audit: int, column: int, pid: int) -> list[bytes]:
    denied, unknown = _REFUSE | errno.EPERM, _REFUSE | errno.ENOSYS
    program = [
        _step(_LOAD, 4),  # architecture of the call
        _step(_EQUAL, audit, 1, 0),
        _step(_RETURN, _KILL_PROCESS),
        _step(_LOAD, 0),  # number of the call
    ]
    if column == 0:  # calls with 32-bit pointers have numbers of their own
        program += [_step(_AT_LEAST, 0x4000_0000, 0, 1), _step(_RETURN, denied)]
    for numbers in _DENIED.values():
        number = numbers[column]
        if number != _NONE:
            program += [_step(_EQUAL, number, 0, 1), _step(_RETURN, denied)]
    # The C library falls back to clone, whose flags a filter can see.
    guarded = {name: numbers[column] for name, numbers in _GUARDED.items()}
    program += [_step(_EQUAL, guarded["clone3"], 0, 1), _step(_RETURN, unknown)]
    program += _if_call(guarded["clone"], [_step(_LOAD, _ARGUMENTS), _step(_ANY_BIT, _THREAD, 1, 0)], denied)
    group = (1 << 32) - pid
    either = (0, pid)
    targets = {"kill": (pid, group, 0), "tgkill": (pid,), "prlimit64": either, "sched_setaffinity": either}
    for name, allowed in targets.items():
        tests = [_step(_EQUAL, value, len(allowed) - i, 0) for i, value in enumerate(allowed)]
        program += _if_call(guarded[name], [_step(_LOAD, _ARGUMENTS), *tests], denied)
    for name, argument, refused in (("fcntl", 1, _SIGNAL_OWNER), ("prctl", 0, (_SET_PARENT_DEATH_SIGNAL,))):
        tests = [_step(_EQUAL, value, len(refused) - i, 0) for i, value in enumerate(refused)]
        allow = [_step(_RETURN, _ALLOW)]
        load = _step(_LOAD, _ARGUMENTS + 8 * argument)
        program += _if_call(guarded[name], [load, *tests, *allow], denied)
    return [*program, _step(_RETURN, _ALLOW)]


def _if_call(number: int, body: list[bytes], refusal: int) -> list[bytes]:
    """Run `body` for one call, and refuse what it does not jump over; other calls go on behind it."""
    return [_step(_EQUAL, number, 0, len(body) + 2), *body, _step(_RETURN, refusal), _step(_LOAD, 0)]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a missing path needs no permission
    try:
        if not path.is_dir():
            rights &= ~_DIRECTORY_ONLY
        rule = struct.pack("=Qi", rights, descriptor)
        if _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, ctypes.c_uint32(0)) != 0:
            raise _error(f"landlock_add_rule for {path}")
    finally:
        os.close(descriptor)


def _prctl(operation: int, first: int, second: bytes | None = None) -> None:
    arguments = [ctypes.c_ulong(first), ctypes.c_char_p(second), ctypes.c_ulong(0), ctypes.c_ulong(0)]
    if _libc.prctl(ctypes.c_int(operation), *arguments) != 0:
        raise _error(f"prctl {operation}")


def _error(call: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {os.strerror(number)}")
