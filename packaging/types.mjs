// Bundles the library's types into lib: a file for each entry point, and those of what they share.

import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import { entriesIn, LIB, peerDependencies, removeBuilt } from './entries.mjs';

/** Types that two entry points share need not be public, and one entry point exports nothing. */
const EXPECTED = /private shared type exports|empty chunk: "opentelemetry-register"/;
/** Packages bundled with the code: none of their types is public. */
const BUNDLED = ['hdr-histogram-js'];

async function bundleTypes() {
  const bundle = await rollup({
    input: entriesIn('dist/', '.d.ts'),
    external: [/^node:/, ...BUNDLED, ...Object.keys(peerDependencies)],
    plugins: [dts()],
    onwarn: ({ message }) => {
      if (!EXPECTED.test(message)) throw new Error(message);
    },
  });
  await bundle.write({
    dir: LIB,
    chunkFileNames: 'shared-[hash].d.ts',
    plugins: [
      { name: 'older-compilers', renderChunk: (code) => forOlderCompilers(code) },
      { name: 'missing-frameworks', renderChunk: (code) => withoutFrameworks(code) },
    ],
  });
}

/**
 * What a declaration names and an older compiler, or a project without `dom` and the types of
 * Node.js, does not declare. Where it is declared, these merge with it.
 */
const GLOBALS = {
  'Symbol.dispose': 'interface SymbolConstructor { readonly dispose: unique symbol; }',
  'Symbol.asyncDispose': 'interface SymbolConstructor { readonly asyncDispose: unique symbol; }',
  AbortSignal: 'interface AbortSignal {}',
  URL: 'interface URL {}',
};

/** TypeScript has typed arrays of one kind of buffer since 5.7; before, they take no parameter. */
function forOlderCompilers(code) {
  const globals = Object.entries(GLOBALS).flatMap(([name, declaration]) =>
    code.includes(name) ? [`  ${declaration}\n`] : [],
  );
  const plain = code.replaceAll(/\b(\w+Array)<SharedArrayBuffer>/g, '$1');
  return globals.length === 0 ? plain : `${plain}\ndeclare global {\n${globals.join('')}}\n`;
}

/**
 * `zerotime/http` names the types of three frameworks, of which a project has one or none. A type of
 * a package that is missing is then `any`.
 */
function withoutFrameworks(code) {
  return code.replaceAll(/^import .* from '(?:express|fastify|hono)';$/gm, '// @ts-ignore\n$&');
}

await removeBuilt(/\.d\.ts$/);
await bundleTypes();
