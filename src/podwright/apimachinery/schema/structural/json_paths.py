r"""JSONPath as Kubernetes spells it: no leading `$`, names with dashes, dots escaped by `\\`.

The library python-jsonpath evaluates the paths. Printer columns of custom resources and
`kubectl -o jsonpath=...` have them.

Upstream: staging/src/k8s.io/client-go/util/jsonpath/{jsonpath,parser}.go
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import jsonpath

JsonPath: TypeAlias = "jsonpath.JSONPath | jsonpath.CompoundJSONPath"
"""A compiled path; `findall` returns what it finds in a document."""

_STEP = re.compile(
    r"""
    (?P<bracket>\[(?:[^\[\]"']|"[^"]*"|'[^']*'|\[[^\]]*\])*\])
    |(?P<deep>\.\.)
    |\.?(?P<name>\*|(?:[^.\[\]\\\s]|\\.)+)
    """,
    re.VERBOSE,
)


class JsonPathError(ValueError):
    """A path that cannot be parsed."""


def compiled_path(path: str) -> JsonPath:
    """Compile a path.

    Raises
    ------
    JsonPathError
        The path cannot be parsed.
    """
    import jsonpath

    rest = path.strip().removeprefix("$").removeprefix("@")
    steps, position = ["$"], 0
    while position < len(rest):
        step = _STEP.match(rest, position)
        if step is None or (rest[position] != "." and step["name"] and position):
            raise JsonPathError(f"{path!r}: unexpected {rest[position:]!r}")
        position = step.end()
        if step["bracket"]:
            steps.append(step["bracket"].replace("\\.", "."))
        elif step["deep"]:
            following = _STEP.match(f".{rest[position:]}")
            if following is None or not following["name"]:
                raise JsonPathError(f"{path!r}: a name is missing after ..")
            position += following.end() - 1
            steps.append(f"..{_name(following['name'])}")
        else:
            steps.append(_name(step["name"]))
    try:
        return jsonpath.compile("".join(steps))
    except jsonpath.JSONPathError as error:
        raise JsonPathError(f"{path!r}: {str(error).splitlines()[0]}") from error


def _name(name: str) -> str:
    if name == "*":
        return "[*]"
    plain = re.sub(r"\\(.)", r"\1", name).replace("\\", "\\\\").replace("'", "\\'")
    return f"['{plain}']"
