import { expect, test } from 'vitest';
import { HostRegion } from '../../src/host.ts';
import { hostPath } from '../support/host.ts';

test('options are checked', () => {
  const open = (options: object) => () => HostRegion.open({ path: hostPath(), ...options });
  expect(open({ path: '' })).toThrow(new TypeError('path must be a non-empty string, got ""'));
  expect(open({ byte: 1 })).toThrow('options has no option "byte"; did you mean bytes?');
  expect(open({ bytes: 0 })).toThrow('bytes must be an integer at least 1');
  expect(open({ mode: 0o400 })).toThrow(
    new RangeError('mode must be an integer from 0o600 to 0o777, got 0o400'),
  );
  expect(open({ mode: 0o1777 })).toThrow('0o777, got 0o1777');
  expect(open({ mode: -1.5 })).toThrow('got -1.5');
  expect(open({ mode: '600' })).toThrow(
    new TypeError('mode must be an integer from 0o600 to 0o777, got "600"'),
  );
  expect(open({ owner: -1 })).toThrow('owner must be an integer at least 0, got -1');
  expect(open({ binding: 'ffi' })).toThrow('binding must be "node:ffi" or "koffi", got "ffi"');
});

test('a path and an owner are checked where a region must exist', () => {
  const find = HostRegion.find as (path: unknown, owner?: unknown) => unknown;
  const message = 'path must be a non-empty string, got undefined';
  expect(() => find(undefined)).toThrow(new TypeError(message));
  expect(() => find(hostPath(), 'x')).toThrow(
    new TypeError('owner must be an integer at least 0, got "x"'),
  );
});

test('HostRegion.create makes no private region', () => {
  const create = HostRegion.create as (options: object) => unknown;
  expect(() => create({ bytes: 65_536 })).toThrow(
    new TypeError('HostRegion.create does not exist: use HostRegion.open or Region.create'),
  );
});
