// Writes to dist what `tsc` writes there, but looks at no types: in a tenth of the time, for a quick
// build.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** In a statement, or in a call, the name of a module beside this one. */
const SOURCE = /^((?:import|export|\}) (?:.* )?from |import |.*\bimport\()"(\.[^"]+)\.ts"/gm;

const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);

await Promise.all(
  fileNames.map(async (file) => {
    const { code } = await transform(await readFile(file, 'utf8'), {
      loader: 'ts',
      format: 'esm',
      target: config.compilerOptions.target,
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    });
    const to = join(options.outDir, relative(ROOT, file)).replace(/\.ts$/, '.js');
    await mkdir(dirname(to), { recursive: true });
    await writeFile(to, code.replace(SOURCE, '$1"$2.js"'));
  }),
);
