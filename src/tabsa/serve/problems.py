"""Every error of the service in one form: `{"error": {"code", "message", "field"}}`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from tabsa.errors import DataError

_UNREADABLE: Final = "There was an error parsing the body"  # FastAPI's words for JSON that Python cannot hold
_LONGEST: Final = 600  # characters of a message, which may hold what a client sent
_TOO_LONG: Final = ("too_long", "string_too_long")


class ErrorResponse(BaseModel):
    """Why there is no answer: a `code` for programs, a `message` for people, and the `field` that is wrong, or null.

    Where there are several errors, `count` says how many, and the first is told.
    """

    error: dict[str, Any]


ERRORS: Final[dict[int | str, dict[str, Any]]] = {"4XX": {"model": ErrorResponse}, "503": {"model": ErrorResponse}}


class Problem(HTTPException):
    """Why a request is not answered: a status, a code for programs and one clear line for people."""

    def __init__(
        self, status: int, code: str, message: str, field: str | None = None, *, headers: Any = None, **more: Any
    ) -> None:
        super().__init__(status, message, headers)
        self.error = {"code": code, "message": _line(message), "field": field and _line(field), **more}

    def response(self) -> JSONResponse:
        """The problem as an answer."""
        return JSONResponse({"error": self.error}, self.status_code, self.headers)


def invalid(field: str, message: object) -> Problem:
    """A field that is not right."""
    return Problem(422, "invalid", f"'{field}': {message}", field)


@contextmanager
def blaming(field: str) -> Iterator[None]:
    """Say of data that is not right which field it came in."""
    try:
        yield
    except DataError as e:
        raise invalid(field, e) from e


def busy(message: str) -> Problem:
    """Too much is going on; the client may come again in a moment."""
    return Problem(503, "busy", f"{message}; come again in a moment", headers={"Retry-After": "1"})


def handle_problems(app: FastAPI) -> None:
    """Give every error of the app the one form."""

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        if error.detail == _UNREADABLE:
            message = "the body cannot be read: it is not UTF-8, or nested too deeply, or has a number too long"
            error = Problem(400, "bad_json", message)
        if not isinstance(error, Problem):
            code = HTTPStatus(error.status_code).name.lower()
            error = Problem(error.status_code, code, error.detail, headers=error.headers)
        return error.response()

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return _of_validation(error.errors()).response()

    @app.exception_handler(UnicodeEncodeError)  # what pydantic raises at half a character in a key
    async def _half(_: Request, __: UnicodeEncodeError) -> JSONResponse:
        return Problem(400, "bad_json", "the body has half a character (a lone surrogate)").response()


def _of_validation(errors: Sequence[Mapping[str, Any]]) -> Problem:
    """Pydantic's errors in our form; the limits of the schema bound their number."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return Problem(400, "bad_json", f"the body is not JSON: {first['ctx']['error']} (character {first['loc'][-1]})")
    kind, field = first["type"], ".".join(map(str, first["loc"][1:]))  # without "body" before it
    message = str(first["msg"]).removeprefix("Value error, ")
    if kind in _TOO_LONG:
        message = f"{len(first['input']):,} given; at most {first['ctx']['max_length']:,} are allowed"
    elif kind in ("model_type", "model_attributes_type", "missing") and not field:
        message = "the body is empty, or not a JSON object"
    if field:
        message = f"'{field}': {message[0].lower()}{message[1:]}"
    more = {"count": len(errors)} if len(errors) > 1 else {}
    return Problem(422, "limit" if kind in _TOO_LONG else "invalid", message, field or None, **more)


def _line(text: str) -> str:
    """One line that is not too long and can be sent: half a character of what a client sent cannot go back."""
    line = " ".join(text[: 4 * _LONGEST].split())
    return (line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…").encode(errors="backslashreplace").decode()
