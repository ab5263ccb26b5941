"""Go templates: their results and errors."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest

from podwright.cluster.kubelets.templates.go_templates import Template
from podwright.cluster.kubelets.templates.template_parser import TemplateError

DATA = {
    "name": "web",
    "count": 3,
    "none": None,
    "flag": False,
    "list": ["a", "b", "c"],
    "map": {"y": 2, "x": 1},
    "deep": {"er": {"est": "here"}},
    "pods": [{"name": "p1"}, {"name": "p2", "policy": "Always"}],
}


@pytest.mark.parametrize(
    ("text", "made"),
    [
        pytest.param("a {{ .name }} b", "a web b", id="a field"),
        pytest.param("{{ .deep.er.est }}", "here", id="a field of a field"),
        pytest.param('{{ index "é" 1 }} {{ index .map "x" }}', "169 1", id="a byte, and a value"),
        pytest.param("{{ .gone.further }}", "<no value>", id="missing is nil"),
        pytest.param("{{ .name -}}  \n b {{- .count }}", "webb3", id="space is trimmed"),
        pytest.param("x{{- /* no */ -}} y{{/* no */}}", "xy", id="comments"),
        pytest.param("x {{/* no */}} y {{- /* no */}} z", "x  y z", id="comments that trim less"),
        pytest.param("a {{-3}} {{3 -}} b", "a -3 3b", id="a sign is no trim"),
        pytest.param("{{ $x := .name }}{{ $x }}", "web", id="a variable"),
        pytest.param(
            "{{ $x := 0 }}{{ range .list }}{{ $x = . }}{{ end }}{{ $x }}", "c", id="is changed"
        ),
        pytest.param("{{ if .flag }}a{{ else }}b{{ end }}", "b", id="else"),
        pytest.param(
            '{{ if eq .name "x" }}a{{ else if eq .count 3 }}b{{ end }}', "b", id="else if"
        ),
        pytest.param("{{ with .gone }}a{{ else }}b{{ end }}", "b", id="with nothing"),
        pytest.param("{{ with .deep }}{{ .er.est }}{{ $.name }}{{ end }}", "hereweb", id="with"),
        pytest.param("{{ with $d := .deep.er }}{{ $d.est }}{{ end }}", "here", id="with a name"),
        pytest.param("{{ range .list }}{{ . }},{{ end }}", "a,b,c,", id="range"),
        pytest.param("{{ range $i, $v := .list }}{{ $i }}{{ $v }}{{ end }}", "0a1b2c", id="both"),
        pytest.param("{{ range $v := .list }}{{ $v }}{{ end }}", "abc", id="one variable"),
        pytest.param("{{ range $k, $v := .map }}{{ $k }}{{ $v }}{{ end }}", "x1y2", id="sorted"),
        pytest.param(
            '{{ $x := "z" }}{{ range $x := .list }}{{ end }}{{ $x }}', "z", id="a variable inside"
        ),
        pytest.param(
            '{{ $x := "z" }}{{ range $x = .list }}{{ end }}{{ $x }}', "c", id="one of outside"
        ),
        pytest.param("{{ range .gone }}a{{ else }}none{{ end }}", "none", id="range over nothing"),
        pytest.param("{{ range .count }}{{ . }}{{ end }}", "012", id="range over a number"),
        pytest.param(
            '{{ range .list }}{{ if eq . "b" }}{{ break }}{{ end }}{{ . }}{{ end }}',
            "a",
            id="break",
        ),
        pytest.param(
            '{{ range .list }}{{ if eq . "b" }}{{ continue }}{{ end }}{{ . }}{{ end }}',
            "ac",
            id="continue",
        ),
        pytest.param("{{ .name | Quote }}", '"web"', id="a pipeline"),
        pytest.param("{{ or .gone .none .name }}", "web", id="or"),
        pytest.param('{{ and .name "" .count }}', "", id="and"),
        pytest.param("{{ or .name (index .list 99) }}", "web", id="or stops at a true value"),
        pytest.param("{{ (index .pods 1).policy }}", "Always", id="a field of a pipeline"),
        pytest.param('{{ index .map "x" }}{{ index .map "z" }}', "1<no value>", id="index"),
        pytest.param('{{ $m := or .gone dict }}{{ or (index $m "k") "d" }}', "d", id="dict"),
        pytest.param(
            '{{ printf "%03d|%-3d|%+d|%5.2f|%.2s|%x" 7 7 7 1.5 "abc" 255 }}',
            "007|7  |+7| 1.50|ab|ff",
            id="printf with widths",
        ),
        pytest.param(
            '{{ printf "%-s|%s|%-2s|%2s|" "" "" "" "" }}', "||  |  |", id="printf of empty texts"
        ),
        pytest.param(
            "{{ divf 7 2 }} {{ mulf 1.1 3 }} {{ addf 0.1 0.2 }}", "3.5 3.3 0.3", id="decimals"
        ),
        pytest.param(
            "{{ subf 1 0.9 }} {{ maxf 1 2.5 }} {{ minf 1 2.5 }}", "0.1 2.5 1", id="extremes"
        ),
        pytest.param(
            '{{ printf "%v-%s-%d %q%%" .count .name 7 "a" }}', '3-web-7 "a"%', id="printf"
        ),
        pytest.param("{{ add1 .count }}{{ add 1 2 3 }}{{ sub 5 1 }}", "464", id="numbers"),
        pytest.param(
            "{{ not .name }} {{ ne .count 3 }} {{ lt 1 2 }}", "false false true", id="not"
        ),
        pytest.param(
            "{{ .gone | Quote }} {{ .count | Quote }}", '"null" "3"', id="Quote as KWOK's"
        ),
        pytest.param(
            '{{ eq .count 3 }} {{ eq "3" .count }} {{ gt 4 .count }} {{ lt .count 3.5 }}',
            "true true true true",
            id="a number is compared with numbers and texts",
        ),
        pytest.param(
            '{{ range list "inf" "-inf" "nan" "1e999" "-0" }}{{ float64 . }} {{ end }}',
            "+Inf -Inf NaN +Inf -0 ",
            id="no finite number",
        ),
        *(
            pytest.param(f"{{{{ with {number} }}}}{{{{ . }}}}{{{{ end }}}}", text, id=text)
            for number, text in (
                ("0.0001", "0.0001"),
                ("0.00001", "1e-05"),
                ("123456.0", "123456"),
                ("1234567.0", "1.234567e+06"),
                ("1000000.0", "1e+06"),
                ("-0.5", "-0.5"),
            )
        ),
        pytest.param('{{ printf "%d %05.1f" .count .count }}', "3 003.0", id="printed as one"),
        pytest.param("{{ eq .map .map }} {{ eq .list .map }}", "true false", id="any values"),
        pytest.param("{{ .list }}{{ .map }}", "[a b c]map[x:1 y:2]", id="printed as by Go"),
        pytest.param('{{ eq 3 "3" }} {{ eq 1 true }}', "false false", id="types differ"),
        pytest.param('{{ `a"b` }}', 'a"b', id="raw text"),
        pytest.param(
            '{{ define "t" }}<{{ .a }}>{{ end }}{{ template "t" dict "a" .name }}',
            "<web>",
            id="call",
        ),
        pytest.param(
            '{{ define "t" }}.{{ end }}{{ range until 101 }}{{ template "t" }}{{ end }}',
            "." * 101,
            id="many calls",
        ),
        pytest.param("{{ YAML (list) }}{{ YAML dict }}", "[]\n{}\n", id="YAML of nothing alone"),
        pytest.param('{{ YAML "é" }}{{ YAML .none }}', '"é"\nnull\n', id="YAML of a text"),
        pytest.param(
            '{{ YAML (dict "a" (list) "b" (dict)) }}', '"a": []\n"b": {}\n', id="YAML of nothing"
        ),
        pytest.param('{{ block "t" .deep }}{{ .er.est }}{{ end }}', "here", id="block"),
    ],
)
def test_a_template_renders_text(text, made):
    assert Template(text).render(DATA) == made


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e-6, "0.000001"), (1.5e-6, "0.0000015"), (1e-7, "1e-7"), (9.9e-7, "9.9e-7"),
        (1e-10, "1e-10"), (0.1, "0.1"), (1e20, "100000000000000000000"), (1e21, "1e+21"),
        (123456789.5, "123456789.5"), (1.0, "1"), (-1e-7, "-1e-7"), (0.0, "0"),
    ],
)  # fmt: skip
def test_numbers_of_documents_are_those_of_gos_json(number, text):
    """Go: encoding/json, floatEncoder"""
    assert Template("{{ .x }}").render({"x": number}) == text


def test_a_template_renders_a_value():
    template = Template(
        "names:\n{{ range .pods }}- {{ .name | Quote }}\n{{ end }}map:{{ YAML .map 1 }}"
    )
    assert template.value(DATA) == {"names": ["p1", "p2"], "map": {"x": 1, "y": 2}}
    assert Template(" {{ $x := 1 }} ").value(DATA) is None


def test_the_text_that_is_a_value_has_one_document():
    with pytest.raises(TemplateError, match=r"^line 1: .* has more than one document$"):
        Template("a: 1\n---\nb: 2\n").value({})
    assert (Template("").value({}), Template("a: {{ .x }}").value({"x": 2})) == (None, {"a": 2})


def test_templates_render_what_kwok_renders():
    """KWOK: pkg/utils/gotpl/renderer.go, release 0.8.0"""
    known = json.loads(Path(__file__).with_name("go_templates.json").read_text(encoding="utf-8"))
    document = deepcopy(known["document"])
    for text, made in known["rendered"]:
        assert (text, Template(text).render(document)) == (text, made)
    assert document == known["document"]


def test_yaml_within_a_template_preserves_any_value():
    nested = {"a": [{"b": "yes", "c": ["1e3", None]}, {}], "d": 'x: "y" #', "e": []}
    assert Template("v:\n{{ YAML .v 1 }}").value({"v": nested}) == {"v": nested}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("a\n{{ .b", 'line 2: unclosed action: "}}"', id="not closed"),
        pytest.param("\n\n{{ zzz }}", 'line 3: function "zzz" not defined$', id="no function"),
        pytest.param("{{ YAMLL 1 }}", 'did you mean "YAML"', id="nearly a function"),
        pytest.param("{{ $x }}", r'undefined variable "\$x"', id="no variable"),
        pytest.param(
            "{{ if 1 }}{{ $x := 1 }}{{ end }}{{ $x }}",
            r"undefined variable",
            id="after its block",
        ),
        pytest.param(
            "{{ if 1 }}{{ $x := 1 }}{{ else }}{{ $x }}{{ end }}",
            r"undefined variable",
            id="of the other branch",
        ),
        pytest.param(
            "{{ range $i, $v := .a }}{{ end }}{{ $v }}", "undefined variable", id="after its range"
        ),
        pytest.param("{{ $x = 1 }}", "undefined variable", id="assigned before its declaration"),
        pytest.param("{{ $x, $y := .a }}", "only a range declares two", id="two variables"),
        pytest.param(
            "{{ range $x, $y, $z := .a }}{{ end }}", "undefined variable", id="three variables"
        ),
        *(
            pytest.param(f"{{{{ {to} 1 }}}}", "unexpected|undefined variable", id=f"to {to}")
            for to in ('"a" :=', "7 =", ".a :=", "len =", '$x, "a" :=', "$x $y =")
        ),
        pytest.param("{{ 08 }}", "invalid number 08", id="an octal number"),
        pytest.param("{{ 1x }}", "invalid number 1x", id="no number"),
        pytest.param("{{ 1e400 }}", "invalid number 1e400", id="too large"),
        pytest.param("{{ 'ab' }}", "unexpected \"'ab'", id="two characters"),
        pytest.param(
            '{{ define "a" }}1{{ end }}{{ define "a" }}2{{ end }}',
            'a second definition of the template "a"',
            id="defined twice",
        ),
        pytest.param("{{ if .a ) }}{{ end }}", 'unexpected "\\)"', id="after a pipeline"),
        pytest.param("{{ if .a }}{{ else ) }}{{ end }}", 'unexpected "\\)"', id="after else"),
        pytest.param('{{ define "a" . }}{{ end }}', 'unexpected "."', id="after a name"),
        pytest.param("{{ if .a }}b", "line 1: {{ end }} is missing", id="no end"),
        pytest.param("{{ end }}", "unexpected {{ end }}", id="end of nothing"),
        pytest.param("{{ break }}", "outside of range", id="break of nothing"),
        pytest.param("{{ range .a }}{{ end }}{{ break }}", "outside of range", id="late break"),
        pytest.param('{{ template "t" }}', 'template "t" not defined', id="no template"),
        pytest.param("{{ .a ! .longer }}", 'unexpected "! .longer " in an action', id="no Go"),
        pytest.param("{{ (.a }}", '"\\)" is missing', id="no parenthesis"),
        pytest.param("{{- -}}", "^line 1: a value is missing$", id="nothing between dashes"),
        pytest.param("{{ | Quote }}", "^line 1: a value is missing", id="nothing in the pipe"),
        pytest.param("{{ if .a }}{{ else }}{{ else }}{{ end }}", "a second {{ else }}", id="else"),
        pytest.param(
            '{{ define "a" }}{{ else }}{{ end }}',
            "{{ else }} in a definition$",
            id="else of a name",
        ),
        *(
            pytest.param(text, "must be a name in quotes$", id=text)
            for text in ("{{ define a }}{{ end }}", "{{ define }}{{ end }}", "{{ template a }}")
        ),
        *(
            pytest.param(
                f"{{{{ {value}.a }}}}", f'unexpected ".a" after {value}$', id=f"of {value}"
            )
            for value in ('"x"', "len", "true", "nil")
        ),
        pytest.param('\n{{ "\\x" }}', r'^line 2: invalid string "\\x"$', id="no character"),
        pytest.param(r'{{ "\d" }}', r'invalid string "\\d"$', id="no escape"),
        pytest.param(r"""{{ "\'" }}""", "invalid string", id="the other quote"),
        pytest.param(r"""{{ '\"' }}""", "invalid number", id="the other quote of a character"),
        pytest.param(r'{{ "\1" }}', "invalid string", id="one octal digit"),
        pytest.param(r'{{ "\400" }}', "invalid string", id="more than a byte"),
        pytest.param(r'{{ "\N{DIGIT ONE}" }}', "invalid string", id="an escape of Python"),
        pytest.param(r"{{ '\d' }}", "invalid number", id="no escape of a character"),
    ],
)
def test_syntax_errors_have_their_line(text, error):
    with pytest.raises(TemplateError, match=error) as raised:
        Template(text)
    with pytest.raises(TemplateError) as later:
        Template(f"\n{text}")
    assert_on_next_line(later.value, raised.value)


def assert_on_next_line(later, error):
    """Check that an error is the same as another one, and a line after it."""
    start = f"line {error.line}: "
    assert str(error).startswith(start)
    assert later.line == error.line + 1
    assert str(later) == f"line {later.line}: {str(error).removeprefix(start)}"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param(
            "\n{{ index .list 9 }}", "line 2: index: 9 is not an index of a list of 3", id="far"
        ),
        pytest.param("{{ index .gone 0 }}", "nothing to look up in <nil>", id="index of nil"),
        pytest.param("{{ .name.first }}", 'no field "first" in web', id="a field of text"),
        pytest.param("{{ $a := true }}{{ $a.b }}", 'no field "b" in true', id="a field of true"),
        pytest.param("{{ .name .count }}", "only a function can be given values", id="no call"),
        pytest.param("{{ range .name }}{{ end }}", "range over web", id="range over text"),
        pytest.param("{{ range true }}{{ end }}", "range over true", id="range over a truth"),
        pytest.param('{{ printf "%z" 1 }}', "%z is not supported", id="a verb"),
        pytest.param("{{ len true }}", "len: true has no length", id="no length"),
        pytest.param('{{ index .list "a" }}', "a is not an index of a list of 3", id="no index"),
        pytest.param(
            "{{ index .list true }}", "true is not an index of a list of 3", id="no number"
        ),
        pytest.param("{{ index .list -1 }}", "-1 is not an index of a list of 3", id="before it"),
        pytest.param('{{ index "é" 2 }}', "2 is not an index of a list of 2", id="after its bytes"),
        pytest.param('{{ index "ab" 2 }}', "2 is not an index of a list of 2", id="after it"),
        pytest.param("{{ upper .map }}", "upper: ", id="no text"),
        pytest.param(
            '{{ regexFind "(" .name }}', "regexFind: .* missing closing \\)", id="a pattern"
        ),
        pytest.param("{{ and }}", "and: a value is missing", id="nothing to decide"),
        pytest.param('{{ printf "%v" }}', "more verbs than values", id="too few values"),
        pytest.param(
            "\n{{ divf 1 0 }}", "^line 2: divf: decimal division by 0$", id="divided by 0"
        ),
        pytest.param(
            '{{ int64 (float64 "inf") }}', "^line 1: int64: cannot convert float inf", id="infinite"
        ),
        pytest.param('{{ divf (float64 "inf") 2 }}', "^line 1: divf: ", id="an infinite quotient"),
        pytest.param('{{ lt 1 "a" }}', "lt: '<' not supported", id="no order"),
        pytest.param(
            '{{ define "t" }}{{ template "t" }}{{ end }}{{ template "t" }}',
            "nested too deeply",
            id="endless",
        ),
    ],
)
def test_runtime_errors_have_their_line(text, error):
    with pytest.raises(TemplateError, match=error) as raised:
        Template(text).render(DATA)
    with pytest.raises(TemplateError) as later:
        Template(f"\n{text}").render(DATA)
    assert_on_next_line(later.value, raised.value)


def test_rendered_text_that_is_not_yaml_is_reported():
    with pytest.raises(TemplateError, match="is not YAML"):
        Template("a: [{{ .name }}").value(DATA)


@pytest.mark.parametrize(
    ("name", "less", "same", "more"),
    [
        ("lt", True, False, False), ("le", True, True, False), ("gt", False, False, True),
        ("ge", False, True, True), ("eq", False, True, False), ("ne", True, False, True),
    ],
)  # fmt: skip
def test_comparisons_are_those_of_go(name, less, same, more):
    for left, expected in ((1, less), (2, same), (3, more)):
        assert Template(f"{{{{ {name} {left} 2 }}}}").render({}) == str(expected).lower()
    for text, expected in (("a", less), ("b", same), ("c", more)):
        assert Template(f'{{{{ {name} "{text}" "b" }}}}').render({}) == str(expected).lower()


@pytest.mark.parametrize(
    ("operands", "made"),
    [
        ("", ""), ("1", "1"), ("1 2 3", "1 2 3"), ('"a" "b"', "ab"), ('"a" 1 "b"', "a1b"),
        ('1 2 "a" 3 4', "1 2a3 4"), ("true 1", "true 1"), (".flag .count .name", "false3web"),
        ("1 true", "1 true"), ('"a" true', "atrue"), ('true "a" true', "trueatrue"),
    ],
)  # fmt: skip
def test_print_separates_operands_that_are_no_texts(operands, made):
    """Go: fmt.Sprint"""
    assert Template(f"{{{{ print {operands} }}}}").render(DATA) == made


def test_keys_of_yaml_are_the_letters_that_they_are():
    assert Template("{{ YAML .m }}").render({"m": {"é b": {"ß": "ü"}}}) == '"é b":\n  "ß": "ü"\n'


def test_a_parenthesis_that_is_not_closed_has_its_line():
    with pytest.raises(TemplateError, match=r'^line 2: "\)" is missing'):
        Template("\n{{ (len .list }}")


@pytest.mark.parametrize(("calls", "is_rendered"), [(99, True), (100, False)])
def test_templates_call_each_other_up_to_a_hundred_times(calls, is_rendered):
    called = '{{ define "t" }}{{ if gt . 0 }}{{ template "t" (sub . 1) }}{{ end }}x{{ end }}'
    template = Template(f'{called}{{{{ template "t" {calls} }}}}')
    if is_rendered:
        assert template.render({}) == template.render({}) == "x" * (calls + 1)
    else:
        with pytest.raises(TemplateError, match="nested too deeply"):
            template.render({})


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("{{ 5 | and 2 }}", "5"), ("{{ 5 | and 0 }}", "0"), ("{{ 5 | and 1 2 }}", "5"),
        ("{{ 5 | or 2 }}", "2"), ("{{ 5 | or 0 }}", "5"), ("{{ 5 | or 0 0 }}", "5"),
    ],
)  # fmt: skip
def test_what_comes_through_a_pipe_is_the_last_one_of_and_and_or(text, made):
    """Go: text/template, the builtins and, or"""
    assert Template(text).render({}) == made
