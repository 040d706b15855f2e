// The code whose speed is at stake: finds words by their beginning.

const WORDS = Array.from({ length: 20_000 }, (_, n) =>
  ((n * 2_654_435_761) % 2 ** 32).toString(36),
).sort();

/** The first ten words that begin with `prefix`, by binary search. @param {string} prefix */
export function search(prefix) {
  let low = 0;
  let high = WORDS.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((WORDS[middle] ?? '') < prefix) low = middle + 1;
    else high = middle;
  }
  return WORDS.slice(low, low + 10).filter((word) => word.startsWith(prefix));
}
