// Puts the parts of a page of --report into lib/cli.

import { copyFile, mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CLI = new URL('../lib/cli/', import.meta.url);

await build({
  absWorkingDir: ROOT,
  entryPoints: { charts: 'src/cli/report/charts.ts' },
  outdir: fileURLToPath(CLI),
  bundle: true,
  format: 'esm',
  target: 'es2022',
  minifySyntax: true,
  minifyWhitespace: true,
  logLevel: 'warning',
});
await mkdir(CLI, { recursive: true });
const parts = {
  'uplot.js': 'node_modules/uplot/dist/uPlot.iife.min.js',
  'uplot.css': 'node_modules/uplot/dist/uPlot.min.css',
};
for (const [name, from] of Object.entries(parts)) {
  await copyFile(new URL(`../${from}`, import.meta.url), new URL(name, CLI));
}
