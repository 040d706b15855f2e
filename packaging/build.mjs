// Builds all outputs from an empty folder. Parts that need nothing of each other run side by side.
// `--quick`, for `npm test`, looks at no types, writes none, and leaves out what only makes the library
// smaller. With `--prepare`, `npm ci` builds only what the command runs, for `npm start`; before it packs
// or publishes, npm builds everything.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const isQuick = process.argv.includes('--quick');
const isCommandOnly = process.argv.includes('--prepare') && process.env.npm_command === 'ci';
const sources = isQuick ? ['node', 'packaging/transpile.mjs'] : ['npx', 'tsc'];
const plain = ['node', 'packaging/library.mjs', '--plain'];

/** Runs commands of this project one after another, and throws if one fails. */
async function inTurn(...commands) {
  for (const [command, ...args] of commands) {
    const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit' });
    const [code, signal] = await once(child, 'exit');
    if (code === 0) continue;
    throw new Error(`${[command, ...args].join(' ')} ended with ${signal ?? code}`);
  }
}

const script = (name) => ['npm', 'run', '--silent', `build:${name}`];

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
