import { expect } from 'vitest';
import type { RunShape, TestPrincipal } from '#testing';
import type { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem } from '../../support/api-requests.js';

export interface Team {
  readonly uid: string;
  readonly member: TestPrincipal;
  /** Builds a run of the team. */
  buildRun(shape?: Partial<RunShape>): Promise<string>;
  /** The ids of the team's runs that a query finds, oldest first. */
  findRuns(query: string): Promise<string[]>;
}

/** A separate team, so that tests do not see each other's runs. */
export async function createTeam(fixture: ApiFixture): Promise<Team> {
  const uid = await fixture.api.identities.team();
  const member = await fixture.api.identities.user({ [uid]: 'member' });
  return {
    uid,
    member,
    buildRun: async (shape = {}) => (await fixture.runs.build({ by: member, team: uid, ...shape })).id,
    findRuns: async (query) => {
      const line = `GET /agent/runs?sort_by=created_at&sort_order=asc&${query}`;
      const { runs } = await fixture.requestAs(member, 200, line);
      return (runs as { run_id: string }[]).map(({ run_id }) => run_id).sort();
    },
  };
}

/** Expects that a query is rejected with 400. */
export async function expectRejectedQuery(
  fixture: ApiFixture,
  query: string,
  pointer: string,
  detail: string,
): Promise<void> {
  const answer = await fixture.request(400, `GET /agent/runs?${query}`, { token: fixture.member.token });
  expectProblem(fixture.api, answer, 'invalid_request', [{ pointer, detail }]);
  expect(answer.body.detail).toContain('Query parameter');
}
