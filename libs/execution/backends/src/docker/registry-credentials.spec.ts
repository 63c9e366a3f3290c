import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { registryCredentials } from './images.js';

const directory = mkdtempSync(join(tmpdir(), 'headrace-registry-'));
const file = join(directory, 'config.json');
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const write = (content: unknown): void => writeFileSync(file, JSON.stringify(content));
const headerOf = async (registry: string): Promise<unknown> => {
  const header = await registryCredentials(file, registry);
  return header === null ? null : JSON.parse(Buffer.from(header, 'base64url').toString());
};

describe('registryCredentials', () => {
  it('reads the credentials that docker login has stored, by registry', async () => {
    write({
      auths: {
        'https://index.docker.io/v1/': { auth: Buffer.from('hub-user:pass:word').toString('base64') },
        'registry.example.com:5000': { username: 'robot', password: 'p' },
        'ghcr.io': { identitytoken: 'token-1' },
      },
    });
    expect(await headerOf('docker.io')).toEqual({
      username: 'hub-user',
      password: 'pass:word',
      serveraddress: 'docker.io',
    });
    expect(await headerOf('registry.example.com:5000')).toMatchObject({ username: 'robot', password: 'p' });
    expect(await headerOf('ghcr.io')).toEqual({ identitytoken: 'token-1', serveraddress: 'ghcr.io' });
    expect(await headerOf('other.example.com')).toBeNull();
  });

  it('has no credentials without a file', async () => {
    expect(await registryCredentials('', 'docker.io')).toBeNull();
  });

  it('does not repeat the content of an invalid file', async () => {
    writeFileSync(file, '{"auths": {"a": "hunter2-secret');
    await expect(registryCredentials(file, 'a')).rejects.toThrow('The file that DOCKER_AUTH_FILE names is not JSON.');
  });
});
