"""A reader's equations in plain NumPy loops: one seed, one text, one question, one head at a time, without padding."""

import itertools
import math

import numpy as np

import slow_memory

_erf = np.vectorize(math.erf)


def of_seed(module, seed):
    """The weights of one seed by name."""
    return {name: tensor[seed].detach().double().numpy() for name, tensor in module.named_parameters()}


def part(weights, prefix):
    return {name.removeprefix(prefix): array for name, array in weights.items() if name.startswith(prefix)}


def softmax(scores):
    shares = np.exp(scores - np.max(scores))
    return shares / shares.sum()


def gelu(x):
    return x * 0.5 * (1 + _erf(x / math.sqrt(2)))


def layer_norm(x, weight, bias, epsilon):
    mean = sum(x) / len(x)
    variance = sum((x - mean) ** 2) / len(x)
    return (x - mean) / math.sqrt(variance + epsilon) * weight + bias


def attend(queries, keys, values, heads, extra=None):
    """Each of the queries (Q, d) over keys and values (T, d); `extra` (h, Q, T) is added to the scores."""
    size = queries.shape[1] // heads
    result = np.zeros_like(queries)
    for head in range(heads):
        own = slice(head * size, (head + 1) * size)
        for q, query in enumerate(queries):
            scores = np.array([query[own] @ key[own] / math.sqrt(size) for key in keys])
            if extra is not None:
                scores = scores + extra[head, q]
            result[q, own] = sum(p * value[own] for p, value in zip(softmax(scores), values, strict=True))
    return result


def bucket(distance, buckets):
    """Raffel et al. (2020), of a key `distance` before its query: exact near by, logarithmic up to 128."""
    half, exact = buckets // 2, buckets // 4
    first = half if distance < 0 else 0
    distance = abs(distance)
    if distance < exact:
        return first + distance
    far = exact + int(math.log(distance / exact) / math.log(128 / exact) * (half - exact))
    return first + min(far, half - 1)


def feed_forward(x, p, epsilon):
    inner = gelu(x @ p["inner"] + p["inner_bias"])
    return layer_norm(x + inner @ p["outer"] + p["outer_bias"], p["last_norm"], p["last_norm_bias"], epsilon)


def block_beside(x, visible, p, heads, epsilon, extra=None):
    """One layer over the states x (Q, d), which attend to the states `visible` (T, d) of the same level."""
    q = np.split(x @ p["qkv"] + p["qkv_bias"], 3, axis=1)[0]
    _, k, v = np.split(visible @ p["qkv"] + p["qkv_bias"], 3, axis=1)
    learnt = attend(q, k, v, heads, extra) @ p["out"] + p["out_bias"]
    x = [layer_norm(own + y, p["norm"], p["norm_bias"], epsilon) for own, y in zip(x, learnt, strict=True)]
    return np.array([feed_forward(own, p, epsilon) for own in x])


def block(states, p, heads, epsilon, extra=None):
    """One layer over the states (T, d) of a text."""
    return block_beside(states, states, p, heads, epsilon, extra)


def embed(shape, p, pieces, places):
    """The states of pieces before the first layer."""
    states = [p["words"][piece] + p["places"][n] for piece, n in zip(pieces, places, strict=True)]
    return np.array([layer_norm(x, p["norm"], p["norm_bias"], shape.epsilon) for x in states])


def between(shape, p, places, others):
    """What MPNet adds to the scores of pieces at `places` over pieces at `others`, (h, Q, T); None for a BERT."""
    if "distances" not in p:
        return None
    extra = np.zeros((shape.heads, len(places), len(others)))
    for (i, place), (j, other) in itertools.product(enumerate(places), enumerate(others)):
        extra[:, i, j] = p["distances"][bucket(place - other, shape.buckets)]
    return extra


def levels(shape, p, pieces):
    """The states of one text's pieces before each layer and after the last, (T, d) each."""
    places = range(len(pieces))
    found, extra = [embed(shape, p, pieces, places)], between(shape, p, places, places)
    for number in range(shape.layers):
        found.append(block(found[-1], part(p, f"layers.{number}."), shape.heads, shape.epsilon, extra))
    return found


def encode(shape, p, pieces):
    """The states of one text's pieces, (T, d)."""
    return levels(shape, p, pieces)[-1]


def answer(model, batch, seed, text, question):
    """The logits of one question about one text."""
    p, shape, late = of_seed(model, seed), model.encoder.shape, model.config.late_interaction
    encoder, lower = part(p, "encoder."), shape.layers - late
    read = levels(shape, encoder, batch.pieces[seed, text, : batch.lengths[seed, text]].tolist())
    row = int(batch.aspect_rows[seed, text, question])
    words = batch.aspects[seed, row, : batch.aspect_lengths[seed, row]].tolist()
    alone = levels(shape, encoder, words)[lower][1:-1]
    slot = int(batch.targets[seed, text, question])
    entered = read[lower]
    places = [n for n in range(len(entered)) if int(batch.slots[seed, text, n]) == slot] if slot >= 0 else [0]
    t = sum(entered[n] for n in places) / len(places)
    rows = np.array([t + p["kinds"][0], *(a + p["kinds"][1] for a in alone)])
    for number in range(late):
        of_text = part(encoder, f"layers.{lower + number}.")
        own = part(p, f"question_layers.{number}.") if model.config.untied else of_text
        rows = question_layer(rows, read[lower + number], own, of_text, shape.heads, shape.epsilon)
    return classify(p, _remembered(model, p, read[-1], rows, slot) if hasattr(model, "memories") else rows[0])


def question_layer(rows, states, own, of_text, heads, epsilon):
    """One layer over a question's rows (R, d), beside a text's states (T, d) of the same level."""
    q, k, v = np.split(rows @ own["qkv"] + own["qkv_bias"], 3, axis=1)
    _, text_k, text_v = np.split(states @ of_text["qkv"] + of_text["qkv_bias"], 3, axis=1)
    learnt = attend(q, np.concatenate([text_k, k]), np.concatenate([text_v, v]), heads) @ own["out"] + own["out_bias"]
    x = [layer_norm(row + y, own["norm"], own["norm_bias"], epsilon) for row, y in zip(rows, learnt, strict=True)]
    return np.array([feed_forward(row, own, epsilon) for row in x])


def classify(p, q):
    return np.tanh(q @ p["hidden"] + p["hidden_bias"]) @ p["output"] + p["output_bias"]


def answer_beside(model, seed, pieces, asked, places):
    """The logits of one question whose pieces `asked`, at `places`, are read beside a text's `pieces`."""
    p, shape = of_seed(model, seed), model.encoder.shape
    encoder = part(p, "encoder.")
    read, states = levels(shape, encoder, pieces), embed(shape, encoder, asked, places)
    extra = between(shape, encoder, places, [*range(len(pieces)), *places])
    for number in range(shape.layers):
        visible, own = np.concatenate([read[number], states]), part(encoder, f"layers.{number}.")
        states = block_beside(states, visible, own, shape.heads, shape.epsilon, extra)
    return classify(p, sum(states) / len(states))


def _remembered(model, p, states, rows, slot):
    """The question with what its chains keep of the text: four chains of slots, that of all others, and free ones."""
    t, a = rows[0], sum(rows[1:], np.zeros_like(rows[0])) / max(1, len(rows) - 1)
    q = np.concatenate([t, a, t * a]) @ p["question"] + p["question_bias"]
    words = states @ p["down"] + p["down_bias"]
    mine = slot if 0 <= slot < 4 else 4
    chains = [mine, *range(5, len(p["keys"]))]
    memory = {j: np.zeros(model.config.size) for j in chains}
    for way in range(len(p["memory"])):
        letters = {"U": p["memory"][way].T, "V": p["key"][way].T, "W": p["word"][way].T, "slope": p["slope"][way]}
        letters["b"] = 0
        letters["Wr"], letters["Wz"], letters["Wn"] = np.split(p["delay_inputs"][way].T, 3)
        letters["Ur"], letters["Uz"] = np.split(p["delay_gates"][way].T, 2)
        letters["Un"], letters["v"] = p["delay_new"][way].T, p["delay_vector"][way]
        letters["br"], letters["bz"], letters["bn"] = np.split(p["delay_bias"][way], 3)
        for j in chains:
            h, _ = slow_memory.read(words[::-1] if way else words, p["keys"][j], letters, delay=True)
            memory[j] = memory[j] + h
    shares = softmax(np.array([p["keys"][j] @ (q @ p["attend"]) for j in chains]))
    u = sum(share * memory[j] for share, j in zip(shares, chains, strict=True))
    return u @ p["up"] + p["up_bias"] + q
