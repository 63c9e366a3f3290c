import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startVerifyingS3, TestRunner, VERIFYING_S3_KEYS, type VerifyingS3 } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { expectProblem } from '../../support/api-requests.js';

const BUCKET = 'headrace-objects';
const TRANSCRIPT = '{"type":"text","text":"Übung 😀"}\n';

let s3: VerifyingS3;
let fixture: ApiFixture;
let runId: string;
let runner: TestRunner;

beforeAll(async () => {
  s3 = await startVerifyingS3(BUCKET);
  fixture = await ApiFixture.start({
    settings: {
      objectStoreUrl: { bucket: BUCKET, prefix: 'team/headrace' },
      s3Endpoint: s3.url,
      s3ForcePathStyle: true,
      s3AccessKeyId: VERIFYING_S3_KEYS.accessKeyId,
      s3SecretAccessKey: VERIFYING_S3_KEYS.secretAccessKey,
    },
  });
  const { body } = await fixture.request(200, 'POST /agent/runs', {
    token: fixture.member.token,
    body: { prompt: 'Say hello.', team: true },
  });
  runId = body.run_id;
  runner = await TestRunner.take(fixture.api, runId);
  await runner.startAgent();
});
afterAll(async () => {
  await fixture.close();
  await s3.close();
});
beforeEach(() => fixture.api.log.clear());

const transcriptOf = (method: string): string =>
  `${method} /runner/v1/executions/${runner.assignment.execution_id}/transcript` +
  `?lease_epoch=${runner.assignment.lease_epoch}&format=oz&session_id=s`;
const upload = (status: number) =>
  fixture.request(status, transcriptOf('PUT'), {
    token: runner.token,
    body: Buffer.from(TRANSCRIPT),
    contentType: 'application/octet-stream',
  });
const link = async (): Promise<string> => {
  const answer = await fixture.request(302, `GET /agent/runs/${runId}/transcript`, { token: fixture.member.token });
  return answer.headers.get('location') ?? '';
};

describe('an installation whose objects are in S3', () => {
  it('stores a transcript there and sends anybody who asks to S3 itself', async () => {
    await upload(204);
    expect([...s3.bucket.objects.keys()]).toEqual([
      expect.stringMatching(new RegExp(`^team/headrace/transcripts/${runId}/[0-9a-f-]+\\.jsonl$`)),
    ]);
    const url = await link();
    expect(url.startsWith(`${s3.url}/${BUCKET}/team/headrace/transcripts/${runId}/`)).toBe(true);
    const download = await fetch(url);
    expect([download.status, await download.text()]).toEqual([200, TRANSCRIPT]);
    expect(download.headers.get('content-type')).toBe('application/x-ndjson');
    expect(download.headers.get('content-disposition')).toContain(`attachment; filename="${runId}.jsonl"`);
  });

  it('hands out links that end with their time', async () => {
    const url = await link();
    expect(new URL(url).searchParams.get('X-Amz-Expires')).toBe(String(fixture.api.settings.signedUrlTtl / 1000));
    s3.advance(fixture.api.settings.signedUrlTtl - 5000);
    expect((await fetch(url)).status).toBe(200);
    s3.advance(6000);
    expect((await fetch(url)).status).toBe(403);
    s3.advance(-fixture.api.settings.signedUrlTtl - 1000);
  });

  it('gives the runner that resumes the session its transcript', async () => {
    const { text } = await fixture.request(200, transcriptOf('GET'), { token: runner.token });
    expect(text).toBe(TRANSCRIPT);
  });

  it('answers 503, to be tried again, while S3 fails', async () => {
    for (const method of ['PUT', 'GET']) {
      s3.failWith(503, 503, 503);
      const answer =
        method === 'PUT'
          ? await upload(503)
          : await fixture.request(503, transcriptOf(method), { token: runner.token });
      expectProblem(fixture.api, answer, 'resource_unavailable');
      expect(answer.body).toMatchObject({ retryable: true, detail: 'The object store does not answer at the moment.' });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    await upload(204);
  });

  it('says nothing of its credentials', () => {
    expect(fixture.api.log.text).not.toContain(VERIFYING_S3_KEYS.secretAccessKey);
  });
});
