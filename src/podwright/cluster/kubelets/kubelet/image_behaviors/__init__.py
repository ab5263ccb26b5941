"""What images do that is not interpreted: data that is declared, in files of this folder's form.

`built_in.yaml` is always there; the entries of a user come before it. An entry names images by a
pattern, and says any of these: whether a pull fails, whether the image runs as root, its shell, and
what its program does. Of each, the first entry that says it counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import translate
from functools import cache, lru_cache
from importlib import resources
from typing import Final, Literal, TypeVar

import msgspec
import yaml

from podwright.apimachinery.objects import FieldError, InputError, decoding_problem, parse_duration
from podwright.cluster.kubelets.kubelet.shell import Dialect

ContainerRole = Literal["app", "init", "job"]
"""The role of a container: `job` is an app container of a pod of a Job."""

_Value = TypeVar("_Value")
_CACHE_MAX: Final = 1024
_ANY: Final = "*"


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What a program does.

    Attributes
    ----------
    duration : str, optional
        How long it runs, such as `30s`; it runs until it is stopped without one.
    exit_code : int
    message : str
        The termination message.
    ignores_sigterm : bool
        Whether only SIGKILL ends it; else it ends a second after SIGTERM.
    """

    duration: str | None = None
    exit_code: int = 0
    message: str = ""
    ignores_sigterm: bool = False

    @property
    def duration_ns(self) -> int | None:
        """The duration in nanoseconds."""
        return None if self.duration is None else parse_duration(self.duration)


class ImageBehavior(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """An entry of a file.

    Attributes
    ----------
    image : str
        A pattern with `*` of the name, as a pod has it or as a runtime reports it.
    command : tuple of str, optional
        The first words of the command and the arguments of a container to which `run` applies,
        before anything is interpreted; empty for a container that has neither. Without it, `run`
        applies to all that is not interpreted.
    entrypoint_only : bool
        Whether `run` applies only where a container has no `command` in place of the entrypoint.
    containers : {"app", "init", "job"}, optional
        The containers to which `run` applies.
    pull_error : str, optional
        Why the image cannot be pulled.
    runs_as_root : bool, optional
    has_entrypoint : bool, optional
        Whether arguments alone are arguments of a program of the image.
    shell : {"bash", "busybox", "dash"}, optional
    run : Run, optional
    """

    image: str = _ANY
    command: tuple[str, ...] | None = None
    entrypoint_only: bool = False
    containers: ContainerRole | None = None
    pull_error: str | None = None
    runs_as_root: bool | None = None
    has_entrypoint: bool | None = None
    shell: Dialect | None = None
    run: Run | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    images: tuple[ImageBehavior, ...]


def read_image_behaviors(text: str, source: str) -> tuple[ImageBehavior, ...]:
    """Return the entries of a file.

    Raises
    ------
    InputError
        It is not YAML, or not of this form.
    """
    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        message = f"not YAML: {' '.join(str(error).split())}"
        raise InputError([FieldError(source=source, path="", message=message)]) from None
    try:
        found = msgspec.convert(document, _File).images
    except msgspec.ValidationError as error:
        path, message = decoding_problem(error)
        raise InputError([FieldError(source=source, path=path, message=message)]) from None
    errors = [
        FieldError(source=source, path=f"images[{index}].run.duration", message=problem)
        for index, entry in enumerate(found)
        if (problem := _duration_problem(entry))
    ]
    if errors:
        raise InputError(errors)
    return found


def _duration_problem(entry: ImageBehavior) -> str:
    """Return what is wrong with the duration of a run; empty if nothing is."""
    try:
        duration_ns = entry.run.duration_ns if entry.run is not None else None
    except ValueError as error:
        return str(error)
    return "must not be negative" if duration_ns is not None and duration_ns < 0 else ""


@cache
def built_in_behaviors() -> tuple[ImageBehavior, ...]:
    """Return the entries of `built_in.yaml`."""
    name = "built_in.yaml"
    file = resources.files("podwright.cluster.kubelets.kubelet.image_behaviors").joinpath(name)
    return read_image_behaviors(file.read_text(encoding="utf-8"), name)


class DeclaredRun(msgspec.Struct, frozen=True):
    """A run that an entry declares; `is_of_image` if the entry names images."""

    run: Run
    is_of_image: bool


class ImageBehaviors:
    """Finds what is declared of an image.

    Parameters
    ----------
    given : sequence of ImageBehavior
        The entries of a user.
    """

    def __init__(self, given: Sequence[ImageBehavior] = ()) -> None:
        self._entries = tuple(
            (re.compile(translate(entry.image)), entry) for entry in (*given, *built_in_behaviors())
        )
        # One match finds that no entry names an image, as for most.
        patterns = {entry.image for _, entry in self._entries} - {_ANY}
        self._named = re.compile("|".join(map(translate, sorted(patterns))))
        self._of_all = tuple(entry for _, entry in self._entries if entry.image == _ANY)
        self._noted: dict[str, None] = {}
        self._of = lru_cache(maxsize=_CACHE_MAX)(self._matching)

    def _matching(self, text: str, name: str) -> tuple[ImageBehavior, ...]:
        # A digest instead of a tag matches a pattern that ends with `:*`.
        texts = (text, name.replace("@", ":"))
        if not any(map(self._named.match, texts)):
            return self._of_all
        return tuple(entry for pattern, entry in self._entries if any(map(pattern.match, texts)))

    def is_first(self, name: str) -> bool:
        """Tell whether this is called for an image for the first time."""
        is_first = name not in self._noted
        self._noted[name] = None
        if len(self._noted) > _CACHE_MAX:
            del self._noted[next(iter(self._noted))]
        return is_first

    def value(
        self, text: str, name: str, read: Callable[[ImageBehavior], _Value | None]
    ) -> _Value | None:
        """Return the first value that an entry has for an image.

        Parameters
        ----------
        text, name : str
            The name of the image in the pod, and in full.
        read : callable
            Returns the value of an entry.
        """
        found = map(read, self._of(text, name))
        return next((value for value in found if value is not None), None)

    def run(
        self,
        text: str,
        name: str,
        role: ContainerRole,
        words: Sequence[str] | None,
        *,
        has_command: bool = False,
    ) -> DeclaredRun | None:
        """Return what a container does; None if no entry says it.

        Parameters
        ----------
        text, name, role : str
        words : sequence of str, optional
            The command and the arguments, for entries that have a command; None for the others.
        has_command : bool
            Whether the container has a command in place of the entrypoint of the image.
        """
        for entry in self._of(text, name):
            if entry.run is None or entry.containers not in (None, role):
                continue
            if entry.entrypoint_only and has_command:
                continue
            begin = None
            if words is not None and entry.command is not None:
                begin = tuple(words[: len(entry.command) or None])
            if begin != entry.command or (begin is None) != (words is None):
                continue
            return DeclaredRun(entry.run, entry.image != _ANY)
        return None
