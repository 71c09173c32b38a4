"""The attention of Ma et al. (2018), computed plainly for one sentence."""

import numpy as np
import torch

import slow_lstm


def marked(model, seed, sentence):
    """The words' vectors, all targets under one mark."""
    mark = model.mark[seed].detach().numpy()
    return np.array([mark if token in model.targets else model.words[token].numpy() for token in sentence])


def slow_logits(model, seed, sentence, target, states):
    """What the states of one sentence say of one target and each aspect."""
    places = [t for t, token in enumerate(sentence) if token == model.targets[target]] or range(len(sentence))
    letters = {
        "w": model.target_attention[seed].detach().numpy(),
        "W1": torch.cat([model.from_state[seed], model.from_target[seed]]).detach().numpy().T,
        "b1": model.attention_bias[seed].detach().numpy(),
        "wk": model.from_aspect[seed].detach().numpy().T,
    }
    summaries = slow_lstm.attend(states, places, letters)
    return summaries @ model.output[seed].detach().numpy() + model.output_bias[seed].detach().numpy()
