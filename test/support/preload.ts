import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** An environment in which each thread that heeds NODE_OPTIONS writes a line to stderr. */
export function notingEnvironment(): NodeJS.ProcessEnv {
  const folder = mkdtempSync(join(tmpdir(), 'zerotime-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'note.cjs');
  writeFileSync(file, "process._rawDebug('loaded');");
  return { ...process.env, NODE_OPTIONS: `--require=${file}` };
}
