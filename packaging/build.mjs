// Builds all outputs from an empty folder. Parts that need nothing of each other run side by side.
// `--quick`, for `npm test`, looks at no types, writes none, and leaves out what only makes the library
// smaller. With `--prepare`, `npm ci` builds only what the command runs, for `npm start`; before it packs
// or publishes, npm builds everything.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const isQuick = process.argv.includes('--quick');
const isCommandOnly = process.argv.includes('--prepare') && process.env.npm_command === 'ci';
const sources = isQuick ? 'node packaging/transpile.mjs' : 'tsc';
const plain = 'node packaging/library.mjs --plain';
const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'));
/** Where npm finds the commands of packages; npm itself takes half a second to start one. */
const PATH = [`${ROOT}node_modules/.bin`, process.env.PATH].join(delimiter);

/** Runs commands of this project one after another, and throws if one fails. */
async function inTurn(...commands) {
  for (const command of commands) {
    const env = { ...process.env, PATH };
    const child = spawn(command, { cwd: ROOT, env, shell: true, stdio: 'inherit' });
    const [code, signal] = await once(child, 'exit');
    if (code === 0) continue;
    throw new Error(`${command} ended with ${signal ?? code}`);
  }
}

const script = (name) => scripts[`build:${name}`];

for (const folder of ['dist', 'lib']) rmSync(`${ROOT}${folder}`, { recursive: true, force: true });
try {
  await Promise.all([inTurn(script('kernel')), inTurn(script('script'))]);
  if (isCommandOnly) {
    await inTurn(plain, script('page'));
  } else {
    await Promise.all([
      inTurn(sources, script('threads')),
      inTurn(...(isQuick ? [] : [script('types')])),
      inTurn(isQuick ? plain : script('library'), script('page')),
    ]);
  }
} catch (error) {
  console.error(error.message);
  // The others may go on for minutes.
  process.exit(1);
}
