"""A real PostgreSQL server in a temporary folder, for as long as a test process lives."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PASSWORD = "correct horse"  # of every role: texts must never show it


def find_programs() -> Path | None:
    """The folder of PostgreSQL's programs; Debian keeps them out of the way."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    if found:
        return found[0].parent
    path = shutil.which("initdb")
    return Path(path).parent if path else None


class Server:
    """A server that can be stopped at once, as if its machine were gone."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self._folder, self._programs = folder, programs
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def url(self, user: str = "owner", database: str = "postgres") -> str:
        return f"postgres://{user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._run(
            "initdb", "-D", "data", "-U", "owner", "-A", "scram-sha-256", "-E", "UTF8",
            "--locale=C.UTF-8", "--no-sync", "--pwfile", str(secret),
        )  # fmt: skip
        self.restart()

    def restart(self) -> None:
        options = (
            f"-c listen_addresses=127.0.0.1 -c port={self.port} -c fsync=off "
            f"-c unix_socket_directories={self._folder}"
        )
        self._run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", "data", "-w", "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        # The server refuses to run as root.
        first = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*first, str(self._programs / program), *arguments]
        done = subprocess.run(
            command, cwd=self._folder, capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")


@contextmanager
def running_server(programs: Path) -> Iterator[Server]:
    """Start a server, and stop it and clear its folder at the end."""
    folder = Path(tempfile.mkdtemp(prefix="moanon-postgres-"))
    folder.chmod(0o755)
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    server = Server(folder, programs)
    try:
        server.start()
        yield server
    finally:
        with suppress(RuntimeError):
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
