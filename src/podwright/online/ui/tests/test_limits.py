"""The limits of the page: of what it sends and keeps, and how often it looks."""

from typing import Any

import pytest

from podwright.online.ui import new_clusters, pages, pass_through, report, resources, upstream

MIB, GIB = 2**20, 2**30


@pytest.mark.parametrize(
    ("module", "limits"),
    [
        pytest.param(
            new_clusters,
            {
                "BODY_MAX": GIB, "CLUSTERS_MAX": 8, "NODES_MAX": 5_000, "_LINES_MAX": 12,
                "_LOOK_SECONDS": 0.1, "_END_SECONDS": 5,
            },
            id="clusters that are started from the page",
        ),
        pytest.param(
            pages, {"SERVER_SECONDS_MAX": 60, "_LOOK_SECONDS": 2, "_NOT_FOUND": 404}, id="pages"
        ),
        pytest.param(
            pass_through, {"RETRY_SECONDS": 1, "KEPT_BYTES_MAX": 16 * MIB}, id="the shared stream"
        ),
        pytest.param(report, {"REPORT_MAX_BYTES": 64 * MIB}, id="reports"),
        pytest.param(
            resources, {"COPIES_MAX": 10_000, "_AT_ONCE": 16, "_LISTED_MAX": 10}, id="forms"
        ),
        pytest.param(upstream, {"CONNECT_SECONDS": 5, "WRITE_SECONDS": 60}, id="the server"),
    ],
)  # fmt: skip
def test_the_limits_of_the_page(module: Any, limits: dict[str, float]) -> None:
    assert {name: getattr(module, name) for name in limits} == limits
