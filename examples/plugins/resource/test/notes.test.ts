import { startTestHeadrace, type TestHeadrace, until } from 'headrace/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import NotesPlugin from 'headrace-example-resource';

let headrace: TestHeadrace;

beforeAll(async () => {
  headrace = await startTestHeadrace({ plugins: [NotesPlugin] });
}, 60_000);
afterAll(() => headrace.close());

const titles = async (): Promise<string[]> =>
  (await headrace.request(200, 'GET /example-notes')).body.notes.map(({ title }: { title: string }) => title);

it('creates, lists and deletes a note', async () => {
  const { body } = await headrace.request(201, 'POST /example-notes', { body: { title: 'Faster builds' } });
  expect(body).toEqual({ uid: expect.any(String), title: 'Faster builds', created_at: expect.any(String) });
  expect(await titles()).toEqual(['Faster builds']);
  await headrace.request(204, `DELETE /example-notes/${body.uid}`);
  expect(await titles()).toEqual([]);
});

it('rejects invalid input with the name of the field, and callers without a token', async () => {
  const { body: problem } = await headrace.request(400, 'POST /example-notes', { body: { title: '' } });
  expect(problem.errors).toEqual([{ pointer: '/title', detail: expect.any(String) }]);
  await headrace.request(401, 'GET /example-notes', { token: null });
});

it('is a part of the OpenAPI document, with its permission', async () => {
  const document = (await (await fetch(`${headrace.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { description?: string }>>;
  };
  expect(JSON.stringify(document.paths['/example-notes'])).toContain('example-resource/notes:manage');
});

it('deletes a note when its time is over', async () => {
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  await headrace.request(201, 'POST /example-notes', { body: { title: 'For a day', expires_at: tomorrow } });
  expect(await titles()).toEqual(['For a day']);
  await headrace.advanceClock(2 * 86_400_000);
  await until(async () => (await titles()).length === 0, 20_000, 'the deletion');
});
