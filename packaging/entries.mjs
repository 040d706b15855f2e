// The entry points of the package: their names in lib, and their sources.

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
