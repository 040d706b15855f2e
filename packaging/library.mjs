// Bundles all code that Node.js runs into lib: a file for each entry point of the library and for each
// thread of the command, and those of what they share. One file loads in a fraction of the time of
// seventy. `--plain` leaves out what only makes it smaller, in a third of the time, and source maps.

import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { rollup } from 'rollup';
import { minify } from 'terser';
import { allEntriesIn, LIB, peerDependencies, removeBuilt } from './entries.mjs';
import { isBundled, packageOf, packages } from './packages.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const isPlain = process.argv.includes('--plain');

/** Comments on lines of their own. Each thread keeps the text of the code that it loads. */
const COMMENTS = /^ *(\/\*\*[\s\S]*?\*\/|\/\/.*)$/gm;

/** The compiled engine. */
const ENGINE = /src\/kernel\/build\/modules\.ts$/;

/** A debugger shows nothing in it. */
const withoutEngine = {
  name: 'without-engine',
  transform: (code, id) => (ENGINE.test(id) ? { code, map: { mappings: '' } } : null),
};

/** Removes types and comments from a source, and keeps its lines. */
const withoutTypes = {
  name: 'without-types',
  transform: (code, id) =>
    id.endsWith('.ts')
      ? transform(
          code.replace(COMMENTS, (comment) => comment.replace(/.+/g, '')),
          {
            loader: 'ts',
            target: 'es2022',
            sourcefile: id,
            sourcemap: true,
            tsconfigRaw: { compilerOptions: { target: 'es2022', verbatimModuleSyntax: true } },
          },
        )
      : null,
};

/** Chunks lie in lib, and the files that code finds beside itself in lib/cli. */
const besideTheCommand = {
  name: 'beside-the-command',
  transform: (code, id) =>
    id.endsWith('/beside.ts') ? { code: code.replace('`./', '`./cli/'), map: null } : null,
};

/** What every entry point is made of, without the layout that only few of them import. */
const CORE =
  /src\/((errors|options|known-options)\.ts|(memory(?!\/layout\/fleet\.ts)|kernel|time|limiters)\/)/;
/** A debugger shows the sources of the library, but neither packages nor the command. */
const COMMAND = /^cli\//;

function chunkOf(id) {
  const name = packageOf(id);
  if (name !== undefined) return `cli/${name}`;
  return CORE.test(id) ? 'core' : undefined;
}

/**
 * Puts the engine before the rest of the core, whichever module is first. In the midst of it, its
 * dense text would part repetitions of code further than gzip looks back: 2 % of a bundle.
 */
const engineFirst = {
  name: 'engine-first',
  transform: (code, id) =>
    CORE.test(id) && !ENGINE.test(id)
      ? { code: `import '${ROOT}src/kernel/build/modules.ts';${code}`, map: null }
      : null,
};

/**
 * What these are, which is shorter. Besides, a bundler drops an unused constant only if it knows that
 * to compute it has no effects.
 */
const NUMBERS = {
  '@Number.POSITIVE_INFINITY': '1/0',
  '@Number.NEGATIVE_INFINITY': '-1/0',
  '@Number.MAX_VALUE': `${Number.MAX_VALUE}`,
  '@Int32Array.BYTES_PER_ELEMENT': '4',
  '@BigInt64Array.BYTES_PER_ELEMENT': '8',
  '@Float64Array.BYTES_PER_ELEMENT': '8',
};

/** Each thread keeps the text that it loads. Names of classes and annotations for bundlers stay. */
const compact = {
  name: 'compact',
  renderChunk: (code) =>
    minify(code, {
      compress: { ecma: 2020, keep_classnames: true, passes: 2, global_defs: NUMBERS },
      module: true,
      mangle: { keep_classnames: true },
      format: { comments: /ignore/i, preserve_annotations: true, max_line_len: 200 },
      sourceMap: true,
    }),
};

const sourceMaps = {
  name: 'source-maps',
  generateBundle(_, bundle) {
    for (const [name, file] of Object.entries(bundle)) {
      if (!COMMAND.test(name)) continue;
      if (name.endsWith('.map')) delete bundle[name];
      else file.code = file.code?.replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n');
    }
  },
};

/** The last steps of a library that is published. */
const SMALLER = [withoutEngine, engineFirst, compact, sourceMaps];

async function bundleCode() {
  const bundle = await rollup({
    input: allEntriesIn(ROOT, '.ts'),
    external: (name, from) =>
      name.startsWith('node:') || (name in peerDependencies && !isBundled(name, from)),
    treeshake: !isPlain,
    plugins: [packages(), besideTheCommand, withoutTypes, ...(isPlain ? [] : SMALLER)],
    onwarn: ({ message }) => {
      throw new Error(message);
    },
  });
  // To find, open and link a file costs a thread half a millisecond, so the core is in one. Another
  // that holds next to nothing costs more to open than to load with the rest.
  await bundle.write({
    dir: LIB,
    chunkFileNames: ({ name }) => (COMMAND.test(name) ? '[name].js' : 'shared-[hash].js'),
    sourcemap: !isPlain,
    manualChunks: chunkOf,
    experimentalMinChunkSize: 1000,
  });
  await chmod(join(LIB, 'cli/main.js'), 0o755);
}

await removeBuilt(/\.(js|map)$/);
await bundleCode();
