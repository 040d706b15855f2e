// Bundles the entry points that use packages into lib, with what they use of them: who installs the
// package installs no other. Their threads are those of the command.

import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { entriesWithPackagesIn } from './entries.mjs';
import { oneHistogram, PEERS, REQUIRE, replacing } from './packages.mjs';
import { withoutModules } from './source-map.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LIB = new URL('../lib/', import.meta.url);

/** The command's folder has the files that it finds beside itself. */
const besideTheCommand = replacing(
  'beside',
  /\/beside\.ts$/,
  "export const beside = (name) => new URL('./cli/' + name, import.meta.url);",
);

export async function bundleWithPackages() {
  const entries = entriesWithPackagesIn('', '.ts');
  await build({
    absWorkingDir: ROOT,
    entryPoints: entries,
    outdir: fileURLToPath(LIB),
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    minifySyntax: true,
    minifyWhitespace: true,
    keepNames: true,
    legalComments: 'none',
    sourcemap: true,
    external: PEERS,
    plugins: [besideTheCommand, oneHistogram],
    banner: { js: REQUIRE },
    logLevel: 'warning',
  });
  for (const name of Object.keys(entries)) {
    const map = new URL(`${name}.js.map`, LIB);
    await writeFile(map, withoutModules(await readFile(map, 'utf8')));
  }
}
