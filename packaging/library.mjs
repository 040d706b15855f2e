// Bundles the library's code into lib: a file for each entry point, and those of what they share. One
// file loads in a fraction of the time of seventy.

import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { rollup } from 'rollup';
import { minify } from 'terser';
import { entriesIn } from './entries.mjs';
import { bundleWithPackages } from './entries-with-packages.mjs';
import { withoutModules } from './source-map.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LIB = fileURLToPath(new URL('../lib', import.meta.url));
const { peerDependencies } = JSON.parse(
  await readFile(new URL('../package.json', import.meta.url), 'utf8'),
);

/** Comments on lines of their own. Each thread keeps the text of the code that it loads. */
const COMMENTS = /^ *(\/\*\*[\s\S]*?\*\/|\/\/.*)$/gm;

/** Removes types and comments from a source, and keeps its lines. */
const withoutTypes = {
  name: 'without-types',
  transform: (code, id) =>
    transform(
      code.replace(COMMENTS, (comment) => comment.replace(/.+/g, '')),
      {
        loader: 'ts',
        target: 'es2022',
        sourcefile: id,
        sourcemap: true,
        tsconfigRaw: { compilerOptions: { target: 'es2022', verbatimModuleSyntax: true } },
      },
    ),
};

/** What every entry point is made of, without the layouts that only one of them imports. */
const CORE =
  /src\/((errors|options|known-options)\.ts|(memory(?!\/layout\/(fleet|strategy)\.ts)|kernel|time|limiters)\/)/;

/** Each thread keeps the text that it loads. Names of classes and annotations for bundlers stay. */
const compact = {
  name: 'compact',
  renderChunk: (code) =>
    minify(code, {
      compress: { ecma: 2020, keep_classnames: true, passes: 2 },
      module: true,
      mangle: { keep_classnames: true },
      format: { comments: /ignore/i, preserve_annotations: true, max_line_len: 200 },
      sourceMap: true,
    }),
};

const sourceMaps = {
  name: 'source-maps',
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.fileName.endsWith('.map')) file.source = withoutModules(file.source);
    }
  },
};

async function bundleCode() {
  const bundle = await rollup({
    input: entriesIn(ROOT, '.ts'),
    external: [/^node:/, ...Object.keys(peerDependencies)],
    plugins: [withoutTypes, compact, sourceMaps],
    onwarn: ({ message }) => {
      throw new Error(message);
    },
  });
  // To find, open and link a file costs a thread half a millisecond, so the core is in one. Another
  // that holds next to nothing costs more to open than to load with the rest.
  const chunks = {
    manualChunks: (id) => (CORE.test(id) ? 'core' : undefined),
    experimentalMinChunkSize: 1000,
  };
  await bundle.write({ dir: LIB, chunkFileNames: 'shared-[hash].js', sourcemap: true, ...chunks });
}

// Chunks of an earlier build have other names.
for (const name of await readdir(LIB).catch(() => [])) {
  if (/\.(js|map)$/.test(name)) await rm(join(LIB, name));
}
await bundleCode();
await bundleWithPackages();
