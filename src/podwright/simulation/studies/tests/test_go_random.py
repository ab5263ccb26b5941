"""Go's generator, against numbers that Go draws."""

from __future__ import annotations

import pytest

from podwright.simulation.studies.go_random import GoRandom


class Drawn(GoRandom):
    """A generator whose 64-bit numbers are given."""

    def __init__(self, *numbers: int) -> None:
        self.left = list(numbers)

    def uint64(self) -> int:
        return self.left.pop(0)


def test_the_stream_of_a_seed() -> None:
    first = [GoRandom(42).uint64(), GoRandom(0).uint64(), GoRandom(-5).uint64()]
    assert first[:2] == [12663951391086054483, 8717895732742165505]
    assert first[2] == GoRandom(2**31 - 6).uint64()


def test_numbers_far_in_the_stream() -> None:
    random = GoRandom(42)
    numbers = [random.uint64() for _ in range(607)]
    assert numbers[606] == 3140963254762864922


def test_a_number_of_63_bits_has_the_lower_bits_of_64() -> None:
    one, other = GoRandom(42), GoRandom(42)
    pairs = [(one.int63(), other.uint64()) for _ in range(8)]
    assert all(less == more % 2**63 for less, more in pairs)
    assert any(less % 2 for less, _ in pairs)
    assert any(less != more for less, more in pairs)


def test_the_numbers_and_permutations_of_upstream() -> None:
    """Upstream: Go src/math/rand/regress_test.go, regressGolden."""
    random = GoRandom(0)
    limits = (1, 10, 32, 2**20, 2**20 + 1, 10**9, 2**30, 2**31 - 2, 2**31 - 1)
    assert [*map(random.below, limits)] == [
        0, 4, 25, 310570, 857611, 621654496, 413258767, 1407315077, 1926657288,
    ]  # fmt: skip
    random = GoRandom(0)
    assert [random.permutation(length) for length in (0, 1, 5, 8, 9, 10, 16)] == [
        [],
        [0],
        [0, 4, 1, 3, 2],
        [3, 1, 0, 4, 7, 5, 2, 6],
        [5, 0, 3, 6, 7, 4, 2, 1, 8],
        [4, 5, 0, 2, 6, 9, 3, 1, 8, 7],
        [14, 2, 0, 8, 3, 5, 13, 12, 1, 4, 6, 7, 11, 9, 15, 10],
    ]


@pytest.mark.parametrize(
    ("limit", "numbers", "expected"),
    [
        pytest.param(3, [2**31 - 3], 2, id="the greatest of three equal parts"),
        pytest.param(3, [2**31 - 2, 2**31 - 1, 4], 1, id="what three parts leave over"),
        pytest.param(4, [2**31 - 1], 3, id="four parts leave nothing over"),
    ],
)
def test_a_number_that_would_be_drawn_too_often_is_drawn_again(
    limit: int, numbers: list[int], expected: int
) -> None:
    random = Drawn(*(number << 32 for number in numbers))
    assert random.below(limit) == expected
    assert random.left == []


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        pytest.param([1, 0], "bca", id="the first place for the last item, then for the second"),
        pytest.param([2**31, 0], "cab", id="the middle of three parts is the second place"),
        pytest.param([2**32 - 1, 2**31], "abc", id="all items stay"),
        pytest.param([0, 2**31, 0], "cab", id="0 is left over by three parts, not by two"),
    ],
)
def test_a_shuffle_takes_the_upper_half_of_a_product(numbers: list[int], expected: str) -> None:
    """Upstream: Go src/math/rand/rand.go, int31n."""
    random = Drawn(*(number << 31 for number in numbers))
    items = list("abc")
    random.shuffle(items)
    assert "".join(items) == expected
    assert random.left == []


def test_permutations_and_shuffles_have_every_item() -> None:
    random = GoRandom(1)
    assert sorted(random.permutation(100)) == list(range(100))
    items = list(range(100))
    random.shuffle(items)
    assert items != sorted(items) == list(range(100))
    assert all(0 <= random.below(limit) < limit for limit in (1, 2, 7, 64, 2**30 + 1))
