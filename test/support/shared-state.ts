const LAZY = Symbol('accessor');

/** What the modules, tests or jobs of a process or thread share, by name. */
export function sharedState(): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>([
    ['process.cwd()', process.cwd()],
    ['process.exitCode', process.exitCode],
    ['process.argv', process.argv.join(' ')],
  ]);
  for (const [name, value] of Object.entries(process.env)) found.set(`process.env.${name}`, value);
  for (const [name, object] of Object.entries({
    globalThis,
    process,
    'process.stdin': process.stdin,
    'process.stdout': process.stdout,
    'process.stderr': process.stderr,
    performance,
    Atomics,
    Date,
    Math,
  })) {
    for (const key of Object.getOwnPropertyNames(object)) {
      // graceful-fs replaces chdir as soon as a package loads it.
      if (key.startsWith('_') || key === 'chdir') continue;
      const { value, get } = Object.getOwnPropertyDescriptor(object, key) ?? {};
      // Node.js puts many globals in place when they are first read.
      if (get !== undefined) found.set(`${name}.${key}`, LAZY);
      else if (typeof value === 'function' || key === 'isTTY') found.set(`${name}.${key}`, value);
    }
  }
  return found;
}

/** The names of what is no longer as it was before. */
export function changedSince(
  before: ReadonlyMap<string, unknown>,
  now: ReadonlyMap<string, unknown> = sharedState(),
): string[] {
  const names = new Set([...before.keys(), ...now.keys()]);
  return [...names].filter(
    (name) => before.get(name) !== LAZY && !Object.is(before.get(name), now.get(name)),
  );
}
