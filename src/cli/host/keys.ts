import type { Command } from 'commander';
import { hashOf, type KeyInUse, keysInUse } from '../../host/keys-in-use.ts';
import { noLimiter } from '../../host/operations.ts';
import { countOf, formatCount, formatNumber, formatSpan } from '../format.ts';
import { parseCount } from '../values.ts';
import { keyOf } from './requested-change.ts';
import { keyTypeOption, onRegion, print, type RegionOptions, withRegion } from './subcommand.ts';
import { columns } from './summary.ts';

const NOTES = `
A table keeps a hash of each key, of which no name can be computed. Name the keys that you suspect, such
as those in a log, to see which of the hashes are theirs. How often a key was refused is not kept.

Examples:
  zerotime host keys my-service 'per user' --top 5
  zerotime host keys my-service 'per user' ann bob
`;

interface KeysOptions extends RegionOptions {
  readonly top: number;
  readonly keyType: string;
}

/** The subcommand `keys`. */
export function keysCommand(): Command {
  const range = { min: 1, max: 100_000, integer: true, example: 20 } as const;
  return onRegion('keys')
    .description('show the keys of a table that lack most, by their hashes')
    .argument('<name>', 'the limiter')
    .argument('[keys...]', 'show these keys instead')
    .option('-t, --top <count>', 'how many to show', (text) => parseCount(text, range), 20)
    .addOption(keyTypeOption('keys'))
    .addHelpText('after', NOTES)
    .action(show);
}

function show(
  path: string,
  name: string,
  keys: string[],
  options: KeysOptions,
  command: Command,
): Promise<void> {
  if (keys.length > 0 && command.getOptionValueSource('top') === 'cli') {
    command.error('error: --top cannot be used with keys: each key that is named is shown');
  }
  const { top, keyType } = options;
  return withRegion(path, options, (region) => {
    const limiter = region.limiters().find((one) => one.name === name);
    if (limiter === undefined) throw noLimiter(region, name);
    const asked = keys.map((key) => [key, hashOf(region, limiter, keyOf(key, keyType))] as const);
    const { keys: found, unread } = keysInUse(region, limiter);
    const byHash = new Map(found.map((one) => [one.hash, one]));
    const rows =
      keys.length === 0
        ? found.slice(0, top).map(rowOf)
        : asked.map(([key, hash]) => [key, ...rowOf(byHash.get(hash) ?? { hash })]);
    const unreadable = unread === 0 ? '' : `, ${formatCount(unread)} that could not be read`;
    const count = `${countOf(found.length, 'keys')} not full${unreadable}`;
    print([`${name} (${limiter.kind}): ${count}`, ...columns(rows)]);
  });
}

function rowOf(one: Partial<KeyInUse>): string[] {
  const { hash = '', tier, tokens, burst = 0, retryMs = 0 } = one;
  if (tokens === undefined) return [hash, 'full'];
  return [
    hash,
    `${formatNumber(tokens)} of ${formatNumber(burst)} tokens`,
    ...(tier === undefined ? [] : [`tier ${tier}`]),
    retryText(retryMs),
  ];
}

function retryText(ms: number): string {
  if (ms === 0) return 'admitted now';
  return Number.isFinite(ms) ? `admitted in ${formatSpan(ms)}` : 'paused';
}
