import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObjectStore } from '#platform/storage';
import { ArtifactBuilder, RunBuilder, startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { loadProgram, operationsIn, rejection, type RunningProgram } from './typed-programs.js';

interface Step {
  messages: { content: { type: string; text?: string }[] }[];
}

interface Program {
  find(api: unknown, query: object): Promise<string[]>;
  get(api: unknown, runId: string): Promise<{ state: string }>;
  produced(api: unknown, runId: string): Promise<string[]>;
  artifact(api: unknown, artifactUid: string): Promise<string>;
  download(api: unknown, artifactUid: string): Promise<string>;
  runOf(api: unknown, url: string): Promise<string>;
  attachments(api: unknown, runId: string): Promise<Record<string, string>>;
  turns(api: unknown, conversationId: string): Promise<Step[]>;
  transcript(api: unknown, conversationId: string): Promise<string>;
  thereAndBack(api: unknown, conversationId: string): Promise<string | undefined>;
  watch(api: unknown, runId: string, lastEventId?: string): Promise<{ names: string[]; lastId: string } | null>;
}

const TICKET = 'https://tracker.example.com/browse/A-1';
const NO_CONVERSATION = '01900000-0000-7000-8000-00000000dead';

let api: TestApi;
let team: string;
let member: TestPrincipal;
let runs: RunBuilder;
let artifacts: ArtifactBuilder;
let running: RunningProgram<Program>;
let program: Program;
let client: unknown;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team();
  member = await api.identities.user({ [team]: 'member' });
  const objects = api.app.get(ObjectStore);
  runs = new RunBuilder(api.database, { objects });
  artifacts = new ArtifactBuilder(api.database, { objects });
  running = await loadProgram<Program>('reading', api);
  ({ program } = running);
  client = running.client(member);
});
afterAll(async () => {
  await api.close();
  running.close();
});

const text = async (url: string): Promise<string> => (await fetch(url)).text();

describe('read operations through the generated client', () => {
  it('lists runs by single, repeated and nested filters', async () => {
    const built = async (state: 'FAILED' | 'ERROR' | 'SUCCEEDED', metadata: Record<string, string>) =>
      (await runs.build({ by: member, team, state, metadata, createdAt: new Date('2020-05-01T00:00:00Z') })).id;
    const failed = await built('FAILED', { 'ticket.id': 'A-1', step: 'a b&c=d' });
    const broken = await built('ERROR', { 'ticket.id': 'A-1' });
    const done = await built('SUCCEEDED', { 'ticket.id': 'A-1', step: 'a b&c=d' });
    const query = { sort_by: 'created_at', sort_order: 'asc', created_before: '2020-06-01T00:00:00+02:00' };
    const find = async (more: object) => (await program.find(client, { ...query, ...more })).sort();
    expect(await find({})).toEqual([failed, broken, done].sort());
    expect(await find({ state: ['FAILED', 'ERROR'] })).toEqual([failed, broken].sort());
    expect(await find({ metadata: { 'ticket.id': 'A-1', step: 'a b&c=d' } })).toEqual([failed, done].sort());
    expect(await find({ state: ['FAILED'], metadata: { 'ticket.id': 'A-1' }, creator: member.uid })).toEqual([failed]);
    expect(await find({ metadata: { 'ticket.id': 'A-2' } })).toEqual([]);
  });

  it('distinguishes artifact types, reads and downloads artifacts, and finds a run by its external reference', async () => {
    const { id } = await runs.build({ by: member, team, state: 'SUCCEEDED' });
    const plan = await artifacts.build(id, { type: 'PLAN', title: 'The plan', content: '# Plan' });
    const request = await artifacts.build(id, { type: 'PULL_REQUEST', url: 'https://forge.example.com/pr/1' });
    const shot = await artifacts.build(id, { type: 'SCREENSHOT', content: 'png' });
    const file = await artifacts.build(id, { type: 'FILE', content: 'report', filepath: 'out/report.txt' });
    const ticket = await artifacts.build(id, { type: 'EXTERNAL_REFERENCE', url: TICKET });
    expect((await program.produced(client, id)).sort()).toEqual(
      [
        'plan The plan',
        'a-branch at https://forge.example.com/pr/1',
        'screenshot as image/png',
        'out/report.txt with 6 bytes',
        `ticket ${TICKET}`,
      ].sort(),
    );
    expect(await program.artifact(client, plan.uid)).toBe('# Plan');
    expect(await program.artifact(client, request.uid)).toBe('https://forge.example.com/pr/1');
    expect(await program.artifact(client, ticket.uid)).toBe(TICKET);
    expect(await text(await program.artifact(client, shot.uid))).toBe('png');
    expect(await text(await program.download(client, file.uid))).toBe('report');
    expect(await program.runOf(client, `${TICKET.replace('https', 'HTTPS')}/#comment`)).toBe(id);
  });

  it('lists and downloads the attachments of a run', async () => {
    const data = Buffer.from('# Notes').toString('base64');
    const { body } = await api.request(200, 'POST /agent/runs', {
      token: member.token,
      body: { prompt: 'Read it.', attachments: [{ file_name: 'notes.md', mime_type: 'text/markdown', data }] },
    });
    const listed = await program.attachments(client, body.run_id as string);
    expect(Object.keys(listed)).toEqual(['notes.md']);
    expect(await text(listed['notes.md'] ?? '')).toBe('# Notes');
  });

  it('reads a conversation and its transcript, and resolves its session to the same conversation', async () => {
    const { conversationId } = await runs.build({
      by: member,
      team,
      state: 'SUCCEEDED',
      prompt: 'Look around.',
      config: { harness: { type: 'claude' } },
      transcript: '{"a":1}\n',
      transcriptFormat: 'claude',
    });
    const id = conversationId ?? '';
    const said = (await program.turns(client, id)).flatMap(({ messages }) =>
      messages.flatMap(({ content }) => content),
    );
    expect(said).toContainEqual(expect.objectContaining({ type: 'text', text: 'Look around.' }));
    expect(await text(await program.transcript(client, id))).toBe('{"a":1}\n');
    expect(await program.thereAndBack(client, id)).toBe(id);
    expect(await program.thereAndBack(client, NO_CONVERSATION)).toBeUndefined();
  });

  it('streams the events of a run until it ends, and returns null when a client resumes after the last event', async () => {
    const { id } = await runs.build({ by: member, team, state: 'SUCCEEDED' });
    const seen = await program.watch(client, id);
    expect(seen?.names).toEqual(expect.arrayContaining(['state', 'timeline', 'conversation']));
    expect(seen?.names.at(-1)).toBe('end');
    expect(await program.watch(client, id, seen?.lastId)).toBeNull();
  });

  it('throws the documented problem of a rejected request (generated client: reading)', async () => {
    const pairs = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((key) => [key, 'x']));
    const rejections: [() => Promise<unknown>, number, string][] = [
      [() => program.find(client, { metadata: pairs }), 400, 'invalid_request'],
      [() => program.runOf(client, 'https://nobody.example.com/'), 404, 'resource_not_found'],
      [() => program.artifact(client, '0'.repeat(22)), 404, 'resource_not_found'],
      [() => program.transcript(client, NO_CONVERSATION), 404, 'resource_not_found'],
      [() => program.watch(client, NO_CONVERSATION), 404, 'resource_not_found'],
    ];
    for (const [send, status, code] of rejections) {
      const error = await rejection(send());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('calls every operation that the reading program uses', () => {
    expect(running.called()).toEqual(operationsIn('reading'));
  });
});
