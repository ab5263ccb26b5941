"""Device selectors drawn from a seed: typed expressions of every library, some with faults."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

Document = dict[str, Any]
_DRIVER: Final = "dra.example.com"
_WORDS: Final = ("a100", "h100-sxm", "", "1.2.3", "10.0.0.1", "true", "Über", "a,b,c", " x ", "7")
_QUANTITIES: Final = ("1", "40Gi", "1500m", "-3", "1e3", "0.5", "80Gi", "12k", "bad", "1.5Gi")
_VERSIONS: Final = ("1.2.3", "v1.2", "2.0.0-rc.1", "1.10.0+b1", "01.2.3", "x")
_ADDRESSES: Final = ("10.0.0.1", "::1", "fe80::1", "127.0.0.1", "300.1.1.1", "2001:db8::ff00:42")
_BLOCKS: Final = ("10.0.0.0/8", "::/0", "192.168.1.0/24", "10.0.0.0/33", "10.0.0.5/24")
_URLS: Final = (
    "https://a.b:80/p?x=1&y=2", "http://[::1]/", "/rel", "a b", "https://u@h/p%20q?k=v#f",
)  # fmt: skip
_PATTERNS: Final = ("[a-z]+", "^a", "(\\\\d+)", "x*", "(", "a|h")


def draw_selector_case(seed: int) -> Document:
    """Return a case of family cel."""
    drawn = Expressions(Random(f"selector {seed}"))
    expression = drawn.boolean(drawn.random.randint(1, 4))
    devices = [drawn.device(index) for index in range(3)]
    return {"family": "cel", "expression": expression, "devices": devices}


class Expressions:
    """One method for each type of CEL; each returns an expression of that type."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._variables = 0
        self._integers_in_scope: list[str] = []
        self._strings_in_scope: list[str] = []

    def device(self, index: int) -> Document:
        """Return a device with some of the attributes that expressions name."""
        random = self.random
        pool: Document = {
            "model": {"string": random.choice(_WORDS)},
            "numa": {"int": random.choice([0, 1, -5, 7, 9223372036854775807])},
            "healthy": {"bool": random.random() < 0.7},
            "fw": {"version": random.choice(["1.2.3", "1.10.0", "2.0.0-rc.1"])},
            "other.io/level": {"int": random.randint(0, 3)},
            f"{_DRIVER}/root": {"string": "pci0"},
        }
        attributes = {key: value for key, value in pool.items() if random.random() < 0.85}
        values = ["40Gi", "80Gi", "0", "1500m", "108"]
        capacity = {
            name: {"value": random.choice(values)}
            for name in ("memory", "cores")
            if random.random() < 0.85
        }
        device: Document = {"name": f"d{index}", "attributes": attributes, "capacity": capacity}
        if random.random() < 0.3:
            device["allowMultipleAllocations"] = True
        return {"driver": _DRIVER, "device": device}

    def _any(self, *choices: Callable[[], str]) -> str:
        return self.random.choice(choices)()

    def _quoted(self, values: tuple[str, ...]) -> str:
        return f'"{self.random.choice(values)}"'

    def _attribute(self, name: str) -> str:
        form = self.random.randrange(4)
        if form == 0:
            return f'device.attributes["{_DRIVER}"]["{name}"]'
        if form == 1:
            return f'device.attributes["absent.io"].{name}' if self._rarely() else self._plain(name)
        return self._plain(name)

    def _plain(self, name: str) -> str:
        return f'device.attributes["{_DRIVER}"].{name}'

    def _rarely(self) -> bool:
        return self.random.random() < 0.06

    def boolean(self, depth: int) -> str:
        """Return an expression of type bool, or of any type by mistake."""
        random, below = self.random, depth - 1
        if self._rarely():
            return self._any(
                lambda: self.integer(1), lambda: self.string(1), lambda: "device.driver ==",
                lambda: "undeclared", lambda: self._attribute("healthy"), lambda: "null",
            )  # fmt: skip
        if depth <= 0:
            return self._any(
                lambda: self._attribute("healthy"),
                lambda: "device.allowMultipleAllocations",
                lambda: random.choice(["true", "false"]),
                lambda: f"has({self._plain('model')})",
                lambda: f'"numa" in device.attributes["{_DRIVER}"]',
                lambda: f'"{_DRIVER}" in device.attributes',
            )
        compare = random.choice(["==", "!=", "<", "<=", ">", ">="])
        return self._any(
            lambda: f"{self.boolean(below)} && {self.boolean(below)}",
            lambda: f"{self.boolean(below)} || {self.boolean(below)}",
            lambda: f"!({self.boolean(below)})",
            lambda: f"({self.boolean(below)} ? {self.boolean(below)} : {self.boolean(below)})",
            lambda: f"{self.integer(below)} {compare} {self.integer(below)}",
            lambda: f"{self.string(below)} {compare} {self.string(below)}",
            lambda: f"{self.double(below)} {compare} {self.number(below)}",
            lambda: f"{self.integer(below)} {compare} {self.number(below)}",
            lambda: f"{self.string(below)}.{self._string_test()}({self.string(below)})",
            lambda: f"{self.string(below)}.matches({self._quoted(_PATTERNS)})",
            lambda: f"{self.quantity(below)}.{self._order()}({self.quantity(below)})",
            lambda: f"{self.version(below)}.{self._order()}({self.version(below)})",
            lambda: f"{self.version(below)} == {self.version(below)}",
            lambda: f"{self.quantity(below)} == {self.quantity(below)}",
            lambda: f"isQuantity({self._quoted(_QUANTITIES)})",
            lambda: f"isSemver({self._quoted(_VERSIONS)}{random.choice(['', ', true'])})",
            lambda: f"isIP({self._quoted(_ADDRESSES)})",
            lambda: f"isCIDR({self._quoted(_BLOCKS)})",
            lambda: f"isURL({self._quoted(_URLS)})",
            lambda: f"{self.address(below)}.{self._address_test()}()",
            lambda: f"ip.isCanonical({self._quoted(_ADDRESSES)})",
            lambda: f"{self.block(below)}.containsIP({self.address(below)})",
            lambda: f"{self.block(below)}.containsCIDR({self.block(below)})",
            lambda: f"{self.integer(below)} in {self.integers(below)}",
            lambda: f"{self.string(below)} in {self.strings(below)}",
            lambda: f"{self.integers(below)}.isSorted()",
            lambda: f"sets.{self._set_test()}({self.integers(below)}, {self.integers(below)})",
            lambda: f"sets.{self._set_test()}({self.strings(below)}, {self.strings(below)})",
            lambda: self._macro(below),
            lambda: self._macro_of_maps(below),
            lambda: f"{self._optional(below)}.hasValue()",
            lambda: f"type({self._attribute('numa')}) == int",
            lambda: f"{self._plain('?model')[:-6]}?model.orValue('x') == {self.string(below)}",
            lambda: (
                f"format.{random.choice(['dns1123Label', 'uri', 'uuid', 'labelValue'])}()"
                f".validate({self.string(below)}).hasValue()"
            ),
            lambda: self._bind(below),
            lambda: f"{self.quantity(below)}.isInteger()",
            lambda: f"{self.integers(below)} == {self.integers(below)}",
            lambda: f'{{"a": {self.integer(below)}}} == {{"a": {self.integer(below)}}}',
            lambda: f"{self.duration(below)} {compare} {self.duration(below)}",
            lambda: f"{self.timestamp(below)} {compare} {self.timestamp(below)}",
            lambda: f"bool({self._quoted(('true', 'false', 'TRUE', 'yes', '1', 't'))})",
            lambda: f"{self._attribute(self._name())} == {self._literal(below)}",
        )

    def _name(self) -> str:
        return self.random.choice(["model", "numa", "healthy", "fw", "root"])

    def _literal(self, depth: int) -> str:
        return self._any(
            lambda: self.integer(depth), lambda: self.string(depth), lambda: "true",
            lambda: self.version(depth), lambda: "1.5", lambda: "2u",
        )  # fmt: skip

    def _string_test(self) -> str:
        return self.random.choice(["startsWith", "endsWith", "contains", "matches"])

    def _order(self) -> str:
        return self.random.choice(["isGreaterThan", "isLessThan"])

    def _address_test(self) -> str:
        return self.random.choice([
            "isLoopback", "isUnspecified", "isGlobalUnicast", "isLinkLocalUnicast",
            "isLinkLocalMulticast",
        ])  # fmt: skip

    def _set_test(self) -> str:
        return self.random.choice(["contains", "equivalent", "intersects"])

    def _variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"

    def _macro(self, depth: int) -> str:
        random = self.random
        macro = random.choice(["all", "exists", "exists_one"])
        name = self._variable()
        if random.random() < 0.5:
            given, scope = self.integers(depth), self._integers_in_scope
        else:
            given, scope = self.strings(depth), self._strings_in_scope
        two = random.random() < 0.25
        scope.append(name)
        names = f"{self._variable()}, {name}" if two else name
        macro = "existsOne" if two and macro == "exists_one" else macro
        body = self.boolean(depth)
        scope.remove(name)
        return f"{given}.{macro}({names}, {body})"

    def _macro_of_maps(self, depth: int) -> str:
        random = self.random
        given = random.choice([
            f'device.attributes["{_DRIVER}"]', "device.attributes", "device.capacity",
            f'device.capacity["{_DRIVER}"]',
        ])  # fmt: skip
        name = self._variable()
        self._strings_in_scope.append(name)
        body = self.boolean(depth)
        self._strings_in_scope.remove(name)
        macro = random.choice(["all", "exists", "exists_one"])
        return f"{given}.{macro}({name}, {body})"

    def _optional(self, depth: int) -> str:
        return self._any(
            lambda: f'device.attributes[?"{_DRIVER}"]',
            lambda: f'device.attributes["{_DRIVER}"].?{self._name()}',
            lambda: f"optional.of({self.integer(depth)})",
            lambda: "optional.none()",
            lambda: f"optional.ofNonZeroValue({self.string(depth)})",
            lambda: f"{self.integers(depth)}[?{self.integer(depth)}]",
        )

    def _bind(self, depth: int) -> str:
        name = self._variable()
        given = self.integer(depth)
        self._integers_in_scope.append(name)
        body = self.boolean(depth)
        self._integers_in_scope.remove(name)
        return f"cel.bind({name}, {given}, {body})"

    def integer(self, depth: int) -> str:
        """Return an expression of type int."""
        random, below = self.random, depth - 1
        if self._integers_in_scope and random.random() < 0.4:
            return random.choice(self._integers_in_scope)
        if depth <= 0:
            return self._any(
                lambda: str(random.choice([0, 1, 2, -3, 7, 10, 9223372036854775807])),
                lambda: self._attribute("numa"),
                lambda: 'device.attributes["other.io"].level',
            )
        return self._any(
            lambda: f"({self.integer(below)} {random.choice('+-*/%')} {self.integer(below)})",
            lambda: f"-({self.integer(below)})",
            lambda: f"size({self.string(below)})",
            lambda: f"{self.strings(below)}.size()",
            lambda: f"int({self.number(below)})",
            lambda: f"int({self._quoted(('7', '-1', 'x', '1.5', ' 1'))})",
            lambda: (
                f"{self.string(below)}.{random.choice(['indexOf', 'lastIndexOf'])}"
                f"({self.string(below)})"
            ),
            lambda: f"{self.integers(below)}.{random.choice(['sum', 'min', 'max'])}()",
            lambda: (
                f"{self.integers(below)}.{random.choice(['indexOf', 'lastIndexOf'])}"
                f"({self.integer(below)})"
            ),
            lambda: f"{self.integers(below)}[{self.integer(0)}]",
            lambda: f"{self.quantity(below)}.compareTo({self.quantity(below)})",
            lambda: f"sign({self.quantity(below)})",
            lambda: f"{self.quantity(below)}.asInteger()",
            lambda: f"{self.version(below)}.{random.choice(['major', 'minor', 'patch'])}()",
            lambda: f"{self.version(below)}.compareTo({self.version(below)})",
            lambda: f"{self.address(below)}.family()",
            lambda: f"{self.block(below)}.prefixLength()",
            lambda: f"{self._optional(below)}.orValue({self.integer(below)})",
            lambda: f"{self.duration(below)}.{random.choice(['getHours', 'getSeconds'])}()",
            lambda: f"{self.timestamp(below)}.{self._time_part()}()",
            lambda: f"{self.integers(below)}.{random.choice(['first', 'last'])}().orValue(3)",
        )

    def _time_part(self) -> str:
        return self.random.choice(["getFullYear", "getMonth", "getDayOfWeek", "getDayOfYear"])

    def number(self, depth: int) -> str:
        """Return an expression of a numeric type."""
        return self._any(
            lambda: self.integer(depth), lambda: self.double(depth),
            lambda: f"{self.random.randint(0, 9)}u", lambda: f"uint({self.integer(depth)})",
        )  # fmt: skip

    def double(self, depth: int) -> str:
        """Return an expression of type double."""
        random, below = self.random, depth - 1
        if depth <= 0:
            return random.choice(["0.0", "1.5", "-2.25", "1e20", "0.1"])
        return self._any(
            lambda: f"double({self.integer(below)})",
            lambda: f"({self.double(below)} {random.choice('+-*/')} {self.double(below)})",
            lambda: f"{self.quantity(below)}.asApproximateFloat()",
            lambda: f"double({self._quoted(('1.5', 'nan', 'x', '1e3', 'inf'))})",
        )

    def string(self, depth: int) -> str:
        """Return an expression of type string."""
        random, below = self.random, depth - 1
        if self._strings_in_scope and random.random() < 0.4:
            return random.choice(self._strings_in_scope)
        if depth <= 0:
            return self._any(
                lambda: self._quoted(_WORDS), lambda: self._attribute("model"),
                lambda: "device.driver", lambda: self._quoted(_WORDS),
            )  # fmt: skip
        return self._any(
            lambda: f"({self.string(below)} + {self.string(below)})",
            lambda: f"{self.string(below)}.{random.choice(['lowerAscii', 'upperAscii', 'trim'])}()",
            lambda: f"{self.string(below)}.replace({self.string(below)}, {self.string(below)})",
            lambda: f"{self.string(below)}.substring({self.integer(0)})",
            lambda: f"{self.string(below)}.substring({random.randint(0, 2)}, {self.integer(0)})",
            lambda: f"{self.string(below)}.charAt({self.integer(0)})",
            lambda: f"{self.strings(below)}.join({self._quoted((',', '', '-'))})",
            lambda: f"string({self.number(below)})",
            lambda: f"string({self.boolean(0)})",
            lambda: f"string({self.address(below)})",
            lambda: f"string({self.duration(below)})",
            lambda: f"{self.string(below)}.find({self._quoted(_PATTERNS)})",
            lambda: f"strings.quote({self.string(below)})",
            lambda: f"{self._format()}.format([{self.integer(below)}, {self.string(below)}])",
            lambda: f"{self.url(below)}.{self._url_part()}()",
            lambda: f"({self.boolean(below)} ? {self.string(below)} : {self.string(below)})",
            lambda: f"{self.strings(below)}[{random.randint(0, 2)}]",
            lambda: f"{self._optional(below)}.orValue({self.string(below)})",
        )

    def _format(self) -> str:
        forms = ("%d %s", "%x:%s", "%s-%s", "%b%s", "%o %s", "%d", "%e %s", "%.2f %s", "%d %q")
        return self._quoted(forms)

    def _url_part(self) -> str:
        return self.random.choice(["getScheme", "getHost", "getHostname", "getPort",
                                   "getEscapedPath"])  # fmt: skip

    def integers(self, depth: int) -> str:
        """Return a list of int."""
        random, below = self.random, depth - 1
        if depth <= 0:
            values = [self.integer(0) for _ in range(random.randint(0, 3))]
            return f"[{', '.join(values)}]" if values else "[1, 2].filter(x, x > 5)"
        return self._any(
            lambda: f"[{self.integer(below)}, {self.integer(below)}]",
            lambda: f"({self.integers(below)} + {self.integers(below)})",
            lambda: f"{self.integers(below)}.{random.choice(['sort', 'distinct', 'reverse'])}()",
            lambda: f"{self.integers(below)}.slice(0, {self.integer(0)})",
            lambda: f"lists.range({random.choice([0, 1, 3, 5, -1])})",
            lambda: f"[{self.integers(below)}, [4]].flatten()",
            lambda: self._mapped(self.integers(below), self._integers_in_scope, below),
            lambda: f"{self.integers(below)}.filter(y, y > {self.integer(below)})",
            lambda: f"{self.integers(below)}.transformList(i, y, i + y)",
            lambda: f"{self.integers(below)}.sortBy(y, -y)",
            lambda: f"{self.strings(below)}.map(s, size(s))",
        )

    def _mapped(self, given: str, scope: list[str], depth: int) -> str:
        name = self._variable()
        scope.append(name)
        body = self.integer(depth)
        scope.remove(name)
        return f"{given}.map({name}, {body})"

    def strings(self, depth: int) -> str:
        """Return a list of string."""
        random, below = self.random, depth - 1
        if depth <= 0:
            return f"[{self.string(0)}, {self.string(0)}]"
        return self._any(
            lambda: f"{self.string(below)}.split({self._quoted((',', '', '-', '.'))})",
            lambda: f"{self.string(below)}.split(',', {random.randint(-1, 2)})",
            lambda: f"{self.string(below)}.findAll({self._quoted(_PATTERNS)})",
            lambda: f"({self.strings(below)} + {self.strings(below)})",
            lambda: f"{self.strings(below)}.{random.choice(['sort', 'distinct', 'reverse'])}()",
            lambda: f"[{self.string(below)}]",
            lambda: f"{self.integers(below)}.map(k, string(k))",
        )

    def quantity(self, depth: int) -> str:
        """Return an expression of type Quantity."""
        below = depth - 1
        if depth <= 0:
            return self._any(
                lambda: f"quantity({self._quoted(_QUANTITIES)})",
                lambda: f'device.capacity["{_DRIVER}"].memory',
                lambda: f'device.capacity["{_DRIVER}"].cores',
            )
        operation = self.random.choice(["add", "sub"])
        return self._any(
            lambda: f"{self.quantity(below)}.{operation}({self.quantity(below)})",
            lambda: f"{self.quantity(below)}.{operation}({self.integer(below)})",
            lambda: f"quantity({self.string(below)})",
            lambda: self.quantity(0),
        )

    def version(self, depth: int) -> str:
        """Return an expression of type Semver."""
        return self._any(
            lambda: f"semver({self._quoted(_VERSIONS)})",
            lambda: f"semver({self._quoted(_VERSIONS)}, true)",
            lambda: self._attribute("fw"),
            lambda: f"semver({self.string(depth - 1)})",
        )

    def address(self, depth: int) -> str:
        """Return an expression of type IP."""
        return self._any(
            lambda: f"ip({self._quoted(_ADDRESSES)})",
            lambda: f"{self.block(depth - 1)}.ip()",
            lambda: f"ip({self.string(depth - 1)})" if depth > 0 else 'ip("10.1.2.3")',
        )

    def block(self, depth: int) -> str:
        """Return an expression of type CIDR."""
        if depth > 0 and self.random.random() < 0.3:
            return f"{self.block(depth - 1)}.masked()"
        return f"cidr({self._quoted(_BLOCKS)})"

    def url(self, depth: int) -> str:
        """Return an expression of type URL."""
        if depth > 0 and self.random.random() < 0.2:
            return f"url({self.string(depth - 1)})"
        return f"url({self._quoted(_URLS)})"

    def duration(self, depth: int) -> str:
        """Return an expression of type duration."""
        if depth > 0 and self.random.random() < 0.4:
            return f"({self.duration(depth - 1)} {self.random.choice('+-')} duration('90s'))"
        return f"duration({self._quoted(('1h30m', '-5s', '100ms', '1d', '0'))})"

    def timestamp(self, depth: int) -> str:
        """Return an expression of type timestamp."""
        if depth > 0 and self.random.random() < 0.4:
            return f"({self.timestamp(depth - 1)} + {self.duration(depth - 1)})"
        values = ("2024-02-29T12:00:00Z", "1970-01-01T00:00:00+01:00", "2024-13-01T00:00:00Z")
        return f"timestamp({self._quoted(values)})"
