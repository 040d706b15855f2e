/** Leaves all but our sources out of a source map: packages, and the compiled engine, which shows nothing. */
export function withoutModules(text) {
  const map = JSON.parse(text);
  for (const [index, source] of map.sources.entries()) {
    const isOurs = source.startsWith('../src/') && !source.endsWith('kernel/build/modules.ts');
    if (!isOurs) map.sourcesContent[index] = null;
  }
  return JSON.stringify(map);
}
