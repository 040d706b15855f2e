// How packages are bundled.

import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Peers of the package: loaded only if the user has them. */
export const PEERS = ['koffi', 'redis'];

/** Packages in CommonJS call require. */
export const REQUIRE = `import { createRequire as __createRequire } from 'node:module';
const require = __createRequire(import.meta.url);`;

/** Answers imports that match `filter` with `contents`. */
export function replacing(name, filter, contents) {
  return {
    name,
    setup({ onResolve, onLoad }) {
      onResolve({ filter }, () => ({ path: name, namespace: name }));
      onLoad({ filter: /^/, namespace: name }, () => ({ contents, resolveDir: ROOT }));
    },
  };
}

/** Without the second implementation of hdr-histogram-js, which nothing uses. */
export const oneHistogram = replacing(
  'no-wasm-histogram',
  /^\.\/wasm$/,
  'exports.WasmHistogram = class {}; exports.webAssemblyAvailable = false;',
);
