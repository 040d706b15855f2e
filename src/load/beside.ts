/** A file that the build puts beside the bundled command: the code of a thread, a part of a report. */
export function beside(name: string): URL {
  return new URL(`./${name}`, import.meta.url);
}
