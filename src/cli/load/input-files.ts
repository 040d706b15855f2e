import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';

/**
 * Records the files that options name, since the parsed options have only their contents. Call
 * before parsing.
 *
 * @returns the paths, with that of the target if it is a module
 */
export function inputFilesOf(command: Command): (target: string | undefined) => string[] {
  const paths: string[] = [];
  for (const name of ['arrivals', 'ca', 'cert', 'key']) {
    command.on(`option:${name}`, (path: string) => paths.push(path));
  }
  for (const name of ['body', 'data']) {
    command.on(`option:${name}`, (text: string) => {
      if (text.startsWith('@')) paths.push(text.slice(1));
    });
  }
  return (target) => (target?.startsWith('file:') ? [...paths, fileURLToPath(target)] : paths);
}
