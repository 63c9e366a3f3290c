import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import { withInstallationKeys } from './prepare-settings.js';

const GIVEN = 'g'.repeat(32);
const OTHER = 'o'.repeat(32);

let dataDir = '';
let file = '';
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'headrace-keys-'));
  file = join(dataDir, 'secrets', 'secrets-key');
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const keys = (generates: boolean, environment: Record<string, string> = {}) => {
  const { secretsKey, secretsKeyPrevious } = withInstallationKeys(parseSettings(environment), dataDir, { generates });
  return { secretsKey, secretsKeyPrevious };
};

describe('the keys of an installation', () => {
  it('are those of the settings, and then no file is made', () => {
    const environment = { SECRETS_KEY: GIVEN, SECRETS_KEY_PREVIOUS: `${OTHER}, ${'p'.repeat(40)},` };
    expect(keys(true, environment)).toEqual({ secretsKey: GIVEN, secretsKeyPrevious: [OTHER, 'p'.repeat(40)] });
    expect(existsSync(file)).toBe(false);
  });

  it('are generated once for a server, and never for a command', () => {
    expect(keys(false)).toEqual({ secretsKey: undefined, secretsKeyPrevious: [] });
    expect(existsSync(join(dataDir, 'secrets'))).toBe(false);
    const { secretsKey } = keys(true);
    expect(secretsKey).toMatch(/^[\w-]{43}$/);
    expect(keys(false)).toEqual({ secretsKey, secretsKeyPrevious: [] });
    expect(keys(true)).toEqual({ secretsKey, secretsKeyPrevious: [] });
  });

  it.each([true, false])('a key that was put aside opens still, beside a new one (generates: %s)', (generates) => {
    const { secretsKey: old } = keys(true);
    renameSync(file, `${file}.previous`);
    const after = keys(generates);
    expect(after.secretsKey).not.toBe(old);
    expect(after.secretsKey).toBe(readFileSync(file, 'utf8').trim());
    expect(after.secretsKeyPrevious).toEqual([old]);
    rmSync(`${file}.previous`);
    expect(keys(generates)).toEqual({ secretsKey: after.secretsKey, secretsKeyPrevious: [] });
  });

  it('a generated key can be put aside for one of the settings', () => {
    mkdirSync(join(dataDir, 'secrets'));
    const { secretsKey: old } = keys(true);
    renameSync(file, `${file}.previous`);
    const environment = { SECRETS_KEY: GIVEN, SECRETS_KEY_PREVIOUS: OTHER };
    expect(keys(false, environment)).toEqual({ secretsKey: GIVEN, secretsKeyPrevious: [OTHER, old] });
    expect(existsSync(file)).toBe(false);
  });
});
