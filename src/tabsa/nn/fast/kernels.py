"""Triton kernels for the pointwise work of a memory step and of its derivative: one program a row, that is one chain.

The products between them are PyTorch's; `fused.py` puts both together and says what the arrays are. All arithmetic is
float32; what is stored for a product has the product's type. Sizes: D dimensions (padded), n chains, `records` rows of
all steps together, `rows` rows of this step; `first` is the first of this step's rows among the records, and `word`
the first of its words.
"""

import triton
from triton import language as tl


@triton.jit
def _place(records, first, D: tl.constexpr, BLOCK: tl.constexpr):
    """The row and the group of a program, its record, and its columns."""
    r = tl.program_id(0)
    g = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < D
    return r, g, g * records + first + r, column, inside


@triton.jit
def _row(table, row, width, offset, column, inside):
    """Columns `offset` to `offset + D` of a row, in float32."""
    return tl.load(table + row * width + offset + column, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def _put(table, row, width, offset, column, inside, value):
    tl.store(table + row * width + offset + column, value.to(table.dtype.element_ty), mask=inside)


@triton.jit
def _prelu(x, slope):
    return tl.where(x > 0, x, x * slope)


@triton.jit(do_not_specialize=["rows", "first", "word"])
def propose(
    product, key, candidate, slope, raw, joined,
    rows, records, first, words, word, n: tl.constexpr,
    D: tl.constexpr, WIDTH: tl.constexpr, OFFSET: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Eq. 2: raw = U h + V k + W w, and its PReLU into columns OFFSET of `joined`."""
    r, g, at, column, inside = _place(records, first, D, BLOCK)
    x = _row(product, g * rows + r, D, 0, column, inside)
    x += _row(key, g * n + r % n, D, 0, column, inside)
    x += _row(candidate, g * words + word + r // n, D, 0, column, inside)
    _put(raw, at, D, 0, column, inside, x)
    _put(joined, at, WIDTH, OFFSET, column, inside, _prelu(x, _row(slope, g, D, 0, column, inside)))


@triton.jit(do_not_specialize=["rows", "first"])
def reset(
    product, bias, delay, resets, updates, joined,
    rows, records, first, slots,
    D: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Eq. 3, its two gates; reset * delay goes into the third part of `joined`."""
    r, g, at, column, inside = _place(records, first, D, BLOCK)
    of_reset = _row(product, g * rows + r, 2 * D, 0, column, inside) + _row(bias, g, 3 * D, 0, column, inside)
    of_update = _row(product, g * rows + r, 2 * D, D, column, inside) + _row(bias, g, 3 * D, D, column, inside)
    opened = tl.sigmoid(of_reset)
    _put(resets, at, D, 0, column, inside, opened)
    _put(updates, at, D, 0, column, inside, tl.sigmoid(of_update))
    _put(joined, at, 3 * D, 2 * D, column, inside, opened * _row(delay, g * slots + r, D, 0, column, inside))


@triton.jit(do_not_specialize=["rows", "first", "word", "before", "later_rows", "after", "step"])
def write(
    product, bias, vector, slope, raw, updates, news, delays, delay,
    joined, word_vectors, location, lengths, memories, operands, gates, norms, last,
    rows, records, first, words, word, slots, before, later_rows, after, memory_rows, step, n: tl.constexpr,
    D: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, DELAY: tl.constexpr, NORMALISE: tl.constexpr,
):  # fmt: skip
    """The rest of eq. 3, the gate (eq. 1), the update (eq. 4) and the normalisation.

    `before` is the first of the step's memories among a group's `memory_rows`, the first of which are before any.
    """
    r, g, at, column, inside = _place(records, first, D, BLOCK)
    slot = g * slots + r
    new_memory = g * memory_rows + slots + first + r
    old = _row(memories, g * memory_rows + before + r, D, 0, column, inside)
    logit = tl.sum(_row(word_vectors, g * words + word + r // n, D, 0, column, inside) * old)
    logit += tl.load(location + (g * words + word) * n + r)
    if DELAY:
        new = _row(product, g * rows + r, D, 0, column, inside) + _row(bias, g, 3 * D, 2 * D, column, inside)
        new = 2 * tl.sigmoid(2 * new) - 1  # tanh
        update = _row(updates, at, D, 0, column, inside)
        now = update * _row(delay, slot, D, 0, column, inside) + (1 - update) * new
        _put(news, at, D, 0, column, inside, new)
        _put(delays, at, D, 0, column, inside, now)
        _put(delay, slot, D, 0, column, inside, now)
        if r < later_rows:
            _put(joined, g * records + after + r, WIDTH, 0, column, inside, now)
        logit += tl.sum(_row(vector, g, D, 0, column, inside) * now)
    gate = tl.sigmoid(logit)
    x = old + gate * _prelu(_row(raw, at, D, 0, column, inside), _row(slope, g, D, 0, column, inside))
    if NORMALISE:
        square = tl.sum(x * x)
        norm = tl.where(square > 0, tl.sqrt(square), 1.0)
        x = x / norm
        tl.store(norms + at, norm)
    tl.store(gates + at, gate)
    _put(memories, new_memory, D, 0, column, inside, x)
    _put(operands, new_memory, D, 0, column, inside, x)
    if tl.load(lengths + g * (slots // n) + r // n) == step + 1:
        _put(last, slot, D, 0, column, inside, x)


@triton.jit(do_not_specialize=["first", "later_rows", "step"])
def unwrite(
    later, grad_last, vector, slope, raw, updates, news, joined, lengths, memories, gates, norms,
    grad_memory, grad_delay, grad_logit, grad_gates, grad_new,
    records, first, slots, memory_rows, later_rows, step, n: tl.constexpr,
    D: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, DELAY: tl.constexpr, NORMALISE: tl.constexpr,
):  # fmt: skip
    """`write` backwards: from the gradients of memory and delay after the step to those of what it was made from."""
    r, g, at, column, inside = _place(records, first, D, BLOCK)
    slot = g * slots + r
    grad = _row(grad_memory, slot, D, 0, column, inside)
    if r < later_rows:
        grad += _row(later, g * later_rows + r, D, 0, column, inside)
    if tl.load(lengths + g * (slots // n) + r // n) == step + 1:
        grad += _row(grad_last, slot, D, 0, column, inside)
    if NORMALISE:
        x = _row(memories, g * memory_rows + slots + first + r, D, 0, column, inside)
        grad = (grad - x * tl.sum(x * grad)) / tl.load(norms + at)
    gate = tl.load(gates + at)
    proposal = _prelu(_row(raw, at, D, 0, column, inside), _row(slope, g, D, 0, column, inside))
    of_logit = tl.sum(grad * proposal) * gate * (1 - gate)
    tl.store(grad_logit + at, of_logit)
    _put(grad_memory, slot, D, 0, column, inside, grad)
    if DELAY:
        of_delay = _row(grad_delay, slot, D, 0, column, inside) + of_logit * _row(vector, g, D, 0, column, inside)
        past = _row(joined, at, WIDTH, 0, column, inside)
        new = _row(news, at, D, 0, column, inside)
        update = _row(updates, at, D, 0, column, inside)
        _put(grad_gates, at, 2 * D, D, column, inside, of_delay * (past - new) * update * (1 - update))
        _put(grad_new, at, D, 0, column, inside, of_delay * (1 - update) * (1 - new * new))
        _put(grad_delay, slot, D, 0, column, inside, of_delay * update)


@triton.jit(do_not_specialize=["rows", "first"])
def unreset(
    product, resets, joined, grad_delay, grad_gates,
    rows, records, first, slots,
    D: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """`reset` backwards; `product` is the gradient of the candidate, and of reset * delay after it."""
    r, g, at, column, inside = _place(records, first, D, BLOCK)
    slot = g * slots + r
    of_reset_delay = _row(product, g * rows + r, 2 * D, D, column, inside)
    opened = _row(resets, at, D, 0, column, inside)
    past = _row(joined, at, 3 * D, 0, column, inside)
    _put(grad_gates, at, 2 * D, 0, column, inside, of_reset_delay * past * opened * (1 - opened))
    _put(grad_delay, slot, D, 0, column, inside, _row(grad_delay, slot, D, 0, column, inside) + of_reset_delay * opened)


@triton.jit(do_not_specialize=["rows", "first", "word"])
def unpropose(
    from_new, from_gates, slope, raw, gates, word_vectors,
    grad_logit, grad_memory, grad_delay, grad_raw, grad_slope,
    rows, records, first, words, word, slots, n: tl.constexpr,
    D: tl.constexpr, BLOCK: tl.constexpr, DELAY: tl.constexpr,
):  # fmt: skip
    """`propose` backwards; `grad_slope` is each row's share of that gradient."""
    r, g, at, column, inside = _place(records, first, D, BLOCK)
    slot = g * slots + r
    of_memory = _row(grad_memory, slot, D, 0, column, inside)
    grad = tl.load(gates + at) * of_memory
    if DELAY:
        grad += _row(from_new, g * rows + r, 2 * D, 0, column, inside)
        grad += _row(from_gates, g * rows + r, 2 * D, D, column, inside)
        of_delay = _row(grad_delay, slot, D, 0, column, inside)
        _put(grad_delay, slot, D, 0, column, inside,
             of_delay + _row(from_gates, g * rows + r, 2 * D, 0, column, inside))  # fmt: skip
    x = _row(raw, at, D, 0, column, inside)
    _put(grad_raw, at, D, 0, column, inside, tl.where(x > 0, grad, grad * _row(slope, g, D, 0, column, inside)))
    _put(grad_slope, at, D, 0, column, inside, grad * tl.minimum(x, 0.0))
    of_word = tl.load(grad_logit + at) * _row(word_vectors, g * words + word + r // n, D, 0, column, inside)
    _put(grad_memory, slot, D, 0, column, inside, of_memory + of_word)
