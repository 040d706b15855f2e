/** A version of an optional peer, and a program that uses its integration and prints `ok`. */
export interface PeerCase {
  readonly packages: readonly string[];
  /** The Node.js that the peer needs. Default: the one that runs this. */
  readonly node?: number;
  readonly program: string;
}

/** The program beside each of these versions. */
export function each(name: string, versions: readonly string[], program: string): PeerCase[] {
  return versions.map((version) => ({ packages: [`${name}@${version}`], program }));
}
