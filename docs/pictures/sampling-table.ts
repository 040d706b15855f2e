import { markdownTable } from 'markdown-table';
import { type SamplingResult, type SamplingScene, sumOf, type Tally } from './sampling.ts';

/** Where the page has the table. */
export const TABLE = /(?<=<!-- sampling -->\n\n)[\s\S]*?(?=\n\n<!-- end -->)/;

function counted({ made, kept, counted: counts }: Tally): string[] {
  const [all, said] = [sumOf(made), sumOf(counts)];
  const off = `${said >= all ? '+' : '-'}${((Math.abs(said - all) / all) * 100).toFixed(1)} %`;
  return [`${sumOf(kept)}`, said.toFixed(0), off];
}

/** A scene, and what came of it. */
interface Sampled {
  readonly scene: SamplingScene;
  readonly result: SamplingResult;
}

/** What each sampler kept, what its counts say, and how far that is from what was made. */
export function samplingTable(sampled: readonly Sampled[]): string {
  const heads = ['', 'most kept in a second', 'hot: kept', 'counts say', 'off'];
  const rows = sampled.map(({ scene, result: { hot, rare, most } }) => [
    scene.short,
    `${most}`,
    ...counted(hot),
    ...counted(rare),
    `${hot.uncounted + rare.uncounted}`,
  ]);
  return markdownTable([[...heads, 'rare: kept', 'counts say', 'off', 'uncounted'], ...rows], {
    align: ['l', ...Array.from({ length: 8 }, () => 'r' as const)],
  });
}
