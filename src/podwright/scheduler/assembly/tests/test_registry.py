"""Plugins are made from the arguments that a configuration gives."""

import msgspec
import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError
from podwright.scheduler.assembly import BrokenPlugin, Registry
from podwright.scheduler.config import (
    DEFAULT_GATES,
    IN_TREE_POINTS,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin as Entry,
    Plugins,
    PluginSet,
    effective,
)
from podwright.scheduler.framework import Plugin, Status


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


class Raising(Plugin):
    """Fails in the given way."""

    name = "Raising"

    def __init__(self, error="", text="failed"):
        kinds = {
            "value": ValueError, "type": TypeError, "key": LookupError, "exit": SystemExit,
            "interrupt": KeyboardInterrupt,
        }  # fmt: skip
        if kind := kinds.get(error):
            raise kind(text)
        dict[str, str]()["nothing"]


class Factory(Plugin):
    """Makes something else."""

    name = "Factory"

    def __new__(cls):
        return 3


class Gated(Plugin):
    """Takes the gates."""

    name = "Gated"
    takes_gates = True

    def __init__(self, *, gates, size=1):
        self.gates = gates
        self.size = size


class GatedStruct(ByStruct):
    """Takes the gates beside a struct."""

    name = "GatedStruct"
    takes_gates = True

    def __init__(self, args, *, gates):
        super().__init__(args)
        self.gates = gates


class Later(Plugin):
    """Has an optional argument before a required one; its gates are its own."""

    name = "Later"

    def __init__(self, *, size=1, gates):
        self.gates = gates


class Sealed(Plugin):
    """Cannot be given a handle."""

    name = "Sealed"
    handle = property(str)


class Needed(msgspec.Struct):
    """Has a required argument."""

    zone: str
    size: int = 1


class ByNeeded(ByStruct):
    """Takes a struct with a required argument."""

    name = "ByNeeded"
    Args = Needed  # type: ignore[assignment]  # a struct of other arguments


KEYWORDS = (
    "it takes zone (required), strict, from profiles[].pluginConfig[].args of the configuration, "
    "for example pluginConfig: [{name: ByKeyword, args: {zone: ...}}]"
)
STRUCT = (
    "it takes leastPods, zones, from profiles[].pluginConfig[].args of the configuration, "
    "for example pluginConfig: [{name: ByStruct, args: {leastPods: ...}}]"
)
NEEDED = (
    "it takes zone (required), size, from profiles[].pluginConfig[].args of the configuration, "
    "for example pluginConfig: [{name: ByNeeded, args: {zone: ...}}]"
)
GATED = (
    "it takes size, from profiles[].pluginConfig[].args of the configuration, "
    "for example pluginConfig: [{name: Gated, args: {size: ...}}]"
)
LATER = (
    "it takes size, gates (required), from profiles[].pluginConfig[].args of the configuration, "
    "for example pluginConfig: [{name: Later, args: {gates: ...}}]"
)
REGISTRY = Registry(
    [ByKeyword, ByStruct, Bare, Raising, Factory, Gated, GatedStruct, ByNeeded, Later, Sealed]
)


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
            "ByKeyword",
            {"zon": "a"},
            f"got an unexpected keyword argument 'zon'; did you mean \"zone\"?; {KEYWORDS}",
            id="misspelt",
        ),
        pytest.param(
            "Bare",
            ["zone"],
            "args must be an object, not something of type list; it takes no arguments",
            id="a list",
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
        pytest.param(
            "Raising", {"error": "type", "text": "a\n b"}, "a b", id="its own words in one line"
        ),
        pytest.param(
            "ByNeeded",
            None,
            f"Missing required argument 'zone'; {NEEDED}",
            id="a struct that has to be given",
        ),
        pytest.param(
            "Later", None, f"missing a required argument: 'gates'; {LATER}", id="required last"
        ),
        pytest.param(
            "Gated",
            {"gate": 1},
            f"got an unexpected keyword argument 'gate'; {GATED}",
            id="gates are not an argument",
        ),
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
    assert isinstance(REGISTRY.make("ByStruct", None, source=""), ByStruct)
    given = Arguments(least_pods=3)
    passed = REGISTRY.make("ByStruct", given, source="")
    assert isinstance(passed, ByStruct)
    assert passed.args is given


def test_a_plugin_that_takes_gates_gets_them_beside_its_arguments():
    for name, args in (("Gated", {"size": 2}), ("GatedStruct", {"leastPods": 2})):
        made = REGISTRY.make(name, args, gates=DEFAULT_GATES, source="")
        assert isinstance(made, Gated | GatedStruct)
        assert made.gates is DEFAULT_GATES
        assert made.handle is None


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        pytest.param("Raising", None, "KeyError: 'nothing'", id="without arguments"),
        pytest.param(
            "Raising", {"error": "key"}, "LookupError: failed", id="an error of another type"
        ),
        pytest.param("Raising", {"error": "exit"}, "SystemExit: failed", id="an exit"),
        pytest.param(
            "Sealed",
            None,
            "AttributeError: property 'handle' of 'Sealed' object has no setter",
            id="one that a machine could not use",
        ),
        pytest.param("Factory", None, "Factory makes 3, which is not a plugin", id="no plugin"),
    ],
)
def test_a_plugin_that_cannot_be_made_is_broken_at_its_line_in_the_file(name, args, message):
    with pytest.raises(BrokenPlugin) as caught:
        REGISTRY.make(name, args, source="c.yaml")
    place, _, rest = str(caught.value).partition(": initializing plugin ")
    assert rest == f'"{name}": {message}'
    is_raised_here = name == "Raising"
    assert place.startswith(f"{__file__}: line ") if is_raised_here else place == "c.yaml"


def test_an_interrupt_is_not_an_error_of_the_plugin():
    with pytest.raises(KeyboardInterrupt):
        REGISTRY.make("Raising", {"error": "interrupt"}, source="")


class Unclear(Plugin):
    """Does not know its extension points."""

    name = "Unclear"

    @classmethod
    def extension_points(cls):
        raise RuntimeError("which ones?")


class Nameless(Plugin):
    """Has no name."""


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (Unclear, "Unclear: its extension points cannot be found: RuntimeError: which ones?"),
        (Nameless, "Nameless: a plugin needs a class attribute `name`"),
    ],
)
def test_a_class_that_is_not_a_plugin_is_refused_by_module_and_name(plugin, message):
    with pytest.raises(InputError) as caught:
        Registry([plugin])
    assert str(caught.value) == f"{__name__}: {message}"


class NodeName(Plugin):
    """Replaces the plugin of that name."""

    name = "NodeName"

    def __init__(self, zone=""):
        self.zone = zone

    def permit(self, cycle, node_name):
        """Accept it."""
        return Status(), 0


def test_in_tree_plugins_are_made_by_name_and_replaced_by_own_ones():
    plain, own = Registry(), Registry([NodeName])
    made = plain.make("NodeName", {"zone": "a"}, source="")
    assert type(made).__module__ == "podwright.scheduler.plugins.node_name"
    replaced = own.make("NodeName", {"zone": "a"}, source="")
    assert isinstance(replaced, NodeName)
    assert replaced.zone == "a"
    assert (plain.points_of("NodeName"), own.points_of("NodeName")) == (
        IN_TREE_POINTS["NodeName"],
        frozenset({"permit"}),
    )
    assert plain.make("Unknown", None, source="") is None
    assert plain.points_of("Unknown") is None


def entries(*names):
    return tuple(Entry(name=name) for name in names)


@pytest.mark.parametrize(
    ("plugins", "enabled"),
    [
        pytest.param(None, ["Bare", "ByStruct"], id="a profile without plugins"),
        pytest.param(
            Plugins(multi_point=PluginSet(enabled=entries("NodeName"))),
            ["NodeName", "Bare", "ByStruct"],
            id="after those of the profile",
        ),
        pytest.param(
            Plugins(score=PluginSet(enabled=entries("Bare"))), ["ByStruct"], id="enabled elsewhere"
        ),
        pytest.param(
            Plugins(filter=PluginSet(disabled=entries("ByStruct"))), ["Bare"], id="disabled once"
        ),
        pytest.param(
            Plugins(filter=PluginSet(enabled=entries("Bare", "ByStruct"))), [], id="all are named"
        ),
    ],
)
def test_own_plugins_are_enabled_in_each_profile_that_does_not_name_them(plugins, enabled):
    other = KubeSchedulerProfile(scheduler_name="other")
    profiles = (KubeSchedulerProfile(plugins=plugins), other)
    found = Registry([Bare, ByStruct]).enable_own(KubeSchedulerConfiguration(profiles=profiles))
    chosen = [
        [entry.name for entry in profile.plugins.multi_point.enabled] if profile.plugins else []
        for profile in found.profiles
    ]
    assert chosen == [enabled, ["Bare", "ByStruct"]]


def test_own_plugins_are_enabled_in_the_profile_of_an_empty_configuration():
    (profile,) = Registry([Bare]).enable_own(KubeSchedulerConfiguration()).profiles
    assert profile.plugins == Plugins(multi_point=PluginSet(enabled=entries("Bare")))


class NodeResourcesFit(Plugin):
    """Replaces the built-in plugin, which has arguments by default."""

    name = "NodeResourcesFit"

    def filter(self, cycle, node):
        return Status.OK


def test_an_own_plugin_does_not_get_the_default_arguments_of_the_one_that_it_replaces():
    made = pw.Scheduler(plugins=[NodeResourcesFit]).profiles["default-scheduler"].all_plugins()
    assert NodeResourcesFit in map(type, made)


class Binding(Plugin):
    """Binds pods."""

    name = "Binding"

    def bind(self, cycle, node_name):
        return Status.OK


@pytest.mark.parametrize(
    ("plugins", "order"),
    [
        pytest.param(Plugins(), ["Binding", "DefaultBinder"], id="not named: it comes first"),
        pytest.param(
            Plugins(bind=PluginSet(disabled=entries("*"))), ["Binding"], id="the only one left"
        ),
        pytest.param(
            Plugins(multi_point=PluginSet(enabled=entries("Binding"))),
            ["DefaultBinder", "Binding"],
            id="named: as upstream orders it",
        ),
    ],
)
def test_the_place_of_an_own_bind_plugin(plugins, order):
    registry = Registry([Binding])
    profiles = (KubeSchedulerProfile(plugins=plugins),)
    found = registry.enable_own(KubeSchedulerConfiguration(profiles=profiles))
    made = effective(found, DEFAULT_GATES, implements=registry.points_of, source="c")
    assert [name for name, _ in made.profiles[0].plugins["bind"]] == order
