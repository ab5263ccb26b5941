"""The operators: a selection of Cosmic Ray's, and additional ones.

Of Cosmic Ray's 56 replacements of a comparison, two or fewer are used for each: its boundary and
its negation. The same tests kill the others, or they change nothing, such as `==` for `is` between
small integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from cosmic_ray.ast.ast_query import ASTQuery
from cosmic_ray.operators.exception_replacer import ExceptionReplacer
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.operators.provider import OperatorProvider
from parso.python.tree import Keyword, Name, Operator as Token
from parso.tree import Leaf
from tests.mutants.expressions import EXPRESSIONS, Position

COMPARISONS = (
    "Eq_NotEq",
    "NotEq_Eq",
    "Lt_LtE",
    "Lt_GtE",
    "LtE_Lt",
    "LtE_Gt",
    "Gt_GtE",
    "Gt_LtE",
    "GtE_Gt",
    "GtE_Lt",
    "Is_IsNot",
    "IsNot_Is",
)
ARITHMETIC = (
    "Add_Sub",
    "Sub_Add",
    "Mul_FloorDiv",
    "FloorDiv_Mul",
    "Div_Mul",
    "Mod_FloorDiv",
    "Pow_Mul",
    "BitAnd_BitOr",
    "BitOr_BitAnd",
    "BitXor_BitOr",
    "RShift_LShift",
    "LShift_RShift",
)
OTHERS = (
    "AddNot",
    "NumberReplacer",
    "ReplaceAndWithOr",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ReplaceFalseWithTrue",
    "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse",
    "ReplaceUnaryOperator_Delete_Invert",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceUnaryOperator_Delete_USub",
    "ZeroIterationForLoop",
)


class ReplaceException(ExceptionReplacer):  # type: ignore[misc]  # Cosmic Ray has no types
    """Catch another exception; one of another module, which Cosmic Ray cannot replace, stays."""

    @staticmethod
    def _name_nodes(node: Any) -> list[Any]:
        caught = node.children[1]
        if caught.type == "atom":
            caught = caught.children[1]
        nodes = caught.children[::2] if caught.type == "testlist_comp" else [caught]
        return [each for each in nodes if isinstance(each, Name)]

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return an example with an exception of another module."""
        before = "try:\n    a()\nexcept (b.C, D):\n    pass\n"
        return (Example(before, before.replace("D", "CosmicRayTestingException")),)


class RemoveStatement(Operator):  # type: ignore[misc]  # Cosmic Ray has no types
    """Replace a statement with an effect by ``pass``."""

    EFFECTS = frozenset({"atom_expr", "power", "del_stmt", "raise_stmt"})

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield calls, `raise`, `del`, and assignments to attributes and items."""
        if node.type == "simple_stmt" and self._has_effect(node.children[0]):
            yield node.children[0].start_pos, node.children[0].end_pos

    def _has_effect(self, statement: Any) -> bool:
        if statement.type == "expr_stmt":
            target = statement.children[0]
            # A missing plain name, or an attribute that a constructor sets, fails every test.
            is_name = isinstance(target, Leaf) or target.type.startswith("testlist")
            around = ASTQuery(statement).get_definition_name()
            return not (
                is_name or around == "__init__" or statement.children[1].type == "annassign"
            )
        if statement.type == "del_stmt":
            # Nothing reads a local name that is deleted.
            target = statement.children[1]
            targets = target.children[::2] if target.type == "exprlist" else [target]
            return not all(isinstance(each, Name) for each in targets)
        return str(statement.type) in self.EFFECTS

    def mutate(self, node: Any, index: int) -> Any:
        """Replace the statement by `pass`."""
        statement = node.children[0]
        prefix = statement.get_first_leaf().prefix
        node.children[0] = Keyword("pass", statement.start_pos, prefix)
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return an example for a call and for an assignment."""
        return (Example("queue.clear()\n", "pass\n"), Example("self.size = 3\n", "pass\n"))


class ReplaceToken(Operator):  # type: ignore[misc]  # Cosmic Ray has no types
    """Replace tokens by others, one to one."""

    others: ClassVar[dict[str, str]]

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the tokens that have a replacement."""
        if self.is_meant(node):
            yield node.start_pos, node.end_pos

    def is_meant(self, node: Any) -> bool:
        """Whether `node` is a token to replace."""
        return isinstance(node, Token) and node.value in self.others

    def mutate(self, node: Any, index: int) -> Any:
        """Write the replacement."""
        node.value = self.others[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return an example of each replacement."""
        return tuple(Example(f"a {one} b\n", f"a {other} b\n") for one, other in cls.others.items())


class ReplaceAugmentedAssignment(ReplaceToken):
    """Replace additions by subtractions, and similar."""

    others: ClassVar[dict[str, str]] = {
        "+=": "-=",
        "-=": "+=",
        "*=": "+=",
        "//=": "*=",
        "|=": "&=",
        "&=": "|=",
        "^=": "|=",
        "<<=": ">>=",
        ">>=": "<<=",
    }


class ReplaceExtreme(ReplaceToken):
    """Replace the minimum by the maximum, and all by any."""

    others: ClassVar[dict[str, str]] = {
        "min": "max",
        "max": "min",
        "minimum": "maximum",
        "maximum": "minimum",
        "any": "all",
        "all": "any",
    }

    def is_meant(self, node: Any) -> bool:
        """Whether `node` is the name of a called function that has an opposite."""
        if not isinstance(node, Name) or node.value not in self.others:
            return False
        parent: Any = node.parent
        last: Any = parent if parent.type == "trailer" else node  # as in np.minimum(a, b)
        following = last.get_next_sibling()
        return (
            following is not None
            and following.type == "trailer"
            and following.children[0].value == "("
        )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return an example of each replacement."""
        return tuple(Example(f"{one}(a)\n", f"{other}(a)\n") for one, other in cls.others.items())


class ReplaceMembership(Operator):  # type: ignore[misc]  # Cosmic Ray has no types
    """Replace ``in`` by ``not in``, and the reverse."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the operators between operands."""
        if node.type == "comparison":
            for word in self._words(node):
                yield word.start_pos, word.end_pos

    def _words(self, node: Any) -> list[Any]:
        return [
            child for child in node.children if child.get_code().split() in (["in"], ["not", "in"])
        ]

    def mutate(self, node: Any, index: int) -> Any:
        """Write the opposite."""
        word = self._words(node)[index]
        opposite = "not in" if word.get_code().split() == ["in"] else "in"
        prefix = word.get_first_leaf().prefix
        node.children[node.children.index(word)] = Keyword(opposite, word.start_pos, prefix)
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return an example of both directions."""
        return (Example("a in b", "a not in b"), Example("a not in b", "a in b"))


OURS: tuple[type[Operator], ...] = (
    RemoveStatement,
    ReplaceException,
    ReplaceAugmentedAssignment,
    ReplaceExtreme,
    ReplaceMembership,
    *EXPRESSIONS,
)


def operators() -> dict[str, Operator]:
    """Return an instance of every operator in use, by name."""
    provider = OperatorProvider()
    names = [
        *(f"ReplaceComparisonOperator_{change}" for change in COMPARISONS),
        *(f"ReplaceBinaryOperator_{change}" for change in ARITHMETIC),
        *OTHERS,
    ]
    found: dict[str, Operator] = {name: provider[name]() for name in names}
    found.update({operator.__name__: operator() for operator in OURS})
    return found
