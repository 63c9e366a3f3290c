import { describe, expect, it } from 'vitest';
import { closestName, nearMisses } from './near-misses.js';

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

describe('closestName', () => {
  it.each([
    ['model', ['name', 'model_id', 'base_prompt'], 'model_id'],
    ['MAX_CONCURENT_RUNS', ['MAX_RUN_ATTEMPTS', 'MAX_CONCURRENT_RUNS'], 'MAX_CONCURRENT_RUNS'],
    ['modelId', ['model_id', 'mode'], 'model_id'],
    ['stat', ['state', 'sort_by', 'source'], 'state'],
    ['lst', ['list', 'create'], 'list'],
    ['elephant', ['state', 'sort_by'], undefined],
    ['x', ['q'], undefined],
    ['', ['q', 'state'], undefined],
  ])('suggests for %j out of %j: %j', (wanted, known, expected) => {
    expect(closestName(wanted, known)).toBe(expected);
  });
});
