// The licences of the packages of which a bundle contains files.

import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../', import.meta.url);
const LICENCE = /^(licen[cs]e|copying|notice)\b/i;

const INTRODUCTION = 'The command zerotime, and zerotime/load, contain parts of these packages.\n';

/** The folder of the package that contains this file; undefined for our own files. */
function packageOf(path) {
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
export async function licencesOf(paths) {
  const folders = new Set(paths.map(packageOf).filter((folder) => folder !== undefined));
  const texts = await Promise.all([...folders].sort().map(licenceOf));
  return `${[INTRODUCTION, ...texts].join(`\n${'-'.repeat(80)}\n\n`)}\n`;
}
