"""The first process of a container: a script that is executed, or a program that is declared."""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import SECOND_NS
from podwright.cluster.kubelets.kubelet.shell import NotSimulatedError, Script

EXIT_AT_SIGTERM_NS: Final = 1_000_000_000
"""How long a program that handles SIGTERM takes to end."""

_STEPS_MAX: Final = 1_000


class Program(msgspec.Struct, frozen=True):
    """What a process does without a script.

    Attributes
    ----------
    duration_ns : int, optional
        None if it runs until it is stopped.
    exit_code : int
    message : str
        The termination message.
    handles_sigterm : bool
        Whether it ends soon after SIGTERM.
    """

    duration_ns: int | None = None
    exit_code: int = 0
    message: str = ""
    handles_sigterm: bool = True


class Process:
    """One run of a container.

    Parameters
    ----------
    started_ns : int
    program : Program
        What the process does from when it has no script, or from when its script meets something
        that is not simulated.
    script : Script, optional

    Attributes
    ----------
    wake_ns : int, optional
        When the script continues; None if it does not.
    ends_ns : int, optional
        When the process ends; None if that is not known yet, or if it has to be stopped.
    exit_code : int
        With which it ends then.
    handles_sigterm : bool
    failure : str
        What the script met that is not simulated.
    """

    __slots__ = (
        "_steps", "ends_ns", "exit_code", "failure", "handles_sigterm", "program", "script",
        "wake_ns",
    )  # fmt: skip

    def __init__(self, started_ns: int, program: Program, script: Script | None = None) -> None:
        self.program = program
        self.script = script
        self.wake_ns: int | None = None
        self.ends_ns: int | None = None
        self.exit_code = 0
        self.handles_sigterm = False
        self.failure = ""
        if script is None:
            self._follow(started_ns)
        else:
            self._steps = script.steps()
            self.wake_ns = started_ns

    def advance(self, now_ns: int) -> None:
        """Execute the script until a time."""
        steps = 0
        while self.wake_ns is not None and self.wake_ns <= now_ns:
            assert self.script is not None, "a process without a script is awake"
            at_ns = self.wake_ns
            steps += 1
            if steps > _STEPS_MAX:
                # Far behind, as after a restart: the rest of the time passes in one sleep.
                self.wake_ns = now_ns + SECOND_NS
                return
            try:
                duration_ns = next(self._steps)
            except StopIteration as end:
                self.wake_ns, self.ends_ns, self.exit_code = None, at_ns, end.value
                return
            except NotSimulatedError as error:
                self.failure = str(error)
                self.script = None
                self._follow(at_ns)
                return
            self.wake_ns = None if duration_ns is None else at_ns + duration_ns

    def terminate(self) -> None:
        """Deliver SIGTERM to the script, which ignores it without a trap."""
        if self.script is not None:
            self.script.terminate()

    def _follow(self, now_ns: int) -> None:
        """Do what the program does from now on."""
        program = self.program
        self.wake_ns = None
        self.exit_code = program.exit_code
        self.handles_sigterm = program.handles_sigterm
        if program.duration_ns is not None:
            self.ends_ns = now_ns + program.duration_ns
