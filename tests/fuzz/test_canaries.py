"""What must stay with the table is in no file; and it would be found in one."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.fuzz.canaries import found_in, leaks


def test_nothing_leaks(tmp_path: Path) -> None:
    files, values, found = leaks(tmp_path, 0)
    assert found == []
    assert files > 40
    assert values > 300


CANARY = "Canärybird"


def _png(kind: bytes, data: bytes) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + len(data).to_bytes(4, "big") + kind + data + b"\0\0\0\0"


@pytest.mark.parametrize(
    "content",
    [
        f"a,{CANARY}\n".encode(),
        CANARY.encode("utf-16"),
        json.dumps(CANARY).encode(),
        b"<p>" + CANARY.replace("ä", "&auml;").encode(),
        b"x" + base64.b64encode(b"." * 40 + CANARY.encode()).rjust(99, b" "),
        gzip.compress(CANARY.encode()),
        _png(b"tEXt", CANARY.encode()),
        _png(b"zTXt", b"Title\0\0" + zlib.compress(CANARY.encode())),
    ],
    ids=["text", "utf-16", "json", "html", "base64", "gzip", "png", "deflated png"],
)
def test_a_canary_is_found(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    assert found_in(tmp_path / "file", [CANARY, "another"]) == {CANARY}


def test_a_canary_is_found_in_arrays(tmp_path: Path) -> None:
    np.savez_compressed(
        tmp_path / "a.npz", texts=np.array([CANARY.lower()]), numbers=[1.5, 48213.77]
    )
    assert found_in(tmp_path / "a.npz", [CANARY, "48213.77", "48213.78"]) == {CANARY, "48213.77"}


def test_a_canary_is_found_in_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    duckdb.connect().execute(f"COPY (SELECT '{CANARY}' AS x) TO '{path}' (COMPRESSION zstd)")
    assert found_in(path, [CANARY, "another"]) == {CANARY}
