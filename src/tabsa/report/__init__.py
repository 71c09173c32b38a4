"""What a scored table says: who is judged how on what, with how much certainty, and the sentences behind it."""

from tabsa.report.columns import ColumnNames
from tabsa.report.counting import summarise
from tabsa.report.summary import Contrast, Summary, SummaryCell, Times
from tabsa.report.tally import Tally
from tabsa.report.telling import Telling

__all__ = ["ColumnNames", "Contrast", "Summary", "SummaryCell", "Tally", "Telling", "Times", "summarise"]
