"""The linear baseline, `lr`: one logistic regression an aspect over n-grams (Saeidi et al., 2016).

All that use needs is here, in NumPy; scikit-learn is needed only to fit a model (`tabsa.training.linear`).
"""

from tabsa.linear.config import KIND, LRConfig
from tabsa.linear.model import LinearModel, predict_dataset, read_model, write_model
from tabsa.linear.tagging import Tagger, tagger_for

__all__ = ["KIND", "LRConfig", "LinearModel", "Tagger", "predict_dataset", "read_model", "tagger_for", "write_model"]
