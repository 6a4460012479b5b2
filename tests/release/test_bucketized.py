"""Bucketized releases: what the two files show, and what their certificate says."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from moanon.data.domain import IntervalSpec
from moanon.engines import read_table
from moanon.errors import CertificateError, OutputError
from moanon.genome import Instance
from moanon.release import Release
from moanon.release.bucketized import PRESENCE, BucketizedRelease

FRAME = pd.DataFrame(
    {
        "name": ["ann", "bob", "cid", "dan", "eve"],
        "age": [21, 24, 25, 38, 52],
        "ill": ["flu", "gout", "flu", "gout", "flu"],
        "note": ["x", None, "y", "=1+1", "z"],
    }
)
ROLES = {"name": "identifying", "age": "quasi", "ill": "sensitive", "note": "insensitive"}


def release(k: int | None = 2) -> Release:
    specs = {"age": IntervalSpec(20, (20, 59))}
    return Release.of(Instance.build(read_table(FRAME, ROLES), specs), [1], k=k)


def lines(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def test_two_files_link_rows_with_the_values_of_their_buckets(tmp_path: Path) -> None:
    BucketizedRelease(release()).write(tmp_path / "r.csv", keep_order=True)
    # 20-39 has four rows; 40-59 has one, which is suppressed.
    assert lines(tmp_path / "r.csv") == [
        ["age", "note", "bucket"],
        ["21", "x", "1"],
        ["24", "", "1"],
        ["25", "y", "1"],
        ["38", "=1+1", "1"],
    ]
    assert lines(tmp_path / "r.sensitive.csv") == [
        ["bucket", "column", "value", "rows"],
        ["1", "ill", "flu", "2"],
        ["1", "ill", "gout", "2"],
    ]


def test_the_certificate_says_what_k_does_not_protect_from(tmp_path: Path) -> None:
    BucketizedRelease(release()).write(tmp_path / "r.csv")
    entries = json.loads((tmp_path / "r.csv.certificate.json").read_text())
    assert entries["presence"] == PRESENCE
    assert "k does not protect against presence disclosure" in PRESENCE
    assert "k" not in entries
    assert (entries["rows"], entries["suppressed"], entries["buckets"]) == (4, 1, 1)
    assert (entries["smallest_bucket"], entries["unique_rows"]) == (4, 4)
    assert entries["formula_cells"] == 1
    found = entries["privacy_of_buckets"]["ill"]
    assert (found["l_distinct"], found["l_frequency"], found["alpha"]) == (2, 2, 0.5)
    assert (found["t_equal"], found["delta"]) == (0, 0)  # one bucket, which is all that is shown
    assert entries["compared_with"] == "the released rows"
    assert (entries["scales"], entries["row_order"]) == ({"ill": "declared"}, "shuffled")
    assert list(entries["digests"]) == ["r.csv", "r.sensitive.csv"]


def test_the_record_has_buckets_beside_the_whole_table(tmp_path: Path) -> None:
    plain = release()
    certificate = BucketizedRelease(plain).write(tmp_path / "r.csv")
    record = plain.record(certificate, "ab12")
    assert record["columns"]["ill"]["t_equal"] == pytest.approx(0.1)  # 1/2 of gout, not 2/5
    assert record["file"] == "r.csv"
    assert record["digests"] == {
        "input": plain.instance.table.digest,
        "config": "ab12",
        "output": certificate.digests["r.csv"],
    }


def test_a_table_may_have_a_column_called_bucket(tmp_path: Path) -> None:
    frame = FRAME.rename(columns={"note": "bucket"})
    roles = {("bucket" if name == "note" else name): role for name, role in ROLES.items()}
    instance = Instance.build(read_table(frame, roles), {"age": IntervalSpec(20, (20, 59))})
    certificate = BucketizedRelease(Release.of(instance, [1], k=2)).write(tmp_path / "r.csv")
    assert certificate.bucket_column == "bucket_"
    assert lines(tmp_path / "r.csv")[0] == ["age", "bucket", "bucket_"]


@pytest.mark.parametrize("seed", [None, 7])
def test_shuffled_rows_keep_their_buckets(tmp_path: Path, seed: int | None) -> None:
    certificate = BucketizedRelease(release(None)).write(tmp_path / "r.csv", shuffle=seed)
    assert certificate.row_order == "shuffled"
    ages = {row[0]: row[-1] for row in lines(tmp_path / "r.csv")[1:]}
    assert ages == {"21": "1", "24": "1", "25": "1", "38": "1", "52": "2"}


def test_files_that_measure_otherwise_are_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = BucketizedRelease.values_of_buckets

    def swap(self: BucketizedRelease) -> list[tuple[int, str, str, int]]:
        first, *others = found(self)
        return [(*first[:3], first[3] + 1), *others]

    monkeypatch.setattr(BucketizedRelease, "values_of_buckets", swap)
    with pytest.raises(CertificateError, match="has not a value for each row of a bucket"):
        BucketizedRelease(release()).write(tmp_path / "r.csv")
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_not_replaced_unless_asked(tmp_path: Path) -> None:
    (tmp_path / "r.sensitive.csv").write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        BucketizedRelease(release()).write(tmp_path / "r.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["r.sensitive.csv"]
    BucketizedRelease(release()).write(tmp_path / "r.csv", force=True)
    assert len(list(tmp_path.iterdir())) == 3


def test_other_endings_and_tables_without_secrets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"a bucketized release is a \.csv file"):
        BucketizedRelease(release()).write(tmp_path / "r.parquet")
    instance = Instance.build(read_table(FRAME[["age"]], {"age": "quasi"}), {"age": IntervalSpec()})
    plain = Release.of(instance, np.zeros(instance.layout.bits, dtype=np.uint8))
    with pytest.raises(OutputError, match="the table has no sensitive column"):
        BucketizedRelease(plain)
