"""Who is judged, on what, and how: targeted aspect-based sentiment analysis."""

from tabsa.errors import TabsaError
from tabsa.schema import Dataset, Example, Opinion, Span, Target

__version__ = "0.1.0"
__all__ = ["Dataset", "Example", "Opinion", "Span", "TabsaError", "Target", "__version__"]
