"""Plugins of installed packages are found by their entry points."""

from __future__ import annotations

import sys

import pytest

from podwright.apimachinery.objects import InputError
from podwright.scheduler.assembly import (
    installed_plugins,
    packages_of,
    unknown_plugins,
    with_installed,
)
from podwright.scheduler.config import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin as Entry,
    Plugins,
    PluginSet,
)
from podwright.scheduler.framework import Plugin

CODE = """
import podwright as pw

class Rack(pw.Plugin):
    name = "Rack"

class Row(pw.Plugin):
    name = "Row"

class Other:
    name = "Other"
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a package as pip does."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(package: str, version: str, *entry_points: str, code: str = CODE) -> None:
        (tmp_path / f"{package}.py").write_text(code)
        info = tmp_path / f"{package}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {package}\nVersion: {version}\n")
        lines = ["[podwright.plugins]", *entry_points, "[other.group]", "Row = nowhere:Row", ""]
        (info / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.delitem(sys.modules, package, raising=False)

    return install


class Mine(Plugin):
    """A plugin of a file."""

    name = "Mine"


def profile(*enabled: str, disabled: tuple[str, ...] = (), name: str = "p") -> KubeSchedulerProfile:
    def entries(names):
        return tuple(Entry(name=each) for each in names)

    points = PluginSet(enabled=entries(enabled), disabled=entries(disabled))
    return KubeSchedulerProfile(scheduler_name=name, plugins=Plugins(score=points))


def configured(*profiles: KubeSchedulerProfile) -> KubeSchedulerConfiguration:
    return KubeSchedulerConfiguration(profiles=profiles)


def test_unknown_plugins_are_those_that_are_enabled_and_neither_in_tree_nor_own():
    written = configured(
        profile("NodeName", "Row", "Mine", "Rack"),
        profile("Rack", "PodGroupPodsCount", disabled=("Never",)),
        KubeSchedulerProfile(scheduler_name="bare"),
    )
    assert unknown_plugins(written, [Mine]) == ["Row", "Rack"]
    assert unknown_plugins(written) == ["Row", "Mine", "Rack"]


def test_installed_plugins_are_found_with_their_packages(install):
    install("racks", "1.2", "Rack = racks:Rack", "Row = racks:Row")
    found = installed_plugins(["Row", "Absent", "Rack"])
    assert [(each.cls.__name__, each.package) for each in found] == [
        ("Row", "racks 1.2"),
        ("Rack", "racks 1.2"),
    ]
    assert packages_of(["Rack", "Row", "Absent"]) == ("racks 1.2",)
    assert packages_of(["Absent"]) == packages_of([]) == ()


def test_all_problems_of_packages_are_reported_together(install):
    install("shelves", "2.0", "Rack = shelves:Rack", "Box = shelves:Box")
    install("boxes", "1.0", "Box = boxes:Box")
    install("crates", "1.0", "Box = crates:Box")
    install(
        "racks", "1.2", "Rack = racks:Rack", "Box = racks:Box", "Other = racks:Other",
        "Gone = racks:Gone", "Line = racks:Row", "Row = racks:Row",
    )  # fmt: skip
    with pytest.raises(InputError) as caught:
        installed_plugins(["Box", "Rack", "Other", "Gone", "Line", "Row"])
    assert [str(error) for error in caught.value.errors] == [
        'podwright.plugins: duplicate plugin "Box" in boxes 1.0 and crates 1.0 and racks 1.2 and'
        " shelves 2.0: uninstall all but one",
        'podwright.plugins: duplicate plugin "Rack" in racks 1.2 and shelves 2.0:'
        " uninstall all but one",
        "racks 1.2: entry point Other = racks:Other: is not a subclass of podwright.Plugin",
        "racks 1.2: entry point Gone = racks:Gone: cannot be imported: AttributeError: module"
        " 'racks' has no attribute 'Gone'",
        'racks 1.2: entry point Line = racks:Row: the plugin\'s `name` is "Row"; both have to be'
        " the same",
    ]
    assert packages_of(["Rack"]) == ("racks 1.2", "shelves 2.0")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise SystemExit(1)", "cannot be imported: SystemExit: 1"),
        (CODE.replace('"Rack"', "7"), "`name` must be a string, not 7"),
        (
            "from podwright.apimachinery.objects import FieldError, InputError\n"
            "raise InputError([FieldError(source='racks.csv', path='a', message='wrong')])",
            None,
        ),
    ],
    ids=["an exit", "a name that is a number", "an error that names its place"],
)
def test_a_package_that_cannot_be_used_is_named(install, code, message):
    install("racks", "1.2", "Rack = racks:Rack", code=code)
    with pytest.raises(InputError) as caught:
        installed_plugins(["Rack"])
    place = "racks 1.2: entry point Rack = racks:Rack: "
    assert str(caught.value) == (f"{place}{message}" if message else "racks.csv: a: wrong")


def test_an_interrupt_of_an_import_is_not_an_error_of_the_package(install):
    install("racks", "1.2", "Rack = racks:Rack", code="raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        installed_plugins(["Rack"])


def test_installed_plugins_are_disabled_in_profiles_that_do_not_name_them(install):
    install("racks", "1.2", "Rack = racks:Rack", "Row = racks:Row")
    multi = Plugins(multi_point=PluginSet(disabled=(Entry(name="NodeName"),)))
    written = configured(
        profile("Rack", name="a"),
        profile("Row", disabled=("Rack",), name="b"),
        KubeSchedulerProfile(scheduler_name="c", plugins=multi),
        KubeSchedulerProfile(scheduler_name="d"),
    )
    read, found = with_installed(written, [])
    assert [each.cls.__name__ for each in found] == ["Rack", "Row"]
    assert read is not None
    disabled = [
        [entry.name for entry in each.plugins.multi_point.disabled] if each.plugins else []
        for each in read.profiles
    ]
    assert disabled == [["Row"], [], ["NodeName", "Rack", "Row"], ["Rack", "Row"]]
    assert [each.scheduler_name for each in read.profiles] == ["a", "b", "c", "d"]
    assert read.profiles[1] is written.profiles[1]


def test_own_plugins_come_before_installed_ones_and_nothing_is_found_without_a_configuration(
    install,
):
    install("racks", "1.2", "Mine = racks:Rack")
    written = configured(profile("Mine"))
    assert with_installed(written, [Mine]) == (written, [])
    assert with_installed(None, [Mine]) == (None, [])
