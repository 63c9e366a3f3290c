import { describe, expect, it } from 'vitest';
import { nearMisses } from './near-misses.js';

const KNOWN = ['github', 'gitlab', 'gitlab_token', 'slack', 'standard_webhooks', 'stripe'];

describe('nearMisses', () => {
  it.each([
    ['GitHub', ['github', 'gitlab']],
    ['githib', ['github', 'gitlab']],
    ['slcak', ['slack']],
    ['standard-webhooks', ['standard_webhooks']],
    ['standardwebhook', ['standard_webhooks']],
    ['gitlab_tokens', ['gitlab', 'gitlab_token']],
    ['strip', ['stripe']],
    ['carrier_pigeon', []],
    ['', []],
    ['x'.repeat(100_000), []],
  ])('of %j', (given, expected) => {
    expect(nearMisses(given.slice(0, 100_000), KNOWN)).toEqual(expected);
  });

  it('shows at most five', () => {
    expect(
      nearMisses(
        'aaaaaaaaaa',
        Array.from({ length: 9 }, (_, index) => `aaaaaaaaa${index}`),
      ),
    ).toHaveLength(5);
  });
});
