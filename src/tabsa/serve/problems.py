"""Every error of the service in one form: `{"error": {"code", "message", "field"}}`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

_CODES: Final = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}
_MESSAGES: Final = {
    404: "there is nothing here; see /openapi.json for what there is",
    405: "the method does not fit the address; see /openapi.json",
}
_UNREADABLE: Final = "There was an error parsing the body"  # FastAPI's words for JSON that Python cannot hold
_LONGEST_MESSAGE: Final = 600  # characters: it may hold what a client sent
_LONGEST_FIELD: Final = 200
_LISTED: Final = 10  # errors of one request that are told


class Problem(HTTPException):
    """Why a request is not answered: a status, a code for programs and one clear line for people."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[tuple[str | None, str]] = (),
        count: int = 1,
    ) -> None:
        super().__init__(status, message, dict(headers) if headers else None)
        self.code, self.message, self.field = code, _clean(message, _LONGEST_MESSAGE), _clean_field(field)
        self._errors, self._count = errors, count

    def to_dict(self) -> dict[str, Any]:
        """The body of the answer; of several errors the first ten are listed."""
        error: dict[str, Any] = {"code": self.code, "message": self.message, "field": self.field}
        if self._count > 1:
            error["count"] = self._count
            error["errors"] = [
                {"field": _clean_field(field), "message": _clean(message, _LONGEST_MESSAGE)}
                for field, message in self._errors
            ]
        return {"error": error}

    def response(self) -> JSONResponse:
        """The problem as an answer."""
        return JSONResponse(self.to_dict(), self.status_code, self.headers)


def busy(message: str) -> Problem:
    """Too much is going on; the client may come again in a moment."""
    return Problem(503, "busy", message, headers={"Retry-After": "1"})


def too_long(field: str, count: int, most: int) -> Problem:
    """More of something than is allowed."""
    return Problem(422, "limit", f"'{field}': {count:,} given; at most {most:,} are allowed", field)


def handle_problems(app: FastAPI) -> None:
    """Give every error of the app the one form."""

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        if isinstance(error, Problem):
            return error.response()
        if error.detail == _UNREADABLE:
            message = "the body cannot be read: it is not UTF-8, or nested too deeply, or has a number too long"
            return Problem(400, "bad_json", message).response()
        code, status = _CODES.get(error.status_code, "bad_request"), error.status_code
        return Problem(status, code, _MESSAGES.get(status, str(error.detail)), headers=error.headers).response()

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return of_validation([{**one, "loc": one["loc"][1:]} for one in error.errors()]).response()


def of_validation(errors: Sequence[Mapping[str, Any]]) -> Problem:
    """Pydantic's errors in our form; their number is bounded by the limits of the schema."""
    first = errors[0]
    if first["type"] == "json_invalid":
        message = f"the body is not JSON: {first['ctx']['error']} (character {first['loc'][-1] if first['loc'] else 0})"
        return Problem(400, "bad_json", message)
    by_field: dict[str | None, Mapping[str, Any]] = {}
    for error in errors:
        field = ".".join(map(str, _without_branch(error["loc"]))) or None
        before = by_field.get(field)
        # Where an object is no name, that it is no target with aliases either says more.
        if before is None or (before["type"] == "string_type" and isinstance(before.get("input"), dict)):
            by_field[field] = error
    listed = [(field, _message(field, error)) for field, error in list(by_field.items())[:_LISTED]]
    (field, message), kind = listed[0], next(iter(by_field.values()))["type"]
    code = "limit" if kind in ("too_long", "string_too_long") else "invalid"
    return Problem(422, code, message, field, errors=listed, count=len(by_field))


def _message(field: str | None, error: Mapping[str, Any]) -> str:
    kind, message = error["type"], str(error["msg"]).removeprefix("Value error, ")
    if field is None:
        if kind == "missing":
            return "the body is empty; expected a JSON object"
        return "the body is not a JSON object" if kind in ("model_type", "model_attributes_type") else message
    if kind == "too_long":
        message = f"{error['ctx']['actual_length']:,} given; at most {error['ctx']['max_length']:,} are allowed"
    elif kind == "string_too_long":
        message = f"{len(error['input']):,} characters; at most {error['ctx']['max_length']:,} are allowed"
    elif field.startswith("targets.") and kind in ("string_type", "model_type", "model_attributes_type"):
        message = "expected a name, or an object with a name and aliases"
    return f"'{field}': {message[0].lower()}{message[1:]}"


def _without_branch(path: Sequence[str | int]) -> list[str | int]:
    """A place without the branch of a union that did not fit: what comes behind the number of a target, if no name."""
    if len(path) > 2 and path[0] == "targets" and isinstance(path[1], int) and path[2] != "name":
        return [*path[:2], *path[3:]]
    return list(path)


def _clean(text: str, longest: int) -> str:
    """One line that is not too long and can be sent: half a character of what a client sent cannot go back."""
    line = " ".join(text[: 4 * longest].split())
    line = line if len(line) <= longest else f"{line[:longest]}…"
    return line.encode(errors="backslashreplace").decode()


def _clean_field(field: str | None) -> str | None:
    return None if field is None else _clean(field, _LONGEST_FIELD)
