"""Operators for calls, conditions, keys and namespaces, which Cosmic Ray does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cosmic_ray.operators.operator import Example, Operator
from parso.python.tree import Name

Position = tuple[tuple[int, int], tuple[int, int]]

CALLS = frozenset({"atom_expr", "power"})
COPIES = frozenset({"list", "tuple", "dict", "set", "frozenset", "iter", "cast", "super", "id"})
"""Calls that often return what they are given, and those without which nothing runs."""
SYMMETRIC = frozenset({"min", "max", "gcd", "minimum", "maximum", "isinstance"})


def text_of(node: Any) -> str:
    """Return the code of a node without the space before it."""
    return str(node.get_code(include_prefix=False))


def leaf(node: Any, text: str) -> Any:
    """Return a leaf with a text, to stand where `node` stood."""
    return Name(text, node.start_pos, node.get_first_leaf().prefix)


class RemoveCall(Operator):  # type: ignore[misc]  # Cosmic Ray has no types
    """Replace `f(a)` by `a`, and `a.f()` by `a`."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield calls whose result is used."""
        if node.type in CALLS and self._replacement(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Write the argument, or the object of the method."""
        return leaf(node, self._replacement(node))

    def _replacement(self, node: Any) -> str:
        call = node.children[-1]
        if call.type != "trailer" or call.children[0].value != "(":
            return ""
        if node.parent.type in ("simple_stmt", "decorator") or "await" in text_of(node).split():
            return ""
        before = node.children[:-1]
        name = before[-1].children[-1] if before[-1].type == "trailer" else before[-1]
        if getattr(name, "value", "") in COPIES:
            return ""
        inside = call.children[1:-1]
        if not inside and len(before) > 1 and before[-1].children[0].value == ".":
            return "".join(
                child.get_code(include_prefix=place > 0) for place, child in enumerate(before[:-1])
            )
        is_single = len(inside) == 1 and inside[0].type not in ("arglist", "argument")
        return f"({text_of(inside[0])})" if is_single else ""

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return an example for a function and for a method."""
        return (
            Example("a = sorted(b)\n", "a = (b)\n"),
            Example("a = b.c.strip()\n", "a = b.c\n"),
        )


class SwapArguments(Operator):  # type: ignore[misc]  # Cosmic Ray has no types
    """Swap the first two arguments of a call."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the arguments of calls with two or more."""
        if node.type == "arglist" and self._pair(node):
            yield node.start_pos, node.end_pos

    def _pair(self, node: Any) -> list[Any]:
        before = node.parent.get_previous_sibling()
        name = before.get_last_leaf().value if before is not None else ""
        pair = node.children[0:3:2]
        is_positional = len(pair) == 2 and all(
            child.type != "argument" and not text_of(child).startswith("*") for child in pair
        )
        if node.parent.type != "trailer" or name in SYMMETRIC or not is_positional:
            return []
        return pair if text_of(pair[0]) != text_of(pair[1]) else []

    def mutate(self, node: Any, index: int) -> Any:
        """Swap the texts."""
        first, second = self._pair(node)
        node.children[0], node.children[2] = (
            leaf(first, text_of(second)),
            leaf(second, text_of(first)),
        )
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return an example."""
        return (Example("f(a, b + 1, c=2)\n", "f(b + 1, a, c=2)\n"),)


class RemoveCondition(Operator):  # type: ignore[misc]  # Cosmic Ray has no types
    """Remove an operand of `and` and `or`, the condition of an `if`, or that of a comprehension."""

    STATEMENTS = frozenset({"if_stmt", "test", "comp_if"})
    """`test` is `a if b else c`."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the conditions."""
        for condition in self._conditions(node):
            yield condition.start_pos, condition.end_pos

    def _conditions(self, node: Any) -> list[Any]:
        if node.type in ("and_test", "or_test"):
            return [child for child in node.children[::2] if ":=" not in text_of(child)]
        if node.type not in self.STATEMENTS:
            return []
        words = {"if", "elif"}
        return [
            following
            for child, following in zip(node.children, node.children[1:], strict=False)
            if getattr(child, "value", "") in words
            and ":=" not in text_of(following)
            and following.type not in ("and_test", "or_test")
        ]

    def mutate(self, node: Any, index: int) -> Any:
        """Leave the others of an operation; elsewhere the condition always holds."""
        condition = self._conditions(node)[index]
        place = node.children.index(condition)
        if node.type in self.STATEMENTS:
            node.children[place] = leaf(condition, "True")
            return node
        left = node.children[2:] if place == 0 else node.children[: place - 1]
        left = left if place == 0 else [*left, *node.children[place + 1 :]]
        text = "".join(child.get_code() for child in left).strip()
        return leaf(node, f"({text})")

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return an example for each place."""
        return (
            Example("a = b and c or d\n", "a = (d)\n"),
            Example("if a:\n    pass\n", "if True:\n    pass\n"),
            Example("a = [b for b in c if b]\n", "a = [b for b in c if True]\n"),
            Example("a = b if c else d\n", "a = b if True else d\n"),
        )


class ReplaceKey(Operator):  # type: ignore[misc]  # Cosmic Ray has no types
    """Replace a text that is a key, or that is compared with one, by another."""

    READERS = frozenset({"get", "pop", "setdefault"})

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the texts."""
        if node.type == "string" and node.value[0] in "\"'" and self._is_key(node):
            yield node.start_pos, node.end_pos

    def _is_key(self, node: Any) -> bool:
        parent = node.parent
        if parent.type == "comparison":
            return True
        if parent.type == "dictorsetmaker":
            following = node.get_next_sibling()
            return following is not None and getattr(following, "value", "") == ":"
        is_first = parent.type == "arglist" and parent.children[0] is node
        trailer = parent.parent if is_first else parent
        if trailer.type != "trailer":
            return False
        if trailer.children[0].value == "[":
            return True
        before = trailer.get_previous_sibling()
        return before is not None and before.get_last_leaf().value in self.READERS

    def mutate(self, node: Any, index: int) -> Any:
        """Append to the text."""
        node.value = f"{node.value[:-1]}_{node.value[-1]}"
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return an example for each place."""
        return (
            Example('a["b"]\n', 'a["b_"]\n'),
            Example('a.get("b", c)\n', 'a.get("b_", c)\n'),
            Example('a = {"b": "c"}\n', 'a = {"b_": "c"}\n'),
            Example('a == "b"\n', 'a == "b_"\n'),
        )


class RemoveNamespace(Operator):  # type: ignore[misc]  # Cosmic Ray has no types
    """Replace a namespace by the empty one, where it is read."""

    AROUND = frozenset(
        {
            *("arglist", "argument", "trailer", "comparison", "testlist_comp", "atom"),
            *("fstring_expr", "return_stmt", "testlist_star_expr", "dictorsetmaker"),
        }
    )

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield names and attributes."""
        if node.parent is not None and self._is_namespace(node) and self._is_read(node):
            yield node.start_pos, node.end_pos

    def _is_namespace(self, node: Any) -> bool:
        if isinstance(node, Name):
            return bool(node.value == "namespace")
        if node.type not in CALLS or node.children[-1].type != "trailer":
            return False
        return text_of(node.children[-1]) == ".namespace"

    def _is_read(self, node: Any) -> bool:
        parent = node.parent
        if parent.type == "argument":
            return bool(parent.children[0] is not node)
        if parent.type == "trailer":
            return bool(parent.children[0].value in "([")
        return parent.type in self.AROUND

    def mutate(self, node: Any, index: int) -> Any:
        """Write an empty text."""
        return leaf(node, "str()" if node.parent.type == "fstring_expr" else '""')

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return an example for a name, an attribute and a keyword."""
        return (
            Example("f(namespace, name)\n", 'f("", name)\n'),
            Example("a == pod.meta.namespace\n", 'a == ""\n'),
            Example("f(namespace=namespace)\n", 'f(namespace="")\n'),
        )


EXPRESSIONS: tuple[type[Operator], ...] = (
    RemoveCall,
    SwapArguments,
    RemoveCondition,
    ReplaceKey,
    RemoveNamespace,
)
