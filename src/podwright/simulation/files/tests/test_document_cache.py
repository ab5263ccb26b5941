"""The cache of parsed documents: faults, other contents, other code, sizes."""

from __future__ import annotations

import errno
import gzip
import inspect
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from podwright.apimachinery.objects import YamlDocument, YamlError, read_yaml
from podwright.simulation.files import DocumentCache, document_cache, documents
from podwright.simulation.files.document_cache import (
    FOLDER_BYTES_MAX,
    LEAST_BYTES,
    SUFFIX,
    CacheEntry,
    _remove_leftovers,
    _remove_oldest,
)
from podwright.simulation.files.manifests import PartialObjects, load_bytes

ENTRY = f".dump.yaml{SUFFIX}"
TEXT = """\
apiVersion: v1
kind: List
items:
- kind: Pod
  metadata: {name: a, labels: {app: web, tier: front}}
  spec: {priority: 1, weight: 1.0, empty: null, ready: yes, text: "1"}
- kind: Pod
  metadata: {name: b, labels: {app: web, tier: front}}
  spec: {priority: 1, weight: 1.0, empty: null, ready: yes, text: "1", text: "2"}
---
kind: ConfigMap
metadata: {name: c, labels: {app: web, tier: front}}
"""


@pytest.fixture
def dump(tmp_path):
    folder = tmp_path / "cluster"
    folder.mkdir()
    (folder / "dump.yaml").write_text(padded(TEXT))
    return folder / "dump.yaml"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "caches" / "documents"


def padded(text: str) -> str:
    """Return a text with a comment: entries are not larger than their files."""
    return f"# {'-' * 2_000}\n{text}"


def parse(data: bytes) -> list[YamlDocument]:
    return list(read_yaml(data.decode(), allow_duplicates=True))


def entry_of(path: Path, cache: DocumentCache | None = None) -> CacheEntry:
    entry = (cache or DocumentCache(least_bytes=1)).entry(str(path), path.read_bytes())
    assert entry is not None
    return entry


def fill(path: Path, cache: DocumentCache | None = None) -> None:
    documents = parse(path.read_bytes())
    assert list(entry_of(path, cache).recorded(documents)) == documents


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_documents_are_those_of_the_parser(dump):
    assert entry_of(dump).read() is None
    fill(dump)
    kept, parsed = entry_of(dump).read(), parse(dump.read_bytes())
    assert kept == parsed
    assert repr(kept) == repr(parsed)
    assert kept[0].duplicates == ((10, "text"),)
    assert names_in(dump.parent) == {"dump.yaml", ENTRY}


def test_equal_parts_are_one_object(dump):
    fill(dump)
    kept = entry_of(dump).read()
    assert kept is not None
    first, second = kept[0].value["items"]
    assert first["metadata"]["labels"] is second["metadata"]["labels"]


def test_only_the_user_can_read_an_entry(dump):
    fill(dump)
    assert (dump.parent / ENTRY).stat().st_mode & 0o777 == 0o600


def test_small_files_are_not_cached(dump):
    cache = DocumentCache(least_bytes=len(dump.read_bytes()) + 1)
    assert cache.entry(str(dump), dump.read_bytes()) is None


def test_the_sizes_are_those_of_the_documentation():
    """docs/howto/load-a-cluster.md, Large dumps"""
    mib = 1024 * 1024
    assert (2 * mib, 512 * mib) == (LEAST_BYTES, FOLDER_BYTES_MAX)
    assert DocumentCache().entry("dump.yaml", bytes(LEAST_BYTES - 1)) is None
    assert DocumentCache().entry("dump.yaml", bytes(LEAST_BYTES)) is not None


def test_changed_content_is_parsed_and_replaces_the_entry(dump):
    fill(dump)
    dump.write_text(dump.read_text().replace("name: a", "name: z"))
    assert entry_of(dump).read() is None
    fill(dump)
    kept = entry_of(dump).read()
    assert kept is not None
    assert kept[0].value["items"][0]["metadata"]["name"] == "z"
    assert names_in(dump.parent) == {"dump.yaml", ENTRY}


def test_an_entry_of_other_code_is_ignored(dump, monkeypatch):
    fill(dump)
    monkeypatch.setattr(document_cache, "_fingerprint", lambda: b"another version")
    assert entry_of(dump).read() is None
    fill(dump)
    assert entry_of(dump).read() is not None


def test_without_sources_nothing_is_cached(dump, monkeypatch):
    monkeypatch.setattr(document_cache, "_fingerprint", lambda: b"")
    assert DocumentCache(least_bytes=1).entry(str(dump), dump.read_bytes()) is None


def test_an_entry_of_another_user_is_ignored(dump, monkeypatch):
    fill(dump)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert entry_of(dump).read() is None


def test_a_damaged_entry_is_ignored_and_replaced(dump):
    fill(dump)
    place = dump.parent / ENTRY
    whole = place.read_bytes()
    for damaged in (
        b"",
        b"text",
        whole[:-1],
        whole[: len(whole) // 2],
        whole + b"x",
        *(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))),
    ):
        place.write_bytes(damaged)
        assert entry_of(dump).read() is None
    fill(dump)
    assert place.read_bytes() == whole


def test_a_folder_instead_of_an_entry_is_ignored(dump):
    (dump.parent / ENTRY).mkdir()
    assert entry_of(dump).read() is None
    fill(dump)
    assert entry_of(dump).read() is None


def nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(YamlDocument({"a": 1}, 1, has_aliases=True), id="aliases multiply the size"),
        pytest.param(YamlDocument({"a": {"b": 2**64}}, 1), id="more than 64 bits"),
        pytest.param(YamlDocument({"a": {"b": {"c": "\ud800"}}}, 1), id="half a surrogate pair"),
        pytest.param(YamlDocument({"a": {"b": nested(50_000)}}, 1), id="too many levels"),
        pytest.param(YamlDocument(2**64, 1), id="a number alone"),
    ],
)
def test_what_cannot_be_kept_is_parsed_each_time(dump, document):
    others = parse(dump.read_bytes())
    assert len(list(entry_of(dump).recorded([*others, document]))) == len(others) + 1
    assert names_in(dump.parent) == {"dump.yaml"}


def test_aliases_are_noticed():
    assert [one.has_aliases for one in parse(b"a: &x 1\nb: *x\n---\na: &x 1\n")] == [True, False]


def test_an_invalid_file_has_no_entry(tmp_path):
    path = tmp_path / "dump.yaml"
    path.write_text(padded("a: 1\n---\na: [\n"))
    documents = read_yaml(path.read_text(), allow_duplicates=True)
    with pytest.raises(YamlError):
        list(entry_of(path).recorded(documents))
    assert names_in(tmp_path) == {"dump.yaml"}


# ------------------------------------------------------------------------------- loading

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: c, image: i}]
  wrong: 1
"""


@pytest.mark.parametrize(
    ("source", "data", "is_kept"),
    [
        pytest.param("dump.yaml", padded(POD).encode(), True, id="a file"),
        pytest.param("dump.yaml", gzip.compress(padded(POD).encode(), 0), True, id="compressed"),
        pytest.param("stdin", padded(POD).encode(), False, id="the standard input"),
        pytest.param("dump.yaml", b"{apiVersion: v1, kind: Pod}" + b" " * 2_000, False, id="JSON"),
        pytest.param("dump.yaml", b"[]" + b" " * 2_000, False, id="a JSON list"),
    ],
)
def test_the_documents_of_files_are_kept_with_the_lines_of_their_errors(
    folder, monkeypatch, source, data, is_kept
):
    cache = DocumentCache(folder, is_beside=False, least_bytes=1)

    def errors() -> list[str]:
        with pytest.raises(PartialObjects) as raised:
            load_bytes([(source, data)], cache=cache)
        return list(map(str, raised.value.errors))

    first = errors()
    assert folder.exists() is is_kept
    if is_kept:
        assert len(names_in(folder)) == 1
        assert first == ["dump.yaml: document 1 (line 7): spec.wrong: unknown field"]
        monkeypatch.setattr(documents, "read_yaml", None)
        assert errors() == first, "nothing is parsed"


def test_without_a_cache_nothing_is_kept(dump):
    load_bytes([(str(dump), POD.encode())], validate="ignore")
    assert names_in(dump.parent) == {"dump.yaml"}


# ------------------------------------------------------------------------------ places


@pytest.fixture
def read_only(dump, monkeypatch):
    """Make the folder of the dump read-only; permissions do not apply to root."""
    make = tempfile.mkstemp

    def mkstemp(**options):
        if Path(options["dir"]) == dump.parent:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return make(**options)

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)


@pytest.mark.usefixtures("read_only")
def test_beside_a_file_in_a_read_only_folder_nothing_is_written(dump, folder):
    fill(dump)
    assert entry_of(dump).read() is None
    cache = DocumentCache(folder, least_bytes=1)
    fill(dump, cache)
    assert names_in(dump.parent) == {"dump.yaml"}
    assert len(names_in(folder)) == 1
    assert entry_of(dump, cache).read() == parse(dump.read_bytes())


def test_a_copy_of_the_file_has_the_same_entry_in_the_folder(dump, folder, tmp_path):
    cache = DocumentCache(folder, is_beside=False, least_bytes=1)
    fill(dump, cache)
    copy = tmp_path / "copy.yaml"
    copy.write_bytes(dump.read_bytes())
    assert entry_of(copy, cache).read() == parse(dump.read_bytes())
    assert names_in(dump.parent) == {"dump.yaml"}


@pytest.mark.parametrize("exists", [False, True])
def test_only_the_user_can_enter_a_folder_that_is_made(dump, folder, exists):
    if exists:
        folder.mkdir(parents=True)
        folder.chmod(0o755)
    mask = os.umask(0)
    try:
        fill(dump, DocumentCache(folder, is_beside=False, least_bytes=1))
    finally:
        os.umask(mask)
    assert folder.stat().st_mode & 0o777 == (0o755 if exists else 0o700)
    assert len(names_in(folder)) == 1


def test_a_folder_that_cannot_be_made_is_no_error(dump, tmp_path):
    (tmp_path / "file").write_text("")
    fill(dump, DocumentCache(tmp_path / "file" / "documents", is_beside=False, least_bytes=1))


def test_the_folder_keeps_the_entries_that_were_used_last(dump, folder):
    def cache(bytes_max):
        return DocumentCache(folder, is_beside=False, least_bytes=1, folder_bytes_max=bytes_max)

    paths = [dump.with_name(f"{number}.yaml") for number in range(4)]
    for number, path in enumerate(paths):
        path.write_text(f"{dump.read_text()}# {number}\n")
    for path in paths[:3]:
        fill(path, cache(1 << 20))
    size = sum(path.stat().st_size for path in folder.iterdir()) // 3
    for age, path in enumerate(sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime_ns)):
        os.utime(path, (1_000 + age, 1_000 + age))
    assert entry_of(paths[0], cache(1 << 20)).read() is not None
    fill(paths[3], cache(int(size * 2.5)))
    found = [entry_of(path, cache(1 << 20)).read() is not None for path in paths]
    assert found == [True, False, False, True]


def test_an_entry_larger_than_the_folder_is_not_written(dump, folder):
    fill(dump, DocumentCache(folder, is_beside=False, least_bytes=1, folder_bytes_max=100))
    assert not folder.exists()


# ------------------------------------------------------------------- processes that fail

WRITER = """
import os, signal, sys
from pathlib import Path
from podwright.simulation.files import DocumentCache
from podwright.apimachinery.objects import read_yaml

path = Path(sys.argv[1])
if sys.argv[2] == "kill":
    Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
entry = DocumentCache(least_bytes=1).entry(str(path), path.read_bytes())
print(len(list(entry.recorded(read_yaml(path.read_text(), allow_duplicates=True)))))
"""


def run_writer(dump: Path, how: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WRITER, str(dump), how],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_a_process_that_is_killed_leaves_no_entry(dump):
    ended = run_writer(dump, "kill")
    assert ended.returncode == -signal.SIGKILL
    left = names_in(dump.parent) - {"dump.yaml"}
    assert [name for name in left if name.endswith(".new")] == list(left) != []
    assert entry_of(dump).read() is None
    fill(dump)
    # Another process may still write a file that is so young.
    assert names_in(dump.parent) == {"dump.yaml", ENTRY, *left}
    for name in left:
        os.utime(dump.parent / name, (1_000, 1_000))
    fill(dump)
    assert names_in(dump.parent) == {"dump.yaml", ENTRY}


def test_a_full_disk_leaves_no_entry(dump):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    ended = run_writer(dump, "full", preexec_fn=limit)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "2\n", "")
    assert names_in(dump.parent) == {"dump.yaml"}
    assert entry_of(dump).read() is None


@pytest.mark.parametrize(("spare_bytes", "is_written"), [(0, True), (-1, False)])
def test_an_entry_may_be_exactly_as_large_as_the_limit(dump, tmp_path, spare_bytes, is_written):
    fill(dump)
    limit = (dump.parent / ENTRY).stat().st_size + spare_bytes
    place = tmp_path / "entry"
    key = (b"k" * 32, b"f" * 32)
    entry = CacheEntry(key, (place,), bytes_max=limit, folder=None, folder_bytes_max=0)
    list(entry.recorded(parse(dump.read_bytes())))
    assert place.exists() is is_written


def test_other_code_that_parses_is_another_cache(monkeypatch, tmp_path):
    fingerprint = document_cache._fingerprint.__wrapped__
    present = fingerprint()
    assert present
    assert present == fingerprint()
    code = tmp_path / "code.py"
    code.write_text("parsed otherwise")
    monkeypatch.setattr(inspect, "getsourcefile", lambda _: str(code))
    other = fingerprint()
    assert other not in (present, b"")
    code.write_text("parsed in a third way")
    assert fingerprint() not in (present, other)
    # Without its sources, nothing says whether a cache is of this code.
    monkeypatch.setattr(inspect, "getsourcefile", lambda _: None)
    assert fingerprint() == b""


def test_only_a_part_that_several_objects_have_is_written_apart():
    packer = document_cache._Packer()
    for document in parse(TEXT.encode()):
        packer.add(document)
    packed = packer.packed()
    assert packed is not None
    shared = msgspec.msgpack.decode(packed[0])
    assert {"app": "web", "tier": "front"} in shared
    (alone,) = read_yaml("kind: ConfigMap\nmetadata: {name: c, labels: {app: other, tier: x}}\n")
    packer = document_cache._Packer()
    packer.add(alone)
    packed = packer.packed()
    assert packed is not None
    assert msgspec.msgpack.decode(packed[0]) == []
    packer = document_cache._Packer()
    packer.add(alone)
    packer.add(alone)
    packed = packer.packed()
    assert packed is not None
    assert msgspec.msgpack.decode(packed[0]) == [{"app": "other", "tier": "x"}]


def test_only_partial_files_of_the_same_entry_are_left_over(tmp_path):
    place = tmp_path / "entry"
    names = ("entry.1.new", "entry.2.new", "entry.old", "other.1.new", "entry")
    for name in names:
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (0, 1_000))
    os.utime(tmp_path / "entry.2.new", (0, 1_001))
    _remove_leftovers(place, 1_601)
    assert {each.name for each in tmp_path.iterdir()} == {*names} - {"entry.1.new"}


@pytest.mark.parametrize(
    ("bytes_max", "left"), [(10, ["b", "c"]), (9, ["c"]), (15, ["a", "b", "c"]), (4, [])]
)
def test_the_entries_that_were_not_used_for_longest_are_removed(
    tmp_path: Path, bytes_max: int, left: list[str]
) -> None:
    for age, name in enumerate("cba"):
        place = tmp_path / f"{name}{SUFFIX}"
        place.write_bytes(b"12345")
        os.utime(place, ns=(10**18 - age, 10**18 - age))
    (tmp_path / "other").write_bytes(bytes(99))
    _remove_oldest(tmp_path, bytes_max)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(f"{name}{SUFFIX}" for name in left),
        "other",
    ]


def test_beside_a_file_no_other_entries_are_removed(dump):
    other = dump.with_name(f".other.yaml{SUFFIX}")
    other.write_bytes(b"x" * 100_000)
    fill(dump, DocumentCache(least_bytes=1, folder_bytes_max=90_000))
    assert names_in(dump.parent) == {"dump.yaml", other.name, f".dump.yaml{SUFFIX}"}


def test_an_entry_is_much_smaller_than_a_file_of_like_objects(tmp_path):
    pods = [TEXT.replace("name: a", f"name: a{number}") for number in range(200)]
    file = tmp_path / "dump.yaml"
    file.write_text("---\n".join(pods))
    fill(file)
    assert (tmp_path / ENTRY).stat().st_size < file.stat().st_size / 10
