import { expect, it } from 'vitest';
import { safeCommandLine } from '../../src/cli/about.ts';
import { safeText } from '../../src/load/plan/redact.ts';

it.each([
  [['load', 'http://a/b?c=1', '-r', '100'], "zerotime load 'http://a/b?c=1' -r 100"],
  [['load', '-H', 'Authorization: Bearer abc'], "zerotime load -H 'Authorization: ***'"],
  [['load', '--header=Cookie: a=b'], "zerotime load '--header=Cookie: ***'"],
  [['load', '-HCookie: a=b'], "zerotime load '-HCookie: ***'"],
  [['load', '-H', 'Accept: text/html'], "zerotime load -H 'Accept: text/html'"],
  [['load', '-H', 'nonsense'], 'zerotime load -H nonsense'],
  [['load', '--body', '{"password":"abc"}'], "zerotime load --body '***'"],
  [['load', '--body=secret'], "zerotime load '--body=***'"],
  [['load', '--data', '{"token":"abc"}'], "zerotime load --data '***'"],
  [['load', '--data=1'], "zerotime load '--data=***'"],
  [['load', '--data', '@rows.json'], 'zerotime load --data @rows.json'],
  [['load', '--body', '@item.json'], 'zerotime load --body @item.json'],
  [['load', '--body=@item.json'], 'zerotime load --body=@item.json'],
  [['load', '--redis', 'redis://me:abc@host/1'], "zerotime load --redis 'redis://***@host/1'"],
  [['load', 'http://a/?access_token=abc&n=1'], "zerotime load 'http://a/?access_token=***&n=1'"],
  [['load', "it's"], "zerotime load 'it'\\''s'"],
])('%j is stored as %s', (args, stored) => {
  expect(safeCommandLine(args)).toBe(stored);
});

it('hides what the query of a URL keeps secret', () => {
  expect(safeText('http://a/?q=1&api_key=abc&token=x#top')).toBe(
    'http://a/?q=1&api_key=***&token=***#top',
  );
});
