"""Reads the references to upstream in docstrings, for `docs/reference/upstream.md`.

A reference is a paragraph of a docstring, such as `Upstream: FILE, Function, Function; FILE.`

- A clause ends at `;`. It has files and names in them, separated by commas or "and". What follows
  "which" or "whose" is a remark, as is all in parentheses, and all behind the first sentence.
- A file has its path in the repository of Kubernetes; behind the name of another project or of a Go
  module, its path there (`KWOK pkg/utils/gotpl/renderer.go`).
- A file without a folder is the one of that name to which the module refers elsewhere, or is in the
  folder of the file before it. A name without a file is in the first file of the module.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

SOURCE: Final = Path(__file__).parents[1] / "src" / "podwright"
OLD: Final = ("scheduler/classic/", "testing/parity/classic/")
"""Rooms whose references are to Kubernetes 1.16, as those marked `(1.16)` are."""

_PARAGRAPH: Final = re.compile(r"Upstream: +(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
_REMARK: Final = re.compile(r"\s*\([^)]*\)|,? \b(?:which|whose)\b.*")
_NAME: Final = re.compile(r"[A-Za-z_][\w*]*(?:\.[\w*]+)*(?:\(\))?")
_FILE: Final = re.compile(r"[\w.{},*-]*/[\w.{},*/-]*|[\w{},*-]+\.(?:go|proto|g4)")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")


class Reference(NamedTuple):
    """A file of a project, a name in it or "", and the place of the docstring."""

    project: str
    file: str
    name: str
    ours: str


def references() -> list[Reference]:
    """Return the references of all docstrings, in order."""
    found: set[Reference] = set()
    for path in SOURCE.rglob("*.py"):
        if "tests" not in path.parts:
            place = path.relative_to(SOURCE).as_posix()
            found.update(references_of(path.read_text(encoding="utf-8"), place))
    return sorted(found)


def references_of(text: str, place: str) -> Iterator[Reference]:
    """Yield the references of a module."""
    module = place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    known: list[tuple[str, str]] = []
    for name, docstring in docstrings(ast.parse(text)):
        for paragraph in _PARAGRAPH.findall(docstring):
            ours = f"{module}.{name}" if name else module
            version = "Kubernetes 1.16" if place.startswith(OLD) else "Kubernetes 1.36"
            for project, file, theirs in files_and_names(paragraph, known, version, ours):
                yield Reference(project, file, theirs, ours)


def docstrings(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name and docstring of a module ("") and of what is in it, constants included."""
    body: list[ast.stmt] = getattr(tree, "body", [])
    before: ast.stmt | None = None
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            name = prefix.rstrip(".")
            if isinstance(before, ast.AnnAssign):
                name = prefix + ast.unparse(before.target)
            elif isinstance(before, ast.Assign):
                name = prefix + ast.unparse(before.targets[0])
            yield name, str(node.value.value)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from docstrings(node, f"{prefix}{node.name}.")
        before = node


def files_and_names(
    paragraph: str, known: list[tuple[str, str]], version: str, ours: str
) -> Iterator[tuple[str, str, str]]:
    """Yield project, file, and name or "" of each reference in a paragraph; `known` is extended."""
    # A path may be broken behind a slash or a comma in braces.
    line = " ".join(paragraph.split())
    text = re.sub(r"/ (?=[\w{])|(?<=[\w,]), (?=[\w, ]+\})", lambda match: match[0].strip(), line)
    files: list[tuple[str, str]] = []
    for clause in re.split(r"; ", re.split(r"\. (?=[A-Z])", text)[0].rstrip(".")):
        project = "Kubernetes 1.16" if "(1.16)" in clause else version
        last: list[tuple[str, str]] = []
        for token in re.split(r",\s+(?:and\s+)?|\s+and\s+", _REMARK.sub("", clause)):
            head, _, rest = token.strip("` ").rpartition(" ")
            if head and _FILE.fullmatch(rest):
                project = head
            if _FILE.fullmatch(rest):
                last = [(project, in_folder(each, [*known, *files])) for each in expanded(rest)]
                files += last
                yield from ((*file, "") for file in last)
            elif not head and _NAME.fullmatch(rest) and (last or files or known):
                yield from ((*file, rest) for file in last or files[-1:] or known[:1])
            else:
                raise AssertionError(f"{ours}: {token!r} is neither a file nor a name in a file")
    known += files


def expanded(path: str) -> Iterator[str]:
    """Yield the paths of `a/{b,c}.go`."""
    braces = _BRACES.search(path)
    if braces is None:
        yield path
        return
    for each in braces[1].split(","):
        yield from expanded(path.replace(braces[0], each.strip(), 1))


def in_folder(path: str, known: list[tuple[str, str]]) -> str:
    """Return the path of a file; see above."""
    if "/" in path or not known:
        return path
    for _, file in known:
        if file.rpartition("/")[2] == path:
            return file
    return f"{known[-1][1].rpartition('/')[0]}/{path}"


def upstream_page() -> str:
    """Return the references of each project, with a table for each folder."""
    lines: list[str] = []
    tables: dict[tuple[str, str], dict[tuple[str, str], list[str]]] = {}
    for project, path, name, ours in references():
        title = project if project.startswith("Kubernetes") else "Other projects"
        folder, _, file = path.rpartition("/")
        where = folder if title == project else f"{project} {folder}"
        names = tables.setdefault((title, where), {}).setdefault((file, ours), [])
        names += [f"`{name}`"] if name else []
    last = ""
    for (title, folder), table in sorted(tables.items()):
        if title != last:
            lines += [f"## {title}", ""]
            last = title
        lines += [f"### `{folder}`", "", "| file | names | podwright |", "|---|---|---|"]
        for (file, ours), names in sorted(table.items()):
            lines.append(f"| `{file}` | {', '.join(names)} | `{ours}` |")
        lines.append("")
    return "\n".join(lines)
