"""`printf`: what the implementations have in common (POSIX XCU printf)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from podwright.cluster.kubelets.kubelet.shell.syntax import NotSimulatedError

_CONVERSION: Final = re.compile(r"%(%|[-0 +]*\d*(?:\.\d+)?[sdixXou])")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "a": "\a", "b": "\b"}
_ESCAPE: Final = re.compile(r"\\([0-7]{1,3}|.)", re.DOTALL)


def formatted(template: str, arguments: Sequence[str]) -> str:
    """Return the arguments in the form of a template, which is used again while some are left.

    Raises
    ------
    NotSimulatedError
        A conversion or an escape that not all implementations have.
    """
    template = _ESCAPE.sub(_escaped, template) if "\\" in template else template
    count = sum(found[1] != "%" for found in _CONVERSION.finditer(template))
    if "%" in _CONVERSION.sub("", template):
        raise NotSimulatedError(f"the printf format {template!r}")
    rounds = max(-(-len(arguments) // count) if count else 1, 1)
    padded = [*arguments, *[None] * (rounds * count - len(arguments))]
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
    return conversion.replace("u", "d") % number
