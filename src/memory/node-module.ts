/**
 * A module of Node.js; undefined before 20.16 and 22.3, and outside Node.js. Its name is computed,
 * because bundlers for browsers would follow it and fail.
 */
export function nodeModule<T>(name: string): T | undefined {
  return globalThis.process?.getBuiltinModule?.(['node', name].join(':')) as T | undefined;
}
