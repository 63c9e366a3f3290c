import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ChainedEntry, type ChainHead, type ChainResult, ChainVerifier } from '#platform/audit';
import { startTestApi, type TestApi, type TestPrincipal, TestRunner } from '#testing';
import { inTeam } from '../../support/api-requests.js';

let api: TestApi;
let team: string;
let owner: TestPrincipal;
let site: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team();
  owner = await api.identities.user({ [team]: 'owner' }, 'Olga');
  site = await api.identities.administrator();
});
afterAll(() => api.close());

const call = async (status: number, line: string, { token }: TestPrincipal, body?: object) =>
  (await api.request(status, line, { token, headers: { 'user-agent': 'test-program' }, ...(body && { body }) })).body;
// eslint-disable-next-line @typescript-eslint/no-explicit-any
const entries = async (query = ''): Promise<any[]> => (await call(200, `GET /audit-log${query}`, owner)).entries;

async function verify({ token }: TestPrincipal, query = ''): Promise<ChainResult> {
  const response = await fetch(`${api.url}/api/v1/audit-log/export${query}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.headers.get('content-type')).toContain('application/x-ndjson');
  const verifier = new ChainVerifier();
  let head: ChainHead | undefined;
  for (const line of (await response.text()).trimEnd().split('\n')) {
    const value = JSON.parse(line) as ChainedEntry & { head?: ChainHead };
    if (value.head) head = value.head;
    else verifier.add(value);
  }
  return verifier.end(head ?? { seq: -1, hash: '' });
}

describe('the audit log', () => {
  it('has who did what to which resource and from where, without values of secrets', async () => {
    await call(200, 'PUT /secrets/DEPLOY_KEY', owner, { value: 'hunter2-hunter2' });
    const { uid: memberUid } = await api.identities.user({ [team]: 'member' });
    await call(200, `PUT /members/${memberUid}`, owner, { role: 'viewer' });
    const { uid } = await call(201, 'POST /agent/identities', owner, { name: 'reviewer' });
    await call(400, 'PUT /secrets/OTHER', owner, {});
    const [third, second, first] = await entries();
    expect(first).toMatchObject({
      action: 'secret.updated',
      actor: { type: 'user', uid: owner.uid, name: 'Olga', token_uid: expect.any(String) },
      target: { type: 'secret', uid: 'DEPLOY_KEY', name: 'DEPLOY_KEY' },
      source: { address: '127.0.0.1', user_agent: 'test-program', trace_id: expect.stringMatching(/^[0-9a-f]{32}$/) },
      details: { path: { name: 'DEPLOY_KEY' }, fields: ['value'] },
    });
    expect(second).toMatchObject({
      seq: first.seq + 1,
      action: 'member.updated',
      target: { type: 'member', uid: memberUid },
      details: { fields: ['role'], role: 'viewer' },
    });
    expect(third).toMatchObject({ action: 'agent_identity.created', target: { uid, name: 'reviewer' } });
    expect(JSON.stringify(await entries())).not.toContain('hunter2');
  });

  it('has the use of a secret by each execution', async () => {
    await call(200, 'PUT /secrets/DEPLOY_KEY', owner, { value: 'hunter2-hunter2' });
    const { run_id: runId } = await call(200, 'POST /agent/runs', owner, {
      prompt: 'Deploy.',
      config: { secrets: [{ name: 'DEPLOY_KEY' }] },
    });
    expect(await entries('?action=secret.used')).toEqual([]);
    const { assignment } = await TestRunner.take(api, runId);
    expect(assignment.secrets).toEqual({ DEPLOY_KEY: 'hunter2-hunter2' });
    const [used] = await entries('?action=secret.used');
    expect(used).toMatchObject({
      actor: { type: 'user', uid: owner.uid },
      target: { type: 'secret', uid: 'DEPLOY_KEY' },
      details: { run_id: runId, execution_id: assignment.execution_id },
    });
    expect(JSON.stringify(used)).not.toContain('hunter2');
  });

  it('is filtered by action, principal, target and time, in pages', async () => {
    const names = ['A', 'B', 'C', 'D', 'E'];
    for (const name of names) await call(200, `PUT /secrets/${name}`, owner, { value: 'xxxxxxxx' });
    await call(204, 'DELETE /secrets/C', owner);
    expect((await entries('?action=secret.deleted')).map(({ target }) => target.uid)).toEqual(['C']);
    expect((await entries('?action=secret.&target_uid=C')).map(({ action }) => action)).toEqual([
      'secret.deleted',
      'secret.updated',
    ]);
    expect(await entries('?actor_uid=nobody')).toEqual([]);
    const [last] = await entries('?limit=1');
    expect(await entries(`?after=${encodeURIComponent(last.occurred_at)}`)).toEqual([]);
    const seqs: number[] = [];
    for (let cursor = ''; ;) {
      const page = await call(200, `GET /audit-log?limit=2&action=secret.${cursor}`, owner);
      seqs.push(...page.entries.map(({ seq }: { seq: number }) => seq));
      if (!page.page_info.has_next_page) break;
      cursor = `&cursor=${page.page_info.next_cursor}`;
    }
    expect(seqs.length).toBeGreaterThanOrEqual(6);
    expect(seqs).toEqual(seqs.toSorted((a, b) => b - a));
    await call(400, 'GET /audit-log?cursor=x', owner);
    await call(400, 'GET /audit-log?scope=world', owner);
  });

  it('is separate for each team and for the installation', async () => {
    const before = (await call(200, 'GET /audit-log?scope=installation', site)).entries.length;
    await call(201, 'POST /users', site, { email: 'new@example.test' });
    const installation = (await call(200, 'GET /audit-log?scope=installation', site)).entries;
    expect(installation).toHaveLength(before + 1);
    expect(installation[0]).toMatchObject({ action: 'user.created', target: { name: 'new@example.test' } });
    expect((await entries('?action=user.')).length).toBe(0);
    const other = await api.identities.team();
    const both = await api.identities.user({ [team]: 'owner', [other]: 'owner' });
    const { body } = await api.request(200, 'GET /audit-log', { token: both.token, headers: inTeam(other) });
    expect(body.entries).toEqual([]);
  });

  it('orders concurrent entries without gaps', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => call(200, `PUT /secrets/N${index}`, owner, { value: 'xxxxxxxx' })),
    );
    const result = await verify(owner);
    expect(result).toMatchObject({ kind: 'valid' });
  });

  it('cannot be changed, and shows changed and removed rows of a database without its triggers', async () => {
    const { database } = api;
    for (const sql of [
      `UPDATE headrace.audit_log_entries SET entry = '{}' WHERE chain = $1`,
      'DELETE FROM headrace.audit_log_entries WHERE chain = $1',
    ])
      await expect(database.query(sql, [team])).rejects.toThrow('cannot be changed or deleted');
    await expect(database.query('TRUNCATE headrace.audit_log_entries')).rejects.toThrow('cannot be changed or deleted');
    const valid = await verify(owner);
    if (valid.kind !== 'valid') throw new Error('The chain is not valid.');
    const last = valid.head.seq;
    const tamper = async (sql: string): Promise<ChainResult> => {
      await database.query('ALTER TABLE headrace.audit_log_entries DISABLE TRIGGER ALL');
      await database.query(
        'CREATE TABLE headrace.kept AS SELECT chain, seq, entry, hash FROM headrace.audit_log_entries',
      );
      await database.query('CREATE TABLE headrace.kept_heads AS SELECT * FROM headrace.audit_log_heads');
      try {
        await database.query(sql, [team]);
        return await verify(owner);
      } finally {
        await database.query('DELETE FROM headrace.audit_log_entries');
        await database.query('DELETE FROM headrace.audit_log_heads');
        await database.query(
          'INSERT INTO headrace.audit_log_entries (chain, seq, entry, hash) SELECT * FROM headrace.kept',
        );
        await database.query('INSERT INTO headrace.audit_log_heads SELECT * FROM headrace.kept_heads');
        await database.query('DROP TABLE headrace.kept, headrace.kept_heads');
        await database.query('ALTER TABLE headrace.audit_log_entries ENABLE TRIGGER ALL');
      }
    };
    const table = 'headrace.audit_log_entries';
    const rehash = `sha256((SELECT p.hash FROM ${table} p WHERE p.chain = e.chain AND p.seq = 2) || convert_to(replace(entry, 'Olga', 'Eve'), 'UTF8'))`;
    const changed = `UPDATE ${table} e SET entry = replace(entry, 'Olga', 'Eve')`;
    expect(await tamper(`${changed} WHERE chain = $1 AND seq = 3`)).toEqual({
      kind: 'invalid',
      seq: 3,
      reason: 'changed',
    });
    expect(await tamper(`${changed}, hash = ${rehash} WHERE chain = $1 AND seq = 3`)).toEqual({
      kind: 'invalid',
      seq: 4,
      reason: 'changed',
    });
    expect(await tamper(`DELETE FROM ${table} WHERE chain = $1 AND seq = 3`)).toEqual({
      kind: 'invalid',
      seq: 3,
      reason: 'missing',
    });
    expect(await tamper(`DELETE FROM ${table} WHERE chain = $1 AND seq = ${last}`)).toEqual({
      kind: 'invalid',
      seq: last,
      reason: 'missing',
    });
    expect(await tamper(`DELETE FROM ${table} WHERE chain = $1`)).toEqual({
      kind: 'invalid',
      seq: 1,
      reason: 'missing',
    });
    expect(await tamper(`UPDATE headrace.audit_log_heads SET hash = sha256('x') WHERE chain = $1`)).toMatchObject({
      kind: 'invalid',
      reason: 'changed',
    });
    const added = `replace(entry, '"seq": ${last}', '"seq": ${last + 1}')`;
    const forged = `INSERT INTO ${table} (chain, seq, entry, hash) SELECT chain, seq + 1, ${added}, sha256(hash || convert_to(${added}, 'UTF8'))
      FROM ${table} WHERE chain = $1 AND seq = ${last}`;
    expect(await tamper(forged)).toMatchObject({ kind: 'invalid', reason: 'changed' });
    expect(await verify(owner)).toEqual(valid);
  });

  it('fails the request when the entry cannot be written, and the log has it', async () => {
    await api.database.query('ALTER TABLE headrace.audit_log_heads RENAME TO audit_log_heads_away');
    try {
      api.log.clear();
      await call(500, 'PUT /secrets/LOST', owner, { value: 'xxxxxxxx' });
      expect(JSON.stringify(api.log.errors)).toContain('without its entry in the audit log');
      expect(JSON.stringify(api.log.errors)).toContain('secret.updated');
    } finally {
      await api.database.query('ALTER TABLE headrace.audit_log_heads_away RENAME TO audit_log_heads');
      api.log.clear();
    }
  });
});
