/** The median of several rounds. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const at = (place: number) => sorted[Math.floor(place)] ?? Number.NaN;
  return (at(middle) + at(middle + 0.5)) / 2;
}

/** Compares round by round, so that changes of the machine's speed affect both sides alike. */
export function ratios(values: readonly number[], others: readonly number[]): number[] {
  return values.map((value, round) => value / (others[round] ?? Number.NaN));
}

const THREE_DIGITS = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });

/** The median of several rounds with their range. */
export function shownSpread(values: readonly number[]): string {
  const [middle, least, most] = [median(values), Math.min(...values), Math.max(...values)].map(
    (value) => THREE_DIGITS.format(value),
  );
  return `${middle} (${least}..${most})`;
}

/** The population standard deviation. */
export function standardDeviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.sqrt(squares / values.length);
}
