"""Addresses of databases and clusters, and what they must not hold."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from moanon.errors import DataError, OutputError

#: Parameters of addresses that are secrets, by a part of their names.
_SECRET = re.compile("passw|passphrase|pwd|secret|token", re.IGNORECASE)
#: What the environment is asked for.
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
#: A name of a table or a schema that nobody can take for SQL or a path.
_PLAIN = re.compile(r"[\w$#@]([\w $#@-]*[\w$#@])?")


@dataclass(frozen=True)
class Address:
    """Where rows are: an address that ibis knows, and a table or a query there.

    Attributes
    ----------
    url : str
        Such as ``postgres://reader@host/people``; ``${NAME}`` stands for an environment variable.
    table, query : str or None
        One of them. A table may be named with its schema, as in ``clinic.patients``.
    order_by : tuple of str
        Columns that give rows an order; by default what is released does.
    """

    url: str
    table: str | None = None
    query: str | None = None
    order_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.url} {self.table or '(query)'}"


@dataclass(frozen=True)
class TableName:
    """The name of a table, and of the schema it is in where that is said."""

    schema: str | None
    name: str

    def __str__(self) -> str:
        return self.name if self.schema is None else f"{self.schema}.{self.name}"

    @classmethod
    def of(cls, text: str) -> TableName:
        """Take a name as it is written in a configuration."""
        schema, _, name = text.rpartition(".")
        return cls(schema or None, name)

    @classmethod
    def of_new(cls, text: str) -> TableName:
        """Take the name of a table that is to be written; refused if it could mean two things."""
        parts = text.split(".")
        if len(parts) > 2 or not all(map(_PLAIN.fullmatch, parts)):
            raise OutputError(
                "a new table is named as NAME or SCHEMA.NAME, each of letters, digits and _, - or "
                f"blanks between them, without quotes. Got {text!r}"
            )
        return cls.of(text)


def is_address(source: str) -> bool:
    """Whether a source is the address of a database rather than a path."""
    return re.match(r"^[a-z][a-z0-9+]*://", source) is not None


def refuse_password(url: str) -> None:
    """Refuse an address that holds a password itself, before the host or as a parameter."""
    try:
        parts = urlsplit(url)
        parameters = parse_qsl(parts.query, keep_blank_values=True)
        secrets = [value for name, value in parameters if _SECRET.search(name)]
        secrets.append(parts.password or "")
    except ValueError:
        raise DataError("the address of the database cannot be read") from None
    if any(secret and not VARIABLE.fullmatch(secret) for secret in secrets):
        raise DataError(
            "the address of the database holds a password, which does not belong into a "
            "configuration; write ${NAME} in its place and set that environment variable"
        )
