"""Use a model: text, targets and aspects in, opinions out. Needs numpy and onnxruntime, not PyTorch."""

from tabsa.predictor.predictor import Predictor, load
from tabsa.predictor.result import Passage, PredictedOpinion, Prediction

__all__ = ["Passage", "PredictedOpinion", "Prediction", "Predictor", "load"]
