// The entry points of the package: their names in lib, and their sources. What the bundles of code and of
// types have in common.

import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const LIB = fileURLToPath(new URL('../lib', import.meta.url));
export const { peerDependencies } = JSON.parse(
  await readFile(new URL('../package.json', import.meta.url), 'utf8'),
);

const ENTRIES = {
  index: 'src/index',
  keyed: 'src/keyed',
  host: 'src/host',
  load: 'src/load',
  fetch: 'src/integrations/fetch',
  http: 'src/integrations/http',
  opentelemetry: 'src/integrations/opentelemetry',
  'opentelemetry-metrics': 'src/integrations/opentelemetry/metrics',
  'opentelemetry-register': 'src/integrations/opentelemetry/register',
  piscina: 'src/integrations/piscina',
  prometheus: 'src/integrations/prometheus',
  redis: 'src/integrations/redis',
  streams: 'src/integrations/streams',
  throttle: 'src/throttle',
  tinypool: 'src/integrations/tinypool',
  undici: 'src/integrations/undici',
};

/** The command, and the threads and processes that it and zerotime/load start. */
const COMMAND = {
  'cli/main': 'src/cli/main',
  'cli/load-process': 'workers/load-process',
  'cli/load-worker': 'workers/load-worker',
  'cli/task-worker': 'workers/task-worker',
  'cli/echo-server': 'workers/echo-server',
};

/** The files in a folder of the entry points that users import, by name. */
export function entriesIn(folder, ending) {
  return filesOf(ENTRIES, folder, ending);
}

/** The files in a folder of all code that Node.js starts, by name. */
export function allEntriesIn(folder, ending) {
  return filesOf({ ...ENTRIES, ...COMMAND }, folder, ending);
}

function filesOf(entries, folder, ending) {
  const files = Object.entries(entries);
  return Object.fromEntries(files.map(([name, path]) => [name, `${folder}${path}${ending}`]));
}

/** Removes the files of an earlier build, whose chunks have other names. */
export async function removeBuilt(endings) {
  for (const name of await readdir(LIB).catch(() => [])) {
    if (endings.test(name)) await rm(join(LIB, name));
  }
}
