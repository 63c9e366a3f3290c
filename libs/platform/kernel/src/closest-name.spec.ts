import { describe, expect, it } from 'vitest';
import { closestName } from './near-misses.js';

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
