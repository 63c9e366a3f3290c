import { describe, expect, it } from 'vitest';
import type { Settings } from '#platform/config';
import { encryptedColumn } from './encrypted-column.js';
import { SealBrokenError, SecretBox } from './secret-box.js';

const settings = { secretsKey: 'a-key-of-more-than-32-characters-0001', secretsKeyPrevious: [] };
const box = new SecretBox(settings as unknown as Settings);

const SERVERS = encryptedColumn({
  table: 'things',
  key: { column: 'id', type: 'uuid' },
  context: ['uid'],
  column: 'config',
  json: { path: 'servers', values: [['*', 'env', '*']], prefix: 'sealed:' },
  purpose: ({ uid }, pointer) => `thing/${uid}${pointer}`,
});
const servers = {
  'a/b': { command: 'x', env: { TOKEN: 's1', '~': 's2' } },
  plain: { url: 'https://h', args: ['env'] },
};

describe('an encrypted column with a JSON document', () => {
  const sealed = box.sealColumn(SERVERS, { uid: '7' }, servers);

  it('encrypts the declared strings and nothing else', () => {
    expect(sealed).toMatchObject({ 'a/b': { command: 'x' }, plain: servers.plain });
    const { TOKEN } = sealed['a/b'].env;
    expect(TOKEN).toMatch(/^sealed:v1\./);
    expect(box.open(TOKEN.slice('sealed:'.length), 'thing/7/a~1b/env/TOKEN')).toBe('s1');
  });

  it('opens what it has encrypted, and keeps strings from before encryption', () => {
    expect(box.openColumn(SERVERS, { uid: '7' }, sealed)).toEqual(servers);
    expect(box.openColumn(SERVERS, { uid: '7' }, servers)).toEqual(servers);
  });

  it('does not open in another row', () => {
    expect(() => box.openColumn(SERVERS, { uid: '8' }, sealed)).toThrow(SealBrokenError);
  });
});
