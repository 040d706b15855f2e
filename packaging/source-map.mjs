/** Leaves the compiled engine out of a source map: it would repeat it, and shows nothing. */
export function withoutModules(text) {
  const map = JSON.parse(text);
  for (const [index, source] of map.sources.entries()) {
    if (source.endsWith('kernel/build/modules.ts')) map.sourcesContent[index] = null;
  }
  return JSON.stringify(map);
}
