import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderOpenApi } from '../../apps/api/src/openapi.js';
import { bundle } from '../../scripts/lib/bundle.mjs';
import { FACTORY } from '../api/definitions/definition-plans.js';
import { scheduleBody } from '../support/api-fixture.js';
import { BUILT, expectResult, PublishedMethods, TABLE } from './published-methods.js';
import { compileErrors, generateTypes, textOf } from './typed-programs.js';

/*
 * The newest source of the published client, which npm does not have: a checkout of its repository, whose path is in OZ_SDK_SOURCE.
 * It is built, each of its methods is called, and runs are compared with its types.
 */

const source = process.env.OZ_SDK_SOURCE ?? '';
const skipReason = source === '' ? ' (left out: OZ_SDK_SOURCE names no checkout of its repository)' : '';

/** `client.agent.runs.list`, with the operation. */
const METHOD = /<code title="(\w+) ([^"]+)">client\.([\w.]+)\.<a [^>]*>(\w+)<\/a>/g;

/** The method and its object. */
type Found = readonly [object: Record<string, unknown>, name: string];

interface RunList {
  list(query: object): AsyncIterable<{ readonly run_id: string }>;
}

let methods: PublishedMethods;
let directory: string;
let Client: new (options: object) => Record<string, unknown>;

/** By method: its arguments. Those of methods that a checkout lacks are not used. */
const ARGUMENTS: Readonly<Record<string, () => readonly unknown[] | Promise<readonly unknown[]>>> = {
  'agent.list': () => [],
  'agent.run': () => [{ prompt: 'Go.', config: { idle_timeout_minutes: 0, secrets: [] } }],
  'agent.getArtifact': () => [methods.artifactUid],
  'agent.downloadArtifact': () => [methods.artifactUid],
  'agent.getRunByExternalReference': () => [{ url: PublishedMethods.REFERENCE }],
  'agent.listEnvironments': () => [{ sort_by: 'name' }],
  'agent.listModels': () => [],
  'agent.runs.retrieve': () => [methods.run.id],
  'agent.runs.list': () => [{ source: ['API'], q: `${methods.fixture.api.url}/runs/${methods.run.id}` }],
  'agent.runs.cancel': async () => [await methods.fixture.createRun()],
  'agent.runs.getConversation': () => [methods.run.id],
  'agent.runs.getHarnessUsage': () => [methods.run.id],
  'agent.runs.getTimeline': () => [methods.run.id],
  'agent.runs.getTranscript': () => [methods.run.id],
  'agent.runs.listHandoffAttachments': () => [methods.run.id],
  'agent.runs.interrupt': async () => [(await methods.workingRun()).id],
  'agent.runs.submitFollowup': async () => [(await methods.endedRun()).id, { message: 'Continue.' }],
  'agent.conversations.retrieve': () => [methods.run.conversationId],
  'agent.conversations.checkRedirect': () => [methods.run.conversationId, withToken()],
  'agent.conversations.getTranscript': () => [methods.run.conversationId],
  'agent.conversations.interrupt': async () => [(await methods.workingRun()).conversationId],
  'agent.conversations.submitFollowup': async () => [(await methods.endedRun()).conversationId, {}],
  'agent.sessions.checkRedirect': () => [`session-${methods.run.id}`, withToken()],
  'agent.schedules.create': () => [scheduleBody()],
  'agent.schedules.retrieve': async () => [await schedule()],
  'agent.schedules.update': async () => [await schedule(), scheduleBody({ name: 'weekly' })],
  'agent.schedules.delete': async () => [await schedule()],
  'agent.schedules.list': () => [],
  'agent.schedules.pause': async () => [await schedule()],
  'agent.schedules.resume': async () => [await schedule()],
  'agent.agent.create': () => [{ name: 'fixer', harness: { type: 'oz', model_id: '' } }],
  'agent.agent.list': () => [],
  'agent.agent.get': async () => [await identity()],
  'agent.agent.update': async () => [await identity(), { description: 'Fixes.' }],
  'agent.agent.delete': async () => [await identity()],
  'factories.list': () => [{ search: 'night', limit: 50 }],
  'factories.get': () => [methods.factory],
  'factories.runs.create': () => [methods.factory, { prompt: 'Go.', ticket_ref: 'tracker:ABC-1' }],
  'factories.files.validate': () => [{ files: [{ path: 'factory.yaml', content: FACTORY }] }, withToken()],
  'factories.files.schemas.list': () => [{}, withToken()],
  'factories.files.schemas.retrieve': () => ['v1alpha1', {}, withToken()],
  'factories.files.schemas.getDocument': () => ['factory.schema.json', { schema_version: 'v1alpha1' }, withToken()],
};

/** For methods whose operation needs a token here, while the client sends none. */
const withToken = () => ({ headers: { Authorization: `Bearer ${methods.fixture.member.token}` } });
const schedule = async (): Promise<string> =>
  (await methods.fixture.requestAsMember(201, 'POST /agent/schedules', scheduleBody())).id;
const identity = async (): Promise<string> => (await methods.fixture.createIdentity()).uid;

const documented = skipReason === '' ? documentedMethods() : [];
function documentedMethods(): { readonly method: string; readonly operation: string }[] {
  return [...readFileSync(join(source, 'api.md'), 'utf8').matchAll(METHOD)].map(
    ([, verb = '', path, object, name]) => ({
      method: `${object}.${name}`,
      operation: `${verb.toUpperCase()} ${path}`,
    }),
  );
}

const isBuilt = (method: string): boolean => BUILT.some((row) => row.method === method);

function find(client: Record<string, unknown>, method: string): Found {
  const path = method.split('.');
  const name = path.pop() ?? '';
  return [path.reduce((object, part) => object[part] as Record<string, unknown>, client), name];
}

/** Methods of a client's resources, also of those below them. */
function methodsOf(object: object, prefix: string): string[] {
  const below = Object.entries(object).filter(([name, value]) => !name.startsWith('_') && isObject(value));
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(object)).filter((name) => name !== 'constructor');
  return [
    ...(prefix === '' ? [] : own.map((name) => `${prefix}${name}`)),
    ...below.flatMap(([name, value]) => methodsOf(value as object, `${prefix}${name}.`)),
  ];
}
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

describe.skipIf(skipReason !== '')(`the newest published client${skipReason}`, () => {
  beforeAll(async () => {
    methods = await PublishedMethods.start();
    directory = mkdtempSync(join(tmpdir(), 'headrace-test-client-'));
    await bundle({ client: join(source, 'src/index.ts') }, directory);
    ({ default: Client } = await import(pathToFileURL(join(directory, 'client.js')).href));
  });
  afterAll(async () => {
    await methods.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const clientOf = ({ token }: { readonly token: string }) => new Client(methods.optionsOf(token));

  it('has only methods of docs/api-compatibility.md, with the same operations', () => {
    expect(documented.length).toBeGreaterThan(20);
    const normal = (operation: string): string => operation.replace('/v1alpha1', '/{}').replace(/\{\w+\}/g, '{}');
    const rows = new Map(TABLE.map(({ method, operation }) => [method, normal(operation)]));
    for (const { method, operation } of documented)
      expect([method, rows.get(method)]).toEqual([method, normal(operation)]);
    const client = clientOf(methods.fixture.member);
    const resources = Object.fromEntries(
      [...new Set(documented.map(({ method }) => method.split('.')[0] ?? ''))].map((name) => [name, client[name]]),
    );
    expect(methodsOf(resources, '').sort()).toEqual(documented.map(({ method }) => method).sort());
  });

  it.each(documented.filter(({ method }) => isBuilt(method)))('$method succeeds', async ({ method }) => {
    // Only administrators change agent identities.
    const principal = /^agent\.agent\.(create|update|delete)$/.test(method) ? 'admin' : 'member';
    const [object, name] = find(clientOf(methods.fixture[principal]), method);
    const call = object[name] as (...values: readonly unknown[]) => Promise<unknown>;
    const values = await ARGUMENTS[method]?.();
    if (values === undefined) throw new Error(`This test has no arguments of ${method}.`);
    const result = await call.apply(object, [...values]);
    expectResult(method, result instanceof Response ? await result.text() : result);
  });

  it('reads the list of runs page by page', async () => {
    const ids = [
      await methods.fixture.createRun(),
      await methods.fixture.createRun(),
      await methods.fixture.createRun(),
    ];
    const { runs } = clientOf(methods.fixture.member).agent as { readonly runs: RunList };
    const found: string[] = [];
    for await (const { run_id: id } of runs.list({ limit: 1, sort_by: 'created_at' })) {
      found.push(id);
      if (found.length === ids.length) break;
    }
    expect(found).toEqual(ids.toReversed());
  });

  it('accepts runs as its RunItem, in which no field is missing that it requires', async () => {
    const { fixture } = methods;
    const build = (shape: object) => fixture.runs.build({ by: fixture.member, team: fixture.team, ...shape });
    const states = [
      'QUEUED',
      'PENDING',
      'CLAIMED',
      'INPROGRESS',
      'BLOCKED',
      'SUCCEEDED',
      'FAILED',
      'ERROR',
      'CANCELLED',
    ];
    const built = await Promise.all(states.map((state) => build({ state })));
    const child = await fixture.createRun({ parent_run_id: methods.run.id, metadata: { ticket: 'ABC-1' } });
    const ids = [methods.run.id, child, ...built.map(({ id }) => id)];
    const runs: object[] = await Promise.all(ids.map((id) => fixture.getRun(id)));
    const program = (values: readonly object[]): string =>
      [
        textOf('newest-types').replace("'CLIENT'", `'${join(source, 'src/resources/agent/index.js')}'`),
        ...values.map((run, index) => `export const run${index} = accept(${JSON.stringify(run)});`),
      ].join('\n');
    const withoutTitle = runs.map((run) => ({ ...run, title: undefined }));
    const errors = await compileErrors({
      'valid/runs': program(runs),
      'valid/schema': await generateTypes(await renderOpenApi()),
      'invalid/runs': program(withoutTitle),
      'invalid/schema': 'export interface components { schemas: { RunItem: { state: string } } }',
    });
    // Its own source is compiled with other options.
    const found = (part: string): string[] => errors.filter((error) => error.startsWith(`${part}/`));
    expect(found('valid')).toEqual([]);
    expect(found('invalid').length).toBeGreaterThan(runs.length);
  }, 60_000);
});
