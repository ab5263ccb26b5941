"""Plugins are made from the arguments that a configuration gives."""

import msgspec
import pytest

from podwright.apimachinery.objects import InputError
from podwright.scheduler.assembly import Registry
from podwright.scheduler.framework import Plugin


class ByKeyword(Plugin):
    """Takes keywords."""

    name = "ByKeyword"

    def __init__(self, zone, *, strict=False):
        self.zone = zone
        self.strict = strict
        if zone == "nowhere":
            raise ValueError("there is no such zone")


class Arguments(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What ByStruct takes."""

    least_pods: int = 0
    zones: tuple[str, ...] = ()


class ByStruct(Plugin):
    """Takes a struct."""

    name = "ByStruct"
    Args = Arguments

    def __init__(self, args):
        self.args = args


class Bare(Plugin):
    """Takes nothing."""

    name = "Bare"


KEYWORDS = (
    "it takes zone (required), strict, from profiles[].pluginConfig[].args of the configuration, "
    "for example pluginConfig: [{name: ByKeyword, args: {zone: ...}}]"
)
STRUCT = (
    "it takes leastPods, zones, from profiles[].pluginConfig[].args of the configuration, "
    "for example pluginConfig: [{name: ByStruct, args: {leastPods: ...}}]"
)
REGISTRY = Registry([ByKeyword, ByStruct, Bare])


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        pytest.param(
            "ByKeyword", None, f"missing a required argument: 'zone'; {KEYWORDS}", id="missing"
        ),
        pytest.param(
            "ByKeyword",
            {"zone": "a", "size": 1},
            f"got an unexpected keyword argument 'size'; {KEYWORDS}",
            id="unknown",
        ),
        pytest.param(
            "ByStruct",
            {"leastPods": "1"},
            f"Expected `int`, got `str` - at `$.leastPods`; {STRUCT}",
            id="of the wrong type",
        ),
        pytest.param(
            "Bare",
            {"zone": "a"},
            "got an unexpected keyword argument 'zone'; it takes no arguments",
            id="there are none",
        ),
        pytest.param("ByKeyword", {"zone": "nowhere"}, "there is no such zone", id="its own words"),
    ],
)
def test_wrong_arguments_are_refused_with_those_that_there_are(name, args, message):
    with pytest.raises(InputError) as caught:
        REGISTRY.make(name, args, source="c.yaml")
    assert str(caught.value) == f'c.yaml: initializing plugin "{name}": {message}'


def test_arguments_reach_the_plugin():
    kept = REGISTRY.make("ByKeyword", {"apiVersion": "v1", "kind": "X", "zone": "a"}, source="")
    assert isinstance(kept, ByKeyword)
    assert (kept.zone, kept.strict) == ("a", False)
    made = REGISTRY.make("ByStruct", {"zones": ["a"]}, source="")
    assert isinstance(made, ByStruct)
    assert made.args == Arguments(zones=("a",))
