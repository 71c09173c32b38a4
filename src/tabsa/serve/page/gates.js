// What the gates say of a cell: one value a word, from 0 (the memory kept) to 1 (the memory rewritten).

/**
 * @typedef {{text: string, start: number, end: number, target: number | null}} Token
 * @typedef {{start: number, end: number, targets: string[], tokens: Token[], gates: number[][][] | null}} Passage
 * @typedef {{passages: Passage[], directions: string[], attention: number[][][] | null, aspects: string[],
 *            tied: number, unread?: {target: string, spans: import("./text.js").Span[]}[]}} Explanation
 * @typedef {import("./state.js").Cell} Cell
 * @typedef {{key: string, label: string}} Chain
 * @typedef {{share: number, chain: Chain}} Share
 */

/** The passages that were read for a target. @param {Explanation} explanation @param {string} target */
export function passagesOf(explanation, target) {
  return explanation.passages.filter((passage) => passage.targets.includes(target));
}

/**
 * What each chain of a passage follows: a target, or whatever training made of it.
 * @param {Passage} passage
 * @param {number} tied
 * @returns {Chain[]}
 */
export function chainsOf(passage, tied) {
  const count = passage.gates?.[0]?.[0]?.length ?? 0;
  return Array.from({ length: count }, (_, chain) => {
    if (chain >= tied)
      return { key: `free-${chain - tied + 1}`, label: `${tied ? "free" : "chain"} ${chain - tied + 1}` };
    const target = passage.targets[chain];
    return target === undefined
      ? { key: `unused-${chain + 1}`, label: `target ${chain + 1}, unused` }
      : { key: `target-${target}`, label: target };
  });
}

/** Every chain of several passages, once. @param {Passage[]} passages @param {number} tied @returns {Chain[]} */
export function allChains(passages, tied) {
  const found = new Map(passages.flatMap((passage) => chainsOf(passage, tied)).map((chain) => [chain.key, chain]));
  const unused = (/** @type {Chain} */ chain) => Number(chain.key.startsWith("unused"));
  return [...found.values()].sort((a, b) => unused(a) - unused(b));
}

/**
 * The share of each chain in the answer to a question, or null where the model has none.
 * @param {Explanation} explanation
 * @param {Passage} passage
 * @param {Cell} cell
 * @returns {number[] | null}
 */
export function attentionOf(explanation, passage, cell) {
  const slot = passage.targets.indexOf(cell.target);
  return explanation.attention?.[slot]?.[explanation.aspects.indexOf(cell.aspect)] ?? null;
}

/**
 * How much each chain counts in what is shown; null where nothing of this passage is shown.
 * @param {Explanation} explanation
 * @param {Passage} passage
 * @param {Cell} cell
 * @param {string} chain `mean`, `question` (as its attention weighs them), or the key of one
 * @returns {number[] | null}
 */
export function weightsOf(explanation, passage, cell, chain) {
  const chains = chainsOf(passage, explanation.tied);
  const mean = chains.map(() => 1 / chains.length);
  if (!chains.length || chain === "mean") return chains.length ? mean : null;
  if (chain === "question") return attentionOf(explanation, passage, cell) ?? mean;
  const weights = chains.map(({ key }) => Number(key === chain));
  return weights.includes(1) ? weights : null;
}

/**
 * For each token of a passage its value in each direction that is asked for, and their mean.
 * @param {Passage} passage
 * @param {number[]} weights of the chains
 * @param {number[]} directions numbers of those asked for
 * @returns {{value: number, each: number[]}[]}
 */
export function valuesOf(passage, weights, directions) {
  const gates = passage.gates ?? [];
  return passage.tokens.map((_, token) => {
    const each = directions.map((direction) =>
      weights.reduce((sum, weight, chain) => sum + weight * gates[direction][token][chain], 0),
    );
    return { value: each.reduce((sum, value) => sum + value, 0) / each.length, each };
  });
}
