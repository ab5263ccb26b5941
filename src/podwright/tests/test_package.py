"""The face of the package: its names, and what a misspelt one means."""

import signal

import pytest

import podwright as pw
from podwright._interrupts import deferred_signals


def test_every_public_name_can_be_loaded():
    for name in pw.__all__:
        assert getattr(pw, name) is not None, name
    assert set(pw.__all__) == set(dir(pw))


@pytest.mark.parametrize("name", ["qqqqqq", "_ipython_display_", "_world"])
def test_an_unknown_name_is_an_attribute_error(name: str):
    with pytest.raises(AttributeError) as unknown:
        getattr(pw, name)
    assert str(unknown.value) == f"module 'podwright' has no attribute {name!r}"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Shceduler", "Scheduler"),
        ("world", "World"),
        ("readConfiguration", "read_configuration"),
        ("make_pods", "testing.make_pod"),
    ],
)
def test_a_misspelt_name_is_an_error_with_a_suggestion(written: str, meant: str):
    with pytest.raises(AttributeError, match=f"no attribute '{written}'; did you mean {meant}\\?$"):
        getattr(pw, written)


def test_suggested_names_of_testing_are_there():
    from podwright import _OF_TESTING

    assert set(_OF_TESTING) <= set(pw.testing.__all__)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Scheduler", "inner"),
        ("scheduler_", "module 'podwright' has no attribute 'scheduler_'; did you mean Scheduler?"),
    ],
)
def test_an_error_of_a_module_that_has_a_name_is_not_hidden(monkeypatch, name, message):
    def fail(_name: str) -> object:
        raise AttributeError("inner")

    monkeypatch.delitem(vars(pw), "Scheduler", raising=False)
    monkeypatch.setattr(pw, "_get_name", fail)
    with pytest.raises(AttributeError) as caught:
        getattr(pw, name)
    assert str(caught.value) == message


def test_the_signals_of_a_call_are_deferred_by_handlers():
    before = signal.getsignal(signal.SIGTERM)
    with deferred_signals():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
