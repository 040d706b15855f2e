import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folderOfTest } from './folders.ts';

/** An environment in which each thread that heeds NODE_OPTIONS writes a line to stderr. */
export function notingEnvironment(): NodeJS.ProcessEnv {
  const folder = folderOfTest();
  const file = join(folder, 'note.cjs');
  writeFileSync(file, "process._rawDebug('loaded');");
  return { ...process.env, NODE_OPTIONS: `--require=${file}` };
}
