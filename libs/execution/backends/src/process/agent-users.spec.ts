import { describe, expect, it } from 'vitest';
import { AgentUsers } from './agent-users.js';

const settings = (secretsKey: string, agentUidBase = 0) => ({ agentUidBase, agentUidCount: 50_000, secretsKey });
const ALL = 4_294_967_295;

describe('AgentUsers', () => {
  it('derives a different, stable range for every installation', () => {
    const bases = Array.from({ length: 20 }, (_, index) => new AgentUsers(settings(`key-${index}`), ALL).uidOf('0'));
    expect(new Set(bases).size).toBeGreaterThanOrEqual(19);
    expect(new AgentUsers(settings('key-3'), ALL).uidOf('0')).toBe(bases[3]);
    for (const base of bases) expect(base).toBeGreaterThanOrEqual(200_000);
    for (const base of bases) expect(base).toBeLessThan(2_000_000_000);
  });

  it('assigns users to executions in rotation', () => {
    const users = new AgentUsers(settings('key', 300_000), ALL);
    expect([users.uidOf('1'), users.uidOf('49999'), users.uidOf('50000')]).toEqual([300_001, 349_999, 300_000]);
  });

  it('stays within the users of a user namespace', () => {
    const users = new AgentUsers(settings('key'), 65_536);
    for (const executionId of ['0', '1', '40000', '49999']) {
      expect(users.uidOf(executionId)).toBeGreaterThan(1000);
      expect(users.uidOf(executionId)).toBeLessThan(65_536);
    }
  });
});
