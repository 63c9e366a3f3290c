import { describe, expect, it } from 'vitest';
import { isCancellableKind, isoDuration, titleFromPrompt } from './run.js';
import { maskConfig, resolveConfig, skillName } from './resolve-config.js';
import { ExecutionTokens } from './execution-token.js';
import { turnOutcome } from './turn-outcome.js';
import { beatSeconds, leaseGraceMs, sweepIntervalMs } from './lease.js';

describe('titleFromPrompt', () => {
  it('is the first line that is not blank, cut by characters', () => {
    expect(titleFromPrompt('\n  Fix the test  \nand more')).toBe('Fix the test');
    expect(titleFromPrompt('```sh\necho hi\n```')).toBe('echo hi');
    expect(titleFromPrompt('é'.repeat(200))).toBe(`${'é'.repeat(119)}…`);
    expect([...titleFromPrompt('😀'.repeat(200))]).toHaveLength(120);
  });
});

describe('isoDuration', () => {
  it.each([
    [0, 'PT0S'],
    [150_000, 'PT2M30S'],
    [3_600_000, 'PT1H'],
    [90_061_000, 'PT25H1M1S'],
    [-5, 'PT0S'],
  ])('%d ms is %s', (milliseconds, text) => {
    expect(isoDuration(milliseconds)).toBe(text);
  });
});

describe('isCancellableKind', () => {
  const hosted = { source: 'API', executionLocation: 'REMOTE', config: {} } as const;

  it('is false for self-hosted, local and GitHub Action runs', () => {
    expect(isCancellableKind(hosted, false)).toBe(true);
    expect(isCancellableKind({ ...hosted, config: { worker_host: 'warp' } }, false)).toBe(true);
    expect(isCancellableKind({ ...hosted, config: { worker_host: 'lab-1' } }, false)).toBe(false);
    expect(isCancellableKind({ ...hosted, config: { worker_host: 'lab-1' } }, true)).toBe(true);
    expect(isCancellableKind({ ...hosted, executionLocation: 'LOCAL' }, true)).toBe(false);
    expect(isCancellableKind({ ...hosted, source: 'GITHUB_ACTION' }, true)).toBe(false);
  });
});

describe('resolveConfig', () => {
  it('lets the request’s skill win and repeats it', () => {
    expect(resolveConfig({ skills: ['a/b:one', 'a/b:two'] }, undefined)).toEqual({
      skill_spec: 'a/b:one',
      skills: ['a/b:one', 'a/b:two'],
    });
    expect(resolveConfig({ skill_spec: 'a/b:one', name: 'mine' }, 'a/b:other')).toMatchObject({
      skill_spec: 'a/b:other',
      name: 'mine',
    });
    expect(resolveConfig({ model_id: 'm' }, undefined)).toEqual({ model_id: 'm' });
  });

  it('names a skill by its directory', () => {
    expect(skillName('owner/repo:.agents/skills/review/SKILL.md')).toBe('review');
    expect(skillName('owner/repo:review')).toBe('review');
  });

  it('masks values of env and headers and keeps their names', () => {
    const masked = maskConfig({
      mcp_servers: { s: { command: 'x', env: { KEY: 'secret-value' }, headers: { Authorization: 'secret-value' } } },
    });
    expect(masked.mcp_servers).toEqual({ s: { command: 'x', env: { KEY: '***' }, headers: { Authorization: '***' } } });
  });
});

describe('ExecutionTokens', () => {
  const tokens = new ExecutionTokens('k'.repeat(32));

  it('opens its own execution and nothing else', () => {
    const token = tokens.mint('17');
    expect(tokens.verify(token)).toBe('17');
    expect(tokens.verify(token.replace('hrx_17_', 'hrx_18_'))).toBeNull();
    expect(tokens.verify(`${token}x`)).toBeNull();
    expect(tokens.verify('')).toBeNull();
    expect(new ExecutionTokens('other'.repeat(8)).verify(token)).toBeNull();
    expect(new ExecutionTokens('other'.repeat(8), ['k'.repeat(32)]).verify(token)).toBe('17');
    expect(tokens.cookie('17')).not.toContain(token.slice(7));
  });
});

describe('turnOutcome', () => {
  it('blames the agent for refusals and limits, and nobody for a cancelled turn', () => {
    expect(turnOutcome({ stop_reason: 'end_turn' })).toEqual({ move: 'succeed' });
    expect(turnOutcome({ stop_reason: 'cancelled' })).toEqual({ move: 'none' });
    for (const stop_reason of ['refusal', 'max_tokens', 'max_turn_requests', 'error'] as const) {
      expect(turnOutcome({ stop_reason })).toMatchObject({
        move: 'fail',
        status: { error_code: 'agent_process_failed' },
      });
    }
  });
});

describe('lease times', () => {
  it('fence the runner before the server gives up, and keep within 30 % and two seconds', () => {
    for (const ttl of [1000, 3000, 90_000, 600_000]) {
      const runnerFence = (ttl * 8) / 9;
      expect(runnerFence).toBeLessThan(leaseGraceMs(ttl));
      if (ttl <= 3000) expect(leaseGraceMs(ttl) + sweepIntervalMs(ttl)).toBeLessThanOrEqual(ttl * 1.3 + 2000);
      expect(beatSeconds(ttl) * 1000 * 1.2).toBeLessThan(runnerFence / 2);
    }
  });
});
