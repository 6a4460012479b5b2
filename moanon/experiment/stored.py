"""What a run settled about its table, stored with its results: enough to generalize other rows.

``domains.json`` has the names of the columns in the order of the table, and the domains of its
quasi-identifiers. Values that make up a tree are named only if a solution shows them; of the others
there are digests. Where a sensitive column has a tree or an order that says how far its values are
apart, nothing is stored: new rows could not be judged without it, and it names values that nobody
may have released. The original table is then read again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from moanon import datasets
from moanon.config import Config
from moanon.data.cells import Cells, SensitiveCounts
from moanon.data.column import Column
from moanon.data.source import files_behind, kept, new_key
from moanon.data.stored_domains import domain_from, domain_record
from moanon.data.table import Table
from moanon.engines.stores import HeldRows
from moanon.errors import DataError
from moanon.front import Front
from moanon.front.results import DOMAINS, read_listed, read_object, read_record
from moanon.genome import Instance, Layout
from moanon.release.labels import label_rules


def domains_texts(front: Front) -> dict[str, str]:
    """The file, by its name, that tells what is known of the columns of a table without its rows.

    None where sensitive values would have to be told.
    """
    instance = front.instance
    assert instance is not None
    if instance.distances:
        return {}
    digest = instance.table.digest
    salt = kept(digest, new_key(digest))
    quasi = {}
    for name, domain in instance.layout.domains.items():
        rules = label_rules(domain)
        labels = {label for blocks in front.blocks for label in blocks[name]}
        shown = sorted(block for label in labels if (block := rules.find(label)) is not None)
        quasi[name] = domain_record(domain, shown, f"{salt} {name}")
    stored = {"columns": list(instance.table.roles), "quasi": quasi}
    return {DOMAINS: json.dumps(stored, ensure_ascii=False) + "\n"}


def stored_instance(folder: Path, config: Config) -> Instance | None:
    """The table of a run without any row; None for results that do not have its domains.

    Raises
    ------
    DataError
        If what is stored is damaged, or is of other columns.
    """
    record = read_record(folder)
    if DOMAINS not in record.get("files", {}):
        return None
    stored = read_object(folder / DOMAINS, read_listed(folder, record, DOMAINS))
    try:
        names = [str(name) for name in stored["columns"]]
        domains = {name: domain_from(each) for name, each in stored["quasi"].items()}
    except (AttributeError, KeyError, TypeError, DataError) as error:
        raise DataError(f"{folder / DOMAINS} holds no domains of columns: {error}") from None
    roles = config.roles
    if sorted(names) != sorted(roles) or any(roles.get(name) != "quasi" for name in domains):
        raise DataError(f"{folder / DOMAINS} is of other columns than config.yaml; run it again")
    data: dict[str, Any] = record.get("data", {})
    source = config.data.source
    nobody = np.zeros(0, dtype=np.int32)
    table = Table(
        source=data.get("source", source),
        digest=data.get("digest", ""),
        roles={name: roles[name] for name in names},
        store=HeldRows({name: Column(name, nobody, (), None) for name in names}),
        rows_in=0,
        rows_dropped=0,
        undeclared=(),
        files=() if source in datasets.names() else files_behind(source),
    )
    nothing = np.zeros(0, dtype=np.int64)
    label = config.problem.class_column
    return Instance(
        table,
        Layout(domains),
        Cells(tuple(domains), np.zeros((len(domains), 0), dtype=np.uint16), nothing, ()),
        {},
        config.weights,
        None if label is None else SensitiveCounts(label, (), nothing, nobody, nothing),
    )
