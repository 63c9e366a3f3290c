import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Installation, type Program, until } from '../support/installation.js';
import { fence, prompt } from './runner-process.js';

let installation: Installation;
let server: Program;

beforeAll(async () => {
  installation = await Installation.create({ LEASE_TTL: '30s', MAX_ARTIFACT_BYTES: '2000000' });
  server = await installation.up();
});
afterAll(async () => {
  await server.stop('SIGINT');
  installation.remove();
});

const PLAN = '# Next steps\n\n- rest';
const INSTRUCTIONS = prompt(
  'Produce one of each.',
  fence('write path=out/report.txt', 'all is well'),
  fence('artifact type=FILE path=out/report.txt title=The report'),
  fence('sh', String.raw`printf '\211PNG' > "$HEADRACE_ARTIFACTS_DIR/shot.png"`),
  fence('artifact type=PLAN title=Next steps', PLAN),
  fence('artifact type=PULL_REQUEST url=https://forge.example/pr/7 branch=fix'),
  fence('artifact type=EXTERNAL_REFERENCE url=HTTPS://T.example:443/1/#x reference_type=ticket'),
);

const reference = (url: string) =>
  installation.call('GET', `/agent/run-by-external-reference?url=${encodeURIComponent(url)}`);

/** What the download of an artifact gives, through its link. */
async function downloaded(uid: unknown): Promise<string> {
  const link = await installation.call('GET', `/agent/artifacts/${String(uid)}/download`);
  expect(link.status).toBe(302);
  const response = await fetch(link.headers.get('location') ?? '');
  expect(response.status).toBe(200);
  return response.text();
}

describe('artifacts of a run on a whole installation', { timeout: 120_000 }, () => {
  it('are returned with the ended run, can be downloaded, and lead to the newest run', async () => {
    expect((await reference('https://t.example/1')).status).toBe(404);
    const runId = await installation.createRun(INSTRUCTIONS);
    const run = await installation.waitFor(runId, ['SUCCEEDED', 'FAILED', 'ERROR']);
    expect(run.state).toBe('SUCCEEDED');
    const artifacts = run.artifacts as { artifact_type: string; created_at: string; data: Record<string, unknown> }[];
    const byType = Object.fromEntries(artifacts.map(({ artifact_type: type, data }) => [type, data]));
    expect(artifacts).toHaveLength(5);
    expect(byType).toMatchObject({
      FILE: { filepath: 'out/report.txt', filename: 'report.txt', title: 'The report', size_bytes: 12 },
      SCREENSHOT: { mime_type: 'image/png' },
      PLAN: { title: 'Next steps' },
      PULL_REQUEST: { url: 'https://forge.example/pr/7', branch: 'fix' },
      EXTERNAL_REFERENCE: { url: 'https://t.example/1', reference_type: 'ticket' },
    });
    const list = await installation.call('GET', '/agent/runs');
    expect(list.body.runs[0]).toMatchObject({ run_id: runId, artifacts });

    expect(await downloaded(byType['FILE']?.['artifact_uid'])).toBe('all is well\n');
    expect(await downloaded(byType['SCREENSHOT']?.['artifact_uid'])).toContain('PNG');
    expect(await downloaded(byType['PLAN']?.['artifact_uid'])).toBe(`${PLAN}\n`);
    const plan = await installation.call('GET', `/agent/artifacts/${String(byType['PLAN']?.['document_uid'])}`);
    expect(plan.body.data).toMatchObject({ content: `${PLAN}\n`, content_type: 'text/markdown' });

    expect((await reference('https://t.example/1/')).body).toEqual({ run_id: runId });
    const newer = await installation.createRun(INSTRUCTIONS);
    await installation.waitFor(newer, ['SUCCEEDED']);
    expect((await reference('https://t.example/1')).body).toEqual({ run_id: newer });
  });

  it('of a follow-up are added, and unchanged ones are returned once', async () => {
    const runId = await installation.createRun(prompt(fence('sh', 'echo one > "$HEADRACE_ARTIFACTS_DIR/a.txt"')));
    await installation.waitFor(runId, ['SUCCEEDED']);
    const message = fence('sh', 'echo two > "$HEADRACE_ARTIFACTS_DIR/b.txt"');
    await installation.call('POST', `/agent/runs/${runId}/followups`, { message });
    const run = await until(
      async () => {
        const current = await installation.run(runId);
        return current.artifacts.length > 1 && current.state === 'SUCCEEDED' && current;
      },
      30_000,
      'a second artifact',
    );
    expect(run.artifacts.map(({ data }: { data: { filename: string } }) => data.filename)).toEqual(['a.txt', 'b.txt']);
  });
});
