"""Pack the record of a real cluster into the files that the tests read.

``python tools/pack_record.py RECORD_FOLDER tests/golden/real``

RECORD_FOLDER holds ``record.jsonl.gz``, ``scheduler.jsonl.gz``, ``events.jsonl.gz``,
``timeline.jsonl.gz`` and the dumps ``mid/all.json.gz`` and ``end/all.json.gz``. Nothing is left
out or changed: an object that is updated a hundred times is written a hundred times, and a
compressor whose window spans the whole record keeps only what differs. The dumps stand in one
archive with the record because they repeat it.

``SHA256SUMS`` names the unpacked content, so that two packings can be compared although two
versions of liblzma may not write the same bytes.
"""

import argparse
import gzip
import hashlib
import io
import lzma
import sys
import tarfile
from pathlib import Path

ARCHIVES = {
    "cluster.tar.xz": {
        "record.jsonl": "record.jsonl.gz",
        "mid.json": "mid/all.json.gz",
        "end.json": "end/all.json.gz",
    },
    "logs.tar.xz": {
        "scheduler.jsonl": "scheduler.jsonl.gz",
        "events.jsonl": "events.jsonl.gz",
        "timeline.jsonl": "timeline.jsonl.gz",
    },
}
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 128 << 20}]
MOST_BYTES = 2_000_000


def main() -> int:
    """Pack the folder that is named and print what it came to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("record", type=Path, help="the folder of the record")
    parser.add_argument("output", type=Path, help="the folder to write to")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    sums = []
    total = 0
    for archive, members in ARCHIVES.items():
        unpacked = io.BytesIO()
        with tarfile.open(fileobj=unpacked, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, source in members.items():
                content = gzip.decompress((options.record / source).read_bytes())
                header = tarfile.TarInfo(name)
                header.size = len(content)
                tar.addfile(header, io.BytesIO(content))
                sums.append("{}  {}\n".format(hashlib.sha256(content).hexdigest(), name))
        packed = lzma.compress(unpacked.getvalue(), format=lzma.FORMAT_XZ, filters=FILTERS)
        (options.output / archive).write_bytes(packed)
        total += len(packed)
        print("{}: {:,} bytes".format(archive, len(packed)))
    (options.output / "SHA256SUMS").write_text("".join(sums), encoding="ascii")
    print("together {:,} bytes of at most {:,}".format(total, MOST_BYTES))
    return 0 if total <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
