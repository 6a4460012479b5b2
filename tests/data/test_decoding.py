"""Texts come out of files whatever their encoding and compression."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
import zstandard

from moanon.data import file_form
from tests.data.reading import open_source, refusal, rows, write

TEXT = "name;ort\nMüller;Köln\nØre;Århus\n"
CELLS = [("Müller", "Köln"), ("Øre", "Århus")]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "utf-32-le"])
@pytest.mark.parametrize("block", [7, 1 << 20])
def test_other_encodings_are_read(
    tmp_path: Path, monkeypatch: Any, encoding: str, block: int
) -> None:
    monkeypatch.setattr(file_form, "BLOCK_BYTES", block)
    path = write(tmp_path, TEXT.encode(encoding))
    assert rows(open_source(path, encoding=encoding)) == CELLS


def test_an_encoding_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, b"a\n\x81\n")
    found = refusal(path, encoding="cp1252")
    assert found == f"{path} is not in the encoding cp1252 (byte 0x81 near offset 2)"
    unknown = refusal(path, encoding="klingon")
    assert unknown == (
        "encoding must be the name of one, such as utf-8, latin-1 or cp1252. Got 'klingon'"
    )
    assert "Got 'hex'" in refusal(path, encoding="hex")
    assert "is not in the encoding utf-16: UTF-16 stream does not start with BOM" in refusal(
        write(tmp_path, "\ufeffa\n1\n".encode()), encoding="utf-16"
    )


@pytest.mark.parametrize("frames", [1, 3])
def test_zstd_is_unpacked_frame_by_frame(tmp_path: Path, frames: int) -> None:
    lines = TEXT.encode().splitlines(keepends=True)
    packed = [
        zstandard.ZstdCompressor().compress(b"".join(lines[i::frames])) for i in range(frames)
    ]
    path = write(tmp_path, b"".join(packed), "t.csv.zst")
    assert rows(open_source(path)) == CELLS


def test_packed_files_that_are_cut_off_are_refused(tmp_path: Path) -> None:
    body = TEXT.encode() * 1000
    zst = write(tmp_path, zstandard.ZstdCompressor().compress(body)[:-9], "t.csv.zst")
    assert refusal(zst) == f"{zst} cannot be read: the compressed file ends too early"
    gz = write(tmp_path, gzip.compress(body)[:-9], "t.csv.gz")
    assert refusal(gz).startswith(f"{gz} cannot be read: ")
    other = write(tmp_path, b"a,b\n1,2\n", "u.csv.zst")
    assert refusal(other).startswith(f"{other} cannot be read: ")
