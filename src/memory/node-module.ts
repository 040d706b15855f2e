/**
 * A module of Node.js; undefined before 20.16 and 22.3, and where there is none. It is looked up
 * by a name that bundlers cannot follow: those for browsers would fail on it.
 */
export function nodeModule<T>(name: string): T | undefined {
  return globalThis.process?.getBuiltinModule?.(['node', name].join(':')) as T | undefined;
}
