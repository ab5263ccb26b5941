"""`-o jsonpath=` and `-o custom-columns=`."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import InputError
from podwright.cli.field_output import custom_columns, render_jsonpath

READY = {"type": "Ready", "status": "True"}
FIRST = {
    "metadata": {"name": "a", "labels": {"app.kubernetes.io/name": "x", "my-label": "y"}},
    "ready": True,
    "conditions": [{"type": "Disk", "status": "False"}, READY],
}
NODES = {"kind": "List", "items": [FIRST, {"metadata": {"name": "b"}}]}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        pytest.param("{.items[*].metadata.name}", "a b", id="wildcard"),
        pytest.param(".kind", "List", id="without braces"),
        pytest.param("kind: {.kind}!", "kind: List!", id="text around"),
        pytest.param("{$.kind} {@.kind}", "List List", id="root and current"),
        pytest.param(
            '{range .items[*]}{.metadata.name}{"\\t"}{.ready}{"\\n"}{end}',
            "a\ttrue\nb\t\n",
            id="range",
        ),
        pytest.param(
            "{range .items[*]}{range .conditions[*]}{.type}{','}{end}{end}",
            "Disk,Ready,",
            id="range in a range",
        ),
        pytest.param("{range .items[*]}{$.kind}{end}", "ListList", id="root in a range"),
        pytest.param(
            r"{.items[0].metadata.labels.app\.kubernetes\.io/name}", "x", id="escaped dots"
        ),
        pytest.param(
            r"{.items[0].metadata.labels['app\.kubernetes\.io/name']}",
            "x",
            id="escaped dots in brackets",
        ),
        pytest.param("{.items[0]['metadata.name']}", "a", id="a path in brackets"),
        pytest.param(
            "{.items[0].metadata.labels['app.kubernetes.io/name']}", "", id="plain dots in brackets"
        ),
        pytest.param("{.items[0].metadata.labels.my-label}", "y", id="dash"),
        pytest.param('{.items[0].conditions[?(@.type=="Ready")].status}', "True", id="filter"),
        pytest.param("{.items[-1:].metadata}", '{"name":"b"}', id="slice, and an object"),
        pytest.param("{..name}", "a b", id="recursive descent"),
        pytest.param(
            "{.items[*]['metadata.name', 'ready']}",
            "a b true",
            id="the second field after the first",
        ),
        pytest.param("{.items[*].missing}", "", id="missing field"),
        pytest.param('{"{}"}', "{}", id="braces in a literal"),
        pytest.param("{ .kind }", "List", id="spaces in braces"),
        pytest.param("a{.kind}b{.kind}c", "aListbListc", id="text between"),
        pytest.param(r"""{"\n\t\r\x\""}{'\''}""", "\n\t\rx\"'", id="escapes"),
        pytest.param('{"a\nb"}', "a\nb", id="a literal of two lines"),
        pytest.param(
            "{range $.items[*]}{.metadata.name}{range $.items[*]}{.metadata.name}{end};{end}",
            "aab;bab;",
            id="range over the root in a range",
        ),
        pytest.param(
            "{range  .items[*] }{range .conditions[*]}{.type}{end}-{end}.",
            "DiskReady--.",
            id="text after the end of each range",
        ),
    ],
)
def test_a_template_renders_as_kubectl_renders_it(template: str, text: str) -> None:
    assert render_jsonpath(template, NODES) == text


@pytest.mark.parametrize(
    ("template", "message"),
    [
        pytest.param("{.a", "unclosed or nested braces near '{.a'", id="unclosed"),
        pytest.param("a}b", "unclosed or nested braces near 'a}b'", id="unopened"),
        pytest.param("{range .items[*]}x", "{range ...} without {end}", id="no end"),
        pytest.param("{end}", "{end} without {range ...}", id="no range"),
        pytest.param("{range .a}{range .b}{end}", "{range ...} without {end}", id="one end"),
        pytest.param("{.a}}", "unclosed or nested braces near '}'", id="closed twice"),
        pytest.param("x { {.a}", "unclosed or nested braces near 'x {'", id="unclosed before"),
        pytest.param("{.a[}", "'.a[': unexpected '['", id="bracket"),
        pytest.param("{.a b}", "'.a b': unexpected ' b'", id="two paths"),
        pytest.param("{..}", "'..': a name is missing after ..", id="no name"),
    ],
)
def test_an_invalid_template_is_an_error(template: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        render_jsonpath(template, NODES)
    assert str(raised.value) == f"-o jsonpath: {message}"


def test_custom_columns_have_a_row_for_each_item() -> None:
    heads, rows = custom_columns(r"NAME:.metadata.name,READY:{.ready}", NODES)
    assert heads == ["NAME", "READY"]
    assert rows == [["a", "true"], ["b", "<none>"]]


def test_a_document_without_a_list_is_one_row() -> None:
    assert custom_columns("NODE:.node", {"node": "n1", "ties": []}) == (["NODE"], [["n1"]])
    lists: dict[str, object] = {"a": [{"node": "x"}], "b": [{"node": "y"}], "node": "n2"}
    assert custom_columns("NODE:.node", lists) == (["NODE"], [["n2"]]), "which list is not clear"
    assert custom_columns("NODE:.node", [{"node": "x"}, {}]) == (["NODE"], [["x"], ["<none>"]])
    assert custom_columns("NODE:.node", 5) == (["NODE"], [["<none>"]])


def test_a_cell_has_all_values_of_its_path() -> None:
    spec = "TYPES:.conditions[*].type,LABELS:{.metadata.labels},NONE:.metadata.name.x"
    labels = '{"app.kubernetes.io/name":"x","my-label":"y"}'
    assert custom_columns(spec, NODES) == (
        ["TYPES", "LABELS", "NONE"],
        [["Disk,Ready", labels, "<none>"], ["<none>", "<none>", "<none>"]],
    )
    assert custom_columns("A:.a,B:.b", [{"a": 1.5, "b": ""}]) == (["A", "B"], [["1.5", "<none>"]])
    assert custom_columns("A:.a", {"a": [1], "b": [], "c": "text"}) == (["A"], [["[1]"]])
    assert custom_columns("A:.a", []) == (["A"], [])


@pytest.mark.parametrize("spec", ["NAME", "NAME:", ":.a", "NAME:.a,", ""])
def test_an_invalid_column_is_an_error(spec: str) -> None:
    with pytest.raises(InputError, match=r"is not a column; write HEAD:\.path"):
        custom_columns(spec, NODES)


def test_an_invalid_path_of_a_column_is_an_error() -> None:
    with pytest.raises(InputError, match=r"-o custom-columns: '\.a\.': unexpected '\.'"):
        custom_columns("NAME:.a.", NODES)
