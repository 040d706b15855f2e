/** The URL of a file that the build puts beside the bundled command, such as a thread's code. */
export function beside(name: string): URL {
  return new URL(`./${name}`, import.meta.url);
}
