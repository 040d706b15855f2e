/** Tokens granted for an instant, or for one between two readings of a clock. */
export interface Granted {
  readonly atUs: number;
  readonly untilUs?: number;
  readonly n: number;
}

/** From an instant on, or from one between two readings on, a limit has this rate. */
export interface RateChange {
  readonly atUs: number;
  readonly untilUs?: number;
  readonly rate: number;
}

/** Tokens that were returned, and when they had been taken. */
export interface Returned {
  readonly atUs: number;
  readonly takenUs: number;
  readonly n: number;
}

/** The worst interval. */
export interface Excess {
  /** The tokens granted beyond those that arrived: a limit holds if they are at most its burst. */
  readonly beyond: number;
  readonly text: string;
}

/**
 * The most tokens that were surely granted in any interval, beyond those that arrived in it, or that
 * were returned in it and taken before. While a rate changes, both rates count.
 */
export function mostBeyond(
  granted: readonly Granted[],
  changes: readonly RateChange[],
  returned: readonly Returned[] = [],
): Excess {
  const arrivedBy = arrivals(changes);
  const isExact = returned.length === 0 && granted.every(({ untilUs }) => untilUs === undefined);
  const worst = { beyond: 0, fromUs: 0, toUs: 0 };
  const judge = (beyond: number, fromUs: number, toUs: number) => {
    if (beyond > worst.beyond) Object.assign(worst, { beyond, fromUs, toUs });
  };
  const endOf = ({ atUs, untilUs = atUs }: Granted) => untilUs;
  const ends = [...granted].sort((a, b) => endOf(a) - endOf(b));
  const arrived = ends.map((one) => arrivedBy(endOf(one)));
  if (isExact) {
    // The worst interval up to an instant begins where the worst one before does, or there.
    let [beyond, fromUs] = [0, 0];
    for (const [i, { atUs, n }] of ends.entries()) {
      const before = beyond - ((arrived[i] ?? 0) - (arrived[i - 1] ?? 0));
      if (!(before > 0)) fromUs = atUs;
      beyond = Math.max(0, before) + n;
      judge(beyond, fromUs, atUs);
    }
  } else {
    for (const { atUs: fromUs } of ends) {
      // A return may move a promise to the instant itself, rounded up.
      const older = returned.filter(({ atUs, takenUs }) => takenUs < fromUs && atUs >= fromUs - 1);
      const before = arrivedBy(fromUs);
      let sum = 0;
      for (const [i, one] of ends.entries()) {
        if (one.atUs < fromUs) continue;
        sum += one.n;
        const toUs = endOf(one);
        let extra = 0;
        for (const { atUs, n } of older) if (atUs <= toUs) extra += n;
        judge(sum - extra - ((arrived[i] ?? 0) - before), fromUs, toUs);
      }
    }
  }
  const { beyond, fromUs, toUs } = worst;
  return { beyond, text: `${beyond} tokens beyond the rate from ${fromUs} to ${toUs} us` };
}

/** The most tokens that have arrived from the first change to an instant. */
function arrivals(changes: readonly RateChange[]): (us: number) => number {
  const bounds = changes.flatMap(({ atUs, untilUs = atUs }) => [atUs, untilUs]);
  const rates = changes.flatMap(({ rate }, i) => [Math.max(rate, changes[i - 1]?.rate ?? 0), rate]);
  const sums = [0];
  for (let i = 1; i < bounds.length; i++) {
    const us = (bounds[i] ?? 0) - (bounds[i - 1] ?? 0);
    sums.push((sums[i - 1] ?? 0) + (us * (rates[i - 1] ?? 0)) / 1e6);
  }
  return (us) => {
    let [low, high] = [0, bounds.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((bounds[middle] ?? 0) <= us) low = middle;
      else high = middle;
    }
    return (sums[low] ?? 0) + ((us - (bounds[low] ?? 0)) * (rates[low] ?? 0)) / 1e6;
  };
}
