import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Controller, Get, Header, Module, Res } from '@nestjs/common';
import { Throttle } from '@nestjs/throttler';
import type { Response } from 'express';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Authorize } from '#platform/auth';
import { Operation, StringField } from '#platform/http';
import {
  isSameText,
  IngressAuthMode,
  type AcceptedDelivery,
  DeliveryEvaluator,
  type IncomingRequest,
} from '#domain/webhooks';
import { Harness } from '#domain/agents';
import { Database, type Queryable } from '#platform/persistence';
import { Extension, Plugin, PluginVariables } from '#platform/plugins';
import { ObjectStore, type PutOptions, type StoredObject } from '#platform/storage';
import { type RunChange, RunStateListener } from '#execution/executions';
import { startTestHeadrace, type TestHeadrace, TestIdentities, until } from '#testing';

const sql = mkdtempSync(join(tmpdir(), 'headrace-plugin-sql-'));
mkdirSync(join(sql, 'migrations'));
writeFileSync(
  join(sql, 'migrations/2026-11-23-create-notices.sql'),
  'CREATE TABLE notices (kind text NOT NULL, about text NOT NULL, UNIQUE (kind, about))',
);
const NOTICE = 'INSERT INTO plugin_sample.notices VALUES ($1, $2) ON CONFLICT DO NOTHING';

@Extension()
class HeaderMode extends IngressAuthMode {
  override readonly mode = 'api_key';
  override readonly challenge = 'ApiKey';

  override authenticate({ headers }: IncomingRequest, secret: string): boolean {
    return isSameText(headers.single('x-api-key') ?? '', secret);
  }

  override headers(secret: string) {
    return { 'x-api-key': secret };
  }
}

@Extension()
class SampleHarness extends Harness {
  override readonly id = 'sample-agent';
  override readonly definition = { command: 'sample-agent', args: ['--acp'], install_hint: 'npm install sample-agent' };
}

@Extension()
class RunNotices extends RunStateListener {
  override async record(tx: Queryable, runId: string, changes: readonly RunChange[]): Promise<void> {
    for (const { state } of changes) await tx.query(NOTICE, [state, runId]);
  }
}

@Extension()
class DeliveryNotices extends DeliveryEvaluator {
  constructor(private readonly database: Database) {
    super();
  }

  override async evaluate({ deliveryId }: AcceptedDelivery): Promise<never[]> {
    await this.database.query(NOTICE, ['delivery', deliveryId]);
    return [];
  }
}

const objects = new Map<string, { readonly content: Buffer; readonly contentType: string }>();

@Extension()
class MemoryStore extends ObjectStore {
  override async put(key: string, content: Readable | Buffer, { contentType }: PutOptions) {
    const bytes = Buffer.isBuffer(content) ? content : await buffer(content);
    objects.set(key, { content: bytes, contentType });
    return { sizeBytes: bytes.length };
  }

  override get(key: string): Promise<StoredObject | null> {
    const found = objects.get(key);
    return Promise.resolve(
      found
        ? { stream: Readable.from([found.content]), sizeBytes: found.content.length, contentType: found.contentType }
        : null,
    );
  }

  override delete(key: string): Promise<void> {
    objects.delete(key);
    return Promise.resolve();
  }

  override deletePrefix(prefix: string): Promise<void> {
    for (const key of objects.keys()) if (key.startsWith(`${prefix}/`)) objects.delete(key);
    return Promise.resolve();
  }

  override signedUrl(key: string): Promise<string> {
    return Promise.resolve(`https://objects.example/${key}`);
  }
}

class GreetingResponse {
  @StringField({ description: 'The greeting of the variables.' }) greeting: string;
}

@Controller('sample-greeting')
class GreetingController {
  constructor(private readonly variables: PluginVariables) {}

  @Get()
  @Authorize('sample/greeting:read')
  @Operation({
    id: 'getGreeting',
    summary: 'Get a greeting',
    success: { status: 200, description: 'The greeting.', type: GreetingResponse },
  })
  getGreeting(): GreetingResponse {
    return { greeting: this.variables.of('sample')['GREETING'] ?? '' };
  }
}

/** Routes that use the response of Express. */
@Controller('sample-responses')
class ResponsesController {
  @Get('file')
  @Authorize('sample/greeting:read')
  sendFile(@Res() response: Response): void {
    response.sendFile(join(sql, 'migrations/2026-11-23-create-notices.sql'));
  }

  @Get('missing-file')
  @Authorize('sample/greeting:read')
  sendMissingFile(@Res() response: Response): void {
    response.sendFile(join(sql, 'missing.sql'));
  }

  @Get('ended')
  @Authorize('sample/greeting:read')
  end(@Res({ passthrough: true }) response: Response): object {
    response.end('ended');
    return { greeting: 'too late' };
  }

  @Get('headers')
  @Authorize('sample/greeting:read')
  @Header('Content-Length', '1')
  changeHeaders(@Res({ passthrough: true }) response: Response): object {
    const policy = response.getHeader('Content-Security-Policy');
    response.removeHeader('X-Frame-Options');
    response.append('Cache-Control', 'private');
    return { policy };
  }

  @Get('throttled')
  @Authorize('sample/greeting:read')
  @Throttle({ default: { limit: 1, ttl: 60_000 } })
  limit(): object {
    return {};
  }
}

@Plugin({
  name: 'sample',
  version: '1.2.3',
  headrace: '*',
  processes: ['api', 'ingress', 'processor'],
  migrations: pathToFileURL(sql),
  permissions: { 'greeting:read': 'member', 'greeting:manage': 'admin' },
})
@Module({
  providers: [HeaderMode, SampleHarness, RunNotices, DeliveryNotices, MemoryStore],
  controllers: [GreetingController, ResponsesController],
})
class SamplePlugin {}

afterAll(() => rmSync(sql, { recursive: true }));

describe('a plugin', () => {
  let headrace: TestHeadrace;

  beforeAll(async () => {
    headrace = await startTestHeadrace({
      plugins: [SamplePlugin],
      databaseUrl: inject('postgres').url,
      settings: { HEADRACE_PLUGIN_SAMPLE_GREETING: 'Good day', API_RATE_PER_MINUTE: '1000' },
    });
  }, 60_000);
  afterAll(() => headrace.close());

  const noticed = async (kind: string): Promise<string[]> =>
    (await headrace.query<{ about: string }>('SELECT about FROM plugin_sample.notices WHERE kind = $1', [kind])).map(
      ({ about }) => about,
    );

  it('is listed by GET /health of the API, and not by the public ingress', async () => {
    expect(await (await fetch(`${headrace.url}/health`)).json()).toMatchObject({
      status: 'ok',
      plugins: [{ name: 'sample', version: '1.2.3', processes: ['api', 'ingress', 'processor'] }],
    });
    expect((await fetch(`${headrace.ingressUrl}/health`)).status).toBe(404);
  });

  it('adds an ingress auth mode and a listener of deliveries', async () => {
    const webhooks = `/factories/${headrace.factoryUid}/webhooks`;
    const { body: problem } = await headrace.request(400, `POST ${webhooks}`, {
      body: { name: 'wrong', auth_mode: 'api_kee' },
    });
    expect(problem.errors).toEqual([
      { pointer: '/auth_mode', detail: 'must be one of token, url_token, signature, api_key' },
    ]);
    const { body: webhook } = await headrace.request(201, `POST ${webhooks}`, {
      body: { name: 'keyed', auth_mode: 'api_key' },
    });
    const { body: schema } = await headrace.request(200, 'GET /factory-files/schemas/v1alpha1');
    expect(JSON.stringify(schema)).toContain('"api_key"');
    const send = (key: string) =>
      fetch(`${headrace.ingressUrl}/webhooks/w/${webhook.uid}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key },
        body: '{"a":1}',
      });
    const rejected = await send('another key');
    expect([rejected.status, rejected.headers.get('www-authenticate')]).toEqual([401, 'ApiKey']);
    const accepted = await send(webhook.secret);
    expect(accepted.status).toBe(202);
    const { delivery_id: deliveryId } = (await accepted.json()) as { delivery_id: string };
    await until(async () => (await noticed('delivery')).includes(deliveryId), 20_000, 'the evaluation');
    const signed = await headrace.query<{ headers: object }>(
      'SELECT headers FROM webhook_deliveries WHERE outcome = $1',
      ['A'],
    );
    expect(JSON.stringify(signed)).not.toContain(webhook.secret);
  });

  it('adds a harness', async () => {
    const { body } = await headrace.request(200, 'GET /agent/harnesses');
    expect(JSON.stringify(body)).toContain('npm install sample-agent');
  });

  it('adds the object store, and a listener that is called in the transaction of the run', async () => {
    const { body: created } = await headrace.request(200, 'POST /agent/runs', { body: { prompt: 'Say hello.' } });
    await until(async () => (await noticed('SUCCEEDED')).includes(created.run_id), 30_000, 'the end of the run');
    await until(() => [...objects.keys()].some((key) => key.includes(created.run_id)), 20_000, 'the transcript');
  });

  it('has variables, and routes whose permissions it declares', async () => {
    const query: TestHeadrace['query'] = (statement, values) => headrace.query(statement, values);
    const identities = new TestIdentities({ query } as ConstructorParameters<typeof TestIdentities>[0]);
    expect((await headrace.request(200, 'GET /sample-greeting')).body).toEqual({ greeting: 'Good day' });
    const member = await identities.user({ [headrace.teamUid]: 'member' });
    await headrace.request(200, 'GET /sample-greeting', { token: member.token });
    const viewer = await identities.user({ [headrace.teamUid]: 'viewer' });
    await headrace.request(403, 'GET /sample-greeting', { token: viewer.token });
  });

  describe('whose routes use the response of Express', () => {
    const get = (name: string, headers: Record<string, string> = {}): Promise<globalThis.Response> =>
      fetch(`${headrace.url}/api/v1/sample-responses/${name}`, {
        headers: { authorization: `Bearer ${headrace.token}`, ...headers },
      });

    it('sends files, and answers with a problem when it cannot', async () => {
      const sent = await get('file');
      expect(await sent.text()).toContain('CREATE TABLE notices');
      expect(sent.headers.get('cache-control')).toBe('no-store');
      expect((await get('file', { range: 'bytes=9999-' })).status).toBe(400);
      expect((await get('file', { 'if-match': '"other"' })).status).toBe(412);
      expect((await get('missing-file')).status).toBe(404);
    });

    it('fails only the request that is answered twice', async () => {
      const ended = await get('ended');
      expect([ended.status, await ended.text()]).toEqual([200, 'ended']);
      expect((await get('headers')).status).toBe(200);
    });

    it('finds, changes and removes the headers that every response has', async () => {
      const response = await get('headers');
      expect(await response.json()).toEqual({ policy: response.headers.get('content-security-policy') });
      expect(response.headers.get('cache-control')).toBe('no-store, private');
      expect(response.headers.has('x-frame-options')).toBe(false);
      expect(response.headers.get('x-trace-id')).toMatch(/^[0-9a-f]{32}$/);
    });

    it('has its own rate limit for the requests of a token', async () => {
      expect([(await get('headers')).status, (await get('throttled')).status]).toEqual([200, 429]);
    });
  });
});

describe('a plugin that adds an object store', () => {
  it('does not start with OBJECT_STORE_URL, or beside another one', async () => {
    @Extension()
    class SecondStore extends MemoryStore {}
    @Plugin({ name: 'second', version: '1.0.0', headrace: '*', processes: ['api', 'processor'] })
    @Module({ providers: [SecondStore] })
    class SecondPlugin {}
    const databaseUrl = inject('postgres').url;
    await expect(
      startTestHeadrace({ plugins: [SecondPlugin], databaseUrl, settings: { OBJECT_STORE_URL: 's3://bucket' } }),
    ).rejects.toThrow('OBJECT_STORE_URL must not be set: a plugin adds the object store.');
    await expect(startTestHeadrace({ plugins: [SamplePlugin, SecondPlugin], databaseUrl })).rejects.toThrow(
      'Two plugins add an object store',
    );
  });
});
