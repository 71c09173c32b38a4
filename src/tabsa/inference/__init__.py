"""Use a model: text, targets and aspects in, opinions out. Needs numpy and onnxruntime, not PyTorch."""

from tabsa.inference.evaluation import evaluate, predict_examples, predict_questions
from tabsa.inference.predictor import Predictor, load
from tabsa.inference.result import PredictedOpinion, Prediction
from tabsa.inference.suggesting import Suggestion, suggest

__all__ = [
    "PredictedOpinion",
    "Prediction",
    "Predictor",
    "Suggestion",
    "evaluate",
    "load",
    "predict_examples",
    "predict_questions",
    "suggest",
]
