"""An interpreter of shell scripts, without processes: time passes where a script sleeps.

A script is executed by a generator. It yields how long it sleeps, None for ever, and continues when
that time has passed, so it finds the files as other containers have left them by then. Everything
else takes no time; a loop that does not sleep lasts a second after each 1,000 rounds.

A loop whose state is the same after a round that read and wrote nothing outside of the script will
never end: it sleeps for ever instead, unless a trap waits for a signal.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from podwright.apimachinery.objects import SECOND_NS
from podwright.cluster.kubelets.kubelet.shell.commands import COMMANDS, SPECIAL, read_options
from podwright.cluster.kubelets.kubelet.shell.environment import (
    Exit,
    Facts,
    FileAccessError,
    FileOutput,
    Input,
    Leave,
    NoOutput,
    Output,
    ShellState,
    Steps,
    check_writable,
)
from podwright.cluster.kubelets.kubelet.shell.expansion import (
    fields,
    pattern_of,
    pieces_of,
    text_of,
)
from podwright.cluster.kubelets.kubelet.shell.parser import parse, plain_text
from podwright.cluster.kubelets.kubelet.shell.syntax import (
    AndOr,
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    List,
    Loop,
    NotSimulatedError,
    Pipeline,
    Redirected,
    Redirection,
    Simple,
    Text,
    Word,
)

_ROUNDS_MAX: Final = 1_000
_CALLS_MAX: Final = 50
_COMMANDS: Final = frozenset(COMMANDS)


class Shell(ShellState):
    """A shell that executes commands."""

    def subshell(self) -> Shell:
        """Return a copy, whose changes are its own."""
        made = Shell(self.facts, name=self.name, parameters=self.parameters)
        made.context = self.context
        made.variables = dict(self.variables)
        made.directory = self.directory
        made.options = set(self.options)
        made.functions = dict(self.functions)
        made.status, made.calls = self.status, self.calls
        made.input, made.output, made.errors = self.input, self.output, self.errors
        made.log = self.log
        return made

    def parsed(self, text: str) -> List:
        """Return the tree of the action of a trap."""
        return parse(text, _COMMANDS | frozenset(self.functions))

    # --------------------------------------------------------------------------------- lists

    def run(self, body: List) -> Steps:
        """Execute a script and its trap for EXIT; return its exit status."""
        try:
            status = yield from self.list(body, is_tested=False)
        except Exit as left:
            status = left.status
        action = self.traps.pop("EXIT", None)
        if action is not None:
            self.status = self.before_end = status
            try:
                yield from self.list(action, is_tested=False)
            except Exit as left:
                status = left.status
        return status

    def list(self, body: List, *, is_tested: bool) -> Steps:
        """Execute the commands of a list."""
        status = 0
        for each in body:
            status = yield from self._and_or(each, is_tested=is_tested)
        return status

    def _and_or(self, node: AndOr, *, is_tested: bool) -> Steps:
        last = len(node.pipelines) - 1
        status = yield from self._pipeline(node.pipelines[0], is_tested=is_tested or last > 0)
        for index, operator in enumerate(node.operators, 1):
            if (status == 0) == (operator == "&&"):
                pipeline = node.pipelines[index]
                status = yield from self._pipeline(pipeline, is_tested=is_tested or index < last)
        return status

    def _pipeline(self, node: Pipeline, *, is_tested: bool) -> Steps:
        is_tested |= node.is_negated
        if len(node.commands) == 1:
            status = yield from self._command(node.commands[0], is_tested=is_tested)
        else:
            status = yield from self._piped(node, is_tested=is_tested)
            self._check(status, is_tested=is_tested)
        if node.is_negated:
            status = int(not status)
        self.status = status
        return status

    def _piped(self, node: Pipeline, *, is_tested: bool) -> Steps:
        """Execute commands one after the other, each in a subshell."""
        text, statuses = "", []
        for index, command in enumerate(node.commands):
            shell = self.subshell()
            if index:
                shell.input = Input(text)
            is_last = index == len(node.commands) - 1
            if not is_last:
                shell.output = Output()
            before_ns = self.context.elapsed_ns
            statuses.append((yield from shell.alone(command, is_tested=is_tested)))
            if index and self.context.elapsed_ns > before_ns:
                raise NotSimulatedError("a pipe to a command that takes time")
            text = shell.output.text
        failed = [status for status in statuses if status]
        return failed[-1] if "pipefail" in self.options and failed else statuses[-1]

    def alone(self, command: Command | List, *, is_tested: bool) -> Steps:
        """Execute a command in this subshell until it exits."""
        try:
            if isinstance(command, tuple):
                status = yield from self.list(command, is_tested=is_tested)
            else:
                status = yield from self._command(command, is_tested=is_tested)
        except Exit as left:
            status = left.status
        except Leave:
            raise NotSimulatedError("break or return in a subshell") from None
        if "EXIT" in self.traps:
            raise NotSimulatedError("a trap for EXIT in a subshell")
        return status

    def _check(self, status: int, *, is_tested: bool) -> None:
        """Exit after a failure, as `set -e` says."""
        self.status = status
        if status and "e" in self.options and not is_tested:
            raise Exit(status)

    def substitution(self, body: List) -> Generator[int | None, None, str]:
        """Return the output of a list without the line ends at its end."""
        shell = self.subshell()
        shell.output = Output()
        if self.name == "bash":
            shell.options.discard("e")
        self.status = yield from shell.alone(body, is_tested=False)
        self.substituted = self.status
        return shell.output.text.rstrip("\n")

    # ------------------------------------------------------------------------------ commands

    def _command(self, node: Command, *, is_tested: bool) -> Steps:
        if isinstance(node, Simple):
            return (yield from self._simple(node, is_tested=is_tested))
        if isinstance(node, Function):
            self.functions[node.name] = node.body
            return 0
        before = self.input, self.output, self.errors
        try:
            if not (yield from self._redirect(node.redirections)):
                status = self._redirection_failed()
                self._check(status, is_tested=is_tested)
                return status
            return (yield from self._compound(node, is_tested=is_tested))
        finally:
            self.input, self.output, self.errors = before

    def _compound(self, node: Redirected, *, is_tested: bool) -> Steps:
        command = node.command
        if isinstance(command, Group):
            if not command.is_subshell:
                return (yield from self.list(command.body, is_tested=is_tested))
            status = yield from self.subshell().alone(command.body, is_tested=is_tested)
            self._check(status, is_tested=is_tested)
            return status
        if isinstance(command, If):
            for condition, body in command.branches:
                if condition is None or (yield from self.list(condition, is_tested=True)) == 0:
                    return (yield from self.list(body, is_tested=is_tested))
            return 0
        if isinstance(command, Case):
            return (yield from self._case(command, is_tested=is_tested))
        self.loops += 1
        try:
            if isinstance(command, For):
                return (yield from self._for(command, is_tested=is_tested))
            return (yield from self._loop(command, is_tested=is_tested))
        finally:
            self.loops -= 1

    def _case(self, node: Case, *, is_tested: bool) -> Steps:
        text = yield from text_of(self, node.word)
        for patterns, body in node.items:
            for word in patterns:
                pattern = pattern_of((yield from pieces_of(self, word)))
                if pattern.fullmatch(text):
                    return (yield from self.list(body, is_tested=is_tested))
        return 0

    def _for(self, node: For, *, is_tested: bool) -> Steps:
        status = 0
        values = list(self.parameters)
        if node.words is not None:
            values = yield from fields(self, node.words)
        for value in values:
            self.assign(node.name, value)
            status, is_over = yield from self._round(node.body, is_tested=is_tested)
            if is_over:
                break
        return status

    def _loop(self, node: Loop, *, is_tested: bool) -> Steps:
        status = 0
        seen: object = None
        while True:
            state = self._state()
            if state == seen and not self.context.has_trap:
                yield from self.context.sleep(None)
            seen = state
            try:
                condition = yield from self.list(node.condition, is_tested=True)
            except Leave as left:
                if not self._is_over(left):
                    raise NotSimulatedError("continue in the condition of a loop") from None
                return 0
            if (condition == 0) == node.is_until:
                return status
            status, is_over = yield from self._round(node.body, is_tested=is_tested)
            if is_over:
                return status

    def _round(
        self, body: List, *, is_tested: bool
    ) -> Generator[int | None, None, tuple[int, bool]]:
        """Execute the body of a loop once; return its status, and whether the loop is over."""
        self.context.rounds += 1
        if self.context.rounds > _ROUNDS_MAX:
            yield from self.context.sleep(SECOND_NS)
        try:
            yield from self.handle_signal()
            return (yield from self.list(body, is_tested=is_tested)), False
        except Leave as left:
            return 0, self._is_over(left)

    def _is_over(self, left: Leave) -> bool:
        """Whether `break` ended this loop; raise again what is about another loop or a function."""
        if left.kind == "return":
            raise left
        if left.value > 1 and self.loops > 1:
            raise Leave(left.kind, left.value - 1) from None
        return left.kind == "break"

    def _state(self) -> object:
        return (
            self.status,
            dict(self.variables),
            self.directory,
            tuple(self.parameters),
            frozenset(self.options),
            dict(self.functions),
            self.context.reads,
        )

    def handle_signal(self) -> Generator[int | None, None, None]:
        """Execute the trap for SIGTERM, if the signal has come."""
        if not self.context.is_terminated or "TERM" not in self.traps:
            return
        self.context.is_terminated = False
        action, status = self.traps["TERM"], self.status
        if action is not None:
            before, self.before_signal = self.before_signal, status
            yield from self.list(action, is_tested=False)
            self.status, self.before_signal = status, before

    def _simple(self, node: Simple, *, is_tested: bool) -> Steps:
        self.substituted = 0
        words = yield from _fields_of(self, node.words)
        if not words and node.words:
            raise NotSimulatedError("a command without words")
        values = []
        for name, word in node.assignments:
            value = yield from text_of(self, word)
            values.append((name, value))
            if not words:
                self.assign(name, value)
        before = self.input, self.output, self.errors
        try:
            if not (yield from self._redirect(node.redirections)):
                if words and words[0] in SPECIAL:
                    raise NotSimulatedError("a redirection that fails")
                status = self._redirection_failed()
            elif not words:
                status = self.substituted
            else:
                status = yield from self._call(words, values, is_tested=is_tested)
        finally:
            self.input, self.output, self.errors = before
        self.status = status
        yield from self.handle_signal()
        self._check(status, is_tested=is_tested)
        return status

    def _call(
        self, words: Sequence[str], values: Sequence[tuple[str, str]], *, is_tested: bool
    ) -> Steps:
        name = words[0]
        body = self.functions.get(name)
        if values and (body is not None or name in SPECIAL):
            raise NotSimulatedError("an assignment before a function or a special builtin")
        known = {each: self.variables[each] for each, _ in values if each in self.variables}
        for each, value in values:
            self.assign(each, value)
        try:
            if body is not None:
                return (yield from self._function(body, words[1:], is_tested=is_tested))
            return (yield from self.command(words))
        finally:
            for each, _ in values:
                del self.variables[each]
            self.variables |= known

    def _function(self, body: Redirected, arguments: Sequence[str], *, is_tested: bool) -> Steps:
        if self.calls >= _CALLS_MAX:
            raise NotSimulatedError("calls that are nested this deep")
        parameters, self.parameters = self.parameters, list(arguments)
        loops, self.loops = self.loops, 0
        self.calls += 1
        try:
            return (yield from self._command(body, is_tested=is_tested))
        except Leave as left:
            return left.value  # `break` is refused outside of a loop
        finally:
            self.parameters, self.loops = parameters, loops
            self.calls -= 1

    def command(self, words: Sequence[str]) -> Steps:
        """Execute a builtin or a program, with its arguments."""
        name = words[0].rpartition("/")[2]
        execute = COMMANDS.get(name)
        if execute is None or ("/" in words[0] and name in SPECIAL):
            raise NotSimulatedError(f'command "{words[0]}"')
        try:
            return (yield from execute(self, words))
        except FileAccessError:
            self.errors.write_error()
            return 1

    # -------------------------------------------------------------------------- redirections

    def _redirection_failed(self) -> int:
        self.errors.write_error()
        return 1 if self.has_extensions else 2

    def _redirect(self, redirections: Sequence[Redirection]) -> Generator[int | None, None, bool]:
        """Redirect the streams; return whether all files could be opened."""
        for each in redirections:
            target = yield from text_of(self, each.target)
            try:
                self._redirect_one(each, target)
            except FileAccessError:
                return False
        return True

    def _redirect_one(self, node: Redirection, target: str) -> None:
        if node.operator == "<<":
            self.input = Input(target)
            return
        if node.operator == "<":
            if node.descriptor:
                raise NotSimulatedError("reading from another file descriptor")
            self.input = Input(self.read(target))
            return
        output: Output
        if node.descriptor == 2 and "x" in self.options:
            raise NotSimulatedError("the redirection of the errors after set -x")
        if node.operator == ">&":
            if target not in ("1", "2"):
                raise NotSimulatedError(f"the redirection >&{target}")
            output = self.output if target == "1" else self.errors
        else:
            output = self._opened(target, is_emptied=node.operator == ">")
        if node.descriptor == 1:
            self.output = output
        elif node.descriptor == 2:
            self.errors = output
        else:
            raise NotSimulatedError("writing to the standard input")

    def _opened(self, target: str, *, is_emptied: bool) -> Output:
        """Return the output to a file, or to a device."""
        match target:
            case "/dev/stdout":
                return self.output
            case "/dev/stderr":
                return self.errors
            case "/proc/1/fd/1" | "/proc/1/fd/2":
                return self.log
            case "/dev/null":
                return NoOutput()
            case _:
                path = self.path(target)
                check_writable(self.facts.files, path)
                self.context.reads += 1
                if is_emptied or self.facts.files.kind(path) is None:
                    self.facts.files.write(path, "")
                return FileOutput(self.facts.files, path)


def _fields_of(shell: Shell, words: Sequence[Word]) -> Generator[int | None, None, list[str]]:
    """Return the fields of a command's words.

    A word of `export` that starts with a text is an assignment, which is not split.
    """
    is_export = bool(words) and plain_text(words[0]) == "export"
    found: list[str] = []
    for word in words:
        if is_export and isinstance(word[0], Text):
            found.append((yield from text_of(shell, word)))
        else:
            found += yield from fields(shell, (word,))
    return found


# A command line that is executed: a shell with a script, or a program by itself.

_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})
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
        # The script is the first operand, wherever -c stands among the options.
        others, operands = read_options(self._shell, words[1:], "c") or (set(), [])
        if operands[:1] == ["--"]:
            del operands[0]
        if "c" not in others or not operands:
            raise NotSimulatedError(f'"{" ".join(words)[:80]}"')
        self._body = parse(operands[0], frozenset(COMMANDS))
        if len(operands) > 1:
            self._shell.name, self._shell.parameters = operands[1], operands[2:]

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
