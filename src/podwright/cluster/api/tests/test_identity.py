"""Drawn names and uids: the same for one seed on every machine, different for every write."""

from __future__ import annotations

from podwright.cluster.api.identity import generated_name


def drawn(seed: int = 1, version: int = 7, taken: tuple[str, ...] = ()) -> str:
    return generated_name("web-", namespace="a", taken=taken, seed=seed, version=version)


def test_a_generated_name_is_that_of_the_seed_and_the_version() -> None:
    assert drawn() == "web-4m4rw"
    assert len({drawn(seed, version) for seed in range(20) for version in range(20)}) > 395


def test_a_generated_name_that_is_taken_in_the_namespace_is_another_one() -> None:
    first = drawn()
    again = drawn(taken=(f"a/{first}",))
    assert again != first
    assert drawn(taken=(f"b/{first}",)) == first
    assert drawn(taken=(f"a/{first}", f"a/{again}")) not in (first, again)


def test_a_long_prefix_is_cut_so_that_the_name_has_63_characters() -> None:
    name = generated_name("x" * 80, namespace="", taken=(), seed=1, version=1)
    assert len(name) == 63
    assert name.startswith("x" * 58)
