"""The one place that sets numba's flags and says where compiled code is kept.

Compiled code is kept in a cache folder of the user's, one file for each kernel and its types
(`_DiskCache`); a later process loads it in a moment. numba's own cache has traps that are avoided
here. It notices a change of the file a function stands in, but not of functions it calls in other
files, so a kernel could run against last week's callee; and it takes code compiled without bounds
checks when they are asked for. The folder used here is named after versions and flags, and a file
after the text of the kernel's module and of all modules that it imports, directly or not
(`module_digest`): an edit compiles anew what may depend on it, and nothing else. numba ends with an
error where neither the package's folder nor the home folder can be written, where the disk is full,
and where a file in the cache was damaged; here the temporary folder comes next (if nobody else can
have put anything there), and then compilation without a cache, and a file is loaded only if it
holds what was written.

The first run waits for the compiler, so it is given as little to do as possible: parts of kernels
are turned into machine code only within the kernels that call them (`_PartLibrary`), numba's own
functions are compiled once for all kernels (`_Flags`), and Python's garbage collection rests
meanwhile.
"""

from __future__ import annotations

import gc
import hashlib
import os
import pickle
import re
import secrets
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsInt, TypeVar, cast

import llvmlite
import numpy as np
from filelock import BaseFileLock, FileLock
from platformdirs import user_cache_path

from moanon.errors import ConfigError
from moanon.progress import give_notice

try:
    with warnings.catch_warnings():
        # What numba cannot read in the environment, it passes over with a page of warnings.
        warnings.filterwarnings("error", "Environment variable")
        import numba
        from numba.core import caching, codegen, compiler, config, event, serialize
except (RuntimeWarning, ValueError) as error:
    _variables = (f"{name}={os.environ[name]}" for name in os.environ if name.startswith("NUMBA_"))
    raise ConfigError(
        f"numba cannot be loaded with {', '.join(_variables) or 'this environment'}: "
        f"{str(error).splitlines()[0].removesuffix('.')}"
    ) from None

# numba fills some modules at run time, and types of others came late or are not complete.
_config: Any = config
_njit: Any = numba.njit
_caching: Any = caching
_codegen: Any = codegen
_compiler: Any = compiler
_event: Any = event
_serialize: Any = serialize

# Inside kernels, values with a machine type are ordinary ones to the reader (and to the type
# checker). They are used where numba would take a literal for a type of its own and compile the
# called kernel once more, and where a sum must not start out as something narrower.
if TYPE_CHECKING:

    def int64(value: SupportsInt) -> int:
        """Give a 64-bit integer."""

    def bool_(value: bool) -> bool:
        """Give a truth value."""

else:
    int64 = np.int64
    bool_ = np.bool_

Function = TypeVar("Function", bound=Callable[..., Any])

# -- where compiled code is kept -------------------------------------------------------------------


#: Seconds that a process waits for another one that compiles the same kernel.
_LONGEST_TURN = 60
_PACKAGE = Path(__file__).parents[1]
_IMPORT = re.compile(rb"^\s*(?:from|import)\s+moanon\.([\w.]+)", re.MULTILINE)


def _digest() -> str:
    """Name how kernels are compiled, and by which versions."""
    versions = sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__
    return hashlib.sha256(repr((versions, _config.BOUNDSCHECK)).encode()).hexdigest()[:16]


@cache
def module_digest(module: str, package: Path = _PACKAGE) -> str:
    """Digest the text of a module of `package` and of all that it imports from there.

    A kernel holds the code and the constants of others, which can only come from these. Where a
    module is imported by the name of its folder, all modules of the folder count.
    """
    texts: dict[Path, bytes] = {}
    left = [module.replace(".", "/")]
    while left:
        name = left.pop()
        paths = [package / f"{name}.py"]
        if (package / name).is_dir():
            paths = sorted((package / name).glob("*.py"))
        for path in paths:
            if path not in texts and path.is_file():
                texts[path] = path.read_bytes()
                left += [found.decode().replace(".", "/") for found in _IMPORT.findall(texts[path])]
    digest = hashlib.sha256()
    for path in sorted(texts):
        digest.update(repr((path.relative_to(package).as_posix(), texts[path])).encode())
    return digest.hexdigest()[:16]


def _candidates() -> Iterator[Path]:
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR)
    yield user_cache_path("moanon", appauthor=False)
    with suppress(FileNotFoundError):  # no temporary folder can be written either
        yield Path(tempfile.gettempdir()) / f"moanon-{os.getuid() if hasattr(os, 'getuid') else ''}"


def _cache_dir() -> Path | None:
    """First folder that can be written and belongs, with the one above it, to nobody else."""
    for base in _candidates():
        if not base.is_absolute():  # no home folder is known
            continue
        folder = base / _digest()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
        if _is_ours(base) and _is_ours(folder):
            return folder
    return None


def _is_ours(folder: Path) -> bool:
    """Whether nobody else can exchange what lies in a folder: cached code is loaded and run."""
    status = folder.lstat()
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return False
    return stat.S_ISDIR(status.st_mode) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


_CACHE = _cache_dir()


class _DiskCache(_caching.NullCache):  # type: ignore[misc]
    """What one function was compiled to: for each combination of types a file.

    A file begins with a digest of the rest. One that does not match is removed and the function is
    compiled anew, as if nothing had been there. Processes that need the same code at the same time
    take turns, so that one of them compiles it and the others load it. Whoever dies leaves no lock
    behind, and nobody waits longer than compiling takes.
    """

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._module = function.__module__.removeprefix("moanon.")
        self._name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._folder = folder
        self._full = False
        self._turn: BaseFileLock | None = None  # held from here on until the code is saved

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code for some types; None if there is none, and nobody is making it."""
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        code = self._read(path)
        if code is None:
            self._take_turn(path)
            code = self._read(path)
            if code is None:
                return None
            self._end_turn()
        return _compiler.CompileResult._rebuild(target_context, *pickle.loads(code))

    def _read(self, path: Path) -> bytes | None:
        try:
            data = path.read_bytes()
        except OSError:
            return None
        digest, code = data[:32], data[32:]
        if hashlib.sha256(code).digest() == digest:
            return code
        with suppress(OSError):
            path.unlink()
        return None

    def _take_turn(self, path: Path) -> None:
        turn = FileLock(path.with_name(f"{path.name}.lock"), timeout=_LONGEST_TURN)
        with suppress(OSError, NotImplementedError):  # also a timeout; then compile beside others
            turn.acquire()
            self._turn = turn

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.release()
            with suppress(OSError):  # who waits for it has it open
                Path(turn.lock_file).unlink()

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code for some types; where it cannot be written, do without."""
        try:
            self._save(sig, data)
        finally:
            self._end_turn()

    def _save(self, sig: Any, data: Any) -> None:
        if self._full or data.library.has_dynamic_globals:
            return
        code = _serialize.dumps(data._reduce())
        path = self._path(sig, data.codegen)
        beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        try:
            beside.write_bytes(hashlib.sha256(code).digest() + code)
            beside.replace(path)
        except OSError as error:
            self._full = True
            with suppress(OSError):
                beside.unlink()
            reason = error.strerror or str(error)
            give_notice(
                f"compiled kernels cannot be kept in {self._folder} ({reason}); next time they "
                "will be compiled again"
            )

    def _path(self, sig: Any, codegen: Any) -> Path:
        key = hashlib.sha256(repr((sig, codegen.magic_tuple())).encode()).hexdigest()[:16]
        return self._folder / f"{self._name}-{module_digest(self._module)}-{key}"


# -- compiling -------------------------------------------------------------------------------------


class _Watcher(_event.Listener):  # type: ignore[misc]
    """Says that kernels are being compiled; loading them from the cache is no such event.

    The compiler makes millions of objects that stay, and looking through them for garbage takes a
    tenth of its time. numba lets one thread compile at a time.
    """

    def __init__(self) -> None:
        self._depth = 0  # what a kernel calls is compiled while it is
        self._collects = False

    def on_start(self, event: Any) -> None:
        """Say so, as something begins to be compiled, and stop collecting garbage."""
        if self._depth == 0:
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1
        if event.data["dispatcher"].py_func.__module__.startswith(__package__):
            often = "once per installation" if _CACHE else "as there is no folder to keep them in"
            give_notice(f"compiling the kernels, {often} (about 20 s) …")

    def on_end(self, event: Any) -> None:
        """Go on collecting garbage."""
        self._depth -= 1
        if self._depth == 0 and self._collects:
            gc.enable()


_event.register("numba:compile", _Watcher())


class _Flags(_compiler.Flags):  # type: ignore[misc]
    """Flags of a kernel or a part of one, which differ in nothing that matters to what they call.

    numba would compile each of its own functions (``np.zeros``, …) once for the one and once for
    the other, and it compares all flags whenever it looks for a function.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flags)

    def __hash__(self) -> int:
        return hash(_Flags)


class _Compiler(_compiler.Compiler):  # type: ignore[misc]
    """Compiles a kernel."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Compile a function from its bytecode."""
        self.state.flags = _Flags(self.state.flags)
        return super().compile_extra(function)


class _PartLibrary(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """Code of a part of kernels: it is optimized as a whole only within each kernel.

    numba would make machine code of it that nobody calls, since kernels link and optimize the code
    of their parts themselves.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Give the address of nothing: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """Whoever is asked to write into the machine code, which does not exist."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Parts of kernels need no Python objects."""


class _PartCompiler(_Compiler):
    """Compiles a part of kernels."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Compile a function from its bytecode."""
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


def compiled(function: Function) -> Function:
    """Compile a kernel on its first call, without the GIL, and keep the machine code on disk.

    Bounds checks follow ``NUMBA_BOUNDSCHECK``; with ``NUMBA_DISABLE_JIT=1`` kernels run as Python.
    Floating point stays strict (no fastmath): a result must not depend on the compiler's mood.
    """
    kernel: Any = _njit(nogil=True, no_cfunc_wrapper=True, pipeline_class=_Compiler)(function)
    if _CACHE is not None and not _config.DISABLE_JIT:
        kernel._cache = _DiskCache(function, _CACHE)
    return cast("Function", kernel)


def inner(function: Function) -> Function:
    """Compile a part of kernels, which Python cannot call and which is kept within them only."""
    return _part(function)


def inlined(function: Function) -> Function:
    """Do as `inner` for a part that is called for every few cells, with tuples of many arrays.

    A call copies all of them, which can take longer than the work; so there is none.
    """
    return _part(function, forceinline=True)


def _part(function: Function, **options: bool) -> Function:
    part: Any = _njit(
        nogil=True,
        no_cfunc_wrapper=True,
        no_cpython_wrapper=True,
        pipeline_class=_PartCompiler,
        **options,
    )(function)
    return cast("Function", part)


def as_kernel(part: Function) -> Function:
    """Make a kernel of what is also a part of others.

    A kernel that others call would be compiled for Python, too, where only they are needed.
    """
    return compiled(getattr(part, "py_func", part))
