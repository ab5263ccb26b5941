"""Changes that cannot be made."""

import pytest

from podwright.simulation.recording.explanations.what_if import ImpossibleChange, _check_names


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("ImageLocalty", "did you mean ImageLocality?", id="misspelt"),
        pytest.param("X", "ImageLocality, TaintToleration", id="another name"),
    ],
)
def test_a_weight_of_an_unknown_plugin_is_an_error(name, hint):
    known = ["ImageLocality", "TaintToleration"]
    with pytest.raises(ImpossibleChange, match=f'no score plugin "{name}"') as raised:
        _check_names(known, {name: 2})
    assert hint in str(raised.value)
    _check_names(known, {"ImageLocality": 2})
