import { STATUS_CODES } from 'node:http';
import type { Tally } from '../../load/tally.ts';
import { formatCount, formatShare, type Paint } from '../format.ts';
import { safeText } from '../safe-text.ts';
import { COLUMN, field } from './field.ts';
import type { Noun } from './noun.ts';

const NAME = 25;

interface CountRow {
  readonly name: string;
  readonly count: number;
  readonly isGood: boolean;
  readonly example: string;
}

/** Responses by status, then errors, most frequent first. */
export function responseLines(
  { counters, statusCodes, errors }: Pick<Tally, 'counters' | 'statusCodes' | 'errors'>,
  noun: Noun,
  paint: Paint,
): string[] {
  const total = counters.succeeded + counters.failed;
  const responses = [...statusCodes]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => ({
      name: `${status} ${STATUS_CODES[status] ?? ''}`.trim(),
      count,
      isGood: status < 400,
      example: '',
    }));
  const failures = [...errors.values()]
    .sort((a, b) => b.count - a.count)
    .map(({ kind, count, example }) => ({ name: kind, count, isGood: false, example }));
  return [
    ...(noun === 'calls'
      ? countLines('Calls', successes(counters.succeeded), total, paint)
      : countLines('Responses', responses, total, paint)),
    ...countLines('Errors', failures, total, paint),
  ];
}

function successes(count: number): CountRow[] {
  return count === 0 ? [] : [{ name: 'succeeded', count, isGood: true, example: '' }];
}

function countLines(label: string, rows: CountRow[], total: number, paint: Paint): string[] {
  if (rows.length === 0) return [field(label, 'none')];
  return rows.map(({ name, count, isGood, example }, index) => {
    const shown = (isGood ? paint.good : paint.bad)(name.padEnd(NAME));
    const share = formatShare(count, total).padStart(COLUMN);
    const said = example === '' ? '' : `   ${paint.dim(safeText(example))}`;
    const line = `${shown}${formatCount(count).padStart(COLUMN)}${share}${said}`;
    return field(index === 0 ? label : '', line);
  });
}
