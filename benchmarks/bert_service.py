"""What `service.py` compares with: FastAPI around a transformers pair classifier of BERT-base's shape.

    python benchmarks/bert_service.py VOCABULARY

Written as one would write it plainly: all pairs of a request are one batch, and requests are read one after another.
Its weights are random, because only time is measured. VOCABULARY has the words of all requests, so that each is one
piece, of which BERT's own vocabulary would make about 1.3.
"""

import sys
import threading
from pathlib import Path

import torch
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

_SOME = ("general", "price", "safety", "transit-location", "dining", "green-nature", "live", "multicultural")
ASPECTS = (*_SOME, "nightlife", "quiet", "shopping", "touristy")  # the box's twelve
LABELS = ("none", "positive", "negative")

app = FastAPI()
_one_at_a_time = threading.Lock()


class Asked(BaseModel):
    """The part of our own request that it understands."""

    text: str
    targets: list[str]


TOKENISER = BertTokenizerFast(vocab=str(Path(sys.argv[1])))
MODEL = BertForSequenceClassification(BertConfig(num_labels=len(LABELS))).eval()


@app.post("/v1/predict")
def predict(request: Asked) -> dict[str, object]:
    """Every target-aspect pair of a text."""
    pairs = [(target, aspect) for target in request.targets for aspect in ASPECTS]
    questions = [f"{target} - {aspect}" for target, aspect in pairs]
    with _one_at_a_time, torch.inference_mode():
        inputs = TOKENISER([request.text] * len(pairs), questions, padding=True, truncation=True, return_tensors="pt")
        shares = MODEL(**inputs).logits.softmax(-1).tolist()
    opinions = [
        {
            "target": target,
            "aspect": aspect,
            "polarity": LABELS[max(range(3), key=row.__getitem__)],
            "probabilities": dict(zip(LABELS, row, strict=True)),
        }
        for (target, aspect), row in zip(pairs, shares, strict=True)
    ]
    return {"text": request.text, "opinions": opinions}


if __name__ == "__main__":
    uvicorn.run(app, port=0, access_log=False)
