import { describe, expect, it } from 'vitest';
import { maskSecrets } from './mask-secrets.js';

describe('maskSecrets', () => {
  it.each([
    'token',
    'GITHUB_TOKEN',
    'db_password',
    'X-Api-Key',
    'apiKey',
    'accessToken',
    'Authorization',
    'client-secret',
  ])('hides the text under %s, at any depth', (key) => {
    expect(maskSecrets({ a: [{ [key]: 'hunter2' }] })).toEqual({ a: [{ [key]: '***' }] });
  });

  it('hides every value of env and headers', () => {
    expect(maskSecrets({ env: { PATH: '/bin' }, headers: [{ name: 'X', value: 'y' }] })).toEqual({
      env: { PATH: '***' },
      headers: [{ name: '***', value: '***' }],
    });
  });

  it('hides a password in a URL and leaves the rest of the text', () => {
    expect(maskSecrets('git clone https://bob:hunter2@example.org/x.git')).toBe(
      'git clone https://***@example.org/x.git',
    );
  });

  it('leaves what only sounds alike', () => {
    const harmless = {
      max_tokens: 5,
      total_tokens: '7',
      tokenizer: 'a',
      environment: { name: 'x' },
      url: 'https://example.org/a:b@c',
      token: 3,
    };
    expect(maskSecrets(harmless)).toEqual(harmless);
  });
});
