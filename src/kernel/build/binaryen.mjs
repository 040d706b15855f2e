import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Runs a tool of binaryen on a binary. */
export async function binaryen(name, binary, ...options) {
  const tool = fileURLToPath(new URL(`bin/${name}`, import.meta.resolve('binaryen')));
  const folder = await mkdtemp(join(tmpdir(), 'zerotime-'));
  try {
    const [from, to] = [join(folder, 'from.wasm'), join(folder, 'to')];
    await writeFile(from, binary);
    await promisify(execFile)(process.execPath, [tool, from, ...options, '-o', to]);
    return await readFile(to);
  } finally {
    await rm(folder, { recursive: true });
  }
}
