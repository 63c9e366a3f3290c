import { describe, expect, it } from 'vitest';
import type { Settings } from '#platform/config';
import { SealBrokenError, SecretBox } from './secret-box.js';

const boxWith = (secretsKey: string | undefined, ...secretsKeyPrevious: string[]): SecretBox =>
  new SecretBox({ secretsKey, secretsKeyPrevious } as unknown as Settings);
const box = boxWith('a-key-of-more-than-32-characters-0001');

/** Why it does not open. */
function reasonOf(open: () => string): string {
  try {
    return `opened: ${open()}`;
  } catch (error) {
    if (error instanceof SealBrokenError) return error.reason;
    throw error;
  }
}

describe('SecretBox', () => {
  it.each(['', 'swordfish', 'ключ 🔑', 'x'.repeat(100_000)])('opens what it has sealed', (plain) => {
    expect(box.open(box.seal(plain, 'here'), 'here')).toBe(plain);
  });

  it('says nothing about the value, and never seals to the same text twice', () => {
    const sealed = Array.from({ length: 50 }, () => box.seal('swordfish', 'here'));
    expect(new Set(sealed).size).toBe(50);
    expect(sealed.filter((text) => text.includes('swordfish'))).toEqual([]);
    expect(sealed.every((text) => /^v1\.[0-9a-f]{8}\.[A-Za-z0-9_-]+$/.test(text))).toBe(true);
  });

  it('opens in another process with the same key', () => {
    expect(boxWith('a-key-of-more-than-32-characters-0001').open(box.seal('swordfish', 'here'), 'here')).toBe(
      'swordfish',
    );
  });

  it('does not open in another place', () => {
    const sealed = box.seal('swordfish', 'row/1');
    expect(reasonOf(() => box.open(sealed, 'row/2'))).toBe('not_authentic');
    expect(reasonOf(() => box.open(sealed, ''))).toBe('not_authentic');
  });

  it('does not open with another key, and says that it is the key', () => {
    const sealed = box.seal('swordfish', 'here');
    const other = boxWith('another-key-of-more-than-32-characters');
    expect(reasonOf(() => other.open(sealed, 'here'))).toBe('unknown_key');
    const otherId = other.seal('', 'here').split('.')[1] ?? '';
    const relabelled = sealed.replace(/^v1\.[0-9a-f]{8}/, `v1.${otherId}`);
    expect(reasonOf(() => other.open(relabelled, 'here'))).toBe('not_authentic');
  });

  it('does not open when any byte has changed', () => {
    const [version, keyId, payload = ''] = box.seal('swordfish', 'here').split('.');
    const bytes = Buffer.from(payload, 'base64url');
    for (let index = 0; index < bytes.length; index += 1) {
      const changed = Buffer.from(bytes);
      changed[index] = (changed[index] ?? 0) ^ 1;
      const text = [version, keyId, changed.toString('base64url')].join('.');
      expect(reasonOf(() => box.open(text, 'here'))).toBe('not_authentic');
    }
  });

  it.each(['', 'swordfish', 'v1.', 'v2.00000000.AAAA', `v1.00000000.${'A'.repeat(36)}`, 'v1.zzzzzzzz.AAAA', 'v1..'])(
    'does not open %j, which it never made',
    (text) => {
      expect(reasonOf(() => box.open(text, 'here'))).toBe('malformed');
    },
  );

  describe('while the key is changed', () => {
    const [first, second, third] = ['first', 'second', 'third'].map((name) => `${name}-key-of-more-than-32-characters`);
    const keyOf = (sealed: string): string | undefined => sealed.split('.')[1];
    const before = boxWith(first);
    const during = boxWith(second, first ?? '', third ?? '');

    it('opens what is sealed under any of its keys, and seals under the current one only', () => {
      expect(during.open(before.seal('swordfish', 'here'), 'here')).toBe('swordfish');
      expect(during.open(boxWith(third).seal('swordfish', 'here'), 'here')).toBe('swordfish');
      const sealed = during.seal('swordfish', 'here');
      expect(boxWith(second).open(sealed, 'here')).toBe('swordfish');
      expect(reasonOf(() => before.open(sealed, 'here'))).toBe('unknown_key');
    });

    it('re-encrypts a value that is not under the current key, for the same purpose', () => {
      const old = before.seal('swordfish', 'here');
      const again = during.reencrypt(old, 'here') ?? '';
      expect(keyOf(again)).toBe(keyOf(during.seal('', '')));
      expect(boxWith(second).open(again, 'here')).toBe('swordfish');
      expect(during.reencrypt(again, 'here')).toBeNull();
    });

    it('re-encrypts no value that does not open, under any key', () => {
      expect(reasonOf(() => `${during.reencrypt(before.seal('x', 'here'), 'there')}`)).toBe('not_authentic');
      expect(reasonOf(() => `${during.reencrypt(during.seal('x', 'here'), 'there')}`)).toBe('not_authentic');
      expect(reasonOf(() => `${boxWith(second).reencrypt(before.seal('x', 'here'), 'here')}`)).toBe('unknown_key');
    });

    it('is one key when the current one is named among the others', () => {
      const box = boxWith(first, first ?? '');
      expect(box.reencrypt(before.seal('x', 'here'), 'here')).toBeNull();
    });
  });

  it('is not made without a key', () => {
    expect(() => boxWith(undefined)).toThrow('SECRETS_KEY');
  });
});
