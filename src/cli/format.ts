/** `20000` as `20,000`. */
export function formatCount(n: number): string {
  return n.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

/** Up to three decimals without trailing zeros: `2,000`, `0.5`, `1,999.985`. */
export function formatNumber(n: number): string {
  return n.toLocaleString('en-US', { maximumFractionDigits: 3 });
}

/** A rate per second, rounded to its significant digits: `2,000`, `432.4`, `0.5`. */
export function formatRate(rate: number): string {
  const maximumFractionDigits = rate >= 1_000 ? 0 : rate >= 100 ? 1 : 3;
  return `${rate.toLocaleString('en-US', { maximumFractionDigits })}/s`;
}

/** Formats a share in percent; 0 if the whole is 0. */
export function formatShare(part: number, whole: number): string {
  const percent = whole === 0 ? 0 : (100 * part) / whole;
  // Only a whole shows as 100 %, and only nothing as 0 %.
  const shown = part === whole || part === 0 ? percent : Math.min(Math.max(percent, 0.1), 99.9);
  return `${shown.toFixed(1)} %`;
}

/** Microseconds as milliseconds with about three significant digits, or as seconds. */
export function formatLatency(us: number): string {
  const ms = us / 1_000;
  // At each bound, the format above would round up to one more digit.
  if (ms < 9.995) return `${ms.toFixed(2)} ms`;
  if (ms < 99.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${ms.toFixed(0)} ms`;
  return ms < 9_995 ? `${(ms / 1_000).toFixed(2)} s` : `${(ms / 1_000).toFixed(1)} s`;
}

/** Nanoseconds with three significant digits: `81.3 ns`, `1.25 µs`, then as latencies. */
export function formatShortTime(ns: number): string {
  if (ns >= 999_500) return formatLatency(ns / 1_000);
  return ns < 999.5 ? `${ns.toPrecision(3)} ns` : `${(ns / 1_000).toPrecision(3)} µs`;
}

/** Milliseconds as a duration: `500 ms`, `10 s`, `2 min 5 s`. */
export function formatSpan(ms: number): string {
  if (ms < 1_000) return `${formatNumber(ms)} ms`;
  if (ms < 120_000) return `${formatNumber(ms / 1_000)} s`;
  const seconds = Math.round(ms / 1_000);
  const parts = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  return parts
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(' ');
}

const LEVELS = '▁▂▃▄▅▆▇█';

/** A sparkline with one bar per value. A bar is full at the value `full`. */
export function sparkline(values: readonly number[], full: number): string {
  return values
    .map((value) => {
      const level = Math.round((value / full) * LEVELS.length) - 1;
      return value <= 0 ? ' ' : LEVELS.charAt(Math.min(Math.max(level, 0), LEVELS.length - 1));
    })
    .join('');
}

/** What a run counts. */
export type Noun = 'calls' | 'requests';

/** `1 request`, `2,000 calls`, `1 process`. */
export function countOf(count: number, things: string): string {
  return `${formatCount(count)} ${count === 1 ? things.replace(/(ss)es$|s$/, '$1') : things}`;
}
