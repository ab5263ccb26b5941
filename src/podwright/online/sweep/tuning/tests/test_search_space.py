"""Parameters of a tuning: their ranges, what a trial gets of them, and the fields that they set."""

from __future__ import annotations

import re
from typing import Any

import pytest

from podwright.apimachinery.objects import FieldError
from podwright.online.sweep.tuning.search_space import (
    Parameter,
    check_parameters,
    read_parameters,
    with_values,
)


def read(**given: Any) -> tuple[tuple[Parameter, ...], list[tuple[str, str]]]:
    errors: list[FieldError] = []
    found = read_parameters({"p": given} if given else {}, "tune.parameters", errors)
    return found, [(each.path, each.message) for each in errors]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"low": 1, "high": 5}, Parameter("p", 1, 5)),
        ({"low": 0.5, "high": 5, "step": 0.5}, Parameter("p", 0.5, 5, 0.5)),
        ({"low": 1, "high": 5, "log": True}, Parameter("p", 1, 5, is_log=True)),
        ({"choices": ["a", 2]}, Parameter("p", choices=("a", 2))),
    ],
)
def test_a_parameter_is_a_range_or_choices(given, expected):
    assert read(**given) == ((expected,), [])
    assert expected.ends == (expected.choices or (expected.low, expected.high))


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"choices": []}, ".choices", "Invalid value: []: must be a list of values"),
        ({"choices": [1], "low": 1}, ".low", "has no effect beside choices"),
        ({"choices": [1], "step": 0}, ".step", "has no effect beside choices"),
        ({"choices": [1], "log": True}, ".log", "has no effect beside choices"),
        ({"high": 5}, ".low", "Required value: a range has low and high; or choices"),
        ({"low": 5}, ".high", "Required value: a range has low and high; or choices"),
        ({"low": 5, "high": 5}, ".high", "Invalid value: 5: must be above low, 5"),
        ({"low": 1, "high": 5, "step": 0}, ".step", "Invalid value: 0: must be above 0"),
        ({"low": 0, "high": 5, "log": True}, ".log", "needs a low above 0, and no step"),
        ({"low": 1, "high": 5, "step": 1, "log": True}, ".log", "needs a low above 0, and no step"),
    ],
)
def test_a_range_that_has_no_values_is_a_mistake_at_its_field(given, field, message):
    assert read(**given) == ((), [(f"tune.parameters[p]{field}", message)])


def test_what_a_parameter_leaves_out():
    assert Parameter("p")._asdict() == {
        "name": "p", "low": 0, "high": 0, "step": 0, "is_log": False, "choices": (),
    }  # fmt: skip


def test_a_tuning_has_parameters():
    assert read() == ((), [("tune.parameters", "Required value")])


class Trial:
    """Notes what is suggested, and returns the least value."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def suggest_int(self, name: str, low: int, high: int, *, step: int, log: bool) -> int:
        assert {type(each) for each in (low, high, step)} == {int}, "a study stores whole numbers"
        self.asked.append((name, low, high, step, log))
        return low

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None, log: bool
    ) -> float:
        self.asked.append((name, low, high, step, log))
        return low

    def suggest_categorical(self, name: str, choices: list[str]) -> str:
        self.asked.append((name, choices))
        return choices[0]


@pytest.mark.parametrize(
    ("parameter", "asked", "value"),
    [
        (Parameter("p", 1, 9), ("p", 1, 9, 1, False), 1),
        (Parameter("p", 1, 9, 2), ("p", 1, 9, 2, False), 1),
        (Parameter("p", 1, 9, is_log=True), ("p", 1, 9, 1, True), 1),
        (Parameter("p", 1, 9, 2.0), ("p", 1, 9, 2, False), 1),
        (Parameter("p", 1, 9, 0.5), ("p", 1, 9, 0.5, False), 1),
        (Parameter("p", 1, 9.5), ("p", 1, 9.5, None, False), 1),
        (Parameter("p", 0.5, 9, 0.5), ("p", 0.5, 9, 0.5, False), 0.5),
        (Parameter("p", choices=({"a": 1}, "b")), ("p", ['{"a": 1}', '"b"']), {"a": 1}),
    ],
)
def test_a_trial_gets_a_value_of_the_range(parameter, asked, value):
    trial: Any = Trial()
    assert parameter.suggest(trial) == value
    assert trial.asked == [asked]
    assert parameter.value_of("1") == (1 if parameter.choices else "1")


def profile_with(**values: Any) -> dict[str, Any]:
    """Return the profile in which parameters have values; `__` stands for a point."""
    base: dict[str, Any] = {"profiles": [{}]}
    names = {name.replace("__", "."): value for name, value in values.items()}
    profile: dict[str, Any] = with_values(base, names)["profiles"][0]
    assert base == {"profiles": [{}]}
    return profile


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("args.P", {"a": 1}, {"a": 1}),
        ("args.P.a", 1, {"a": 1}),
        ("args.P.a.b", 1, {"a": {"b": 1}}),
        ("args.P.a[0]", 1, {"a": [1]}),
        ("args.P.a[0].b", 1, {"a": [{"b": 1}]}),
        ("args.P.a[cpu]", {"name": "x"}, {"a": [{"name": "x"}]}),
        ("args.P.a[cpu].b", 1, {"a": [{"name": "cpu", "b": 1}]}),
    ],
)
def test_what_an_argument_is_below_is_made(path, value, expected):
    found = with_values({"profiles": [{}]}, {path: value})["profiles"][0]
    assert found == {"pluginConfig": [{"name": "P", "args": expected}]}


def test_what_is_there_is_changed_and_what_is_beside_it_stays():
    args = {"resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}], "b": 2}
    base = {"profiles": [{"pluginConfig": [{"name": "O"}, {"name": "P", "args": args}]}]}
    values = {"args.P.resources[memory].weight": 5, "args.P.resources[2].weight": 7, "args.O.x": 1}
    assert with_values(base, values)["profiles"][0]["pluginConfig"] == [
        {"name": "O", "args": {"x": 1}},
        {
            "name": "P",
            "args": {
                "resources": [
                    {"name": "cpu", "weight": 1},
                    {"name": "memory", "weight": 5},
                    {"weight": 7},
                ],
                "b": 2,
            },
        },
    ]
    assert args["b"] == 2
    assert len(args["resources"]) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("weights", "is neither percentageOfNodesToScore, weights.PLUGIN nor args.PLUGIN.FIELD"),
        ("args", "is neither percentageOfNodesToScore, weights.PLUGIN nor args.PLUGIN.FIELD"),
        ("args.P.a.b", "b: is not a field of 3"),
        ("args.P.l[3]", "[3]: the list has 2 entries"),
        ("args.P.a[", "'P.a[' is not the path of a field"),
    ],
)
def test_a_field_that_cannot_be_there_is_named(name, message):
    base = {"profiles": [{"pluginConfig": [{"name": "P", "args": {"a": 3, "l": [{}, {}]}}]}]}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        with_values(base, {name: 1})


@pytest.mark.parametrize(
    ("score", "weight", "expected"),
    [
        ({}, 3, {"enabled": [{"name": "P", "weight": 3}], "disabled": []}),
        ({}, 0, {"enabled": [], "disabled": [{"name": "P"}]}),
        ({"disabled": [{"name": "*"}]}, 0, {"enabled": [], "disabled": [{"name": "*"}]}),
        (
            {"enabled": [{"name": "P", "weight": 1}, {"name": "O"}], "disabled": [{"name": "P"}]},
            3,
            {"enabled": [{"name": "O"}, {"name": "P", "weight": 3}], "disabled": []},
        ),
        (
            {"enabled": [{"name": "P"}, {"name": "O"}], "disabled": [{"name": "Q"}]},
            0,
            {"enabled": [{"name": "O"}], "disabled": [{"name": "Q"}, {"name": "P"}]},
        ),
    ],
)
def test_a_weight_replaces_that_of_the_plugin_and_zero_disables_its_score(score, weight, expected):
    base = {"profiles": [{"plugins": {"score": score}}]}
    found = with_values(base, {"weights.P": weight})["profiles"][0]["plugins"]["score"]
    assert found == expected


def test_the_percentage_is_that_of_each_profile():
    assert profile_with(percentageOfNodesToScore=30) == {"percentageOfNodesToScore": 30}
    assert profile_with(weights__P=1)["plugins"]["score"]["enabled"] == [{"name": "P", "weight": 1}]


def test_each_parameter_is_checked_at_its_ends_and_has_one_error():
    base = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler"}],
    }
    errors: list[FieldError] = []
    parameters = [
        Parameter("percentageOfNodesToScore", -2, 101),
        Parameter("weights.NodeResourcesFit", 0, 100),
        Parameter("args.NodeResourcesFit.scoringStrategy.type", choices=("MostAllocated", "No")),
        Parameter("unknown", 0, 1),
        Parameter("args.NodeResourcesFit.scoringStrategy.resources[cpu].weight", 1, 3, 0.5),
    ]
    check_parameters(parameters, base, [], "p", errors)
    assert [each.path for each in errors] == [
        "p[percentageOfNodesToScore]",
        "p[args.NodeResourcesFit.scoringStrategy.type]",
        "p[unknown]",
        "p[args.NodeResourcesFit.scoringStrategy.resources[cpu].weight]",
    ]
    # The error of the configuration has the value.
    assert "percentageOfNodesToScore: Invalid value: -2: " in errors[0].message
    assert '"No"' in errors[1].message
    assert errors[2].message.startswith("is neither ")
    assert "Invalid value: 1.0: must be an integer" in errors[3].message


def test_a_parameter_has_no_range_and_no_choices_by_default() -> None:
    assert tuple(Parameter("p")) == ("p", 0, 0, 0, False, ())


@pytest.mark.parametrize(
    ("given", "errors"),
    [
        (5, ["tune.parameters[p]: Expected `object`, got `int`"]),
        ({"low": "x"}, ["tune.parameters[p].low: "]),
        ({"low": 1, "high": []}, ["tune.parameters[p].high: "]),
        ({"low": 1, "high": 2, "stop": 1}, ["tune.parameters[p].stop: "]),
        ({"choices": 3}, ["tune.parameters[p].choices: "]),
        (
            {"choices": [], "low": 1, "high": 2, "step": 1, "log": True},
            [f"tune.parameters[p].{name}: " for name in ("choices", "low", "high", "step", "log")],
        ),
        (
            {"low": 5, "high": 1, "step": -1, "log": True},
            [f"tune.parameters[p].{name}: " for name in ("high", "step", "log")],
        ),
        ({"step": 1}, ["tune.parameters[p].low: "]),
    ],
)
def test_a_value_that_cannot_be_read_has_no_other_mistakes(given, errors):
    """All mistakes of a range come together, but not those of one that was not read."""
    wrong: list[FieldError] = []
    good = {"low": 1, "high": 2}
    found = read_parameters({"p": given, "q": good}, "tune.parameters", wrong)
    assert found == (Parameter("q", 1, 2),)
    texts = [f"{each.path}: {each.message}" for each in wrong]
    assert len(texts) == len(errors), texts
    for text, start in zip(texts, errors, strict=True):
        assert text.startswith(start.removesuffix("Expected `object`, got `int`")), text
