import { mkdtemp, rm } from 'node:fs/promises';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplication, Type } from '@nestjs/common';
import { parseSettings, type Settings, withSettings } from '#platform/config';
import { Clock } from '#platform/kernel';
import { MovableClock } from '#platform/persistence';
import type { LoadedPlugin } from '#platform/plugins';
import { createTestDatabase, type TestDatabase } from '../database/test-database.js';
import { CapturedLog } from './captured-log.js';
import { TestIdentities } from './identities.js';
import { TestClient, type TestRequest, type TestResponse } from './test-client.js';

export interface TestApi {
  /** Origin. */
  readonly url: string;
  readonly settings: Settings;
  readonly app: INestApplication;
  readonly database: TestDatabase;
  readonly identities: TestIdentities;
  readonly log: CapturedLog;
  /** Relative to `/api/v1`: `api.request(200, 'GET /agent/runs', { token })`. */
  request(status: number, line: string, options?: TestRequest): Promise<TestResponse>;
  /** Relative to the origin: `api.atOrigin(200, 'GET /health/live')`. */
  atOrigin(status: number, line: string, options?: TestRequest): Promise<TestResponse>;
  /** Moves the time of database and application. */
  advanceClock(milliseconds: number): Promise<void>;
  close(): Promise<void>;
}

export interface TestApiOptions {
  readonly settings?: Partial<Settings>;
  /** One that is there already; it is then not dropped at the end. */
  readonly database?: TestDatabase;
  /** Modules that the installation adds to the API, as a plugin does. */
  readonly modules?: readonly Type[];
}

/** A module as the plugin of an installation. */
export const pluginOf = (module: Type, processes: LoadedPlugin['processes']): LoadedPlugin => ({
  name: module.name.toLowerCase(),
  version: '1.0.0',
  headrace: '*',
  processes,
  module,
  migrations: null,
});

/** Settings of a process under test: loopback, a free port, its own directory, a movable clock, no rate limit. */
export function testSettings(databaseUrl: string, dataDir: string): Settings {
  return withSettings(
    parseSettings({
      DATABASE_URL: databaseUrl,
      HEADRACE_DATA_DIR: dataDir,
      PORT: '0',
      INGRESS_PORT: '0',
      SECRETS_KEY: 'a-key-for-tests-only-0123456789abcdef',
      HEADRACE_TEST_CLOCK: 'true',
      API_RATE_PER_MINUTE: '0',
      GIT_ALLOW_PRIVATE: 'loopback',
      API_REJECTION_RATE_LIMIT: '0',
      DATABASE_POOL_SIZE: '6',
      QUEUE_POOL_SIZE: '6',
    }),
    {},
  );
}

/**
 * The whole API on a free port over its own database.
 *
 *   let api: TestApi;
 *   beforeAll(async () => { api = await startTestApi(); });
 *   afterAll(() => api.close());
 */
export async function startTestApi({
  settings: changes,
  database: given,
  modules = [],
}: TestApiOptions = {}): Promise<TestApi> {
  const log = CapturedLog.install();
  const database = given ?? (await createTestDatabase());
  const dataDir = await mkdtemp(join(tmpdir(), 'headrace-test-data-'));
  const settings = withSettings(testSettings(database.url, dataDir), changes ?? {});
  // Loaded here only: most tests of a library need no application.
  const { startApi } = await import('#apps/api/src/main');
  const api = await startApi(
    settings,
    modules.map((module) => pluginOf(module, ['api'])),
  );
  const server: Server = api.app.getHttpServer();
  reportTimeouts(server);
  const clock: unknown = api.app.get(Clock);
  return {
    url: api.url,
    settings,
    app: api.app,
    database,
    identities: new TestIdentities(database),
    log,
    request: new TestClient(`${api.url}/api/v1`).request,
    atOrigin: new TestClient(api.url).request,
    advanceClock: async (milliseconds) => {
      const shift = await database.advanceClock(milliseconds);
      if (clock instanceof MovableClock) await clock.reached(shift);
    },
    close: async () => {
      await api.close();
      if (!given) await database.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Prints how much of a request arrived before it was answered with 408: client and server are in the same process here. */
function reportTimeouts(server: Server): void {
  server.prependListener('clientError', (error: NodeJS.ErrnoException, socket: Socket & InResponse) => {
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT' || socket.bytesRead === 0) return;
    const { method, url, headers, complete, readableLength, readableFlowing } = socket._httpMessage?.req ?? {};
    const { bytesRead } = socket;
    const length = headers?.['content-length'];
    const facts = { method, url, length, bytesRead, complete, readableLength, readableFlowing };
    console.error(`A request did not arrive in time: ${JSON.stringify({ ...facts, paused: socket.isPaused() })}`);
  });
}

/** Node keeps the response that is not sent yet. */
interface InResponse {
  readonly _httpMessage?: ServerResponse;
}
