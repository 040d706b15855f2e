import type { Peer } from './peer.ts';

/** The peers that can be measured here. */
export interface PreparedPeers {
  readonly ready: readonly Peer[];
  /** A sentence for each that can't, with the command that installs it. */
  readonly missing: readonly string[];
  readonly versions: readonly string[];
}

/** Gets all peers ready. */
export async function preparePeers(peers: readonly Peer[]): Promise<PreparedPeers> {
  const ready: Peer[] = [];
  const missing: string[] = [];
  const versions = new Set<string>();
  for (const peer of peers) {
    const prepared = await peer.prepare();
    if (prepared.state === 'missing') {
      const { what, install } = prepared;
      missing.push(`Not measured: ${peer.name}: ${what} is missing (\`${install}\`).`);
      continue;
    }
    ready.push(peer);
    for (const version of prepared.versions) versions.add(version);
  }
  return { ready, missing, versions: [...versions] };
}
