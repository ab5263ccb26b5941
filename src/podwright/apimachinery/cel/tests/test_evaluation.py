"""Values and errors of expressions, mostly those of the documentation of upstream's functions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from podwright.apimachinery.cel.environment import KUBERNETES_BASE
from podwright.apimachinery.cel.estimate import UNBOUNDED, Path as Path_, Range, fixed
from podwright.apimachinery.cel.macros import BIND_MACROS
from podwright.apimachinery.cel.steps import Lazy
from podwright.apimachinery.cel.types import (
    DYN,
    INT,
    STRING,
    Type,
    list_of,
    map_of,
    struct_of,
)
from podwright.apimachinery.cel.uses.device_selectors import (
    SelectorError,
    compile_selector,
    device_value,
)
from podwright.apimachinery.cel.uses.stage_expressions import StageExpressionError, stage_expression
from podwright.apimachinery.cel.values import CompileError, ErrorValue, ProgramError

HERE = Path(__file__).parent
TEXT = "contains('abcdefghijkl')"
"""Costs a tenth of the text, twice."""
ENVIRONMENT = KUBERNETES_BASE.extended(
    macros=BIND_MACROS,
    variables={
        "x": DYN, "n": INT, "s": STRING, "l": list_of(INT), "m": map_of(STRING, INT),
        "broken": DYN,
    },
)  # fmt: skip
VALUES = {
    "x": {"a": {"b": 1}, "list": [1, 2], "none": None}, "n": 7, "s": "héllo wörld",
    "l": [3, 1, 2], "m": {"one": 1, "two": 2}, "broken": ErrorValue("broken"),
}  # fmt: skip


def lines(name: str) -> list[str]:
    text = (HERE / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def pairs(name: str) -> list[tuple[str, str]]:
    return [(line.split("  =>  ")[0], line.split("  =>  ")[1]) for line in lines(name)]


def value_of(source: str) -> object:
    value, _ = ENVIRONMENT.compile(source).program().run(dict(VALUES))
    return value


@pytest.mark.parametrize("source", lines("true"))
def test_this_is_true(source: str) -> None:
    value = value_of(source)
    assert value is True, value.message if isinstance(value, ErrorValue) else value


@pytest.mark.parametrize(("source", "message"), pairs("errors"))
def test_this_is_an_error(source: str, message: str) -> None:
    value = value_of(source)
    assert isinstance(value, ErrorValue), value
    assert value.message == message


@pytest.mark.parametrize(("source", "message"), pairs("refused"))
def test_this_does_not_compile(source: str, message: str) -> None:
    with pytest.raises(CompileError) as error:
        ENVIRONMENT.compile(source)
    assert str(error.value).startswith(f"ERROR: <input>:{message}")


OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING,"
    " BYTES, IDENTIFIER}"
)


@pytest.mark.parametrize(("source", "messages"), pairs("syntax"))
def test_these_are_the_errors_of_the_parser(source: str, messages: str) -> None:
    with pytest.raises(CompileError) as error:
        ENVIRONMENT.compile(source)
    found = [line for line in str(error.value).splitlines() if line.startswith("ERROR: ")]
    shown = [line.removeprefix("ERROR: <input>:1:").replace("Syntax error: ", "") for line in found]
    assert "; ".join(shown) == messages.replace("OPERAND", OPERAND)


def test_a_type_without_literals_is_unknown_when_it_is_evaluated() -> None:
    found = compile_selector('kubernetes.DRADevice{driver: "x"}.driver == "x"').evaluate(
        device_value("d.example.com", {"name": "d"})
    )
    assert (found.error, found.cost) == ("unknown type 'kubernetes.DRADevice'", 42)


def test_an_environment_is_extended_by_what_is_given() -> None:
    base = KUBERNETES_BASE.extended(variables={"a": INT}, open_struct="Object")
    same = base.extended()
    assert (same.functions, same.macros) == (KUBERNETES_BASE.functions, KUBERNETES_BASE.macros)
    assert (same.variables, same.structs, same.bounds) == ({"a": INT}, {}, base.bounds)
    assert [same.has_type(name) for name in ("Object", "Object.a", "Objects", "x")] == [
        True, True, False, False,
    ]  # fmt: skip
    with pytest.raises(CompileError, match="undeclared reference to 'cel'"):
        same.compile("cel.bind(b, a, b)")
    assert same.extended(macros=BIND_MACROS).compile("cel.bind(b, a, b)").output_type == INT


def test_a_variable_is_not_a_type() -> None:
    with pytest.raises(SelectorError, match=r"'kubernetes\.DRADevice' is not a type"):
        compile_selector("device{}")


def test_a_field_of_another_type_does_not_compile() -> None:
    expected = "expected type of field 'driver' is 'string' but provided type is 'int'"
    with pytest.raises(SelectorError, match=expected):
        compile_selector("kubernetes.DRADevice{driver: 1}.driver == 'x'")


def test_literals_may_span_lines() -> None:
    assert value_of("// a comment\n'''a\nb'''.size() == 3") is True


def test_all_problems_are_shown_with_their_lines() -> None:
    with pytest.raises(CompileError) as error:
        ENVIRONMENT.compile("zz == 1 &&\n\tyy(1)")
    assert str(error.value).splitlines() == [
        "ERROR: <input>:1:1: undeclared reference to 'zz' (in container '')",
        " | zz == 1 &&",
        " | ^",
        "ERROR: <input>:2:4: undeclared reference to 'yy' (in container '')",
        " |  yy(1)",
        " | ...^",
    ]


@pytest.mark.parametrize("source", ["[?n.a]", "[n.a, 1][0] + 'a'", "n.a.b ? 1 : 2"])
def test_a_field_that_is_none_is_reported_once(source: str) -> None:
    """Upstream: checkSelectField in cel-go's checker/checker.go, whose result is dynamic then."""
    with pytest.raises(CompileError) as error:
        ENVIRONMENT.compile(source)
    problems = [each for each in str(error.value).splitlines() if each.startswith("ERROR")]
    at = source.index(".") + 1
    assert problems == [f"ERROR: <input>:1:{at}: type 'int' does not support field selection"]


@pytest.mark.parametrize("source", ["int(' 5') == 5", "{b'a': 1}[b'a'] == 1"])
def test_a_constant_part_that_fails_makes_no_program(source: str) -> None:
    with pytest.raises(ProgramError):
        ENVIRONMENT.compile(source).program()


def test_a_wrong_pattern_is_reported_by_its_error_alone(capfd: pytest.CaptureFixture[str]) -> None:
    assert isinstance(value_of("s.matches(s + '(')"), ErrorValue)
    assert capfd.readouterr() == ("", "")


def test_nesting_past_the_limit_is_an_error() -> None:
    limit = "^ERROR: <input>:-1:0: expression recursion limit exceeded: 250$"
    frames = sys.getrecursionlimit()
    for count in 250, 40_000:
        with pytest.raises(CompileError, match=limit):
            ENVIRONMENT.compile("(" * count + "1" + ")" * count)
    assert ENVIRONMENT.compile("(" * 249 + "1" + ")" * 249).program().run({}) == (1, 0)
    assert ENVIRONMENT.compile("[" * 100 + "1" + "]" * 100).program().run({})[1] == 0
    too_long = "^ERROR: <input>:1:0: expression code point size exceeds limit: size: 100001, "
    with pytest.raises(CompileError, match=too_long):
        ENVIRONMENT.compile("1" * 100_001)
    assert sys.getrecursionlimit() == frames
    limit = "^ERROR: <input>:1:1: expression recursion limit exceeded: 250\n"
    with pytest.raises(CompileError, match=limit):
        ENVIRONMENT.compile("[1].map(i, " * 200 + "i" + ")" * 200)


def test_an_evaluation_ends_at_its_limit() -> None:
    program = ENVIRONMENT.compile("l.all(a, l.all(b, l.all(c, a + b + c > 0)))").program()
    value, cost = program.run(dict(VALUES))
    assert value is True
    assert program.run(dict(VALUES), cost) == (True, cost)
    value, spent = program.run(dict(VALUES), 20)
    assert isinstance(value, ErrorValue)
    assert (value.message, spent) == ("operation cancelled: actual cost limit exceeded", 21)


@pytest.mark.parametrize(
    ("source", "cost"),
    [
        pytest.param("[dyn([1]), dyn([2])].flatten(1)", 13, id="one level of two elements"),
        pytest.param("[dyn([1]), dyn([2])].flatten(3)", 17, id="three levels"),
        pytest.param("[1, 2, 3, 4].sort()", 43, id="comparisons of numbers"),
        pytest.param("['a', 'b', 'c', 'd'].sort()", 44, id="comparisons of texts"),
        pytest.param(
            "cidr('10.0.0.0/8').containsIP('10.0.0.1')", 3, id="the text of an address as well"
        ),
        pytest.param(
            "n == 1 || n == 2 || n == 3 || n == 4 || n == 5", 10, id="each term of a choice once"
        ),
    ],
)
def test_an_evaluation_costs_what_it_reads(source: str, cost: int) -> None:
    assert ENVIRONMENT.compile(source).program().run(dict(VALUES))[1] == cost


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("dns1123Label", 162), ("dns1123Subdomain", 302), ("dns1035Label", 162),
        ("qualifiedName", 302), ("dns1123LabelPrefix", 162), ("dns1123SubdomainPrefix", 302),
        ("dns1035LabelPrefix", 162), ("labelValue", 202), ("uri", 5522), ("uuid", 362),
        ("byte", 422), ("date", 362), ("datetime", 362),
    ],
)  # fmt: skip
def test_a_format_costs_by_the_size_of_its_pattern(name: str, cost: int) -> None:
    """Upstream: staging/src/k8s.io/apiserver/pkg/cel/library/format.go, MaxRegexSize."""
    source = f"format.{name}().validate('{'a' * 199}').hasValue()"
    assert ENVIRONMENT.compile(source).program().run({})[1] == cost


def test_a_lazy_variable_is_computed_once_and_only_if_it_is_read() -> None:
    calls: list[int] = []

    def compute() -> int:
        calls.append(1)
        return 5

    variables = {"x": Lazy(compute)}
    assert ENVIRONMENT.compile("true || x == 1").program().run(dict(variables))[0] is True
    assert not calls
    assert ENVIRONMENT.compile("x == 5 && x == 5").program().run(dict(variables))[0] is True
    assert calls == [1]


@pytest.mark.parametrize(
    ("number", "factor", "product"),
    [(1 << 63, 2.0, UNBOUNDED), ((1 << 63) - 1024, 2.0, (1 << 64) - 2048), (3, 0.5, 2)],
)
def test_a_scaled_estimate_is_rounded_up_and_ends_where_64_bits_do(
    number: int, factor: float, product: int
) -> None:
    assert fixed(number).scaled(factor) == fixed(product)


def test_the_failure_of_a_stages_expression_names_it() -> None:
    expression = stage_expression("self.spec.size")
    with pytest.raises(StageExpressionError, match=r"^self\.spec\.size: no such key: size$"):
        expression.evaluate({"spec": {}}, 0)


@pytest.mark.parametrize(
    ("source", "bounds"),
    [
        ("'aaaaaaaaaa'.replace('aa', 'b').contains('c')", (3, 3)),
        ("'aaaaaaaaaa'.replace('aaa', 'bbb').contains('c')", (3, 3)),
        ("'aaaaaaaaaa'.replace('a', 'bb').contains('c')", (3, 4)),
        # 30 for a map, 10 for a list, and 6 for a turn of the loop; 11 for a variable.
        ("{'a': 'bb'}.all(k, v, v.contains('c'))", (34, 36)),
        ("['bb'].all(e, e.contains('c'))", (14, 16)),
        ("cel.bind(q, ['bb'], q.all(e, e.contains('c')))", (25, 27)),
    ],
)
def test_a_cost_is_bounded_by_the_sizes_that_are_known(
    source: str, bounds: tuple[int, int]
) -> None:
    assert ENVIRONMENT.compile(source).cost() == bounds


@pytest.mark.parametrize(
    ("source", "most"),
    [
        pytest.param("d.join()", 1, id="a list of an unknown type has no elements to read"),
        pytest.param("u == u", 3, id="addresses of unknown size"),
        pytest.param("u == url('http://abcdefghijklmnopq')", 7, id="the right side counts"),
        pytest.param("url('http://abcdefghijklmnopq') == u", 5, id="the left one does not"),
        pytest.param("f == f", 9, id="formats have 64 characters"),
        pytest.param("q == q", 3, id="quantities"),
        pytest.param("i == i", 3, id="addresses of hosts"),
    ],
)
def test_a_call_costs_what_it_has_to_read(source: str, most: int) -> None:
    types = {
        "d": DYN, "u": struct_of("kubernetes.URL"), "f": struct_of("kubernetes.NamedFormat"),
        "q": struct_of("kubernetes.Quantity"), "i": Type("opaque", "net.IP"),
    }  # fmt: skip
    assert KUBERNETES_BASE.extended(variables=types).compile(source).cost().high == most


class _Sizes:
    """The sizes of a map of texts and of a list of texts."""

    def size(self, path: Path_) -> Range | None:
        known = {
            ("m",): 2, ("m", "@keys"): 30, ("m", "@values"): 50, ("m", "a"): 90,
            ("w",): 3, ("w", "@items"): 70,
        }  # fmt: skip
        return Range(0, known[path]) if path in known else None


@pytest.mark.parametrize(
    ("source", "most"),
    [
        # A loop costs its range, its result, and for each element condition and step.
        pytest.param(f"w.exists(i, i.{TEXT})", 2 + 3 * (3 + 2 + 7 * 2), id="elements"),
        pytest.param(f"w.exists(i, v, v.{TEXT})", 2 + 3 * (3 + 2 + 7 * 2), id="with their indices"),
        pytest.param(f"m.exists(k, k.{TEXT})", 2 + 2 * (3 + 2 + 3 * 2), id="keys"),
        pytest.param(f"m.exists(k, v, k.{TEXT})", 2 + 2 * (3 + 2 + 3 * 2), id="keys with values"),
        pytest.param(f"m.exists(k, v, v.{TEXT})", 2 + 2 * (3 + 2 + 5 * 2), id="values"),
        pytest.param(f"w[0].{TEXT}", 2 + 7 * 2, id="an element"),
        pytest.param(f"m['b'].{TEXT}", 2 + 5 * 2, id="a value"),
        pytest.param(f"m.a.{TEXT}", 2 + 9 * 2, id="a field"),
        pytest.param(
            f"w.map(i, i).exists(j, j.{TEXT})",
            (12 + 3 * (1 + 11 + 1)) + 1 + 3 * (3 + 2 + 7 * 2),
            id="a list that is made of the elements",
        ),
        pytest.param("w.join()", 1 + 21, id="all elements"),
        pytest.param("w.join('abcdefghij')", 1 + 23, id="with a separator between two"),
        pytest.param(f"w.join('abcdefghij').{TEXT}", 24 + 23 * 2, id="and the text is as long"),
        pytest.param("w[0].split('a')", 2 + 14, id="a text is read twice"),
        pytest.param(
            "w[0].split('a').exists(i, i == 'a')", 16 + 1 + 70 * (3 + 2 + 1), id="as many parts"
        ),
        pytest.param(
            "w[0].split('a', 4).exists(i, i == 'a')", 16 + 1 + 4 * (3 + 2 + 1), id="at most four"
        ),
        pytest.param("Object{a: n + 1, b: -n}", 40 + 2 + 2, id="a struct and its fields"),
    ],
)
def test_an_estimate_follows_the_paths_of_inputs(source: str, most: int) -> None:
    environment = KUBERNETES_BASE.extended(
        variables={"m": map_of(STRING, STRING), "w": list_of(STRING), "n": INT},
        open_struct="Object",
        bounds=_Sizes(),
    )
    assert environment.compile(source).cost().high == most
