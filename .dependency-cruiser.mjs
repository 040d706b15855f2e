// Which folder may import which. Imports point one way:
//
//     cli -> load, simulate; these, integrations -> throttle, host -> limiters -> kernel, time -> memory -> errors, options
//
// Each folder has a list of what it may import; all else is an error: npm packages and node:
// builtins too, so that the core runs wherever SharedArrayBuffer does. Imports of types count.
// The one exception is node:worker_threads: the files that start a ticker's thread and the timer thread
// load it, when they are asked to.

import { allExtensions } from 'dependency-cruiser';

if (!allExtensions.some(({ extension, available }) => extension === '.ts' && available)) {
  // Without a TypeScript that it knows, dependency-cruiser skips every .ts file and reports success.
  throw new Error('dependency-cruiser cannot read .ts files with the installed typescript');
}

const BASE = '^src/(errors|known-options|options)\\.ts$';
const PEERS = '^src/peers\\.ts$';
const MEMORY = '^src/memory/';
const KERNEL = '^src/kernel/';
const ENGINE = '^src/kernel/engine/';
const TIME = '^src/time/';
const THREAD_STARTERS = '^src/time/(timer|background)-thread\\.ts$';
const LIMITERS = '^src/limiters/';
const INDEX = '^src/index\\.ts$';
const KEYED = '^src/keyed\\.ts$';
const THROTTLE_ENTRY = '^src/throttle\\.ts$';
const THROTTLE = '^src/throttle/';
const HOST_ENTRY = '^src/host\\.ts$';
const HOST = '^src/host/';
const KOFFI = 'node_modules/koffi/';
const THROTTLED_POOL = '^src/throttle/pool\\.ts$';
const INTEGRATIONS = '^src/integrations/';
const ENTRY_INTEGRATIONS = '^src/integrations/([a-z]+|opentelemetry/(metrics|register))\\.ts$';
const LOAD_ENTRY = '^src/load\\.ts$';
const LOAD = '^src/load/';
const SIMULATE = '^src/simulate/';
const CLI = '^src/cli/';
const SRC = '^src/';
const WORKERS = '^workers/';
const TEST = '^test/';
const BENCH = '^bench/';
const DOCS = '^docs/';
const EXAMPLES = '^(docs/)?examples/';
const DIST = '^dist/';

const CORE = [BASE, MEMORY, KERNEL, TIME, LIMITERS];
const NOT_SHIPPED = ['npm-dev', 'npm-no-pkg', 'npm-unknown'];

function importsOnly(name, folder, allowed) {
  return {
    name: `${name}-imports-only`,
    severity: 'error',
    from: { path: folder },
    to: { pathNot: allowed },
  };
}

function neverImports(name, folders, forbidden) {
  return { name, severity: 'error', from: { path: folders }, to: { path: forbidden } };
}

function importsNoMore(name, folder, forbidden, allowed) {
  return {
    name,
    severity: 'error',
    from: { path: folder },
    to: { path: forbidden, pathNot: allowed },
  };
}

export default {
  forbidden: [
    importsOnly('base', BASE, [BASE]),
    importsOnly('memory', MEMORY, [BASE, MEMORY]),
    importsOnly('peers', PEERS, [BASE, MEMORY, '^(node:)?(fs|path|url)$']),
    importsOnly('kernel', KERNEL, [BASE, MEMORY, KERNEL]),
    importsOnly('engine', ENGINE, [ENGINE]),
    {
      ...importsOnly('time', TIME, [BASE, MEMORY, TIME]),
      from: { path: TIME, pathNot: THREAD_STARTERS },
    },
    importsOnly('thread-starters', THREAD_STARTERS, [MEMORY, TIME, '^(node:)?worker_threads$']),
    importsOnly('limiters', LIMITERS, CORE),
    importsOnly('index', INDEX, CORE),
    importsOnly('keyed', KEYED, [INDEX]),
    {
      ...importsOnly('throttle', THROTTLE, [...CORE, THROTTLE]),
      from: { path: THROTTLE, pathNot: THROTTLED_POOL },
    },
    importsOnly('throttled-pool', THROTTLED_POOL, [...CORE, THROTTLE, '^(node:)?events$']),
    importsOnly('throttle-entry', THROTTLE_ENTRY, [THROTTLE]),
    importsOnly('host', HOST, [
      ...CORE,
      PEERS,
      HOST,
      '^(node:)?(fs|module|os|path|worker_threads)$',
      KOFFI,
    ]),
    importsOnly('host-entry', HOST_ENTRY, [HOST]),
    {
      name: 'index-never-reaches-a-package',
      severity: 'error',
      from: { path: INDEX },
      to: { path: '^node_modules/', reachable: true },
    },
    neverImports('src-never-imports-its-users', SRC, [WORKERS, TEST, BENCH, DOCS]),
    {
      ...neverImports('sources-never-import-the-build', [SRC, WORKERS, BENCH, DOCS], DIST),
      from: { path: [SRC, WORKERS, BENCH, DOCS], pathNot: EXAMPLES },
    },
    neverImports('examples-import-the-package-as-its-users-do', EXAMPLES, WORKERS),
    // tsconfig.json maps the package's name to the sources of its entry points.
    importsNoMore('examples-import-entry-points', EXAMPLES, SRC, [
      INDEX,
      KEYED,
      THROTTLE_ENTRY,
      HOST_ENTRY,
      LOAD_ENTRY,
      ENTRY_INTEGRATIONS,
    ]),
    // Libraries: no terminal, no options of a command.
    importsOnly('load', LOAD, [
      ...CORE,
      LOAD,
      // For several processes.
      HOST_ENTRY,
      HOST,
      PEERS,
      '^src/integrations/redis/',
      '^(node:)?(child_process|crypto|events|fs|http|http2|module|net|os|tls|worker_threads)$',
      'node_modules/(hdr-histogram-js|redis)/',
    ]),
    importsOnly('load-entry', LOAD_ENTRY, [LOAD]),
    importsOnly('simulate', SIMULATE, [
      ...CORE,
      LOAD,
      SIMULATE,
      '^(node:)?(fs|readline)$',
      'node_modules/hdr-histogram-js/',
    ]),
    neverImports('integrations-import-no-command', INTEGRATIONS, [CLI, LOAD, SIMULATE]),
    neverImports('workers-never-import-test-or-bench', WORKERS, [TEST, BENCH]),
    neverImports('bench-never-imports-test', BENCH, TEST),
    {
      name: 'src-has-no-other-place',
      comment: 'A new folder or file at the top of src needs a line above.',
      severity: 'error',
      from: {
        path: SRC,
        pathNot: [
          ...CORE,
          PEERS,
          INDEX,
          KEYED,
          THROTTLE_ENTRY,
          THROTTLE,
          HOST_ENTRY,
          HOST,
          INTEGRATIONS,
          LOAD_ENTRY,
          LOAD,
          SIMULATE,
          CLI,
        ],
      },
      to: {},
    },
    {
      name: 'shipped-code-imports-only-what-is-shipped',
      severity: 'error',
      comment:
        'An integration may also import its peer, which its user has; the command is bundled with what it imports.',
      from: { path: [SRC], pathNot: [CLI, LOAD, SIMULATE] },
      to: { dependencyTypes: NOT_SHIPPED, dependencyTypesNot: ['npm-peer'] },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      // The module of keyed tables and two of its files still import each other.
      from: { pathNot: `${ENGINE}keyed(\\.ts$|/(debt|return)\\.ts$)` },
      to: { circular: true },
    },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    detectProcessBuiltinModuleCalls: true,
    // The build writes the engine's constants; its compiler fails if another import is missing.
    // `npm run docs` installs what the theme of the site imports.
    exclude: {
      path: [
        '^src/(kernel/build|integrations/redis/script)/.*\\.mjs$',
        '^\\.\\.?/constants$',
        '^docs/site/theme/',
      ],
    },
    doNotFollow: { path: ['node_modules', DIST] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
