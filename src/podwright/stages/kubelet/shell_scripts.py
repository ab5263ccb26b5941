"""What a shell script of a container does: how long it runs, its exit code, the files it writes.

Only a small part of the POSIX shell is interpreted, the part that test pods and examples use:
lists, `&&`, `||`, `if`, `while true`, variables of the environment, `$((...))` and `$(expr ...)`,
and the commands `exit`, `sleep`, `true`, `false`, `test` and `[`, `touch`, `rm`, `cat`, `echo` and
`trap`. A script with anything else is not understood, and its container runs until it is stopped.

No process is started and no file is written: files are keys of a mapping.
"""

from __future__ import annotations

import ast
import operator
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})

_SECOND_NS: Final = 1_000_000_000
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_LOOPS_MAX: Final = 100
_COMMANDS_MAX: Final = 10_000
_PUNCTUATION: Final = re.compile(r"&&|\|\||>>|[;&|()<>\n]")
_ENDS: Final = frozenset({"then", "elif", "else", "fi", "do", "done", "}", ")"})
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_ARITHMETIC: Final = re.compile(r"\$\(\(([^()]*)\)\)")
_EXPR: Final = re.compile(r"\$\(\s*expr\s+([^()]*)\)")
_OPERATORS: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: lambda left, right: int(left / right),
    ast.Mod: lambda left, right: left - right * int(left / right),
}
_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}


class FileChange(msgspec.Struct, frozen=True):
    """A change of a file during a run.

    Attributes
    ----------
    offset_ns : int
        The time since the start of the run.
    path : str
    content : str, optional
        None if the file is removed.
    """

    offset_ns: int
    path: str
    content: str | None


class ScriptRun(msgspec.Struct, frozen=True):
    """The run of a command.

    Attributes
    ----------
    duration_ns : int, optional
        None if it runs until it is stopped.
    exit_code : int
    changes : tuple of FileChange
        In the order of time.
    output : str
        What it writes to its standard output.
    handles_sigterm : bool
        Whether it ends at SIGTERM. A shell or `sleep` as process 1 ignores the signal.
    """

    duration_ns: int | None
    exit_code: int = 0
    changes: tuple[FileChange, ...] = ()
    output: str = ""
    handles_sigterm: bool = False


class _UnknownError(Exception):
    """The script contains something that is not interpreted."""


class _ExitError(Exception):
    """The script ends with an exit code."""


class _EndlessError(Exception):
    """The script runs until it is stopped."""


def run_command(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    has_file: Callable[[str], bool],
    random_number: int = 0,
) -> ScriptRun | None:
    """Return the run of a command line; None if it is not understood.

    Parameters
    ----------
    argv : sequence of str
    environment : mapping
        The values of the variables.
    has_file : callable
        Whether a file exists when the run starts.
    random_number : int
        The value of `$RANDOM`, below 32768.
    """
    run = _Run(dict(environment) | {"RANDOM": str(random_number)}, has_file)
    code = 0
    duration: int | None = None
    try:
        code = run.command_line(argv)
        duration = run.elapsed_ns
    except _UnknownError:
        return None
    except _ExitError as error:
        code, duration = int(error.args[0]), run.elapsed_ns
    except _EndlessError:
        pass
    return ScriptRun(duration, code, tuple(run.changes), run.output, run.handles_sigterm)


class _Run:
    """One execution of a script."""

    def __init__(self, environment: dict[str, str], has_file: Callable[[str], bool]) -> None:
        self._environment = environment
        self._has_file = has_file
        self._files: dict[str, bool] = {}
        self._command_count = 0
        self.elapsed_ns = 0
        self.changes: list[FileChange] = []
        self.output = ""
        self.handles_sigterm = False

    def command_line(self, argv: Sequence[str]) -> int:
        """Execute a command line without expansions, and return its exit code."""
        if not argv:
            raise _UnknownError
        name = argv[0].rpartition("/")[2]
        if name in SHELLS:
            flags = argv[1] if len(argv) > 2 else ""
            if not re.fullmatch(r"-[eux]*c", flags):
                raise _UnknownError
            return self._script(argv[2])
        return self._simple(list(argv))

    # ------------------------------------------------------------------------- grammar

    def _script(self, text: str) -> int:
        lexer = shlex.shlex(self._expand(text), posix=True, punctuation_chars=";&|()<>\n")
        lexer.whitespace = " \t\r"
        lexer.whitespace_split = True
        tokens: list[str] = []
        try:
            for token in lexer:
                if token and not token.strip(";&|()<>\n"):
                    tokens += _PUNCTUATION.findall(token)
                else:
                    tokens.append(token)
        except ValueError:
            raise _UnknownError from None
        self._tokens, self._index = tokens, 0
        code = self._list(is_executed=True)
        if self._index < len(tokens):
            raise _UnknownError
        return code

    def _expand(self, text: str) -> str:
        """Replace variables and arithmetic, which have one value during a run."""

        def value(found: re.Match[str]) -> str:
            name = found[1] or found[2]
            return self._environment.get(name, found[0])

        def computed(found: re.Match[str]) -> str:
            return str(_arithmetic(found[1]))

        text = _VARIABLE.sub(value, text)
        text = _EXPR.sub(computed, _ARITHMETIC.sub(computed, text))
        if "$" in text or "`" in text:
            raise _UnknownError
        return text

    @property
    def _next(self) -> str:
        return self._tokens[self._index] if self._index < len(self._tokens) else ""

    def _take(self, expected: str = "") -> str:
        token = self._next
        if not token or (expected and token != expected):
            raise _UnknownError
        self._index += 1
        return token

    def _list(self, *, is_executed: bool) -> int:
        code = 0
        while True:
            while self._next in (";", "\n"):
                self._index += 1
            if not self._next or self._next in _ENDS:
                return code
            code = self._and_or(is_executed=is_executed)
            if self._next and self._next not in (";", "\n") and self._next not in _ENDS:
                raise _UnknownError

    def _and_or(self, *, is_executed: bool) -> int:
        code = self._command(is_executed=is_executed)
        while self._next in ("&&", "||"):
            is_and = self._take() == "&&"
            while self._next == "\n":
                self._index += 1
            is_next = is_executed and (code == 0) == is_and
            result = self._command(is_executed=is_next)
            code = result if is_next else code
        return code

    def _command(self, *, is_executed: bool) -> int:
        match self._next:
            case "if":
                return self._if(is_executed=is_executed)
            case "while" | "until":
                return self._loop(is_executed=is_executed)
            case "(" | "{":
                end = ")" if self._take() == "(" else "}"
                code = self._list(is_executed=is_executed)
                self._take(end)
                return code
            case "!":
                self._take()
                return int(not self._command(is_executed=is_executed))
            case _:
                return self._words(is_executed=is_executed)

    def _words(self, *, is_executed: bool) -> int:
        words: list[str] = []
        target = ""
        while self._next and not _PUNCTUATION.fullmatch(self._next):
            words.append(self._take())
        while self._next in (">", ">>"):
            self._take()
            target = self._take()
            if words and words[-1] in ("1", "2"):
                words.pop()
        if not words:
            raise _UnknownError
        if not is_executed:
            return 0
        before = self.output
        code = self._simple(words)
        if target:
            self._change(target, self.output[len(before) :])
            self.output = before
        return code

    def _if(self, *, is_executed: bool) -> int:
        code, is_done = 0, False
        self._take("if")
        while True:
            condition = self._list(is_executed=is_executed and not is_done)
            self._take("then")
            is_taken = is_executed and not is_done and condition == 0
            result = self._list(is_executed=is_taken)
            if is_taken:
                code, is_done = result, True
            match self._take():
                case "elif":
                    continue
                case "else":
                    result = self._list(is_executed=is_executed and not is_done)
                    if is_executed and not is_done:
                        code = result
                    self._take("fi")
                case "fi":
                    pass
                case _:
                    raise _UnknownError
            return code

    def _loop(self, *, is_executed: bool) -> int:
        is_until = self._take() == "until"
        start = self._index
        for _ in range(_LOOPS_MAX):
            self._index = start
            condition = self._list(is_executed=is_executed)
            self._take("do")
            is_body = is_executed and (condition == 0) != is_until
            self._list(is_executed=is_body)
            self._take("done")
            if not is_body:
                return 0
        raise _EndlessError

    # ------------------------------------------------------------------------ commands

    def _simple(self, words: list[str]) -> int:
        self._command_count += 1
        if self._command_count > _COMMANDS_MAX:
            raise _EndlessError
        name, arguments = words[0].rpartition("/")[2], words[1:]
        if name in _WITHOUT_EFFECT:
            return 0
        execute = _COMMANDS.get(name)
        if execute is None:
            raise _UnknownError
        return execute(self, name, arguments)

    def run_false(self, _: str, __: list[str]) -> int:
        return 1

    def run_exit(self, _: str, arguments: list[str]) -> int:
        raise _ExitError(_number(arguments[0]) & 255 if arguments else 0)

    def run_exec(self, _: str, arguments: list[str]) -> int:
        if not arguments:
            raise _UnknownError
        raise _ExitError(self._simple(arguments))

    def run_tail(self, _: str, arguments: list[str]) -> int:
        raise _EndlessError if {"-f", "-F"} & set(arguments) else _UnknownError

    def run_trap(self, _: str, arguments: list[str]) -> int:
        self.handles_sigterm = bool({"TERM", "SIGTERM", "15"} & set(arguments[1:]))
        return 0

    def run_touch(self, _: str, arguments: list[str]) -> int:
        for path in arguments:
            self._change(path, "")
        return 0

    def run_rm(self, _: str, arguments: list[str]) -> int:
        for path in arguments:
            if not path.startswith("-"):
                self._change(path, None)
        return 0

    def run_cat(self, _: str, arguments: list[str]) -> int:
        paths = [path for path in arguments if not path.startswith("-")]
        if not paths:
            raise _UnknownError
        return int(not all(self._exists(path) for path in paths))

    def run_bracket(self, name: str, arguments: list[str]) -> int:
        closing = {"[": "]", "[[": "]]"}.get(name)
        if closing and arguments[-1:] != [closing]:
            raise _UnknownError
        return int(not self._test(arguments[:-1] if closing else arguments))

    def run_sleep(self, _: str, arguments: list[str]) -> int:
        if not arguments:
            raise _UnknownError
        for text in arguments:
            if text in ("infinity", "inf"):
                raise _EndlessError
            found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)([smhd]?)", text)
            if found is None:
                raise _UnknownError
            self.elapsed_ns += int(float(found[1]) * _UNITS[found[2]] * _SECOND_NS)
        return 0

    def run_print(self, name: str, arguments: list[str]) -> int:
        is_line = name == "echo"
        while is_line and arguments and arguments[0] in ("-n", "-e"):
            is_line = arguments.pop(0) != "-n"
        text = " ".join(arguments)
        if name == "printf":
            text = text.replace("\\n", "\n")
        self.output += f"{text}\n" if is_line else text
        return 0

    def _change(self, path: str, content: str | None) -> None:
        if path in ("/dev/null", "/dev/stdout", "/dev/stderr"):
            return
        self._files[path] = content is not None
        self.changes.append(FileChange(self.elapsed_ns, path, content))

    def _exists(self, path: str) -> bool:
        return self._files[path] if path in self._files else self._has_file(path)

    def _test(self, words: list[str]) -> bool:
        match words:
            case ["!", *others]:
                return not self._test(others)
            case ["-e" | "-f" | "-r" | "-d" | "-s" | "-w" | "-x", path]:
                return self._exists(path)
            case ["-z", text]:
                return not text
            case ["-n", text] | [text]:
                return bool(text)
            case [left, "=" | "==", right]:
                return left == right
            case [left, "!=", right]:
                return left != right
            case [left, comparison, right] if comparison in _COMPARISONS:
                return _COMPARISONS[comparison](_number(left), _number(right))
        raise _UnknownError


_WITHOUT_EFFECT: Final = frozenset({"true", ":", "set", "mkdir", "chmod", "sync", "export"})
_COMMANDS: Final[dict[str, Callable[[_Run, str, list[str]], int]]] = {
    "false": _Run.run_false,
    "exit": _Run.run_exit,
    "exec": _Run.run_exec,
    "sleep": _Run.run_sleep,
    "tail": _Run.run_tail,
    "trap": _Run.run_trap,
    "echo": _Run.run_print,
    "printf": _Run.run_print,
    "touch": _Run.run_touch,
    "rm": _Run.run_rm,
    "cat": _Run.run_cat,
    "ls": _Run.run_cat,
    "test": _Run.run_bracket,
    "[": _Run.run_bracket,
    "[[": _Run.run_bracket,
}


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _UnknownError from None


def _arithmetic(text: str) -> int:
    """Return the value of an expression of whole numbers, with Go's and C's division."""
    try:
        tree = ast.parse(text.strip().replace("\\", "").replace("/", "//"), mode="eval")
        return _value(tree.body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
        raise _UnknownError from None


def _value(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=symbol, right=right) if type(symbol) in _OPERATORS:
            return _OPERATORS[type(symbol)](_value(left), _value(right))
    raise _UnknownError
