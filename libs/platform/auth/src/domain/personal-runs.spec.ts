import { describe, expect, it } from 'vitest';
import { mayHavePersonalRuns, PERSONAL_RUNS, type Role } from './roles.js';

describe('PERSONAL_RUNS', () => {
  it.each<[what: string, roles: readonly Role[], allowedBy: readonly string[]]>([
    ['a user on no team', [], ['everybody']],
    ['a viewer', ['viewer'], ['everybody']],
    ['a member', ['member'], ['everybody', 'members']],
    ['an owner', ['owner'], ['everybody', 'members']],
    ['a viewer here and an admin elsewhere', ['viewer', 'admin'], ['everybody', 'members']],
  ])('%s', (_what, roles, allowedBy) => {
    const memberships = roles.map((role) => ({ role }));
    expect(PERSONAL_RUNS.filter((setting) => mayHavePersonalRuns(setting, memberships))).toEqual(allowedBy);
  });
});
