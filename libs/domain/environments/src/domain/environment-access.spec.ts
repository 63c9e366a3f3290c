import { describe, expect, it } from 'vitest';
import { maySee, mayUse } from './environment-access.js';

const NOT_SHARED = { isGuest: false, guestTeamUids: [] };
const personal = { teamUid: null, userUid: 'ada', ...NOT_SHARED };
const ofTeam = { teamUid: 'red', userUid: null, ...NOT_SHARED };
const ada = { userUid: 'ada', teamUids: ['red'] };
const bob = { userUid: 'bob', teamUids: ['red', 'blue'] };
const robot = { userUid: null, teamUids: ['red'] };

describe('who may use an environment', () => {
  it.each([
    ['one’s own, personally', personal, ada, null, true],
    ['one’s own, in a team’s run', personal, ada, 'blue', true],
    ['a colleague’s own', personal, bob, null, false],
    ['a person’s, by a team as such', personal, robot, 'red', false],
    ['a person’s, shared with oneself', { ...personal, isGuest: true }, bob, 'blue', true],
    ['a personal one, shared, for a service account', { ...personal, isGuest: true }, robot, 'red', false],
    ['the team’s, in its run', ofTeam, bob, 'red', true],
    ['the team’s, personally', ofTeam, bob, null, true],
    ['the team’s, in another team’s run', ofTeam, bob, 'blue', false],
    ['the team’s, by the team as such', ofTeam, robot, 'red', true],
    ['the team’s, shared with oneself, in another team’s run', { ...ofTeam, isGuest: true }, bob, 'blue', true],
    ['the team’s, shared with the other team', { ...ofTeam, guestTeamUids: ['blue'] }, bob, 'blue', true],
    ['shared with a team one is not on', { ...personal, guestTeamUids: ['blue'] }, robot, null, false],
    ['shared with a team, in another team’s run', { ...personal, guestTeamUids: ['blue'] }, bob, 'red', false],
    ['shared with a team, personally', { ...personal, guestTeamUids: ['blue'] }, bob, null, true],
  ])('%s: %#', (_what, environment, asker, runTeamUid, expected) => {
    expect(mayUse(environment, asker, runTeamUid)).toBe(expected);
  });

  it('a team without members’ rights sees nothing', () => {
    expect(maySee(ofTeam, { userUid: 'eve', teamUids: [] })).toBe(false);
    expect(maySee(ofTeam, bob)).toBe(true);
  });
});
