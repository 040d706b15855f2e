import type { TimetableVerdict } from '../../load/guarantee.ts';
import type { LoadResult } from '../../load/result.ts';
import { formatCount, formatNumber, type Paint } from '../format.ts';
import { field } from './field.ts';
import { countOf, nounOf } from './noun.ts';

/** The lines that say whether the guarantee held, with the tightest span. */
export function guaranteeLines(
  { guarantee, options, rateRange }: LoadResult,
  paint: Paint,
): string[] {
  const { held, intervals, tightest, scheduled } = guarantee;
  const noun = nounOf(options);
  if (scheduled !== undefined) return [scheduleLine(scheduled, noun, paint)];
  const flow =
    rateRange === undefined ? `${formatNumber(options.rate)} x t` : 'each rate x its time';
  const limit = `${formatNumber(options.burst)} + ${flow}`;
  const lines = [
    field(
      'Guarantee',
      held
        ? `${paint.good('✔ held')}: in every span of t seconds at most ${limit} ${noun}`
        : `${paint.bad('✘ BROKEN')}: in some span of t seconds more than ${limit} ${noun}`,
    ),
  ];
  if (tightest !== undefined) {
    const { admitted, allowed, lengthUs } = tightest;
    lines.push(
      field(
        '',
        paint.dim(
          `${held ? 'tightest' : 'worst'} of ${countOf(intervals, 'spans')}: ${formatCount(admitted)} in ` +
            `${formatNumber(lengthUs / 1e3)} ms, ${formatNumber(allowed)} allowed`,
        ),
      ),
    );
  }
  return lines;
}

/** The line that says whether each request had its own slot in the schedule. */
function scheduleLine({ admitted, strays }: TimetableVerdict, noun: string, paint: Paint): string {
  const text =
    strays === 0
      ? `${paint.good('✔ held')}: each of ${formatCount(admitted)} ${noun} at its own instant of the schedule`
      : `${paint.bad('✘ BROKEN')}: ${formatCount(strays)} of ${formatCount(admitted)} ${noun} are not in the schedule`;
  return field('Guarantee', text);
}
