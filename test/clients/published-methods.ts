import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { ObjectStore } from '#platform/storage';
import { ArtifactBuilder, type BuiltRun, noteExchange } from '#testing';
import { ApiFixture } from '../support/api-fixture.js';

/** What the methods of the published client are called with, and what of their responses shows that they work. */
export class PublishedMethods {
  private constructor(
    readonly fixture: ApiFixture,
    readonly factory: string,
    /** An ended run with a conversation, a transcript and artifacts. */
    readonly run: BuiltRun,
    readonly artifactUid: string,
  ) {}

  static readonly REFERENCE = 'https://tracker.example.com/browse/ABC-1';

  static async start(): Promise<PublishedMethods> {
    const fixture = await ApiFixture.start();
    const factory = await fixture.createFactory({ name: 'Nightly' });
    const run = await buildEndedRun(fixture);
    const artifacts = new ArtifactBuilder(fixture.database, { objects: fixture.api.app.get(ObjectStore) });
    const { uid } = await artifacts.build(run.id, { type: 'FILE', content: 'report\n' });
    await artifacts.build(run.id, { type: 'PULL_REQUEST', url: 'https://forge.example.com/pr/1' });
    await artifacts.build(run.id, { type: 'EXTERNAL_REFERENCE', url: PublishedMethods.REFERENCE });
    return new PublishedMethods(fixture, factory, run, uid);
  }

  close(): Promise<void> {
    return this.fixture.close();
  }

  endedRun(): Promise<BuiltRun> {
    return buildEndedRun(this.fixture);
  }

  workingRun(): Promise<BuiltRun> {
    return this.fixture.runs.build({ by: this.fixture.member, team: this.fixture.team, state: 'INPROGRESS' });
  }

  /** Options of a client. */
  optionsOf(token: string) {
    const base = `${this.fixture.api.url}/api/v1`;
    return {
      apiKey: token,
      baseURL: base,
      maxRetries: 0,
      fetch: async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
        const request = new Request(input, init);
        const response = await fetch(request);
        // A download follows the redirect to the signed address, which is no operation.
        if (!response.redirected) noteExchange(request.method, request.url.slice(base.length), response.status);
        return response;
      },
    };
  }
}

const buildEndedRun = (fixture: ApiFixture): Promise<BuiltRun> =>
  fixture.runs.build({
    by: fixture.member,
    team: fixture.team,
    state: 'SUCCEEDED',
    config: { harness: { type: 'claude' } },
    transcript: 'raw\n',
    transcriptFormat: 'claude',
  });

/** By method. */
const EXPECTED: Readonly<Record<string, unknown>> = {
  'agent.list': { agents: expect.any(Array) },
  'agent.run': { run_id: expect.any(String), state: 'QUEUED' },
  'agent.getArtifact': {
    artifact_type: 'FILE',
    source_links: { run_url: expect.any(String), pull_request_urls: ['https://forge.example.com/pr/1'] },
  },
  'agent.downloadArtifact': 'report\n',
  'agent.getRunByExternalReference': { run_id: expect.any(String) },
  'agent.listEnvironments': { environments: [] },
  'agent.listModels': { default_model_id: expect.any(String) },
  'agent.runs.retrieve': {
    root_run_id: expect.any(String),
    finished_at: null,
    submitted_prompt: expect.any(String),
    artifacts: expect.arrayContaining([expect.objectContaining({ artifact_type: 'PULL_REQUEST' })]),
  },
  'agent.runs.list': {
    runs: [{ root_run_id: expect.any(String), finished_at: null }],
    page_info: { has_next_page: false },
  },
  'agent.runs.cancel': expect.any(String),
  'agent.runs.getConversation': { steps: expect.any(Array) },
  'agent.runs.getHarnessUsage': { available: false },
  'agent.runs.getTimeline': { events: expect.any(Array) },
  'agent.runs.getTranscript': 'raw\n',
  'agent.runs.listHandoffAttachments': { attachments: [] },
  'agent.runs.interrupt': {},
  'agent.runs.submitFollowup': { followup_id: expect.any(String), outcome: 'handoff_execution' },
  'agent.conversations.retrieve': { steps: expect.any(Array) },
  'agent.conversations.checkRedirect': { session_id: expect.any(String) },
  'agent.conversations.getTranscript': 'raw\n',
  'agent.conversations.interrupt': { run_id: expect.any(String) },
  'agent.conversations.submitFollowup': {
    followup_id: expect.any(String),
    outcome: 'handoff_execution',
    run_id: expect.any(String),
  },
  'agent.sessions.checkRedirect': { conversation_id: expect.any(String) },
  'agent.schedules.create': { enabled: true },
  'agent.schedules.retrieve': { id: expect.any(String) },
  'agent.schedules.update': { name: 'weekly' },
  'agent.schedules.delete': { success: true },
  'agent.schedules.list': { schedules: expect.any(Array) },
  'agent.schedules.pause': { enabled: false },
  'agent.schedules.resume': { enabled: true },
  'agent.agent.create': { name: 'fixer', harness: { type: 'oz' } },
  'agent.agent.list': { agents: expect.any(Array) },
  'agent.agent.get': { memory: { attached_stores: [] } },
  'agent.agent.update': { description: 'Fixes.' },
  // The client reads an answer without a body as null.
  'agent.agent.delete': null,
  'factories.list': { factories: [{ name: 'Nightly' }] },
  'factories.get': { name: 'Nightly' },
  'factories.runs.create': { factory_uid: expect.any(String), ticket_ref: 'tracker:ABC-1' },
  'factories.files.validate': { valid: true, schema_version: 'v1alpha1', validation_scope: { parser: 'checked' } },
  'factories.files.schemas.list': { current_version: 'v1alpha1' },
  'factories.files.schemas.retrieve': { documents: { 'factory.schema.json': expect.any(Object) } },
  'factories.files.schemas.getDocument': { $schema: 'https://json-schema.org/draft/2020-12/schema' },
};

export function expectResult(method: string, result: unknown): void {
  const expected = EXPECTED[method];
  if (typeof expected === 'object' && expected !== null && !('asymmetricMatch' in expected))
    expect(result).toMatchObject(expected);
  else expect(result ?? null).toEqual(expected);
}

export interface PublishedMethod {
  readonly method: string;
  readonly operation: string;
  readonly status: string;
}

/** The table of docs/api-compatibility.md. */
export const TABLE: readonly PublishedMethod[] = readFileSync(
  new URL('../../docs/api-compatibility.md', import.meta.url),
  'utf8',
)
  .split('\n')
  .flatMap((line): PublishedMethod[] => {
    const [, method, operation, status] = /^\| `([\w.]+)`\s*\| `([A-Z]+ [^`]+)`\s*\| (\S.*?)\s*\|/.exec(line) ?? [];
    return method === undefined || operation === undefined || status === undefined
      ? []
      : [{ method, operation, status }];
  });

/** Methods whose operation exists here. */
export const BUILT: readonly PublishedMethod[] = TABLE.filter(
  ({ status }) => status === 'works' || status === 'differs',
);
