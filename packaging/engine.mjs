// The engine's JavaScript target in lib. Few threads run it, but V8 parses every function that a
// thread loads: a third of the time of the first import. `core.js` therefore contains it as text,
// compiled on first use; `browser/core.js`, which bundlers for browsers take instead, as functions,
// because a content security policy may forbid to compile text.

import { fileURLToPath } from 'node:url';
import { minify } from 'terser';

const LAZILY = fileURLToPath(new URL('lazily.mjs', import.meta.url));
/** A module's functions, as build.mjs writes them. */
const FUNCTIONS = /(?<=^ {2}instantiate: .* :\n)(function\(.*\})(?=,\n\};$)/gm;
/** The same in a minified chunk: a call of `lazily`. Their text contains no quotes. */
const TEXTS = /\b[\w$]+\(\(\)=>(["'])(function\([^"'\\]*\})\1\)/g;

async function shortened(functions) {
  const options = { compress: { ecma: 2020, passes: 2 }, module: true };
  const { code } = await minify(`export default ${functions}`, options);
  const text = code.replace(/^export default ?/, '').replace(/;$/, '');
  if (/["'\\]/.test(text)) throw new Error("the engine's JavaScript contains quotes");
  return text;
}

/** Turns the functions of a source into texts. A debugger shows nothing in the compiled engine. */
export const engineAsText = {
  name: 'engine-as-text',
  async transform(code, id) {
    if (id === LAZILY) return { code, map: { mappings: '' } };
    if (!id.endsWith('/kernel/build/modules.ts')) return null;
    const found = code.match(FUNCTIONS) ?? [];
    const modules = code.match(/^export const /gm) ?? [];
    if (found.length !== modules.length)
      throw new Error('build.mjs has changed the form of its output');
    const texts = await Promise.all(found.map(shortened));
    const rest = code.replace(FUNCTIONS, () => `/* @__PURE__ */ lazily(() => '${texts.shift()}')`);
    return {
      code: `import { lazily } from ${JSON.stringify(LAZILY)};\n${rest}`,
      map: { mappings: '' },
    };
  },
};

/** Writes the chunk for browsers, without a source map. */
export const engineForBrowsers = {
  name: 'engine-for-browsers',
  async generateBundle(_, bundle) {
    const { code } = bundle['core.js'];
    const source = code.replace(TEXTS, '$2').replace(/^\/\/# sourceMappingURL=.*$/m, '');
    const texts = [...code.matchAll(TEXTS)].length;
    const modules = code.match(/\bwasm:\(\)=>/g) ?? [];
    if (texts === 0 || texts !== modules.length) throw new Error('core.js has changed its form');
    this.emitFile({ type: 'asset', fileName: 'browser/core.js', source });
  },
};
