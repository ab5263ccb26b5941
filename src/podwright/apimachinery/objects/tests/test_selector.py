import pytest

from podwright.apimachinery.objects import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    SelectorError,
    Taint,
    Toleration,
    label_selector,
    labels_as_selector,
    node_selector,
    parse_field_selector,
    parse_label_selector,
    preferred_node_terms,
    tolerates,
    untolerated_taint,
)
from podwright.apimachinery.objects.texts.short_texts import LONG_KEPT

A = {"app": "web", "tier": "1"}
B = {"app": "web"}
C = {"app": "db"}
D: dict[str, str] = {}


@pytest.mark.parametrize(
    ("text", "matching"),
    [
        pytest.param("app=web", "AB", id="equal"),
        pytest.param("app==web", "AB", id="double equal"),
        pytest.param("app!=web", "CD", id="not equal matches without the key"),
        pytest.param("app", "ABC", id="exists"),
        pytest.param("!app", "D", id="does not exist"),
        pytest.param("app in (web,db)", "ABC", id="in"),
        pytest.param("app notin (web)", "CD", id="notin matches without the key"),
        pytest.param("app=web,tier", "A", id="and"),
        pytest.param("app=web,!tier", "B", id="and not"),
        pytest.param("tier>0", "A", id="greater"),
        pytest.param("tier<1", "", id="less"),
        pytest.param("app=", "", id="an empty value is a value"),
        pytest.param("app in ()", "", id="empty parentheses are the empty value"),
        pytest.param("app in (,web)", "AB", id="an empty place is the empty value"),
        pytest.param(" app  in ( web , db ) ", "ABC", id="space is free"),
        pytest.param("in=notin", "", id="operators may be keys and values"),
        pytest.param("", "ABCD", id="no selector"),
    ],
)
def test_parse_label_selector(text, matching):
    selector = parse_label_selector(text)
    objects = {"A": A, "B": B, "C": C, "D": D}
    assert "".join(n for n, labels in objects.items() if selector.matches(labels)) == matching


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("app=we b", "found 'b', expected: ',' or 'end of string'"),
        ("app=a,", "found '', expected: identifier after ','"),
        ("app in a", "unable to parse requirement: found 'a' expected: '('"),
        ("app in (a", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("app like b", "unable to parse requirement: found 'like', expected: in, notin, ="),
        ("!=a", "found '!=', expected: !, identifier, or 'end of string'"),
        ("!app=a", "found '=', expected: ',' or 'end of string'"),
        ("b,!app in (a)", "found 'in', expected: ',' or 'end of string'"),
        ("!app b", "found 'b', expected: ',' or 'end of string'"),
        ("!!app", "unable to parse requirement: found '!', expected: identifier"),
        ("-a", 'unable to parse requirement: <nil>: Invalid value: "-a": name part must'),
        ("a>b", "values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators"),
    ],
)
def test_invalid_label_selectors_have_upstreams_errors(text, message):
    with pytest.raises(SelectorError) as refused:
        parse_label_selector(text)
    assert message in str(refused.value)


def test_no_selector_selects_nothing_and_an_empty_one_everything():
    assert label_selector(None) is NOTHING
    assert not label_selector(None).matches(A)
    assert label_selector(LabelSelector()) is EVERYTHING
    assert label_selector(LabelSelector()).matches(D)


def test_equal_selectors_are_one_key():
    written = LabelSelector({"app": "web"}, (LabelSelectorRequirement("tier", "In", ("2", "1")),))
    again = parse_label_selector("tier in (1,2),app=web")
    assert label_selector(written) == again
    assert len({label_selector(written), again}) == 1
    assert str(again) == "app=web,tier in (1,2)"
    assert labels_as_selector(B) == parse_label_selector("app=web")


def test_an_expression_without_values_is_an_error():
    with pytest.raises(SelectorError, match="values set can't be empty"):
        label_selector(LabelSelector({}, (LabelSelectorRequirement("a", "In"),)))


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        pytest.param("spec.nodeName=n1", True, id="equal"),
        pytest.param("spec.nodeName!=n1", False, id="not equal"),
        pytest.param("spec.nodeName==n1,status.phase=", True, id="an absent field is empty"),
        pytest.param("", True, id="no selector"),
        pytest.param(r"odd=a\,b\=c", True, id="escapes"),
    ],
)
def test_parse_field_selector(text, matches):
    fields = {"spec.nodeName": "n1", "odd": "a,b=c"}
    assert parse_field_selector(text).matches(fields) is matches


@pytest.mark.parametrize("text", ["spec.nodeName", r"a=b\c", "a=b=c"])
def test_invalid_field_selectors_are_rejected(text):
    with pytest.raises(SelectorError):
        parse_field_selector(text)


def term(*expressions, fields=()):
    return NodeSelectorTerm(match_expressions=expressions, match_fields=fields)


@pytest.mark.parametrize(
    ("terms", "matches"),
    [
        pytest.param((), False, id="no terms match nothing"),
        pytest.param((term(),), False, id="an empty term matches nothing"),
        pytest.param((term(), term(NodeSelectorRequirement("a", "Exists"))), True, id="terms or"),
        pytest.param(
            (term(NodeSelectorRequirement("a", "Exists"), NodeSelectorRequirement("b", "Exists")),),
            False,
            id="expressions and",
        ),
        pytest.param((term(NodeSelectorRequirement("a", "Gt", ("4",))),), True, id="greater"),
        pytest.param((term(NodeSelectorRequirement("a", "Lt", ("5",))),), False, id="not less"),
        pytest.param(
            (term(NodeSelectorRequirement("a", "Gt", ("x",))),), False, id="no integer, no match"
        ),
        pytest.param(
            (term(fields=(NodeSelectorRequirement("metadata.name", "In", ("n1",)),)),),
            True,
            id="the node's name",
        ),
        pytest.param(
            (term(fields=(NodeSelectorRequirement("metadata.name", "In", ("n1", "n2")),)),),
            False,
            id="two names are an error, so no match",
        ),
    ],
)
def test_node_selector(terms, matches):
    assert node_selector(NodeSelector(terms)).matches("n1", {"a": "5"}) is matches


def test_an_invalid_preferred_term_has_upstreams_error():
    good = PreferredSchedulingTerm(3, term(NodeSelectorRequirement("a", "Exists")))
    bad = PreferredSchedulingTerm(1, term(NodeSelectorRequirement("a", "Gt", ("abc",))))
    skipped = PreferredSchedulingTerm(0, term(NodeSelectorRequirement("a", "Gt", ("abc",))))
    assert [weight for weight, _ in preferred_node_terms([good, skipped])] == [3]
    with pytest.raises(SelectorError) as refused:
        preferred_node_terms([good, bad])
    assert str(refused.value) == (
        '[1].matchExpressions[0].values[0]: Invalid value: "abc": '
        "for 'Gt', 'Lt' operators, the value must be an integer"
    )


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        pytest.param(Toleration(operator="Exists"), True, id="an empty key takes all"),
        pytest.param(Toleration(key="k", value="5"), True, id="no operator is Equal"),
        pytest.param(Toleration(key="k", operator="Equal", value="6"), False, id="other value"),
        pytest.param(
            Toleration(key="k", operator="Exists", effect="NoExecute"), False, id="effect"
        ),
        pytest.param(Toleration(key="j", operator="Exists"), False, id="other key"),
        pytest.param(Toleration(key="k", operator="Gt", value="4"), False, id="Gt: gate is off"),
    ],
)
def test_tolerates(toleration, tolerated):
    taint = Taint(key="k", value="5", effect="NoSchedule")
    assert tolerates(toleration, taint) is tolerated
    assert (untolerated_taint([taint], [toleration]) is None) is tolerated


def test_comparison_operators_compare_the_taint_with_the_toleration():
    taint = Taint(key="k", value="5", effect="NoSchedule")
    greater, less = (Toleration(key="k", operator=o, value="4") for o in ("Gt", "Lt"))
    assert tolerates(greater, taint, comparison_operators=True)
    assert not tolerates(less, taint, comparison_operators=True)


def test_prefer_no_schedule_does_not_prevent_scheduling():
    assert untolerated_taint([Taint(key="k", effect="PreferNoSchedule")], []) is None


def test_few_long_selectors_are_kept():
    short, long = "a=1", ",".join(f"k{number}=v" for number in range(500))
    parsed, first = parse_label_selector(short), parse_label_selector(long)
    assert parse_label_selector(long) is first
    for number in range(LONG_KEPT):
        parse_label_selector(f"{long},other{number}=v")
    assert parse_label_selector(short) is parsed
    assert parse_label_selector(long) == first
    assert parse_label_selector(long) is not first
