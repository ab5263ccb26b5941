"""Recorded runs depend on these values: another draw is another format of the decision log."""

import pytest

from podwright.apimachinery.objects import EXTENDER_STREAM, OFFSET_STREAM, TIE_STREAM, draw
from podwright.apimachinery.objects.draw import DELAY_STREAM, PODS_STREAM, STAGE_STREAM


@pytest.mark.parametrize(
    ("seed", "stream", "draws"),
    [
        pytest.param(0, TIE_STREAM, [1638088604, 1273949205, 1198761621], id="ties"),
        pytest.param(0, OFFSET_STREAM, [711365035, 1540617804, 985789357], id="offsets"),
        pytest.param(0, EXTENDER_STREAM, [740733845, 1037129767, 863588161], id="extenders"),
        pytest.param(2, TIE_STREAM, [1706728441, 1864944939, 565860713], id="another seed"),
    ],
)
def test_draws_are_the_same_in_every_release(seed, stream, draws):
    assert [draw(seed, stream, counter) for counter in (0, 1, 1000)] == draws


def test_the_streams_of_recorded_runs_have_these_numbers():
    streams = TIE_STREAM, OFFSET_STREAM, EXTENDER_STREAM, STAGE_STREAM, DELAY_STREAM, PODS_STREAM
    assert streams == (1, 2, 3, 4, 5, 6)
