// Labels of axes and legends. Runs in the browser, with charts.ts.

export function shown(value: number, unit: string): string {
  if (unit === ' ms' && value >= 1_000) return shown(value / 1_000, ' s');
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 3;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits }) + unit;
}

/** A label short enough for the axis. */
export function tick(value: number, unit: string): string {
  if (value < 10_000 || unit === ' ms') return shown(value, unit);
  const notation = { notation: 'compact', maximumFractionDigits: 1 } as const;
  return value.toLocaleString('en-US', notation) + unit;
}

/** Formats odds as a percentile: 100 as `99 %`. */
export function percentile(odds: number): string {
  const digits = Math.max(0, Math.ceil(Math.log10(odds)) - 1);
  return `${Number((100 - 100 / odds).toFixed(digits))} %`;
}

/** Formats seconds: `90` as `1:30`, `0.5` as `0.5 s`. */
export function clock(seconds: number, isLong: boolean): string {
  if (!isLong) return `${Number(seconds.toFixed(3))} s`;
  const whole = Math.round(seconds);
  const two = (n: number) => String(n).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return hours > 0
    ? `${hours}:${two(minutes)}:${two(whole % 60)}`
    : `${minutes}:${two(whole % 60)}`;
}

/** Round steps in seconds: decimal for axes below two minutes, in clock units above. */
export const TIME_STEPS: number[] = [
  ...[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300],
  ...[600, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800],
];
