import { describe, expect, it } from 'vitest';
import { type Principal, selectTeams, roleIn } from './principal.js';
import { can, PERMISSIONS, ROLES } from './roles.js';
import { INITIAL_TEAM_SETTINGS } from './principal.js';
import { displayPrefix, hashToken, isTokenShaped, newToken, readBearer } from './token.js';

describe('the role table', () => {
  const granted = (role: (typeof ROLES)[number]): string[] => PERMISSIONS.filter((permission) => can(role, permission));
  const reads = [
    'runs:read',
    'schedules:read',
    'environments:read',
    'identities:read',
    'mcp_servers:read',
    'factories:read',
    'notifications:read',
    'members:read',
    'teams:read',
  ];

  it('grows from role to role', () => {
    const viewer = [...reads, 'environments:redeem'];
    expect(granted('viewer').sort()).toEqual(viewer.sort());
    expect(granted('member').sort()).toEqual([...viewer, 'runs:write', 'schedules:write'].sort());
    const ofTeams = PERMISSIONS.filter((permission) => permission !== 'installation:manage');
    expect(granted('admin')).toEqual(ofTeams);
    expect(granted('owner')).toEqual(ofTeams);
  });
});

describe('selectTeams', () => {
  const user = (...teams: string[]): Principal => ({
    type: 'user',
    uid: 'u',
    displayName: 'U',
    memberships: teams.map((teamUid) => ({ teamUid, role: 'member', team: INITIAL_TEAM_SETTINGS })),
    tokenUid: 't',
  });

  it.each([
    ['one team', user('a'), undefined, 'a', ['a']],
    ['several teams', user('a', 'b'), undefined, null, ['a', 'b']],
    ['several teams and a header', user('a', 'b'), 'b', 'b', ['b']],
    ['no team', user(), undefined, null, []],
    ['a service account with any header', { ...user('a'), type: 'service_account' as const }, 'b', 'a', ['a']],
  ])('%s', (_name, principal, header, teamUid, teamUids) => {
    expect(selectTeams(principal, header)).toEqual({ teamUid, teamUids });
  });

  it('finds no team for the header of another team', () => {
    expect(selectTeams(user('a'), 'b')).toBeNull();
    expect(selectTeams(user(), 'b')).toBeNull();
    expect(roleIn(user('a'), 'b')).toBeNull();
  });
});

describe('tokens', () => {
  it('are hr_ and 43 characters, each another', () => {
    const tokens = Array.from({ length: 100 }, newToken);
    expect(tokens.every((token) => isTokenShaped(token))).toBe(true);
    expect(new Set(tokens).size).toBe(100);
  });

  it('show little of themselves', () => {
    const token = newToken();
    expect(displayPrefix(token)).toBe(`${token.slice(0, 7)}…`);
    expect(hashToken(token)).toHaveLength(32);
  });

  it.each([
    [undefined, 'missing'],
    ['  ', 'missing'],
    ['Bearer', 'malformed'],
    ['Bearer x', 'malformed'],
    ['Basic eDp5', 'no_bearer'],
    [`Token hr_${'a'.repeat(43)}`, 'no_bearer'],
    [`Bearer hr_${'a'.repeat(42)}-`, 'malformed'],
    [`Bearer hr_${'a'.repeat(44)}`, 'malformed'],
  ])('of the header %j: %s', (header, refusal) => {
    expect(readBearer(header)).toEqual({ refusal });
  });

  it('are read whatever the case of the scheme', () => {
    const token = newToken();
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) expect(readBearer(`${scheme} ${token}`)).toEqual({ token });
  });
});
