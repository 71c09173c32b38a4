"""A run that is "killed" in this process at one of the points where it changes a file."""

from itertools import count


class Killed(BaseException):
    """Stands for a kill: nothing that handles errors sees it."""


def kill_at(patch, step, points):
    """Raise right before the `step`th call of any of these functions, each given by its owner and name."""
    calls = count(1)

    def counted(function):
        def call(*arguments, **options):
            if next(calls) == step:
                raise Killed
            return function(*arguments, **options)

        return call

    for owner, name in points:
        patch.setattr(owner, name, counted(getattr(owner, name)))
