import type * as FileSystem from 'node:fs';
import type * as Path from 'node:path';
import type * as Url from 'node:url';
import { RateLimitError } from './errors.ts';
import { nodeModule } from './memory/runtime.ts';

/**
 * The oldest release of each optional peer that an entry point works with. The package accepts any:
 * npm would refuse to install zerotime beside an older one, even for those who use only the core.
 */
export const OLDEST_PEERS = {
  'zerotime/host': { koffi: '2.16.0' },
  'zerotime/http': {
    '@fastify/rate-limit': '10.0.0',
    express: '4.0.0',
    'express-rate-limit': '7.0.0',
    fastify: '4.0.0',
    hono: '4.0.0',
  },
  'zerotime/opentelemetry': { '@opentelemetry/api': '1.1.0' },
  'zerotime/opentelemetry/metrics': { '@opentelemetry/api': '1.3.0' },
  'zerotime/opentelemetry/register': {
    '@opentelemetry/auto-instrumentations-node': '0.57.0',
    '@opentelemetry/sdk-node': '0.200.0',
  },
  'zerotime/piscina': { piscina: '4.0.0' },
  'zerotime/prometheus': { 'prom-client': '14.0.0' },
  'zerotime/redis': { ioredis: '5.0.0', redis: '4.0.0' },
  'zerotime/tinypool': { tinypool: '1.0.0' },
  'zerotime/undici': { undici: '6.10.0' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

type Entries = typeof OLDEST_PEERS;

/** The versions of each package that are installed where this program can import them. */
const installed = /* @__PURE__ */ new Map<string, readonly string[]>();

/**
 * Checks a peer when an entry point first needs it. Does nothing if its version is unknown, as in a
 * bundle, or if one of several installed copies is new enough.
 *
 * @throws RateLimitError `ERR_PEER_VERSION` if the peer is too old.
 */
export function checkPeer<Entry extends keyof Entries>(
  entry: Entry,
  name: keyof Entries[Entry] & string,
): void {
  const oldest = (OLDEST_PEERS[entry] as Readonly<Record<string, string>>)[name] as string; // by type
  let versions = installed.get(name);
  if (versions === undefined) {
    versions = installedVersions(name);
    installed.set(name, versions);
  }
  if (versions.length === 0 || versions.some((version) => !isOlder(version, oldest))) return;
  throw new RateLimitError(
    'ERR_PEER_VERSION',
    `${entry} needs ${name} ${oldest} or later, found ${versions.join(' and ')}`,
  );
}

function isOlder(version: string, oldest: string): boolean {
  const [found, least] = [version, oldest].map((text) => text.split(/[.+-]/).map(Number));
  const at = [0, 1, 2].find((i) => found?.[i] !== least?.[i]);
  return at !== undefined && (found?.[at] ?? 0) < (least?.[at] ?? 0);
}

/** Beside zerotime, beside the program's main file, and in the working directory. */
function installedVersions(name: string): readonly string[] {
  const fs = nodeModule<typeof FileSystem>('fs');
  const path = nodeModule<typeof Path>('path');
  const url = nodeModule<typeof Url>('url');
  // Deno would ask its user for the permission to read.
  if (!fs || !path || !url || 'Deno' in globalThis) return [];
  const starts = [() => url.fileURLToPath(import.meta.url), () => process.argv[1], process.cwd];
  const versions = starts.map((start) => {
    try {
      return versionAbove(start() ?? '', name, fs, path);
    } catch {
      return undefined; // not a file, or reading it is forbidden
    }
  });
  return [...new Set(versions.filter((version) => version !== undefined))];
}

/** The version that a module at `from` imports. */
function versionAbove(
  from: string,
  name: string,
  fs: typeof FileSystem,
  path: typeof Path,
): string | undefined {
  for (let folder = from; ; folder = path.dirname(folder)) {
    const manifest = path.join(folder, 'node_modules', name, 'package.json');
    if (fs.existsSync(manifest)) return JSON.parse(fs.readFileSync(manifest, 'utf8')).version;
    if (folder === path.dirname(folder)) return undefined;
  }
}
