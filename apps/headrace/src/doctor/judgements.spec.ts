import { describe, expect, it } from 'vitest';
import { rateSkew } from './checks/api-checks.js';
import { rateFreeSpace, rateNode } from './checks/machine-checks.js';
import { renderResults } from './doctor.js';
import { locationOf, SecretMask } from './secret-mask.js';

const MIB = 1_048_576;

describe('limits of the doctor', () => {
  it.each([
    ['18.20.4', 'fail'],
    ['20.18.9', 'fail'],
    ['20.19.0', 'ok'],
    ['24.1.0', 'ok'],
  ])('rates Node.js %s as %s', (version, verdict) => {
    expect(rateNode(version).verdict).toBe(verdict);
  });

  it.each([
    [255 * MIB, 'fail'],
    [256 * MIB, 'warn'],
    [2047 * MIB, 'warn'],
    [2048 * MIB, 'ok'],
  ])('rates %i free bytes as %s', (bytes, verdict) => {
    expect(rateFreeSpace(bytes, 'data directory', '/data', 'HEADRACE_DATA_DIR').verdict).toBe(verdict);
  });

  it.each([
    [-2_999, 'ok'],
    [3_000, 'warn'],
    [-29_999, 'warn'],
    [30_000, 'fail'],
  ])('rates a clock skew of %i ms as %s', (skew, verdict) => {
    expect(rateSkew('the database', skew).verdict).toBe(verdict);
  });
});

describe('the summary of the doctor', () => {
  const result = (verdict: 'ok' | 'warn' | 'fail') => ({ check: 'git', verdict, found: 'git 2.39.5' });

  it.each([
    [['ok'], 'Nothing failed.'],
    [['warn'], 'Nothing failed, 1 warning.'],
    [['warn', 'warn'], 'Nothing failed, 2 warnings.'],
    [['fail', 'warn'], '1 failed, 1 warning.'],
    [['fail'], '1 failed, 0 warnings.'],
  ] as const)('of %j is "%s"', (verdicts, summary) => {
    expect(renderResults(verdicts.map(result)).split('\n').at(-1)).toBe(summary);
  });
});

describe('SecretMask', () => {
  it('masks secrets, also in their percent-encoded form', () => {
    const mask = new SecretMask(['a-key-of-ours', null, ''], ['postgresql://me:p%40ss-w%2Fd@db/x', 'no url']);
    expect(mask.mask('a-key-of-ours, p@ss-w/d and p%40ss-w%2Fd')).toBe('***, *** and ***');
  });

  it('removes credentials and parameters from locations', () => {
    expect(locationOf('rediss://me:secret@host:6380/1?password=secret#secret')).toBe('rediss://host:6380/1');
    expect(locationOf('secret')).toBe('an invalid URL');
  });
});
