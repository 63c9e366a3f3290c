import { describe, expect, it } from 'vitest';
import { parseSettings, withSettings } from '#platform/config';
import { AddressGuard } from './target-rules.js';

const guard = (...ranges: string[]): AddressGuard =>
  new AddressGuard(withSettings(parseSettings({}), { notifyAllowPrivate: ranges }));

describe('AddressGuard', () => {
  it.each(['8.8.8.8', '100.63.255.255', '100.128.0.0', '172.15.0.1', '172.32.0.1', '2606:4700::1111', '2001:4860::1'])(
    'allows %s',
    (address) => expect(guard().allows(address)).toBe(true),
  );

  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::a00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'fe80::1%eth0',
    '2606:4700::1111%eth0',
    'ff02::1',
    'localhost',
    '',
  ])('rejects %s', (address) => expect(guard().allows(address)).toBe(false));

  it('allows the ranges of the setting, and no neighbouring addresses', () => {
    const some = guard('10.1.0.0/16', '192.168.7.7', 'fd00::/8', 'loopback');
    const asked = ['10.1.255.1', '192.168.7.7', 'fd00::5', '127.0.0.9', '::1', '::ffff:10.1.0.1'];
    expect(asked.filter((address) => !some.allows(address))).toEqual([]);
    const beside = ['10.2.0.1', '192.168.7.8', 'fc00::5', '169.254.0.1', '::ffff:10.2.0.1'];
    expect(beside.filter((address) => some.allows(address))).toEqual([]);
  });
});
