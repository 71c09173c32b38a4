"""Every error of the service in one form: `{"error": {"code", "message", "field"}}`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tabsa.serve.schema import ErrorResponse

ERRORS: Final[dict[int | str, dict[str, Any]]] = {"4XX": {"model": ErrorResponse}, "503": {"model": ErrorResponse}}
_CODES: Final = {404: "not_found", 405: "method_not_allowed"}
_UNREADABLE: Final = "There was an error parsing the body"  # FastAPI's words for JSON that Python cannot hold
_LONGEST: Final = 600  # characters of a message, which may hold what a client sent
_LISTED: Final = 10  # errors of one request that are listed


class Problem(HTTPException):
    """Why a request is not answered: a status, a code for programs and one clear line for people."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(status, message, dict(headers) if headers else None)
        self.error = {"code": code, "message": _line(message), "field": field and _line(field), **(more or {})}

    def response(self) -> JSONResponse:
        """The problem as an answer."""
        return JSONResponse({"error": self.error}, self.status_code, self.headers)


def invalid(field: str, message: str) -> Problem:
    """A field that is not right."""
    return Problem(422, "invalid", f"'{field}': {message}", field)


def busy(message: str) -> Problem:
    """Too much is going on; the client may come again in a moment."""
    return Problem(503, "busy", f"{message}; come again in a moment", headers={"Retry-After": "1"})


def handle_problems(app: FastAPI) -> None:
    """Give every error of the app the one form."""

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        if isinstance(error, Problem):
            return error.response()
        if error.detail == _UNREADABLE:
            message = "the body cannot be read: it is not UTF-8, or nested too deeply, or has a number too long"
            return Problem(400, "bad_json", message).response()
        code = _CODES.get(error.status_code, "bad_request")
        return Problem(error.status_code, code, str(error.detail), headers=error.headers).response()

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return _of_validation([{**one, "loc": one["loc"][1:]} for one in error.errors()]).response()

    @app.exception_handler(UnicodeEncodeError)  # what pydantic raises at half a character in a key
    async def _half(_: Request, __: UnicodeEncodeError) -> JSONResponse:
        return Problem(400, "bad_json", "the body has half a character (a lone surrogate)").response()


def _of_validation(errors: Sequence[Mapping[str, Any]]) -> Problem:
    """Pydantic's errors in our form; the limits of the schema bound their number."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return Problem(400, "bad_json", f"the body is not JSON: {first['ctx']['error']} (character {first['loc'][-1]})")
    listed = [_of_one(error) for error in errors[:_LISTED]]
    more = {"count": len(errors), "errors": [{"field": field, "message": _line(text)} for field, text in listed]}
    code = "limit" if errors[0]["type"] in ("too_long", "string_too_long") else "invalid"
    return Problem(422, code, listed[0][1], listed[0][0], more=more if len(errors) > 1 else None)


def _of_one(error: Mapping[str, Any]) -> tuple[str | None, str]:
    """The field and a message."""
    kind, field = error["type"], ".".join(map(str, error["loc"]))
    message = str(error["msg"]).removeprefix("Value error, ")
    if kind in ("too_long", "string_too_long"):
        message = f"{len(error['input']):,} given; at most {error['ctx']['max_length']:,} are allowed"
    elif kind in ("model_type", "model_attributes_type", "missing") and not field:
        message = "the body is empty, or not a JSON object"
    return (_line(field), f"'{field}': {message[0].lower()}{message[1:]}") if field else (None, message)


def _line(text: str) -> str:
    """One line that is not too long and can be sent: half a character of what a client sent cannot go back."""
    line = " ".join(text[: 4 * _LONGEST].split())
    return (line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…").encode(errors="backslashreplace").decode()
