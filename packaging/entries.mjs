// The entry points of the package: their names in lib, and their sources.

const ENTRIES = {
  index: 'src/index',
  keyed: 'src/keyed',
  host: 'src/host',
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

/** Their files in a folder, by name. */
export function entriesIn(folder, ending) {
  const files = Object.entries(ENTRIES);
  return Object.fromEntries(files.map(([name, path]) => [name, `${folder}${path}${ending}`]));
}
