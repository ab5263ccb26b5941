"""Go's generator, against numbers that Go draws."""

from podwright.simulation.studies.go_random import GoRandom


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


def test_permutations_and_shuffles_have_every_item() -> None:
    random = GoRandom(1)
    assert sorted(random.permutation(100)) == list(range(100))
    items = list(range(100))
    random.shuffle(items)
    assert items != sorted(items) == list(range(100))
    assert all(0 <= random.below(limit) < limit for limit in (1, 2, 7, 64, 2**30 + 1))
