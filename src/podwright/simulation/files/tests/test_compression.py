"""Compressed files are unpacked, but not into much more than anybody writes."""

import gzip

import pytest

from podwright.apimachinery.objects import FieldError, InputError
from podwright.simulation.files import document_cache
from podwright.simulation.files.document_cache import unpacked
from podwright.simulation.files.documents import _unpacked
from podwright.simulation.files.record import file_lines, numbered_lines


@pytest.fixture
def _small_limit(monkeypatch):
    monkeypatch.setattr(document_cache, "UNPACKED_BYTES", 1_000)
    monkeypatch.setattr(document_cache, "RATIO_MAX", 10)


LINES = b"x" * 500 + b"\n" + b"y" * 2_000_000
MESSAGE = "cannot be unpacked: it becomes larger than"


def test_a_compressed_file_is_unpacked():
    assert unpacked(gzip.compress(LINES)) == LINES
    assert unpacked(LINES) == LINES


@pytest.mark.usefixtures("_small_limit")
def test_lines_of_a_file_that_becomes_too_large_are_an_error(tmp_path):
    file = tmp_path / "record.jsonl.gz"
    file.write_bytes(gzip.compress(LINES))
    lines = file_lines(file)
    assert next(lines)[0] == 1
    with pytest.raises(InputError, match=MESSAGE):
        next(lines)
    with pytest.raises(InputError, match=MESSAGE):
        list(numbered_lines(file.read_bytes(), source=str(file)))


@pytest.mark.usefixtures("_small_limit")
def test_documents_of_a_file_that_becomes_too_large_are_an_error():
    errors: list[FieldError] = []
    assert _unpacked(gzip.compress(LINES), "a.yaml.gz", errors) is None
    assert [MESSAGE in error.message for error in errors] == [True]


def test_a_file_may_become_200_times_as_large_or_64_mib():
    assert document_cache.unpacked_max(1) == 64 << 20
    assert document_cache.unpacked_max(1 << 20) == 200 << 20
    assert document_cache.unpacked_max(335_544) == 64 << 20
    assert document_cache.unpacked_max(335_545) == 67_109_000
    error = document_cache.too_large(64 << 20)
    assert str(error) == "it becomes larger than 64 MiB; unpack it yourself"


@pytest.mark.usefixtures("_small_limit")
@pytest.mark.parametrize(("size", "is_too_large"), [(1_000, False), (1_001, True)])
def test_a_file_may_become_exactly_as_large_as_the_limit(tmp_path, size, is_too_large):
    data = gzip.compress(b"x" * (size - 1) + b"\n")
    (tmp_path / "f").write_bytes(data)
    if is_too_large:
        with pytest.raises(OSError, match="it becomes larger than 0 MiB"):
            unpacked(data)
        with pytest.raises(InputError, match=MESSAGE):
            list(file_lines(tmp_path / "f"))
    else:
        assert len(unpacked(data)) == size
        assert [len(line) for _, line, _ in file_lines(tmp_path / "f")] == [size - 1]
