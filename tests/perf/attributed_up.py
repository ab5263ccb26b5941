"""Runs a command of podwright, and says on request what holds the memory of its server.

    python -m tests.perf.attributed_up FILE up --nodes 5

On SIGUSR1 a copy of the process follows all references from each structure of the server, and
appends a line of JSON to the file: bytes and objects for each, and bytes by the nearest attribute
(`Class.name`) that holds them. An object is counted for the first structure that reaches it. The
server itself only forks.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import re
import resource
import signal
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from podwright._console import main
from podwright.online.apiserver import TurnLoop

_SHARED = (type, types.ModuleType, types.FunctionType, types.CodeType, types.BuiltinFunctionType)
"""What belongs to the program and not to its state."""

_OWNERS = 12

_loops: list[TurnLoop] = []


def _structures(loop: TurnLoop) -> Iterator[tuple[str, Any]]:
    """Yield the structures of a server by name; what several of them hold belongs to the first."""
    cluster = loop.cluster
    store, world = cluster.store, cluster.world
    events = store._tables.get(("", "Event"))
    yield "Events at rest", events
    yield "other objects", store._tables
    yield "history", store._history
    yield "encodings", store.encodings
    yield "store, rest", store
    for served in cluster.schedulers:
        yield "scheduler", served.world.machine
        yield "in-memory checkpoints", served.world.log._memory_checkpoints
        yield "decision log", served.world.log
        yield "timeline", served.timeline
    yield "recorders of Events", cluster.events
    yield "API server", cluster.server
    yield "controllers and kubelets", world
    yield "record", loop._followers
    yield "turn loop", loop


def _size(root: Any, known: set[int]) -> tuple[int, int, Counter[str]]:
    """Return the bytes, the objects and the bytes of each owner that were not known before."""
    size = count = 0
    owners: Counter[str] = Counter()
    pending = [(root, type(root).__name__)]
    while pending:
        one, owner = pending.pop()
        if id(one) in known or isinstance(one, _SHARED):
            continue
        known.add(id(one))
        count += 1
        bytes_ = sys.getsizeof(one)
        size += bytes_
        owners[owner] += bytes_
        pending.extend(_referents(one, owner))
    return size, count, owners


def _referents(one: Any, owner: str) -> Iterator[tuple[Any, str]]:
    """Yield what an object refers to, and the attribute that owns it."""
    if isinstance(one, msgspec.Struct) and not gc.is_tracked(one):
        # `gc.get_referents` does not look into structs without garbage collection.
        for name in one.__struct_fields__:
            yield getattr(one, name, None), owner
        return
    for each in gc.get_referents(one):
        yield each, owner
    kind = type(one)
    if kind.__module__.startswith("podwright") and hasattr(one, "__dict__"):
        # Last: what comes last is visited first.
        for name, value in vars(one).items():
            yield value, f"{kind.__name__}.{name}"


class _MallocInfo(ctypes.Structure):
    """The result of `mallinfo2`."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                     "uordblks", "fordblks", "keepcost")
    )  # fmt: skip


def _allocators() -> dict[str, int]:
    """Return the bytes that the allocators of C and of Python have in use, and that are free."""
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = _MallocInfo
    info = libc.mallinfo2()
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as written:
        os.dup2(written.fileno(), 2)
        sys._debugmallocstats()
        os.dup2(stderr, 2)
        written.seek(0)
        text = written.read().decode()
    used = re.search(r"# bytes in allocated blocks\s+=\s+([\d,]+)", text)
    total = re.search(r"# arenas allocated current.*\n.*=\s+([\d,]+)", text)
    assert used, f"no allocated blocks in {text}"
    assert total, f"no arenas in {text}"
    used_bytes, total_bytes = (int(found[1].replace(",", "")) for found in (used, total))
    return {
        "malloc used": info.uordblks + info.hblkhd,
        "malloc free": info.fordblks,
        "Python used": used_bytes,
        "Python free": total_bytes - used_bytes,
    }


def _attribute(file: str) -> None:
    loop = _loops[-1]
    # First: the search itself needs memory.
    allocators = _allocators()
    page = resource.getpagesize()
    resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * page
    # The module dictionaries hold tables of the program.
    known = {id(vars(module)) for module in list(sys.modules.values())} | {id(_loops)}
    found: dict[str, list[int]] = {}
    owners: dict[str, dict[str, int]] = {}
    for name, structure in _structures(loop):
        size, count, of_owners = _size(structure, known)
        sizes = found.setdefault(name, [0, 0])
        sizes[0] += size
        sizes[1] += count
        owners.setdefault(name, {}).update(of_owners.most_common(_OWNERS))
    versions = loop.cluster.store
    garbage = gc.collect()
    line = {
        "garbage": garbage,
        "without garbage": _allocators(),
        "structures": found,
        "owners": owners,
        "resident": resident,
        "events": versions.count(("", "Event")),
        "changes": versions.resource_version - versions.oldest_version,
        "allocators": allocators,
        "log events": len(loop.cluster.world.log),
    }
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, json.dumps(line).encode() + b"\n")


def _measure_on_signal(file: str) -> None:
    begin = TurnLoop.__init__

    def remembered(self: TurnLoop, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        _loops.append(self)

    TurnLoop.__init__ = remembered  # type: ignore[method-assign]

    def attribute(*_: object) -> None:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            return
        # A grandchild, so that the server need not wait for the result.
        try:
            if not os.fork():
                gc.disable()
                os.nice(10)
                _attribute(file)
        finally:
            os._exit(0)

    signal.signal(signal.SIGUSR1, attribute)


if __name__ == "__main__":
    _measure_on_signal(sys.argv.pop(1))
    sys.exit(main())
