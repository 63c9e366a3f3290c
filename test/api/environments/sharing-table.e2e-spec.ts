import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noteExchange, startTestApi, type TestApi } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import {
  EnvironmentSharing,
  type Kind,
  type Persona,
  PERSONAS,
  type SharedEnvironment,
} from './environment-sharing.js';

type Operation = (
  environment: SharedEnvironment,
  persona: Persona,
) => { readonly line: string; readonly body?: object };

const run =
  (team: boolean): Operation =>
  ({ uid }) => ({
    line: 'POST /agent/runs',
    body: { prompt: 'Go.', team, config: { environment_id: uid } },
  });

const OPERATIONS: Readonly<Record<string, Operation>> = {
  list: () => ({ line: 'GET /agent/environments' }),
  get: ({ uid }) => ({ line: `GET /environments/${uid}` }),
  update: ({ uid }) => ({ line: `PUT /environments/${uid}`, body: { config: { name: 'changed' } } }),
  delete: ({ uid }) => ({ line: `DELETE /environments/${uid}` }),
  grant: ({ uid }) => ({ line: `POST /environments/${uid}/grants`, body: { user_uid: sharing.people.stranger.uid } }),
  listGrants: ({ uid }) => ({ line: `GET /environments/${uid}/grants` }),
  revokeGrant: ({ uid, grantUid }) => ({ line: `DELETE /environments/${uid}/grants/${grantUid}` }),
  createLink: ({ uid }) => ({ line: `POST /environments/${uid}/links`, body: {} }),
  listLinks: ({ uid }) => ({ line: `GET /environments/${uid}/links` }),
  revokeLink: ({ uid, linkUid }) => ({ line: `DELETE /environments/${uid}/links/${linkUid}` }),
  ownRun: run(false),
  teamRun: run(true),
};

/** A cell is the status; `none`: a list that does not show it. Service accounts have no personal runs, only those of their team. */
// oxfmt-ignore
const TABLE: readonly (readonly [kind: Kind, operation: string, cells: string])[] = [
  //                           owner admin membr viewr bot   guest gTeam gView gBot  holdr exGst exTm  exHld strgr
  ['personal', 'list',        '200   none  none  none  none  200   200   200   200   200   none  none  none  none'],
  ['personal', 'get',         '200   403   403   403   403   200   200   200   200   200   403   403   403   403'],
  ['personal', 'update',      '200   403   403   403   403   403   403   403   403   403   403   403   403   403'],
  ['personal', 'delete',      '204   403   403   403   403   403   403   403   403   403   403   403   403   403'],
  ['personal', 'grant',       '201   403   403   403   403   403   403   403   403   403   403   403   403   403'],
  ['personal', 'listGrants',  '200   403   403   403   403   200   200   200   200   200   403   403   403   403'],
  ['personal', 'revokeGrant', '204   403   403   403   403   403   403   403   403   403   403   403   403   403'],
  ['personal', 'createLink',  '201   403   403   403   403   403   403   403   403   403   403   403   403   403'],
  ['personal', 'listLinks',   '200   403   403   403   403   200   200   200   200   200   403   403   403   403'],
  ['personal', 'revokeLink',  '204   403   403   403   403   403   403   403   403   403   403   403   403   403'],
  ['personal', 'ownRun',      '200   403   403   403   403   200   200   403   200   200   403   403   403   403'],
  ['personal', 'teamRun',     '200   403   403   403   403   200   200   403   200   200   403   403   403   403'],
  ['team',     'list',        '200   200   200   200   200   200   200   200   200   200   none  none  none  none'],
  ['team',     'get',         '200   200   200   200   200   200   200   200   200   200   403   403   403   403'],
  ['team',     'update',      '200   200   403   403   403   403   403   403   403   403   403   403   403   403'],
  ['team',     'delete',      '204   204   403   403   403   403   403   403   403   403   403   403   403   403'],
  ['team',     'grant',       '201   201   403   403   403   403   403   403   403   403   403   403   403   403'],
  ['team',     'listGrants',  '200   200   403   403   403   200   200   200   200   200   403   403   403   403'],
  ['team',     'revokeGrant', '204   204   403   403   403   403   403   403   403   403   403   403   403   403'],
  ['team',     'createLink',  '201   201   403   403   403   403   403   403   403   403   403   403   403   403'],
  ['team',     'listLinks',   '200   200   403   403   403   200   200   200   200   200   403   403   403   403'],
  ['team',     'revokeLink',  '204   204   403   403   403   403   403   403   403   403   403   403   403   403'],
  ['team',     'ownRun',      '200   200   200   403   200   200   200   403   200   200   403   403   403   403'],
  ['team',     'teamRun',     '200   200   200   403   200   200   200   403   200   200   403   403   403   403'],
];

let api: TestApi;
let fixture: ApiFixture;
let sharing: EnvironmentSharing;
beforeAll(async () => {
  api = await startTestApi();
  fixture = await ApiFixture.over(api);
  sharing = await EnvironmentSharing.prepare(fixture);
});
afterAll(() => api.close());

/** Operations that do not change the environment. */
const UNCHANGING = new Set(['list', 'get', 'listGrants', 'listLinks', 'ownRun', 'teamRun']);
/** By kind and persona: environments that no request has changed. */
const unchanged = new Map<string, SharedEnvironment>();

async function ask(kind: Kind, operation: string, persona: Persona): Promise<string> {
  const key = `${kind}/${persona}`;
  const environment = unchanged.get(key) ?? (await sharing.shareWith(kind, persona));
  const asked = OPERATIONS[operation]?.(environment, persona);
  const [method = '', path = ''] = (asked?.line ?? '').split(' ');
  const response = await fetch(`${api.url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${sharing.people[persona].token}`,
      ...(asked?.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(asked?.body === undefined ? {} : { body: JSON.stringify(asked.body) }),
  });
  const text = await response.text();
  noteExchange(method, path, response.status);
  if (UNCHANGING.has(operation) || response.status >= 400) unchanged.set(key, environment);
  else unchanged.delete(key);
  return operation === 'list' && !text.includes(environment.uid) ? 'none' : String(response.status);
}

describe('authorization of shared environments', () => {
  it.each(TABLE)('a %s environment: %s', async (kind, operation, cells) => {
    const expected = Object.fromEntries(cells.split(/ +/).map((cell, index) => [PERSONAS[index], cell]));
    const answers: Record<string, string> = {};
    for (const persona of PERSONAS) answers[persona] = await ask(kind, operation, persona);
    expect(answers).toEqual(expected);
    expect(api.log.errors).toEqual([]);
  });

  it('covers every operation for every persona', () => {
    expect(new Set(TABLE.map(([, operation]) => operation))).toEqual(new Set(Object.keys(OPERATIONS)));
    for (const [, , cells] of TABLE) expect(cells.split(/ +/)).toHaveLength(PERSONAS.length);
  });
});
