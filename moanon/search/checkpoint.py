"""Checkpoints: the state of a run on disk, so that it survives being killed.

A checkpoint is an ordinary ``.npz`` file of plain arrays (nothing is pickled, so loading one runs
no code), with one more array, ``header``: JSON that says to which configuration, data, seed and
versions it belongs. The file's comment is the SHA-256 of all bytes before it.

A new checkpoint is written beside, brought to the disk and renamed; the one before is kept as
``checkpoint.previous.npz``. At any moment a kill leaves at least one of the two whole.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np

from moanon import __version__
from moanon.arrays import Bits, State
from moanon.atomic import StagedFiles, sync_folder
from moanon.data.table import is_kept_as, kept, new_key
from moanon.errors import OutputError, SearchError

#: The names a checkpoint can have in its folder.
NAMES = ("checkpoint.npz", "checkpoint.previous.npz", "checkpoint.new.npz")
#: Other forms of the file would be refused.
_FORMAT = 1
#: Seconds between checkpoints; more where saving takes longer than this share of the time.
_PACE, _SHARE = 2.0, 0.03
_DIGEST_LENGTH = 64


def versions() -> dict[str, str]:
    """Versions that the course of a search depends on."""
    return {"moanon": __version__} | {name: version(name) for name in ("numpy", "pymoo", "moocore")}


@dataclass(frozen=True)
class Identity:
    """What a checkpoint belongs to."""

    config: str  # digest of what is searched and how
    data: str  # digest of the table
    seed: int
    versions: dict[str, str] = field(default_factory=versions)

    def header(self) -> dict[str, object]:
        """What a file says of it."""
        key = new_key(self.data)
        stated = asdict(self) | {"data": kept(self.data, key)}
        return stated if key is None else stated | {"key": key}

    def difference(self, header: dict[str, object]) -> str | None:
        """Say in what a checkpoint's header differs from this run; None if in nothing."""
        theirs = header.get("versions")
        theirs = theirs if isinstance(theirs, dict) else {}
        for name, here in self.versions.items():
            if theirs.get(name) != here:
                return f"it was written with {name} {theirs.get(name)}, and this is {here}"
        if not is_kept_as(self.data, header.get("data"), header.get("key")):
            return "it belongs to other data"
        if header.get("seed") != self.seed:
            return f"it has the seed {header.get('seed')}, and this run has {self.seed}"
        if header.get("config") != self.config:
            return "it belongs to another configuration"
        return None


def generator_state(rng: np.random.Generator) -> Bits:
    """State of a random generator as bytes of JSON."""
    return np.frombuffer(json.dumps(rng.bit_generator.state).encode(), dtype=np.uint8)


def restore_generator(rng: np.random.Generator, state: Bits) -> None:
    """Put a generator of the same kind into a saved state."""
    rng.bit_generator.state = json.loads(state.tobytes())


class Checkpoints:
    """The checkpoints of one run, in a folder that must exist when something is saved."""

    def __init__(self, folder: Path, identity: Identity) -> None:
        self.identity = identity
        self._newest_is_good = False
        self.newest, self.previous, self._fresh = (folder / name for name in NAMES)

    def save(self, state: State) -> None:
        """Keep a state as the newest checkpoint and the newest one as the previous.

        Where the system refuses, the checkpoints that were there are left.
        """
        try:
            _write_through(self._fresh, _pack(state, self.identity))
            if self._newest_is_good:  # else it would push out the previous one, which is
                self.newest.replace(self.previous)
            self._fresh.replace(self.newest)
            sync_folder(self.newest.parent)
            self._newest_is_good = True
        except OSError as error:
            raise OutputError(
                f"the checkpoint {self.newest} cannot be written: {error.strerror or error}"
            ) from error

    def load(self) -> tuple[State, str | None] | None:
        """Return the newest state that is whole and belongs to this run; None if there are none.

        Also returns why it is not the newest one, where it is not. Checkpoints none of which can be
        used are an error, with the reason for each.
        """
        refused = []
        for path in (self.newest, self.previous):
            if not os.path.lexists(path):
                continue
            try:
                state = _unpack(path, self.identity)
            except _RefusedError as error:
                refused.append(f"{path} cannot be used: {error}")
                continue
            note = f"{refused[0]}; going on from {path.name}" if refused else None
            if path == self.newest:
                self._newest_is_good = True
            elif not refused:
                note = f"{self.newest.name} is missing; going on from {path.name}"
            return state, note
        if refused:
            raise SearchError("; ".join(refused))
        return None

    def remove(self) -> None:
        """Leave none behind."""
        for path in (self.newest, self.previous, self._fresh):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise OutputError(f"{path} cannot be removed: {error.strerror or error}") from error


def prefixed(prefix: str, state: State) -> State:
    """A state whose names begin with a prefix, to be saved beside others."""
    return {f"{prefix}{name}": array for name, array in state.items()}


def part_of(state: State, prefix: str) -> State:
    """What was saved with a prefix, without it."""
    return {
        name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)
    }


def write_arrays(path: Path, state: State, identity: Identity) -> None:
    """Write arrays to a file in the way of a checkpoint; a file that is there is replaced."""
    with StagedFiles(path, force=True) as staged:
        staged[path].write_bytes(_pack(state, identity))
        staged.move()


def read_arrays(path: Path, identity: Identity) -> State:
    """Read arrays that were written with the same identity; refuses all others."""
    try:
        return _unpack(path, identity)
    except _RefusedError as error:
        raise SearchError(f"{path} cannot be used: {error}") from None


class PacedSaving:
    """Saves now and then, so that saving takes a small share of the time."""

    def __init__(self, save: Callable[[State], None]) -> None:
        self._save = save
        self._next = time.monotonic()  # at once: a place that cannot be written to shows early

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def save(self, state: State) -> None:
        before = time.monotonic()
        self._save(state)
        after = time.monotonic()
        self._next = after + max(_PACE, (after - before) / _SHARE)


class _RefusedError(Exception):
    """Why a file is no checkpoint of this run."""


def _pack(state: State, identity: Identity) -> bytes:
    header = json.dumps({"format": _FORMAT, **identity.header()}, sort_keys=True)
    arrays = {**state, "header": np.frombuffer(header.encode(), dtype=np.uint8)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:  # as numpy's savez, which may pickle
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        archive.comment = b"0" * _DIGEST_LENGTH  # its length is part of what the digest is taken of
    content = buffer.getvalue()[:-_DIGEST_LENGTH]
    return content + hashlib.sha256(content).hexdigest().encode()


def _unpack(path: Path, identity: Identity) -> State:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise _RefusedError(f"it cannot be read: {error.strerror}") from None
    content, digest = raw[:-_DIGEST_LENGTH], raw[-_DIGEST_LENGTH:]
    # Before a single byte of it is interpreted.
    if hashlib.sha256(content).hexdigest().encode() != digest:
        raise _RefusedError("it is damaged (its checksum does not fit)")
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            state = {name: arrays[name] for name in arrays.files}
        header = json.loads(state.pop("header").tobytes())
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise _RefusedError(f"it is no checkpoint of moanon: {error}") from None
    if header.get("format") != _FORMAT:
        raise _RefusedError(f"its format is {header.get('format')}, and this is {_FORMAT}")
    difference = identity.difference(header)
    if difference is not None:
        raise _RefusedError(difference)
    return state


def _write_through(path: Path, content: bytes) -> None:
    """Write a file and have it on the disk."""
    path.unlink(missing_ok=True)
    with path.open("xb") as stream:  # "x" follows no link that somebody put there meanwhile
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
