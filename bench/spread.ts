/** The middle of several rounds. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const at = (place: number) => sorted[Math.floor(place)] ?? Number.NaN;
  return (at(middle) + at(middle + 0.5)) / 2;
}

/** Round by round: the machine's moods hit both alike. */
export function ratios(values: readonly number[], others: readonly number[]): number[] {
  return values.map((value, round) => value / (others[round] ?? Number.NaN));
}

const THREE_DIGITS = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });

/** The median of several rounds, and how far they lie apart. */
export function shownSpread(values: readonly number[]): string {
  const [middle, least, most] = [median(values), Math.min(...values), Math.max(...values)].map(
    (value) => THREE_DIGITS.format(value),
  );
  return `${middle} (${least}..${most})`;
}

/** How far values lie from their mean: the root of the mean square. */
export function standardDeviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.sqrt(squares / values.length);
}
