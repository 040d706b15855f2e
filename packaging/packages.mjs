// Bundles the packages that the command and zerotime/load use, so that rollup can share them: each
// becomes one ES module with only what is used of it. Their licences go with it.

import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = new URL('../', import.meta.url);
const FOLDER = fileURLToPath(ROOT);

/** Peers that they import: loaded only if the user has them. */
const PEERS = ['koffi', 'redis'];

/** What of each package is used. */
const PACKAGES = {
  commander: `export { Command, InvalidArgumentError, Option } from 'commander';`,
  'hdr-histogram-js': `export { build, decodeFromCompressedBase64, encodeIntoCompressedBase64,
    Int32Histogram, JsHistogram } from 'hdr-histogram-js';`,
};

/** Packages in CommonJS call require. */
const REQUIRE = `import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);`;

/** hdr-histogram-js without its second implementation, and with the zlib of Node.js. */
const smallHistogram = {
  name: 'small-histogram',
  setup({ onLoad }) {
    onLoad({ filter: /hdr-histogram-js\/dist\/wasm\/index\.js$/ }, () => ({
      contents: 'exports.WasmHistogram = class {}; exports.webAssemblyAvailable = false;',
    }));
    onLoad({ filter: /pako\/index\.js$/ }, () => ({ contents: '' }));
    onLoad({ filter: /hdr-histogram-js\/dist\/.*encoding\.js$/ }, async ({ path }) => ({
      // Its way to keep other bundlers from finding this import.
      contents: (await readFile(path, 'utf8')).replaceAll(
        /eval\((['"])require\(\\?"zlib\\?"\)\.(\w+)\1\)/g,
        "require('node:zlib').$2",
      ),
    }));
  },
};

const PREFIX = '\0package:';

async function bundled(contents) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: FOLDER,
    stdin: { contents, resolveDir: FOLDER },
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    external: PEERS,
    legalComments: 'none',
    plugins: [smallHistogram],
    banner: { js: REQUIRE },
    logLevel: 'warning',
  });
  return { code: outputFiles[0].text, files: Object.keys(metafile.inputs) };
}

/** Whether an import is of a bundled package: the integrations use the peers of the user. */
export function isBundled(name, from = '') {
  return name in PACKAGES && /src\/(load|simulate|cli)\//.test(from);
}

/** The package that a module of rollup bundles, if any. */
export function packageOf(id) {
  return id.startsWith(PREFIX) ? id.slice(PREFIX.length) : undefined;
}

const LICENCE = /^(licen[cs]e|copying|notice)\b/i;

const INTRODUCTION = 'The command zerotime, and zerotime/load, contain parts of these packages.\n';

/** The folder of the package that contains this file; undefined for our own files. */
function folderOf(path) {
  const [folder] = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path) ?? [];
  return folder;
}

async function licenceOf(folder) {
  const at = new URL(`${folder}/`, ROOT);
  const { name, version, license } = JSON.parse(
    await readFile(new URL('package.json', at), 'utf8'),
  );
  const files = (await readdir(at)).filter((file) => LICENCE.test(file));
  if (files.length === 0) throw new Error(`${fileURLToPath(at)} has no file with its licence`);
  const texts = await Promise.all(files.sort().map((file) => readFile(new URL(file, at), 'utf8')));
  return [`${name} ${version} (${license})`, ...texts.map((text) => text.trim())].join('\n\n');
}

/** The text to ship with a bundle of these files. Throws if a package comes without its licence. */
async function licencesOf(paths) {
  const folders = new Set(paths.map(folderOf).filter((folder) => folder !== undefined));
  const texts = await Promise.all([...folders].sort().map(licenceOf));
  return `${[INTRODUCTION, ...texts].join(`\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** Rollup gets the bundled packages from here, and LICENCES.txt the licences of what they contain. */
export function packages() {
  const files = ['preact', 'uplot'].map((name) => `node_modules/${name}/package.json`);
  return {
    name: 'packages',
    resolveId: (name, from) => (isBundled(name, from) ? PREFIX + name : null),
    async load(id) {
      const name = packageOf(id);
      if (name === undefined) return null;
      const found = await bundled(PACKAGES[name]);
      files.push(...found.files);
      return found.code;
    },
    async generateBundle() {
      const source = await licencesOf(files);
      this.emitFile({ type: 'asset', fileName: 'cli/LICENCES.txt', source });
    },
  };
}
