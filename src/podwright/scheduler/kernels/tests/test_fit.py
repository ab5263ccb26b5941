import numpy as np
import pytest
from hypothesis import given, strategies as st

from podwright.scheduler.kernels.fit import (
    FIRST_RESOURCE_BIT,
    TOO_MANY_PODS,
    UNRESOLVABLE,
    fit_codes,
)

CPU_BIT = 1 << FIRST_RESOURCE_BIT
MEMORY_BIT = 2 << FIRST_RESOURCE_BIT


def code_of(allocatable, requested, request):
    codes = np.full(1, -1, dtype=np.int64)
    fit_codes(
        np.array([allocatable], dtype=np.int64),
        np.array([requested], dtype=np.int64),
        np.array(request, dtype=np.int64).reshape(-1),
        np.zeros(1, dtype=np.int32),
        codes,
    )
    return int(codes[0])


@pytest.mark.parametrize(
    ("allocatable", "requested", "request_", "code"),
    [
        pytest.param([1000, 10, 0, 5], [500, 0, 0, 1], [(0, 500)], 0, id="exactly full fits"),
        pytest.param([1000, 10, 0, 5], [501, 0, 0, 1], [(0, 500)], CPU_BIT, id="one short"),
        pytest.param(
            [1000, 10, 0, 5], [0, 0, 0, 0], [(0, 1001)], CPU_BIT | UNRESOLVABLE, id="never fits"
        ),
        pytest.param(
            [1000, 10, 0, 5],
            [1000, 10, 0, 5],
            [(0, 1), (1, 11)],
            TOO_MANY_PODS | CPU_BIT | MEMORY_BIT | UNRESOLVABLE,
            id="every reason is reported, and one unresolvable is enough",
        ),
        pytest.param([1000, 10, 0, 0], [0, 0, 0, 0], [], TOO_MANY_PODS, id="no pods allowed"),
        pytest.param([1000, 10, 0, 5], [2000, 20, 0, 1], [], 0, id="no request, overcommitted"),
    ],
)
def test_a_code_names_the_missing_resource(allocatable, requested, request_, code):
    assert code_of(allocatable, requested, request_) == code


few = st.integers(0, 4)
tables = st.tuples(few, few, few, few)


@pytest.mark.property
@given(allocatable=tables, requested=tables, first=st.integers(1, 5), second=st.integers(1, 5))
def test_two_resources_are_checked_like_any_number(allocatable, requested, first, second):
    # A third resource, of which every node has enough, takes the general way.
    enough = [*allocatable, 9], [*requested, 0]
    both = [(0, first), (1, second)]
    assert code_of(allocatable, requested, both) == code_of(*enough, [*both, (4, 1)])


def test_resources_past_the_last_bit_still_reject():
    wide = [1] * 70
    code = code_of(wide, [0] * 70, [(i, 2 if i == 69 else 1) for i in range(4, 70)])
    assert code & UNRESOLVABLE
    assert code > 0


def test_only_the_requested_rows_are_written():
    table = np.full((3, 4), 9, dtype=np.int64)
    codes = np.full(3, -1, dtype=np.int64)
    rows = np.array([1], dtype=np.int32)
    fit_codes(table, np.zeros_like(table), np.zeros(0, dtype=np.int64), rows, codes)
    assert codes.tolist() == [-1, 0, -1]
