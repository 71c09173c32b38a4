"""Use a model: text, targets and aspects in, opinions out. Needs numpy and onnxruntime, not PyTorch."""

from tabsa.inference.evaluation import evaluate, label_names, predict_examples, predict_questions
from tabsa.inference.evidence import Evidence, SentenceAnswer, WordWeight
from tabsa.inference.predictor import Predictor, load
from tabsa.inference.result import PredictedOpinion, Prediction
from tabsa.inference.suggesting import Suggestion, suggest

__all__ = [
    "Evidence",
    "PredictedOpinion",
    "Prediction",
    "Predictor",
    "SentenceAnswer",
    "Suggestion",
    "WordWeight",
    "evaluate",
    "label_names",
    "load",
    "predict_examples",
    "predict_questions",
    "suggest",
]
