// The entry points of the package: their names in lib, and their sources.

export const ENTRIES = {
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
