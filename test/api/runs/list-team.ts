import { expect } from 'vitest';
import type { RunShape, TestPrincipal } from '#testing';
import { expectProblem, type RunsRoom } from './runs-room.js';

export interface Team {
  readonly uid: string;
  readonly who: TestPrincipal;
  /** Builds a run of the team. */
  run(shape?: Partial<RunShape>): Promise<string>;
  /** Which of the team's runs a query finds, oldest first. */
  find(query: string): Promise<string[]>;
}

/** A team of its own, so that tests do not see each other's runs. */
export async function newTeam(room: RunsRoom): Promise<Team> {
  const uid = await room.api.identities.team();
  const who = await room.api.identities.user({ [uid]: 'member' });
  return {
    uid,
    who,
    run: async (shape = {}) => (await room.runs.build({ by: who, team: uid, ...shape })).id,
    find: async (query) => {
      const { body } = await room.api.request(200, `GET /agent/runs?sort_by=created_at&sort_order=asc&${query}`, {
        token: who.token,
      });
      return (body.runs as { run_id: string }[]).map(({ run_id }) => run_id).sort();
    },
  };
}

export async function refuses(room: RunsRoom, query: string, pointer: string, detail: string): Promise<void> {
  const answer = await room.api.request(400, `GET /agent/runs?${query}`, { token: room.member.token });
  expectProblem(room.api, answer, 'invalid_request', [{ pointer, detail }]);
  expect(answer.body.detail).toContain('Query parameter');
}
