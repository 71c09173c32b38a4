"""Errors a user can cause and mend; the command line prints one as a single line and exits with 1.

    TabsaError
    ├── DataError           a data file is malformed, or holds something unexpected
    │   └── DataNotFoundError   it is not where data is looked for
    ├── FetchError          a download failed, or gave other bytes than expected
    ├── ConfigError         a configuration names an unknown key or a wrong value
    ├── ModelError          a model folder cannot be read, or does not fit what is asked
    └── OutputError         a result cannot be written

A message says what was wrong, what was expected, and what to try.
"""


class TabsaError(Exception):
    """Base of every error that is the input's fault rather than ours."""


class DataError(TabsaError):
    """A data file is malformed, or holds something unexpected."""


class DataNotFoundError(DataError):
    """A dataset is not where data is looked for."""


class FetchError(TabsaError):
    """A download failed, or gave other bytes than expected."""


class ConfigError(TabsaError):
    """A configuration names an unknown key or a wrong value."""


class ModelError(TabsaError):
    """A model folder cannot be read, or does not fit what is asked."""


class OutputError(TabsaError):
    """A result cannot be written."""
