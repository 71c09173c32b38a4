"""What people say is right, added to a file that is training data: one line a correction, and none is ever half there.

A line is a row of one's own data (`tabsa.datasets.own`) that says `asked_only`: nothing is known of the text's other
aspects and targets. A later line on the same text, target and aspect counts instead of an earlier one.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool

from tabsa.errors import ConfigError, OutputError
from tabsa.files import reason
from tabsa.inference.predictor import Predictor
from tabsa.serve.asking import check_aspects, check_targets, check_text, only_json, refuse_more
from tabsa.serve.problems import Problem
from tabsa.serve.schema import CorrectionRequest, StatusResponse
from tabsa.serve.service import TheService, problems
from tabsa.serve.settings import Settings

router = APIRouter(prefix="/v1")
_SUFFIXES: Final = (".jsonl", ".ndjson")
_BINARY: Final[int] = getattr(os, "O_BINARY", 0)  # Windows would write other line ends


class CorrectionsFile:
    """A file that lines are added to, by several processes and whatever happened to the one that wrote before.

    Raises:
        ConfigError: the name's ending is not that of JSON Lines.
        OutputError: the file cannot be written.
    """

    def __init__(self, path: Path, most_bytes: int) -> None:
        if not path.name.lower().endswith(_SUFFIXES):
            raise ConfigError(f"corrections go to a file of JSON Lines; '{path}' does not end in .jsonl")
        self.path, self._most = path, most_bytes
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with self._opened():
                pass
        except OSError as e:
            raise OutputError(f"cannot write {path}: {reason(e)}") from e

    def add(self, line: str) -> None:
        """Append a line, and come back when it is on the disk.

        Raises:
            OutputError: it cannot be written, or there would be too much in the file; nothing of it is there then.
        """
        try:
            with self._opened() as file:
                size = os.fstat(file).st_size
                # A process that died while it wrote left a line without its end.
                torn = size > 0 and os.lseek(file, -1, os.SEEK_END) >= 0 and os.read(file, 1) != b"\n"
                data = b"\n" * torn + line.encode() + b"\n"
                if size + len(data) > self._most:
                    raise OutputError(f"{self.path.name} is full: it may have {self._most:,} bytes")
                try:
                    if os.write(file, data) < len(data):
                        raise OSError(None, "the disk is full")
                    os.fsync(file)
                except OSError:
                    os.ftruncate(file, size)
                    raise
        except OSError as e:
            raise OutputError(f"cannot write {self.path.name}: {reason(e)}") from e

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The file, held against other workers where the system can; who may read it is its owner."""
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _BINARY, 0o600)
        try:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
            except (ImportError, OSError):
                pass  # a system, or a file system, without locks
            yield file
        finally:
            os.close(file)  # gives the lock back


def of_settings(settings: Settings) -> CorrectionsFile | None:
    """The file that the settings name, if they do."""
    if settings.corrections is None:
        return None
    return CorrectionsFile(Path(settings.corrections).expanduser(), settings.max_corrections_bytes)


@router.post(
    "/corrections", status_code=201, dependencies=[Depends(only_json)], responses=problems(403, 404, 408, 413, 415, 422)
)
async def correct(request: CorrectionRequest, service: TheService) -> StatusResponse:
    """Keep what a person says is right of one text, target and aspect.

    It goes to the file that the service's operator named; where there is none, the answer is 404. A `polarity` of null
    takes an earlier correction back.
    """
    if service.corrections is None:
        raise Problem(404, "no_corrections", "this service keeps no corrections; its operator can name a file for them")
    line = correction_line(request, service.predictor, service.settings)
    try:
        await run_in_threadpool(service.corrections.add, line)
    except OutputError as e:
        raise Problem(503, "not_kept", f"the correction was not kept: {e}", headers={"Retry-After": "30"}) from e
    return StatusResponse(status="kept")


def correction_line(request: CorrectionRequest, predictor: Predictor, settings: Settings) -> str:
    """A correction, checked, as a line of the file."""
    check_text(request.text, settings)
    if not request.text.strip():
        raise Problem(422, "invalid", "'text': it is empty; expected the text that is judged", "text")
    if request.target is not None:
        finder = check_targets([(request.target, request.aliases)], settings, "target")
        if not finder.find(request.text):
            message = f"'target': the text does not name '{request.target}'; null is what it is about without a name"
            raise Problem(422, "invalid", message, "target")
    (aspect,) = check_aspects([request.aspect], None, predictor, settings, "aspect")
    for field in ("polarity", "said"):
        given = getattr(request, field)
        refuse_more(field, len(given or ""), settings.max_name_characters, "characters of a label")
        if given is not None and given not in predictor.labels:
            expected = ", ".join(predictor.labels)
            raise Problem(422, "invalid", f"'{field}': '{given}' is no label of the model; expected {expected}", field)
    row: dict[str, Any] = {"text": request.text, "target": request.target}
    if request.target is not None and request.aliases:
        row["aliases"] = request.aliases
    row |= {"aspect": aspect, "polarity": request.polarity, "asked_only": True}
    if request.polarity is None:
        row["withdrawn"] = True
    row |= {"said": request.said, "probability": _number(request.probability)}
    row |= {"model": request.model, "time": request.time}
    kept = {name: value for name, value in row.items() if value is not None or name in ("target", "polarity")}
    return json.dumps(kept, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _number(probability: float | None) -> float | int | None:
    """As a browser writes it, which knows no 1.0."""
    return int(probability) if probability in (0, 1) else probability
