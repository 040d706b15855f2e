import { readFileSync } from 'node:fs';
import { markdownTable } from 'markdown-table';
import { expect, test } from 'vitest';
import { SERIES } from '../../src/integrations/metrics/series.ts';

const PAGE = readFileSync(new URL('../../docs/integrations.md', import.meta.url), 'utf8');
const TABLE = /(?<=<!-- series -->\n\n)[\s\S]*?(?=\n\n<!-- end -->)/;

test('the page has all metrics, by both names', () => {
  const rows = SERIES.map(({ kind, name, instrument, unit, help }) => [
    `\`zerotime.${instrument}\``,
    `\`${unit}\``,
    kind,
    `\`zerotime_${name}\``,
    help,
  ]);
  const heads = ['OpenTelemetry', 'Unit', 'Kind', 'Prometheus', 'Meaning'];
  expect(TABLE.exec(PAGE)?.[0]).toBe(markdownTable([heads, ...rows], { alignDelimiters: false }));
});
