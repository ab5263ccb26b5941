"""Expressions from a seed and at limits, and what the libraries of kube-apiserver make of them.

    python -m tests.real_parts.expressions          rewrites the record beside the room

The record is that of `test_recorded_expressions.py` in `apimachinery/cel/tests`.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.real_parts.decisions.generated_selectors import Expressions

VARIABLES: Final[dict[str, Any]] = {
    "x": {
        "attributes": {
            "dra.example.com": {"model": "h100-sxm", "numa": 7.0, "healthy": True, "root": "pci0"},
            "other.io": {"level": 2.0},
        },
        "capacity": {"dra.example.com": {"memory": "40Gi", "cores": "108"}},
        "driver": "dra.example.com",
        "allowMultipleAllocations": False,
        "list": [1.0, "a", None, [True]],
    },
    "n": 7,
    "zero": 0,
    "s": "héllo wörld",
    "l": [3, 1, 2],
    "m": {"one": 1, "two": 2},
}
"""Numbers within `x` are doubles."""

_TYPES: Final = (
    "boolean", "integer", "integer", "double", "string", "string", "integers", "strings",
    "quantity", "quantity", "version", "address", "block", "url", "duration", "timestamp",
)  # fmt: skip
_BYTES: Final = ("b'abc'", "bytes(s)", "b'\\xff'", "b''")


def draw_expression(seed: int) -> dict[str, Any]:
    """Return an expression, with a limit of its cost at times."""
    drawn = _AnyExpressions(Random(f"expression {seed}"))
    kind = drawn.random.choice((*_TYPES, "optional", "extra", "extra", "extra"))
    expression: str = getattr(drawn, kind)(drawn.random.randint(1, 3))
    case: dict[str, Any] = {"expression": expression.replace("device.", "x.")}
    if drawn.random.random() < 0.1:
        case["limit"] = drawn.random.randint(1, 30)
    return case


class _AnyExpressions(Expressions):
    """Expressions of each type, over typed variables as well as dynamic ones."""

    def _attribute(self, name: str) -> str:
        typed = {"model": "s", "numa": "n", "healthy": "(n > 3)", "fw": 'semver("1.2.3")'}
        if name in typed and self.random.random() < 0.7:
            return typed[name]
        return super()._attribute(name)

    def integer(self, depth: int) -> str:
        """Return an expression of type int; sizes and members of the variables too."""
        if self.random.random() < 0.15:
            return self._any(
                lambda: "m.one", lambda: 'm["two"]', lambda: "zero", lambda: "l[1]",
                lambda: "size(l)", lambda: "m.size()", lambda: "l[zero]", lambda: "-n",
                lambda: "9223372036854775807", lambda: "-9223372036854775808",
            )  # fmt: skip
        return super().integer(depth)

    def optional(self, depth: int) -> str:
        """Return an optional value."""
        return self._any(
            lambda: self._optional(depth),
            lambda: f"{self._optional(depth)}.or({self._optional(depth)})",
            lambda: f"m[?{self.string(0)}].optMap(v, v + {self.integer(0)})",
            lambda: f"l[?{self.integer(0)}].optFlatMap(v, m[?{self.string(0)}])",
            lambda: f"m.?{self.random.choice(['one', 'three'])}",
            lambda: f"x.?{self.random.choice(['list', 'absent'])}[?{self.integer(0)}]",
            lambda: f"[?{self._optional(0)}, 1]",
            lambda: f"{{?'a': m.?{self.random.choice(['one', 'three'])}}}",
        )

    def extra(self, depth: int) -> str:
        """Return an expression that selectors seldom have."""
        random, below = self.random, depth - 1
        small = random.randint(-1, 4)
        return self._any(
            lambda: f"{self.integers(below)}.slice({small}, {random.randint(-1, 5)})",
            lambda: f"[[1, [2, 3]], [{self.integer(0)}], []].flatten({small})",
            lambda: f"[{self.integers(0)}, {self.integers(0)}].flatten()",
            lambda: f"{self.bytes()} {random.choice(['==', '+', '<', '>='])} {self.bytes()}",
            lambda: f"size({self.bytes()})",
            lambda: f"string({self.bytes()})",
            lambda: f"{self.strings(below)} == {self.strings(below)}",
            lambda: f"{self.string(below)} {random.choice(['==', '!='])} {self.string(below)}",
            lambda: f"m == {{'one': {self.integer(0)}, 'two': 2}}",
            lambda: f"x.list == [1, {self._literal(0)}, null, [true]]",
            lambda: f"{self.timestamp(below)}.{self._part()}({random.choice(['', self._zone()])})",
            lambda: f"{self.duration(below)}.{random.choice(_DURATION_PARTS)}()",
            lambda: f"{self.timestamp(below)} - {self.timestamp(below)}",
            lambda: f"{self.quantity(below)}.{random.choice(['add', 'sub'])}({self._huge()})",
            lambda: f"{self._huge()}.{random.choice(_QUANTITY_PARTS)}()",
            lambda: f"[{self.quantity(below)}, {self._huge()}, quantity('1')].sum()",
            lambda: f"[{self.duration(0)}, {self.duration(0)}].{random.choice(_ORDERS)}()",
            lambda: f"[{self.double(0)}, {self.double(below)}].{random.choice(_ORDERS)}()",
            lambda: f"[{self.string(0)}, {self.string(0)}].{random.choice(['min', 'max'])}()",
            lambda: f"m.map(k, m[k] * {self.integer(0)})",
            lambda: f"l.map(i, i > {self.integer(0)}, i * 2)",
            lambda: f"m.transformMap(k, v, v + {self.integer(0)})",
            lambda: f"m.transformMap(k, v, v > {small}, k)",
            lambda: "m.transformMapEntry(k, v, {v: k})",
            lambda: f"l.transformList(i, v, v > {small}, i * v)",
            lambda: f"m.{random.choice(['all', 'exists', 'existsOne'])}(k, v, v > {small})",
            lambda: f"{self.version(below)}.{random.choice(['major', 'minor', 'patch'])}()",
            lambda: f"{self.version(below)}.compareTo({self.version(below)})",
            lambda: f"{self.address(below)}.{random.choice(['family', 'isUnspecified'])}()",
            lambda: f"{self.block(below)}.prefixLength()",
            lambda: f"{self.block(below)}.contains{self._inside()}",
            lambda: f"{self.url(below)}.getQuery()",
            lambda: f"{self.string(below)}.reverse()",
            lambda: f"{self.string(below)}.replace({self.string(0)}, {self.string(0)}, {small})",
            lambda: f"{self.string(below)}.indexOf({self.string(0)}, {small})",
            lambda: f"{self.string(below)}.lastIndexOf({self.string(0)}, {small})",
            lambda: f"{self.string(below)}.split({self.string(0)}, {small})",
            lambda: f"{self.strings(below)}.join()",
            lambda: f"{self.string(below)}.findAll({self._quoted(('l+', '(a|h)', ''))}, {small})",
            lambda: (
                f"{self._quoted(('%s', '%d', '%.3f', '%e', '%x', '%X', '%b', '%o', '%%'))}"
                f".format([{random.choice([self.integer, self.string, self.double])(0)}])"
            ),
            lambda: f"'%s'.format([{random.choice(['x.list', 'm', 'l', 'null', 'type(n)'])}])",
            lambda: f"format.named({self._quoted(_FORMATS)}).hasValue()",
            lambda: f"format.{random.choice(_FORMATS[:-1])}().validate({self.string(below)})",
            lambda: f"uint({self.number(below)}) {random.choice('+-*/%')} {small + 1}u",
            lambda: f"{small + 1}u == {self.number(0)}",
            lambda: f"int({random.choice([self.timestamp, self.double, self.number])(0)})",
            lambda: f"string({random.choice([self.timestamp, self.double, self.quantity])(0)})",
            lambda: f"type({random.choice([self.url, self.duration, self.quantity])(0)})",
            lambda: f"has(x.{random.choice(['list', 'absent', 'driver.a'])})",
            lambda: f"x.list[{random.choice(['0', '1.0', '2u', '5', '-1', '0.5'])}]",
            lambda: f"lists.range({small}).{random.choice(['sum', 'min', 'max', 'reverse'])}()",
            lambda: f"{random.choice(['timestamp', 'duration'])}({self.string(below)})",
            lambda: f"sets.{self._set_test()}([{self._literal(0)}, n], [{self._literal(0)}])",
            lambda: f"{self.address(0)} == {self.address(0)}",
            lambda: f"{self.block(0)} == {self.block(0)}",
            lambda: f"{self.url(0)} == {self.url(0)}",
            lambda: f"x.?attributes[?{self.string(0)}].orValue({{}})",
        )

    def bytes(self) -> str:
        """Return bytes."""
        return self.random.choice(_BYTES)

    def _part(self) -> str:
        return self.random.choice([
            "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear",
            "getHours", "getMinutes", "getSeconds", "getMilliseconds",
        ])  # fmt: skip

    def _zone(self) -> str:
        return self._quoted(("UTC", "Etc/UTC", "Zulu", "-03:30", "+05:45", "No/Where", ""))

    def timestamp(self, depth: int) -> str:
        """Return a time, in a zone other than UTC at times."""
        if self.random.random() < 0.3:
            zoned = ("1999-12-31T23:30:00.5-03:30", "2024-03-01T00:15:00+05:45")
            return f"timestamp({self._quoted(zoned)})"
        return super().timestamp(depth)

    def _huge(self) -> str:
        values = ("9223372036854775807", "-9223372036854775808", "9E", "8Ei", "1e30", "1n")
        return f"quantity({self._quoted(values)})"

    def _inside(self) -> str:
        return self._any(
            lambda: f"IP({self._quoted(('10.1.2.3', '::1', '10.0.0.256'))})",
            lambda: f"CIDR({self._quoted(('10.1.0.0/16', '0.0.0.0/0', '::/0', '10.0.0.0'))})",
        )


_DURATION_PARTS: Final = ("getHours", "getMinutes", "getSeconds", "getMilliseconds")
_QUANTITY_PARTS: Final = ("asInteger", "isInteger", "asApproximateFloat")
_ORDERS: Final = ("sum", "min", "max", "sort", "isSorted")
_FORMATS: Final = (
    "dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "labelValue", "uri",
    "uuid", "byte", "date", "datetime", "none",
)  # fmt: skip
