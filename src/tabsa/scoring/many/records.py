"""What a job writes about itself, beside its results.

    OUT/_job.json       what was asked
    OUT/_parts.jsonl    a line for each part that is done, and on a cluster for each table that was read to its end
    OUT/_summary.json   what it came to, and what failed and why
    OUT/_SUCCESS        is there when every part is done

A part is done when its line is kept. Until then, here its own files tell how far it is (`tabsa.tables.saving`); on a
cluster it is done again.
"""

import json
import re
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final

from tabsa.errors import OutputError
from tabsa.scoring import Counts
from tabsa.scoring.many.parts import PIECE, Part, piece_number
from tabsa.scoring.many.storage import Folder, shown
from tabsa.scoring.many.worker import Kind, Outcome
from tabsa.tables.saving import parse_record, refuse_other

FORMAT: Final = "tabsa score job 5"
_JOB, _LINES, _SUMMARY, _SUCCESS = "_job.json", "_parts.jsonl", "_summary.json", "_SUCCESS"
_COUNTED: Final = ("rows", "scored", "rejected", "opinions", "named")


class Records:
    """The folder of a job that is being run.

    Args:
        folder: where the results go.
        identity: what is asked of the parts.
        parts: all of the job's tables.
        part_rows: how many rows of a table are a part; kept from the run that began the job.
        resume: go on with the job that is there, if there is one.
        overwrite: replace the job that is there, done or not.
    """

    def __init__(
        self,
        folder: Folder,
        identity: Mapping[str, Any],
        parts: Sequence[Part],
        *,
        part_rows: int = 0,
        resume: bool,
        overwrite: bool,
    ) -> None:
        self._folder, self._identity, self.part_rows = folder, dict(identity), part_rows
        self.done: dict[str, Counts] = {}  # of each part that is done
        self.read: dict[str, int] = {}  # how many pieces each table has that was read to its end
        self.pieces: dict[str, set[int]] = {part.name: set() for part in parts}  # of each table, those that are done
        self._parts, self._inputs = parts, {part.name: part.identity() for part in parts}
        self._begin(resume=resume, overwrite=overwrite)

    def __enter__(self) -> "Records":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.close_journal()
        if error and set(self._folder.entries()) <= {_JOB, _LINES}:  # nothing was begun that a run could go on with
            self._folder.remove(_JOB)
            self._folder.remove(_LINES)
            if self._made is not None:
                self._made.rmdir()

    def _begin(self, *, resume: bool, overwrite: bool) -> None:
        where = shown(self._folder.location)
        local = self._folder.path
        if local is not None and local.exists() and not local.is_dir():
            raise OutputError(f"{where} is a file; many tables are written to a folder")
        self._made = local if local is not None and not local.exists() else None
        names = set(self._folder.entries())
        if not overwrite and _JOB in names and not resume:
            state = "is done" if _SUCCESS in names else "was begun"
            raise OutputError(f"a job into {where} {state}", code="job_exists")
        if not overwrite and _JOB not in names and any(not name.startswith((_LINES, f".{_JOB}.")) for name in names):
            raise OutputError(f"{where} is not empty, and holds no job", code="output_exists")
        if resume and _JOB in names:
            self._compare()
        self._folder.open_journal(_LINES)
        try:
            if overwrite:
                self._clear(names)
            elif _JOB in names:
                self._learn(names)
            for name in names & {_SUCCESS, _SUMMARY}:
                self._folder.remove(name)
            self._write(_JOB, {"format": FORMAT, "identity": self._identity, "part_rows": self.part_rows})
        except BaseException:
            self._folder.close_journal()
            raise

    def _clear(self, names: set[str]) -> None:
        """Remove what earlier jobs left of these tables, and of those that they had a record of."""
        tables = set(self._inputs)
        tables |= {str(line.get("table")) for line in self._lines(names)}
        for name in names:
            if name.startswith("_rejects/") or name == _JOB or _tables_of(name) & tables:
                self._folder.remove(name)
        self._folder.clear_journal()

    def _compare(self) -> None:
        where = shown(self._folder.location_of(_JOB))
        content = parse_record(self._folder.read(_JOB), where, FORMAT)
        try:
            before, self.part_rows = dict(content["identity"]), int(content["part_rows"])
        except (ValueError, TypeError, KeyError) as e:
            raise OutputError(f"{where} is damaged", code="job_unusable") from e
        refuse_other(shown(self._folder.location), "job", before, self._identity)

    def _learn(self, names: set[str]) -> None:
        """Learn what is done. Of a table that has changed since, nothing is, unless all of it was: that is refused."""
        by_table: dict[str, list[dict[str, Any]]] = {}
        for line in self._lines(names):
            by_table.setdefault(str(line.get("table")), []).append(line)
        for part in self._parts:
            lines = by_table.get(part.name, [])
            lines = [line for line in lines if line.get("input") == lines[-1].get("input")]
            done = {str(line.get("part")): counts for line in lines if (counts := _counts(line)) is not None}
            total = [int(line["parts"]) for line in lines if isinstance(line.get("parts"), int)]
            if lines and lines[-1].get("input") != part.identity():
                if part.name in done or (total and len(done) >= total[-1]):
                    why = f"{shown(part.source)} has changed since it was scored"
                    raise OutputError(f"cannot resume {shown(self._folder.location)}: {why}", code="job_unusable")
                for name in names & done.keys():
                    self._folder.remove(name)
                continue
            for name, counts in done.items():
                if name in names or not counts.scored:
                    self._note(part.name, name, counts)
            if total:
                self.read[part.name] = total[-1]

    def _lines(self, names: set[str]) -> list[dict[str, Any]]:
        """The records; what a disk left of others is not one, and the part is done again."""
        records = []
        for line in self._folder.read(_LINES).splitlines() if _LINES in names else ():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                records.append(record)
        return records

    def is_done(self, part: Part) -> bool:
        """Whether nothing of a table is left to do."""
        if not self.part_rows:
            return part.name in self.done
        return self.read.get(part.name) == len(self.pieces[part.name])

    def add(self, outcome: Outcome) -> None:
        """A part is done, or a table was read to its end."""
        line: dict[str, Any] = {"table": outcome.table, "input": self._inputs[outcome.table]}
        if outcome.kind is Kind.READ:
            line["parts"] = self.read[outcome.table] = outcome.parts
        else:
            line |= {"part": outcome.name, "counts": {name: getattr(outcome.counts, name) for name in _COUNTED}}
            line["seconds"] = round(outcome.seconds, 3)
            self._note(outcome.table, outcome.name, outcome.counts)
        self._folder.append(json.dumps(line, ensure_ascii=False).encode() + b"\n")

    def _note(self, table: str, name: str, counts: Counts) -> None:
        self.done[name] = counts
        if (number := piece_number(name)) is not None:
            self.pieces[table].add(number)

    def finish(self, summary: Mapping[str, Any], *, success: bool) -> None:
        """Write what the job came to."""
        self._folder.close_journal()
        self._write(_SUMMARY, summary)
        if success:
            self._folder.write(_SUCCESS, b"")

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        self._folder.write(name, json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")


def _tables_of(name: str) -> set[str]:
    """The tables that a file may be of, by its name: as what is done or is being done of one, or as a part of one."""
    whole = re.sub(r"(\.rejects\.jsonl)?(\.part|\.state\.json)?$", "", name)
    return {whole, PIECE.sub(r"\2", name)}


def _counts(line: Mapping[str, Any]) -> Counts | None:
    try:
        return Counts(**line["counts"])
    except (KeyError, TypeError):
        return None
