"""The builtins of the shell and the programs that are simulated.

Each takes the shell and its words, and returns an exit status. An option, or a form of an argument,
with which implementations differ is not simulated.
"""

from __future__ import annotations

import operator
import posixpath
import re
from collections.abc import Callable, Generator, Sequence
from typing import Final, TypeAlias

from podwright.apimachinery.objects import SECOND_NS
from podwright.cluster.kubelets.kubelet.shell.environment import (
    Exit,
    FileAccessError,
    ShellState,
    Steps,
    check_writable,
)
from podwright.cluster.kubelets.kubelet.shell.syntax import NotSimulatedError

_Builtin: TypeAlias = Callable[[ShellState, str, list[str]], int]

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_TERM: Final = frozenset({"TERM", "SIGTERM", "15"})
_OTHER_SIGNALS: Final = frozenset({"INT", "SIGINT", "2", "HUP", "SIGHUP", "1", "QUIT", "SIGQUIT"})
_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}
_EXPR_COMPARISONS: Final[dict[str, Callable[[object, object], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
}
_INTEGER: Final = re.compile(r"-?\d{1,18}")
_UNARY: Final = frozenset({"-e", "-f", "-d", "-r", "-w", "-x", "-s", "-z", "-n", "-h", "-L"})
_TEXT_OPERATORS: Final = frozenset({"=", "==", "!="})
_OPTION_NAMES: Final = {
    "errexit": "e",
    "nounset": "u",
    "noglob": "f",
    "xtrace": "x",
    "pipefail": "pipefail",
}
_SEQUENCE_MAX: Final = 100_000


def _refuse(name: str, arguments: Sequence[str]) -> NotSimulatedError:
    return NotSimulatedError(f'"{" ".join([name, *arguments])[:80]}"')


def _options(name: str, arguments: list[str], known: str) -> tuple[set[str], list[str]]:
    """Return the options at the start, and the other arguments."""
    options: set[str] = set()
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        text = rest.pop(0)
        if text == "--":
            break
        if set(text[1:]) - set(known):
            raise _refuse(name, arguments)
        options |= set(text[1:])
    return options, rest


# ------------------------------------------------------------------------------------- builtins


def _constant(status: int) -> _Builtin:
    def run(*_: object) -> int:
        return status

    return run


def _exit(shell: ShellState, name: str, arguments: list[str]) -> int:
    status = _status(shell, name, arguments)
    if arguments:
        raise Exit(status)
    if shell.before_end is not None:
        raise Exit(shell.before_end)
    before = shell.before_signal
    if before not in (None, status) and shell.facts.dialect not in ("dash", "busybox"):
        raise NotSimulatedError("exit without a status in a trap, which bash does differently")
    raise Exit(status if before is None else before)


def _return(shell: ShellState, name: str, arguments: list[str]) -> int:
    shell.leave(name, _status(shell, name, arguments))
    raise AssertionError("a shell that leaves continues")


def _status(shell: ShellState, name: str, arguments: list[str]) -> int:
    if not arguments:
        return shell.status
    status = " ".join(arguments)
    if not status.isdecimal() or len(status) > 9:
        raise _refuse(name, arguments)
    return int(status) & 255


def _break(shell: ShellState, name: str, arguments: list[str]) -> int:
    count = " ".join(arguments) if arguments else "1"
    if not count.isdecimal() or count == "0":
        raise _refuse(name, arguments)
    shell.leave(name, int(count))
    raise AssertionError("a shell that leaves continues")


def read_options(
    shell: ShellState, arguments: Sequence[str], others: str = ""
) -> tuple[set[str], list[str]] | None:
    """Set the options at the start of the arguments of `set` or of a shell.

    Parameters
    ----------
    shell : ShellState
    arguments : sequence of str
    others : str
        Letters of further options, which are not set.

    Returns
    -------
    tuple of set of str and list of str, optional
        The further options found, and the other arguments, with the `-` or `--` that may end the
        options; None if an option is not simulated.
    """
    found: set[str] = set()
    rest = list(arguments)
    while rest and rest[0][:1] in ("-", "+") and rest[0] not in ("-", "--"):
        text = rest.pop(0)
        if text == "+":
            return None
        for letter in text[1:]:
            if letter in others and text[0] == "-":
                found.add(letter)
                continue
            option = letter
            if letter == "o":
                option = _OPTION_NAMES.get(rest.pop(0) if rest else "", "")
            if option not in _OPTION_NAMES.values() or (
                option == "pipefail" and not shell.has_extensions
            ):
                return None
            (shell.options.add if text[0] == "-" else shell.options.discard)(option)
    return found, rest


def _set(shell: ShellState, name: str, arguments: list[str]) -> int:
    read = read_options(shell, arguments)
    if not arguments or read is None:
        raise _refuse(name, arguments)
    _, rest = read
    if rest[:1] == ["--"]:
        shell.parameters = rest[1:]
        return 0
    if rest[:1] == ["-"]:
        shell.options.discard("x")
        del rest[0]
    if rest:
        shell.parameters = rest
    return 0


def _shift(shell: ShellState, name: str, arguments: list[str]) -> int:
    match arguments:
        case []:
            count = 1
        case [text] if text.isdecimal():
            count = int(text)
        case _:
            raise _refuse(name, arguments)
    if count > len(shell.parameters):
        raise _refuse(name, arguments)
    del shell.parameters[:count]
    return 0


def _export(shell: ShellState, name: str, arguments: list[str]) -> int:
    for text in arguments:
        variable, equals, value = text.partition("=")
        if equals:
            shell.assign(variable, value)
        elif not (variable.isidentifier() and variable.isascii()):
            raise _refuse(name, arguments)
    if not arguments:
        raise _refuse(name, arguments)
    return 0


def _unset(shell: ShellState, name: str, arguments: list[str]) -> int:
    for variable in arguments:
        if variable.startswith("-"):
            raise _refuse(name, arguments)
        shell.assign(variable, None)
    return 0


def _trap(shell: ShellState, name: str, arguments: list[str]) -> int:
    if len(arguments) < 2 or (arguments[0].startswith("-") and arguments[0] != "-"):
        raise _refuse(name, arguments)
    for signal in arguments[1:]:
        if signal in _TERM:
            key = "TERM"
        elif signal in ("EXIT", "0"):
            key = "EXIT"
        elif signal in _OTHER_SIGNALS:
            continue  # nothing sends it
        else:
            raise _refuse(name, arguments)
        if arguments[0] == "-":
            shell.traps.pop(key, None)
        else:
            shell.traps[key] = shell.parsed(arguments[0])
        shell.context.has_trap |= key == "TERM"
    return 0


def _cd(shell: ShellState, name: str, arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        raise _refuse(name, arguments)
    if shell.kind(arguments[0]) != "directory":
        shell.errors.write_error()
        return 1 if shell.has_extensions else 2
    shell.directory = shell.path(arguments[0])
    return 0


def _pwd(shell: ShellState, name: str, arguments: list[str]) -> int:
    if arguments or shell.directory is None:
        raise _refuse(name, arguments)
    shell.output.write(f"{shell.directory}\n")
    return 0


def _read(shell: ShellState, name: str, arguments: list[str]) -> int:
    options, names = _options(name, arguments, "r")
    shell.context.reads += 1
    line = shell.input.line()
    if not names or ("\\" in line and not options) or shell.separators.strip(" \t\n"):
        raise _refuse(name, arguments)
    text = line.rstrip("\n")
    rest = text.strip(shell.separators) if shell.separators else text
    for variable in names[:-1]:
        first, *others = rest.split(None, 1) if shell.separators and rest else [rest]
        rest = others[0] if others else ""
        shell.assign(variable, first)
    shell.assign(names[-1], rest)
    return int(not line.endswith("\n"))


def _echo(shell: ShellState, name: str, arguments: list[str]) -> int:
    is_line = arguments[:1] != ["-n"]
    texts = arguments if is_line else arguments[1:]
    if any("\\" in text for text in texts) or re.match(r"-[neE]+$", (texts or [""])[0]):
        raise _refuse(name, arguments)
    shell.output.write(" ".join(texts) + ("\n" if is_line else ""))
    return 0


def _printf(shell: ShellState, name: str, arguments: list[str]) -> int:
    if not arguments or arguments[0].startswith("-"):
        raise _refuse(name, arguments)
    shell.output.write(formatted(arguments[0], arguments[1:]))
    return 0


def _bracket(shell: ShellState, name: str, arguments: list[str]) -> int:
    words = arguments
    if name != "test":
        if arguments[-1:] != ["]" if name == "[" else "]]"]:
            raise _refuse(name, arguments)
        words = arguments[:-1]
    if name == "[[":
        if not shell.has_extensions:
            raise NotSimulatedError("[[, which is not in POSIX; the image's shell is not known")
        if len(words) == 3 and set("*?[\\") & set(words[2]):
            raise _refuse(name, arguments)
    found = _test(shell, name, words)
    return 2 if found is None else int(not found)


def _test(shell: ShellState, name: str, words: list[str]) -> bool | None:
    """Return the result; None for an error."""
    if len(words) <= 1:
        return words not in ([], [""])
    if len(words) == 3 and (words[1] in _TEXT_OPERATORS or words[1] in _COMPARISONS):
        return _binary_test(shell, name, *words)
    if words[0] == "!" and len(words) <= 4:
        found = _test(shell, name, words[1:])
        return None if found is None else not found
    if len(words) == 2 and words[0] in _UNARY:
        return _unary_test(shell, words[0], words[1])
    raise _refuse(name, words)


def _binary_test(shell: ShellState, name: str, left: str, symbol: str, right: str) -> bool | None:
    if symbol == "==" and not shell.has_extensions:
        raise _refuse(name, [left, symbol, right])
    if symbol in _TEXT_OPERATORS:
        return (left == right) == (symbol != "!=")
    if not all(re.fullmatch(r"[-+]?\d{1,18}", text) for text in (left, right)):
        shell.errors.write_error()
        return None
    return _COMPARISONS[symbol](int(left), int(right))


def _unary_test(shell: ShellState, test: str, text: str) -> bool:
    if test in ("-z", "-n"):
        return bool(text) == (test == "-n")
    kind = shell.kind(text)
    match test:
        case "-f":
            return kind == "file"
        case "-d":
            return kind == "directory"
        case "-s":
            return kind == "directory" or (kind == "file" and shell.read(text) != "")
        case "-x" if kind == "file":
            raise NotSimulatedError("whether a file is executable")
        case "-w" if kind in ("file", "directory"):
            raise NotSimulatedError("whether a file is writable")
        case "-h" | "-L":
            if kind is not None:
                raise NotSimulatedError("whether a file is a link")
            return False
        case _:
            return kind is not None


# ------------------------------------------------------------------------------------- programs


def _cat(shell: ShellState, name: str, arguments: list[str]) -> int:
    _, paths = _options(name, arguments, "u")
    status = 0
    for path in paths or ["-"]:
        try:
            shell.output.write(shell.read(path))
        except FileAccessError:
            shell.errors.write_error()
            status = 1
    return status


def _ls(shell: ShellState, name: str, arguments: list[str]) -> int:
    _, paths = _options(name, arguments, "1")
    names: list[str] = []
    status = 0
    folders: list[str] = []
    for path in paths or ["."]:
        match shell.kind(path):
            case None:
                shell.errors.write_error()
                status = 1 if shell.facts.dialect == "busybox" else 2
            case "directory":
                folders.append(path)
            case _:
                names.append(path)
    if len(paths) > 1:
        raise _refuse(name, arguments)
    for folder in folders:
        names += [each for each in _names(shell, folder) if not each.startswith(".")]
    shell.output.write("".join(f"{each}\n" for each in names))
    return status


def _names(shell: ShellState, path: str) -> list[str]:
    return shell.facts.files.names(shell.path(path))


def _touch(shell: ShellState, name: str, arguments: list[str]) -> int:
    _, paths = _options(name, arguments, "")
    if not paths:
        raise _refuse(name, arguments)

    def touch(path: str) -> None:
        if shell.kind(path) is None:
            shell.write(path, "")

    return _each(shell, paths, touch)


def _rm(shell: ShellState, name: str, arguments: list[str]) -> int:
    options, paths = _options(name, arguments, "fr")
    if not paths and "f" not in options:
        raise _refuse(name, arguments)

    def remove(path: str) -> None:
        kind = shell.kind(path)
        if kind is None and "f" in options:
            return
        if kind is None or (kind == "directory" and "r" not in options):
            raise FileAccessError(path)
        _remove(shell, shell.path(path))

    return _each(shell, paths, remove)


def _remove(shell: ShellState, path: str) -> None:
    files = shell.facts.files
    if path == "/":
        raise NotSimulatedError("the removal of /")
    if files.kind(path) == "directory":
        for name in files.names(path):
            _remove(shell, f"{path}/{name}")
    files.remove(path)


def _mkdir(shell: ShellState, name: str, arguments: list[str]) -> int:
    options, paths = _options(name, arguments, "p")
    if not paths:
        raise _refuse(name, arguments)
    files = shell.facts.files

    def make(path: str) -> None:
        whole = shell.path(path)
        if "p" in options:
            parent = posixpath.dirname(whole)
            if files.kind(whole) == "directory":
                return
            make(parent)
        if shell.kind(path) is not None:
            raise FileAccessError(path)
        check_writable(files, whole)
        files.make_directory(whole)

    return _each(shell, paths, make)


def _each(shell: ShellState, paths: list[str], action: Callable[[str], object]) -> int:
    status = 0
    for path in paths:
        try:
            action(path)
        except FileAccessError:
            shell.errors.write_error()
            status = 1
    return status


def _copy(shell: ShellState, name: str, arguments: list[str]) -> int:
    _, paths = _options(name, arguments, "")
    if len(paths) != 2:
        raise _refuse(name, arguments)
    source, target = paths
    if shell.kind(target) == "directory":
        target = f"{target}/{posixpath.basename(source)}"
    content = shell.read(source)
    if shell.path(source) == shell.path(target):
        raise FileAccessError(source)
    shell.write(target, content)
    if name == "mv":
        shell.facts.files.remove(shell.path(source))
    return 0


def _hostname(shell: ShellState, name: str, arguments: list[str]) -> int:
    if arguments:
        raise _refuse(name, arguments)
    shell.output.write(f"{shell.facts.hostname}\n")
    return 0


def _seq(shell: ShellState, name: str, arguments: list[str]) -> int:
    if not 1 <= len(arguments) <= 3 or not all(
        re.fullmatch(r"-?(0|[1-9]\d{0,8})", text) for text in arguments
    ):
        raise _refuse(name, arguments)
    numbers = [int(text) for text in arguments]
    first, step = (numbers[0] if len(numbers) > 1 else 1), 1
    if len(numbers) == 3:
        step = numbers[1]
    if step == 0 or abs((numbers[-1] - first) // step) > _SEQUENCE_MAX:
        raise _refuse(name, arguments)
    last = numbers[-1] + (1 if step > 0 else -1)
    shell.output.write("".join(f"{number}\n" for number in range(first, last, step)))
    return 0


def _expr(shell: ShellState, name: str, arguments: list[str]) -> int:
    """Integers with one operator, which is what scripts use it for."""
    integers = [int(text) for text in arguments[::2] if _INTEGER.fullmatch(text)]
    match arguments:
        case [text] if integers:
            shell.output.write(f"{text}\n")
            return int(integers == [0])
        case [left, ("+" | "-" | "*" | "/" | "%") as symbol, right]:
            try:
                value = shell.compute(f"({int(left)}) {symbol} ({int(right)})")
            except ValueError:
                shell.errors.write_error()
                return 2
        case [left, comparison, right] if comparison in _EXPR_COMPARISONS:
            operands = integers if len(integers) == 2 else [left, right]
            value = int(_EXPR_COMPARISONS[comparison](*operands))
        case _:
            raise _refuse(name, arguments)
    shell.output.write(f"{value}\n")
    return int(value == 0)


# --------------------------------------------------------------------------- what takes time


def _exec(shell: ShellState, words: Sequence[str]) -> Steps:
    arguments = list(words[1:])
    if not arguments:
        raise NotSimulatedError("exec without a command")
    if arguments[0] in SPECIAL or arguments[0] in shell.functions:
        raise _refuse("exec", arguments)
    # The program replaces the shell, and its traps.
    shell.traps.clear()
    raise Exit((yield from shell.command(arguments)))


def _sleep(shell: ShellState, words: Sequence[str]) -> Steps:
    duration_ns = 0
    if len(words) < 2:
        raise _refuse("sleep", words[1:])
    for text in words[1:]:
        if text in ("infinity", "inf"):
            yield from shell.context.sleep(None)
        found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)([smhd]?)", text)
        if found is None:
            raise _refuse("sleep", words[1:])
        duration_ns += int(float(found[1]) * _UNITS[found[2]] * SECOND_NS)
    yield from shell.context.sleep(duration_ns)
    return 0


def _tail(shell: ShellState, words: Sequence[str]) -> Steps:
    if list(words[1:]) not in (["-f", "/dev/null"], ["-F", "/dev/null"]):
        raise _refuse("tail", words[1:])
    return (yield from _sleep(shell, ("sleep", "infinity")))


def _at_once(execute: _Builtin) -> Callable[[ShellState, Sequence[str]], Steps]:
    def run(shell: ShellState, words: Sequence[str]) -> Generator[int | None, None, int]:
        yield from ()  # a generator, as all that executes
        return execute(shell, words[0].rpartition("/")[2], list(words[1:]))

    return run


SPECIAL: Final = frozenset(
    [":", "break", "continue", "exec", "exit", "export", "return", "set", "shift", "trap", "unset"]
)
"""The special builtins, after whose errors shells differ, and which are not programs."""

_BUILTINS: Final[dict[str, _Builtin]] = {
    ":": _constant(0),
    "[": _bracket,
    "[[": _bracket,
    "break": _break,
    "cat": _cat,
    "cd": _cd,
    "continue": _break,
    "cp": _copy,
    "echo": _echo,
    "exit": _exit,
    "export": _export,
    "expr": _expr,
    "false": _constant(1),
    "hostname": _hostname,
    "ls": _ls,
    "mkdir": _mkdir,
    "mv": _copy,
    "printf": _printf,
    "pwd": _pwd,
    "read": _read,
    "return": _return,
    "rm": _rm,
    "seq": _seq,
    "set": _set,
    "shift": _shift,
    "sync": _constant(0),
    "test": _bracket,
    "touch": _touch,
    "trap": _trap,
    "true": _constant(0),
    "unset": _unset,
}
COMMANDS: Final[dict[str, Callable[[ShellState, Sequence[str]], Steps]]] = {
    **{name: _at_once(execute) for name, execute in _BUILTINS.items()},
    "exec": _exec,
    "sleep": _sleep,
    "tail": _tail,
}
"""The commands by name."""


# `printf`: what the implementations have in common (POSIX XCU printf).

_CONVERSION: Final = re.compile(r"%(%|[-0 +]*\d*(?:\.\d+)?[sdixXou])")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b"}
_ESCAPE: Final = re.compile(r"\\([0-7]{1,3}|.)", re.DOTALL)


def formatted(template: str, arguments: Sequence[str]) -> str:
    """Return the arguments in the form of a template, which is used again while some are left.

    Raises
    ------
    NotSimulatedError
        A conversion or an escape that not all implementations have.
    """
    template = _ESCAPE.sub(_escaped, template)
    count = sum(found[1] != "%" for found in _CONVERSION.finditer(template))
    if "%" in _CONVERSION.sub("", template):
        raise NotSimulatedError(f"the printf format {template!r}")
    rounds = max(-(-len(arguments) // count), 1) if count else 1
    padded = [*arguments, *[None] * count]
    found = ""
    for index in range(rounds):
        rest = iter(padded[index * count : (index + 1) * count])
        found += _CONVERSION.sub(
            lambda conversion: (
                "%" if conversion[1] == "%" else _converted(conversion[0], next(rest))  # noqa: B023
            ),
            template,
        )
    return found


def _escaped(found: re.Match[str]) -> str:
    text = found[1]
    if text[0] in "01234567":
        return chr(int(text, 8) & 127).replace("%", "%%")
    if text not in _ESCAPES:
        raise NotSimulatedError(f"the escape \\{text} of printf")
    return _ESCAPES[text]


def _converted(conversion: str, argument: str | None) -> str:
    kind = conversion[-1]
    if kind == "s":
        return conversion % (argument or "")
    text = "0" if argument is None else argument
    if re.fullmatch(r"[-+]?(0|[1-9]\d{0,17})", text) is None:
        raise NotSimulatedError(f'the number "{text}" of printf')
    number = int(text)
    if number < 0 and kind in "xXou":
        raise NotSimulatedError(f'the number "{text}" of printf')
    return conversion % number
