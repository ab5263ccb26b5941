"""The real kube-apiserver starts in the set-up of the recordings and agrees with one."""

from __future__ import annotations

import pytest
from tests.conformance.against_real import Recorder
from tests.conformance.recordings import read_recording
from tests.conformance.replay import RECORDINGS
from tests.conformance.variations import Pool, Variations
from tests.real_parts.control_plane import running

from podwright.apimachinery.schema import built_in


@pytest.mark.e2e
def test_the_real_server_agrees_with_a_recording():
    path = RECORDINGS / "errors-a.jsonl.gz"
    exchanges = list(read_recording(path))
    with running() as plane:
        recorder = Recorder(plane.port, Variations(Pool(exchanges, built_in()), "1"), count=0)
        recorded = recorder.record(path)
    assert len(recorded) == len(exchanges)
    # The name of the scheme depends on the folder of the build.
    assert [each for each in recorder.disagreeing if "in scheme" not in each] == []
