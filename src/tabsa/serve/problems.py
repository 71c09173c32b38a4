"""Every error of the service in one form: `{"error": {"code", "message", "field"}}`."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

_CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}
_UNREADABLE = "There was an error parsing the body"  # what FastAPI says of JSON that Python cannot hold
_MESSAGES = {
    404: "there is nothing here; see /openapi.json for what there is",
    405: "the method does not fit the address; see /openapi.json",
}
_LONGEST_MESSAGE = 600  # characters: what a client sent may be in it
_LONGEST_FIELD = 200


class Problem(HTTPException):
    """Why a request is not answered: a status, a code for programs and one clear line for people."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, dict(headers) if headers else None)
        self.code, self.message = (
            code,
            _clean(_cut(" ".join(message[: 4 * _LONGEST_MESSAGE].split()), _LONGEST_MESSAGE)),
        )
        self.field = None if field is None else _clean(_cut(field, _LONGEST_FIELD))

    def response(self) -> JSONResponse:
        """The problem as an answer."""
        content = {"error": {"code": self.code, "message": self.message, "field": self.field}}
        return JSONResponse(content, self.status_code, self.headers)


def busy(message: str, seconds: int = 1, status: int = 503) -> Problem:
    """Too much is going on; the client may come again after some seconds."""
    return Problem(status, "busy", message, headers={"Retry-After": str(seconds)})


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
        return of_validation(_telling(error.errors())).response()


def _clean(text: str) -> str:
    """What a client sent may be in a message; half a character of it cannot go back."""
    return text.encode(errors="backslashreplace").decode()


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


def _telling(errors: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The first error; where an object is no name, that it is none of a target with aliases either says more."""
    first, *others = errors
    if others and first["type"] == "string_type" and isinstance(first.get("input"), dict):
        return others[0]
    return first


def _without_branch(path: Sequence[str | int]) -> list[str | int]:
    """A place without the branch of a union that did not fit: what of `targets` comes behind the number, if no name."""
    if len(path) > 2 and path[0] == "targets" and isinstance(path[1], int) and path[2] != "name":
        return [*path[:2], *path[3:]]
    return list(path)


def of_validation(error: Mapping[str, Any]) -> Problem:
    """One of pydantic's errors, told in our form; the first part of its place says only that it is the body."""
    if error["type"] == "json_invalid":
        place = error["loc"][-1]
        return Problem(400, "bad_json", f"the body is not JSON: {error['ctx']['error']} (character {place})")
    path = _without_branch(error["loc"][1:])
    field = ".".join(map(str, path)) or None
    message = str(error["msg"]).removeprefix("Value error, ")
    if (
        len(path) == 2
        and path[0] == "targets"
        and error["type"] in ("string_type", "model_type", "model_attributes_type")
    ):
        message = "expected a name, or an object with a name and aliases"
    if error["type"] == "missing" and field is None:
        message = "the body is empty; expected a JSON object"
    elif field is None and error["type"] in ("model_type", "model_attributes_type"):
        message = "the body is not a JSON object"
    elif field is not None:
        message = f"'{field}': {message[0].lower()}{message[1:]}"
    return Problem(422, "invalid", message, field)
