// The entry points of the package: their names in lib, and their sources.

const ENTRIES = {
  index: 'src/index',
  keyed: 'src/keyed',
  host: 'src/host',
  fetch: 'src/integrations/fetch',
  opentelemetry: 'src/integrations/opentelemetry',
  piscina: 'src/integrations/piscina',
  prometheus: 'src/integrations/prometheus',
  redis: 'src/integrations/redis',
  streams: 'src/integrations/streams',
  throttle: 'src/throttle',
  tinypool: 'src/integrations/tinypool',
  undici: 'src/integrations/undici',
};

/** Those bundled with packages, and their sources. */
const WITH_PACKAGES = { load: 'src/load' };

/** The files in a folder of those that use no package, by name. */
export function entriesIn(folder, ending) {
  return filesOf(ENTRIES, folder, ending);
}

/** The files in a folder of all entry points, by name. */
export function allEntriesIn(folder, ending) {
  return filesOf({ ...ENTRIES, ...WITH_PACKAGES }, folder, ending);
}

/** The files in a folder of those bundled with packages, by name. */
export function entriesWithPackagesIn(folder, ending) {
  return filesOf(WITH_PACKAGES, folder, ending);
}

function filesOf(entries, folder, ending) {
  const files = Object.entries(entries);
  return Object.fromEntries(files.map(([name, path]) => [name, `${folder}${path}${ending}`]));
}
