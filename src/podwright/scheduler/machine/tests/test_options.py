"""The options of a scheduler, and the keyword arguments that stand for them."""

import inspect
from typing import Any, Unpack

import msgspec
import numpy as np
import pytest

from podwright.apimachinery.objects import ArgumentError, InputError
from podwright.scheduler.config import DEFAULT_GATES, KubeSchedulerConfiguration
from podwright.scheduler.framework import Plugin
from podwright.scheduler.framework.profile import TieRule
from podwright.scheduler.machine import (
    API_CALLS,
    Bind,
    CallExtender,
    DecisionKeywords,
    EmitEvent,
    MachineKeywords,
    PatchPodStatus,
    SchedulerOptions,
    WakeAt,
    names_machine_keywords,
)
from podwright.scheduler.queueing import QueueSettings

FILLED_IN = {"configuration", "queue", "parallelism", "extenders"}
"""Options that are no keywords: given by position, or filled in from the configuration."""

NANOSECONDS = {"start": "start_ns", "assumed_pod_expiry": "assumed_pod_expiry_ns"}
"""Keywords that are times or durations, which options have in nanoseconds."""


def test_every_option_has_a_keyword_or_is_filled_in():
    fields = {field.name for field in msgspec.structs.fields(SchedulerOptions)}
    keywords = {NANOSECONDS.get(name, name) for name in MachineKeywords.__annotations__}
    assert fields == keywords | FILLED_IN


def test_the_defaults_of_options():
    options = SchedulerOptions()
    assert (options.configuration, options.plugins, options.extenders) == (None, (), ())
    assert (options.gates, options.queue) == (DEFAULT_GATES, QueueSettings())
    assert (options.seed, options.start_ns, options.assumed_pod_expiry_ns) == (0, 0, 0)
    assert (options.tie_rule, options.parallelism) == (TieRule.DRAWN, 16)
    assert (options.draws_preemption_offset, options.batching) == (True, False)


def test_a_configuration_and_keywords_become_options():
    configuration = KubeSchedulerConfiguration(parallelism=3)
    options = SchedulerOptions.of(configuration, seed=5, plugins=[Plugin])
    assert (options.configuration, options.seed) == (configuration, 5)
    assert options.plugins == (Plugin,)


def test_keywords_change_given_options():
    given = SchedulerOptions(seed=5, batching=True)
    assert SchedulerOptions.of(given, seed=6) == SchedulerOptions(seed=6, batching=True)


@pytest.mark.parametrize(
    ("keywords", "option", "value"),
    [
        pytest.param({"start": "1970-01-01T00:00:01Z"}, "start_ns", 10**9, id="a time"),
        pytest.param({"start": "1970-01-02T00:00:00Z"}, "start_ns", 86_400 * 10**9, id="a day"),
        pytest.param({"assumed_pod_expiry": "30s"}, "assumed_pod_expiry_ns", 30 * 10**9, id="s"),
        pytest.param({"assumed_pod_expiry": "1h"}, "assumed_pod_expiry_ns", 3_600 * 10**9, id="h"),
        pytest.param({"assumed_pod_expiry": "0s"}, "assumed_pod_expiry_ns", 0, id="never"),
        pytest.param({"batching": True}, "batching", True, id="a truth value"),
        pytest.param({"tie_rule": TieRule.HEAP}, "tie_rule", TieRule.HEAP, id="a rule"),
        pytest.param(
            {"draws_preemption_offset": False}, "draws_preemption_offset", False, id="a false one"
        ),
    ],
)
def test_each_keyword_sets_its_option(keywords: Any, option: str, value: object):
    options = SchedulerOptions.of(None, **keywords)
    assert getattr(options, option) == value
    assert msgspec.structs.replace(options, **{option: getattr(SchedulerOptions(), option)}) == (
        SchedulerOptions()
    )


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        pytest.param({"start": "noon"}, "^start: ", id="no time"),
        pytest.param({"assumed_pod_expiry": "-1s"}, "^assumed_pod_expiry: ", id="in the past"),
        pytest.param({"assumed_pod_expiry": "soon"}, "^assumed_pod_expiry: ", id="no duration"),
    ],
)
def test_an_invalid_time_names_its_keyword(keywords: Any, message: str):
    with pytest.raises(InputError, match=message):
        SchedulerOptions.of(None, **keywords)


def test_an_unknown_keyword_is_an_error():
    for keywords, message in (
        ({"color": "red"}, "color: not a keyword argument$"),
        ({"start_ns": 5}, r"start_ns: not a keyword argument; did you mean start\?"),
    ):
        wrong: Any = keywords
        with pytest.raises(ArgumentError, match=message):
            SchedulerOptions.of(None, **wrong)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"plugins": [Plugin, 5]}, r"plugins\[1\]: must be a subclass of podwright.Plugin"),
        ({"plugins": [Plugin()]}, r"plugins\[0\]: must be a subclass of podwright.Plugin"),
        ({"plugins": [object]}, r"plugins\[0\]: must be a subclass of podwright.Plugin"),
        ({"plugins": 5}, "plugins: must be a sequence of plugin classes"),
        ({"seed": 1.5}, "seed: must be an integer"),
        ({"seed": True}, "seed: must be an integer"),
        ({"batching": 1}, "batching: must be a bool"),
        ({"draws_preemption_offset": 0}, "draws_preemption_offset: must be a bool"),
        ({"tie_rule": "drawn"}, "tie_rule: must be a podwright.TieRule"),
        ({"gates": {"A": True}}, "gates: must be the result of podwright.parse_gates.*"),
        ({"seed": "5"}, "seed: must be an integer"),
    ],
)
def test_an_argument_of_the_wrong_type_is_an_error(keywords: Any, message: str):
    with pytest.raises(ArgumentError, match=message):
        SchedulerOptions.of(None, **keywords)


def test_an_integer_of_numpy_is_an_integer():
    options = SchedulerOptions.of(None, seed=np.int64(5))  # type: ignore[arg-type]  # no int
    assert options.seed == 5
    assert type(options.seed) is int


def test_a_configuration_has_its_type():
    wrong: Any = {"profiles": []}
    with pytest.raises(ArgumentError, match="configuration: must be the result of podwright"):
        SchedulerOptions.of(wrong)


def test_the_keywords_of_a_function_have_the_defaults_of_options():
    @names_machine_keywords("2020-01-01")
    def make(**keywords: Unpack[MachineKeywords]) -> None:
        del keywords

    parameters = inspect.signature(make).parameters
    assert {name: each.default for name, each in parameters.items()} == {
        "plugins": (),
        "gates": DEFAULT_GATES,
        "seed": 0,
        "tie_rule": TieRule.DRAWN,
        "draws_preemption_offset": True,
        "start": "2020-01-01",
        "batching": False,
        "assumed_pod_expiry": "0s",
    }


def test_every_keyword_may_be_left_out():
    for keywords in (DecisionKeywords, MachineKeywords):
        assert not keywords.__required_keys__
        assert keywords.__optional_keys__ == keywords.__annotations__.keys()
    assert DecisionKeywords.__optional_keys__ < MachineKeywords.__optional_keys__


def test_the_calls_of_the_api_server_are_classes():
    assert all(isinstance(each, type) for each in API_CALLS)
    assert {Bind, PatchPodStatus} < set(API_CALLS)
    assert not {CallExtender, EmitEvent, WakeAt} & set(API_CALLS)
