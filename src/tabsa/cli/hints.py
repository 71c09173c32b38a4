"""What the options of a command can do about an error, by the error's code."""

from typing import Final

from tabsa.errors import TabsaError

_HINTS: Final = {
    "another_run": "choose another --out",
    "cannot_listen": "choose others with --host and --port",
    "cluster_failed": "go on with --resume",
    "column_taken": "tell the new ones apart with --prefix, such as --prefix tabsa/, or leave it out with --keep",
    "id_unknown": "check --data and --split",
    "job_differs": "ask for the same again, or start again with --overwrite",
    "job_exists": "go on with --resume, or start again with --overwrite",
    "job_unusable": "start again with --overwrite",
    "no_column": "name it with --{role}-column, or in a configuration as data.columns.{role}",
    "no_aspect_list": "a single aspect is given with -a",
    "not_scored": "or say with --prefix what the columns of its answers begin with",
    "no_resume": "start again in another --out",
    "no_target": "with -t, --targets or --target-column; or give --implied, if texts do not name what they are about",
    "no_target_named": "give other names with -t 'NAME=ALIAS', or --implied if texts do not name what they are about",
    "no_tagger": "a model trained with --set model.pos_ngrams=0 reads words only and needs none",
    "no_text_column": "say with --text-column which it is",
    "output_exists": "replace it with --overwrite, or choose another name",
    "parts_failed": "mend them and go on with --resume",
    "ray_client": "give --ray-address auto",
    "ray_missing": "or leave out --engine ray",
    "rejects_in_the_way": "give --rejects another name",
    "run_exists": "continue it with --resume, or choose another --out",
    "two_answers": "say with --prefix which to read",
    "whose_answers": "say with --target-column which does",
}


def line_of(error: TabsaError) -> str:
    """The error as one line, with what options can do about it."""
    hint = _HINTS.get(error.code, "").format_map(error.fields)
    return f"{error}; {hint}" if hint else str(error)
