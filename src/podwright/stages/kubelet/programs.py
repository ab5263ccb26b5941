"""The program of a container: what it does when it runs, and what its probes and hooks do.

Annotations of the pod come first, then the command, as far as `shell_scripts` understands it. Of
all others, the programs of init containers and of pods of Jobs end at once, as those of shells
without a command do; images of servers are an exception in Jobs. Any other program runs until it is
stopped, and ends at SIGTERM; its probes succeed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from podwright.config import parse_duration
from podwright.kernels.draw import DELAY_STREAM, draw
from podwright.objects import Document
from podwright.stages.kubelet.images import SERVER_IMAGES, SHELL_IMAGES, read_image
from podwright.stages.kubelet.pod_records import ContainerKind
from podwright.stages.kubelet.shell_scripts import FileChange, ScriptRun, run_command
from podwright.stages.pod_annotations import RUN_DELAY, RUN_JITTER, read_exit_code
from podwright.stages.stage import delay_between

EXIT_AT_SIGTERM_NS: Final = 1_000_000_000
"""How long a program that handles SIGTERM takes to end."""

KILLED: Final = 137
"""The exit code of a process that SIGKILL ended."""

_RANDOM_BITS: Final = 15
_DRAW_BITS: Final = 31
_REFERENCE: Final = re.compile(r"\$\(([A-Za-z_][\w.-]*)\)")
_DEFAULT_MESSAGE_PATH: Final = "/dev/termination-log"
_MESSAGE_MAX: Final = 4096
_LOG_MESSAGE_MAX: Final = 2048


class Program(msgspec.Struct, frozen=True):
    """One run of a container.

    Attributes
    ----------
    duration_ns : int, optional
        None if it runs until it is stopped.
    exit_code : int
    changes : tuple of FileChange
    message : str
        The termination message.
    handles_sigterm : bool
    """

    duration_ns: int | None = None
    exit_code: int = 0
    changes: tuple[FileChange, ...] = ()
    message: str = ""
    handles_sigterm: bool = True


def environment_of(container: Document, pod: Document) -> dict[str, str]:
    """Return the variables of a container whose values the pod defines."""
    environment: dict[str, str] = {}
    for entry in container.get("env") or ():
        source = entry.get("valueFrom") or {}
        if "value" in entry or not source:
            environment[entry["name"]] = _replaced(entry.get("value") or "", environment)
        elif "fieldRef" in source:
            value = _field(pod, source["fieldRef"].get("fieldPath") or "")
            if value is not None:
                environment[entry["name"]] = value
    return environment


def program_of(
    container: Document,
    pod: Document,
    *,
    kind: ContainerKind,
    has_file: Callable[[str], bool],
    seed: int,
    counter: int,
) -> Program:
    """Return what a container does when it starts now.

    Parameters
    ----------
    container, pod : Document
    kind : str
        Of the container; the annotations apply to app containers.
    has_file : callable
        Whether a file exists.
    seed, counter : int
        Of the draws.

    Raises
    ------
    ValueError
        The annotations cannot be read.
    """
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    if kind == "app" and RUN_DELAY in annotations:
        duration_ns = _annotated_duration(annotations, seed, counter)
        return Program(duration_ns, read_exit_code(annotations))
    run = command_run(container, pod, None, has_file=has_file, seed=seed, counter=counter)
    if run is None:
        return Program(0 if _ends_at_once(kind, container, pod) else None)
    return Program(
        run.duration_ns,
        run.exit_code,
        run.changes,
        _message(container, run),
        run.handles_sigterm,
    )


def _ends_at_once(kind: ContainerKind, container: Document, pod: Document) -> bool:
    """Whether a program that is not understood ends when it starts."""
    if kind == "init":
        return True
    image = read_image(container.get("image") or "")
    has_command = container.get("command") or container.get("args") or container.get("stdin")
    if not has_command and image is not None and image.base_name in SHELL_IMAGES:
        return True
    owners = pod["metadata"].get("ownerReferences") or ()
    is_job = any(owner.get("kind") == "Job" and owner.get("controller") for owner in owners)
    is_server = image is not None and image.base_name in SERVER_IMAGES
    return kind == "app" and is_job and not is_server


def command_run(
    container: Document,
    pod: Document,
    command: list[str] | None,
    *,
    has_file: Callable[[str], bool],
    seed: int = 0,
    counter: int = 0,
) -> ScriptRun | None:
    """Return the run of a command in a container; None if it is not understood.

    Parameters
    ----------
    command : list of str, optional
        Of a probe or a hook; the container's own one if left out.
    """
    environment = environment_of(container, pod)
    if command is None:
        own = (*(container.get("command") or ()), *(container.get("args") or ()))
        command = [_replaced(text, environment) for text in own]
    return run_command(
        command,
        environment=environment,
        has_file=has_file,
        random_number=draw(seed, DELAY_STREAM, counter) >> (_DRAW_BITS - _RANDOM_BITS),
    )


def _annotated_duration(annotations: Mapping[str, str], seed: int, counter: int) -> int:
    least_ns = most_ns = _duration(annotations[RUN_DELAY])
    if RUN_JITTER in annotations:
        most_ns = _duration(annotations[RUN_JITTER])
        least_ns = min(least_ns, most_ns)
    return delay_between(least_ns, most_ns, draw(seed, DELAY_STREAM, counter))


def _duration(text: str) -> int:
    try:
        return max(parse_duration(text), 0)
    except ValueError:
        return 0  # as for stages, whose default is no delay


def _message(container: Document, run: ScriptRun) -> str:
    """Return the termination message: of the file, or of the log after an error."""
    path = container.get("terminationMessagePath") or _DEFAULT_MESSAGE_PATH
    written = [change.content or "" for change in run.changes if change.path == path]
    if written:
        return "".join(written)[:_MESSAGE_MAX]
    if run.exit_code and container.get("terminationMessagePolicy") == "FallbackToLogsOnError":
        return run.output[-_LOG_MESSAGE_MAX:]
    return ""


def _replaced(text: str, environment: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda found: environment.get(found[1], found[0]), text)


def _field(pod: Document, path: str) -> str | None:
    """Return the field of a pod that a `fieldRef` names."""
    found = re.fullmatch(r"metadata\.(annotations|labels)\['([^']*)'\]", path)
    if found is not None:
        return str((pod["metadata"].get(found[1]) or {}).get(found[2]) or "")
    value: Any = pod
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None
