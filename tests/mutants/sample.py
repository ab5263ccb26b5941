"""Draws mutants by seed: a change of one line does not affect other draws.

Each possible mutant has a rank, a hash of the seed, its area, its operator and its line. The lowest
ranks are drawn, at most one per line. A renamed module keeps its mutants.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Container, Iterator
from copy import deepcopy
from difflib import unified_diff
from functools import cache, cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from parso.utils import split_lines
from tests.mutants.areas import ROOT, Settings, modules_of
from tests.mutants.operators import operators

BINARY_PARENTS = frozenset(
    {"arith_expr", "term", "power", "shift_expr", "expr", "and_expr", "xor_expr"}
)
"""The neighbors of an operator token; elsewhere `*` separates parameters, for example."""


Span = tuple[tuple[int, int], tuple[int, int]]

ARITHMETIC_TOKENS = frozenset({"+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"})


class Mutant:
    """One change of one line.

    Parameters
    ----------
    area : str
        Its area.
    module : str
        Its module within the area's folder.
    path : pathlib.Path
        The same file, relative to the root of the project.
    operator : str
        The operator of the change.
    occurrence : int
        The index among the places in the file where the operator applies.
    span : tuple
        Line, from 1, and column of the start and the end of the change.
    text : str
        The unchanged line, without surrounding spaces.
    rank : str
        Its rank in the draw.
    """

    def __init__(
        self,
        area: str,
        module: str,
        path: Path,
        *,
        operator: str,
        occurrence: int,
        span: Span,
        text: str,
        rank: str,
    ) -> None:
        self.area = area
        self.module = module
        self.path = path
        self.operator = operator
        self.occurrence = occurrence
        self.span = span
        self.text = text
        self.rank = rank

    @property
    def line(self) -> int:
        """The number of the first changed line, from 1."""
        return self.span[0][0]

    @cached_property
    def source(self) -> str:
        """The whole module with the change."""
        operator = operators()[self.operator]
        nodes = (
            (node, index)
            for node in nodes_of(self.path)
            for index, _ in enumerate(operator.mutation_positions(node))
        )
        node, index = next(islice(nodes, self.occurrence, None), (None, 0))
        if node is None:
            raise ValueError(f"{self.path}: {self.operator} applies less often than it did")
        # Operators change the node itself, and the tree is read again.
        mutated = operator.mutate(deepcopy(node, {id(node.parent): node.parent}), index)
        lines = split_lines(source_of(self.path), keepends=True)
        before, after = node.get_start_pos_of_prefix(), node.end_pos
        return "".join(
            [
                *lines[: before[0] - 1],
                lines[before[0] - 1][: before[1]],
                mutated.get_code(),
                lines[after[0] - 1][after[1] :],
                *lines[after[0] :],
            ]
        )

    @property
    def mutated(self) -> str:
        """The changed line, or the first of the changed lines."""
        return " ".join(self.source.splitlines()[self.line - 1].split())

    @cached_property
    def key(self) -> str:
        """The identity of the mutant while the code of the module is unchanged."""
        digest = hashlib.sha256(code_of(self.path).encode())
        digest.update(f"{self.area}/{self.module}/{self.operator}/{self.occurrence}".encode())
        return digest.hexdigest()[:32]

    @property
    def diff(self) -> str:
        """The change as a diff, without its first two lines."""
        before, after = source_of(self.path).splitlines(), self.source.splitlines()
        return "\n".join(list(unified_diff(before, after, n=1, lineterm=""))[2:])

    @property
    def place(self) -> str:
        """File and line in the form that editors parse."""
        return f"{self.path.as_posix()}:{self.line}"

    @cached_property
    def statement(self) -> range:
        """The lines of the innermost statement around it."""
        around = [lines for lines in statements_in(self.path) if self.line in lines]
        return min(around, key=len, default=range(self.line, self.line + 1))


@cache
def code_of(path: Path) -> str:
    """Return what decides the behavior of a module: its syntax without comments and docstrings."""
    tree = ast.parse(source_of(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:]
    return ast.dump(tree)


@lru_cache(maxsize=16)
def nodes_of(path: Path) -> tuple[Any, ...]:
    """Return the nodes of the tree of a module; parsing it takes a tenth of a second."""
    return tuple(ast_nodes(get_ast(source_of(path))))


@cache
def source_of(path: Path) -> str:
    """Return a module as it was at the start of the run."""
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def statements_in(path: Path) -> tuple[range, ...]:
    """Return the lines of each statement of a module, of a compound one those of its head."""
    found = []
    for node in ast.walk(ast.parse(source_of(path))):
        if isinstance(node, ast.stmt | ast.match_case | ast.ExceptHandler):
            body: list[ast.stmt] = getattr(node, "body", [])
            start = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
            end = body[0].lineno - 1 if body else getattr(node, "end_lineno", start)
            found.append(range(start, max(start, end) + 1))
    return tuple(found)


def possible(area: str, module: str, path: Path, seed: int) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    source = source_of(path)
    lines = source.splitlines()
    repeats: Counter[tuple[str, str]] = Counter()
    counts: Counter[str] = Counter()
    used = operators()
    for node in nodes_of(path):
        for name, operator in used.items():
            for start, end in operator.mutation_positions(node):
                occurrence = counts[name]
                counts[name] += 1
                text = " ".join(lines[start[0] - 1].split())
                if not is_meaningful(node) or is_between_patterns(node, text):
                    continue
                nth = repeats[name, text]
                repeats[name, text] += 1
                rank = hashlib.sha256(f"{seed}/{area}/{name}/{text}/{nth}".encode())
                yield Mutant(
                    area,
                    module,
                    path,
                    operator=name,
                    occurrence=occurrence,
                    span=(start, end),
                    text=text,
                    rank=rank.hexdigest(),
                )


CACHES = ("@lru_cache(", "@cache_short(")
"""Decorators whose number is how many results are kept, which changes no result."""


def is_meaningful(node: Any) -> bool:
    """Whether a change here has an effect: annotations and assertions are not behavior."""
    is_token = node.type == "operator" and node.value in ARITHMETIC_TOKENS
    if is_token and node.parent.type not in BINARY_PARENTS:
        return False
    child, parent = node, node.parent
    while parent is not None:
        kind = parent.type
        if kind in ("assert_stmt", "tfpdef"):
            return False
        if kind == "annassign" and child is parent.children[1]:
            return False
        if kind == "param" and child is parent.annotation:
            return False
        if kind == "funcdef" and child is parent.annotation:
            return False
        if kind == "decorator" and node.type == "number":
            return not parent.get_code(include_prefix=False).startswith(CACHES)
        if is_for_types(parent):
            return False
        child, parent = parent, parent.parent
    return str(node.type) != "assert_stmt" and not is_for_types(node)


def is_between_patterns(node: Any, text: str) -> bool:
    """Whether a node is the `|` of a `case`, which is not an operator."""
    return bool(node.type == "operator" and node.value == "|" and text.startswith("case "))


def is_for_types(node: Any) -> bool:
    """Whether a node is an `if TYPE_CHECKING` statement."""
    return bool(node.type == "if_stmt" and node.children[1].get_code().strip() == "TYPE_CHECKING")


def all_of(
    area: str, settings: Settings, seed: int, modules: Container[str] | None = None
) -> list[Mutant]:
    """Return every mutant of an area, or of some of its modules, in the order of the draw."""
    found = [
        mutant
        for module, path in modules_of(settings.areas[area]).items()
        if modules is None or module in modules
        for mutant in possible(area, module, path.relative_to(ROOT), seed)
    ]
    return sorted(found, key=lambda mutant: (mutant.rank, mutant.module))


def draw(mutants: list[Mutant], count: int) -> list[Mutant]:
    """Return the first `count` mutants, at most one per line."""
    taken: dict[tuple[Path, int], Mutant] = {}
    for mutant in mutants:
        if len(taken) == count:
            break
        taken.setdefault((mutant.path, mutant.line), mutant)
    return list(taken.values())
