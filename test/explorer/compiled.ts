/** URL of a compiled module, by its path from the root: threads cannot load TypeScript. */
export function compiled(path: string): URL {
  const root = import.meta.url.endsWith('.ts') ? '../../dist/' : '../../';
  return new URL(root + path, import.meta.url);
}
