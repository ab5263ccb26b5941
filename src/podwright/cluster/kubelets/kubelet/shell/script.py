"""A command line that is executed: a shell with a script, or a program by itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from podwright.cluster.kubelets.kubelet.shell.commands import COMMANDS, SPECIAL
from podwright.cluster.kubelets.kubelet.shell.environment import Facts
from podwright.cluster.kubelets.kubelet.shell.interpreter import Shell
from podwright.cluster.kubelets.kubelet.shell.parser import parse
from podwright.cluster.kubelets.kubelet.shell.state import Exit, Steps
from podwright.cluster.kubelets.kubelet.shell.syntax import List, NotSimulatedError

_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})
_FLAGS: Final = re.compile(r"-[eux]*c[eux]*")
_FOLDERS: Final = ("", "/bin", "/usr/bin")
_NOT_PROGRAMS: Final = SPECIAL | {"[[", "cd", "read"}


class Script:
    """One execution.

    Parameters
    ----------
    words : sequence of str
        The command line.
    facts : Facts

    Raises
    ------
    NotSimulatedError
        It is not a command line that is simulated; nothing was executed.
    """

    def __init__(self, words: Sequence[str], facts: Facts) -> None:
        folder, _, name = words[0].rpartition("/")
        self._body: List | None = None
        self._words = words
        if folder not in _FOLDERS or (name not in _SHELLS and name not in COMMANDS):
            raise NotSimulatedError(f'program "{words[0]}"')
        self._shell = Shell(facts, name=name)
        if name not in _SHELLS:
            if name in _NOT_PROGRAMS:
                raise NotSimulatedError(f'program "{words[0]}"')
            return
        flags, rest = "", list(words[1:])
        while len(rest) > 1 and rest[0] in ("-e", "-u", "-x"):
            flags += rest.pop(0)[1:]
        if len(rest) < 2 or _FLAGS.fullmatch(rest[0]) is None:
            raise NotSimulatedError(f'"{" ".join(words)[:80]}"')
        self._body = parse(rest[1], frozenset(COMMANDS))
        self._shell.options = set(flags + rest[0][1:].replace("c", ""))
        if len(rest) > 2:
            self._shell.name, self._shell.parameters = rest[2], rest[3:]

    def steps(self) -> Steps:
        """Execute it: yield how long it sleeps, and return the exit status.

        Raises
        ------
        NotSimulatedError
            It meets something that is not simulated.
        """
        try:
            if self._body is not None:
                return (yield from self._shell.run(self._body))
            return (yield from self._shell.command(self._words))
        except Exit as left:
            return left.status
        except RecursionError:
            raise NotSimulatedError("a script that is nested this deep") from None

    @property
    def output(self) -> str:
        """The log so far."""
        return self._shell.output.text

    @property
    def elapsed_ns(self) -> int:
        """The time that was slept."""
        return self._shell.context.elapsed_ns

    @property
    def reads(self) -> int:
        """How often files were read or written."""
        return self._shell.context.reads

    def terminate(self) -> None:
        """Deliver SIGTERM: a shell with a trap handles it after the command that runs."""
        self._shell.context.is_terminated = True
