import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import createClient from 'openapi-fetch';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObjectStore } from '#libs/storage';
import { noteExchange, RunBuilder, startTestApi, type TestApi, type TestPrincipal, TestRunner } from '#libs/testing';
import { renderOpenApi } from '../../apps/api/src/openapi.js';

const PROGRAM = readFileSync(new URL('typed-program.ts.txt', import.meta.url), 'utf8');
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  strict: true,
  exactOptionalPropertyTypes: false,
  noUncheckedIndexedAccess: true,
  noImplicitReturns: true,
  skipLibCheck: true,
  noEmit: true,
  types: [],
};

/** What the compiler has to say about the program beside these types. The files exist in memory only, here, where packages are found. */
function complaints(program: string, schema: string): string[] {
  const [programFile, schemaFile] = ['program.ts', 'schema.ts'].map((name) => join(import.meta.dirname, name)) as [
    string,
    string,
  ];
  const files = new Map([
    [programFile, program],
    [schemaFile, schema],
  ]);
  const disk = ts.createCompilerHost(OPTIONS);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (name) => files.has(name) || disk.fileExists(name),
    readFile: (name) => files.get(name) ?? disk.readFile(name),
    getSourceFile: (name, version, ...rest) => {
      const text = files.get(name);
      return text === undefined ? disk.getSourceFile(name, version, ...rest) : ts.createSourceFile(name, text, version);
    },
  };
  const compiled = ts.createProgram([programFile], OPTIONS, host);
  return ts.getPreEmitDiagnostics(compiled).map(({ file, start, messageText }) => {
    const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
    return `${file?.fileName.split('/').at(-1) ?? ''}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}

const generateTypes = async (): Promise<string> =>
  astToString(await openapiTS(JSON.parse(await renderOpenApi()) as OpenAPI3));

describe('types generated from openapi.json', () => {
  it('are types that a strict program works with, and that catch its mistakes', async () => {
    expect(complaints(PROGRAM, await generateTypes())).toEqual([]);
  });

  it('are what the check looks at: with a poorer document it complains', async () => {
    const poorer = (await generateTypes()).replace('FollowupOutcome: "queued_prompt"', 'FollowupOutcome: "somewhere"');
    const found = complaints(
      PROGRAM.replace('return outcome;', "return outcome === 'queued_prompt' ? outcome : 'live_session';"),
      poorer,
    );
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^program.ts:\d+ .*no overlap/);
  }, 60_000);
});

interface Program {
  Refused: new (...values: never[]) => Error & { problem: { error_code: string; status: number } };
  create(api: unknown, prompt: string): Promise<string>;
  get(api: unknown, runId: string): Promise<{ state: string; metadata?: Record<string, string> }>;
  list(api: unknown, states: string[]): Promise<string[]>;
  cancel(api: unknown, runId: string): Promise<string>;
  followUp(api: unknown, runId: string, message: string): Promise<string>;
  timeline(api: unknown, runId: string): Promise<string[]>;
  conversation(api: unknown, runId: string): Promise<string[]>;
  decide(api: unknown, runId: string, decision: string): Promise<{ state: string; note?: string }[]>;
  transcriptUrl(api: unknown, runId: string): Promise<string | null>;
}

describe('the program, with openapi-fetch', () => {
  let api: TestApi;
  let team: string;
  let member: TestPrincipal;
  let runs: RunBuilder;
  let program: Program;
  let directory: string;

  beforeAll(async () => {
    api = await startTestApi();
    team = await api.identities.team();
    member = await api.identities.user({ [team]: 'member' });
    runs = new RunBuilder(api.database, { objects: api.app.get(ObjectStore) });
    directory = mkdtempSync(join(tmpdir(), 'headrace-test-program-'));
    // Its imports are types, so the compiled program has none.
    const { outputText } = ts.transpileModule(PROGRAM, {
      compilerOptions: { ...OPTIONS, module: ts.ModuleKind.ES2022 },
    });
    writeFileSync(join(directory, 'program.mjs'), outputText);
    program = (await import(pathToFileURL(join(directory, 'program.mjs')).href)) as Program;
  });
  afterAll(async () => {
    await api.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const client = ({ token }: TestPrincipal = member) =>
    createClient({
      baseUrl: `${api.url}/api/v1`,
      headers: { authorization: `Bearer ${token}` },
      fetch: async (request) => {
        const response = await fetch(request);
        noteExchange(request.method, request.url.slice(`${api.url}/api/v1`.length), response.status);
        return response;
      },
    });

  it('creates, reads, lists and cancels', async () => {
    const other = await api.identities.team();
    const somebody = await api.identities.user({ [other]: 'member' });
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.push(await program.create(client(somebody), `Run ${index}.`));
    expect(await program.get(client(somebody), ids[0] ?? '')).toMatchObject({
      state: 'QUEUED',
      metadata: { by: 'program' },
    });
    expect(await program.cancel(client(somebody), ids[2] ?? '')).toBe(ids[2]);
    expect(await program.list(client(somebody), ['QUEUED'])).toEqual(ids.filter((_, index) => index !== 2));
    expect(await program.list(client(somebody), ['QUEUED', 'CANCELLED'])).toEqual(ids);
  });

  it('follows up', async () => {
    const build = async (state: 'QUEUED' | 'INPROGRESS' | 'SUCCEEDED' | 'CLAIMED') =>
      (await runs.build({ by: member, team, state })).id;
    expect(await program.followUp(client(), await build('QUEUED'), 'More.')).toBe('queued_prompt');
    expect(await program.followUp(client(), await build('CLAIMED'), 'More.')).toBe('queue_pending');
    expect(await program.followUp(client(), await build('INPROGRESS'), 'More.')).toBe('live_session');
    expect(await program.followUp(client(), await build('SUCCEEDED'), '')).toBe('handoff_execution');
  });

  it('reads the timeline over its pages, and the conversation with every kind of block', async () => {
    const runId = await program.create(client(), 'Look and tell.');
    const runner = await TestRunner.take(api, runId);
    await runner.startAgent();
    await runner.report(
      ['turn_started', { turn_id: 't1', prompt: 'Look and tell.' }],
      ['thought_chunk', { message_id: 'm0', text: 'Hm.' }],
      ['message_chunk', { message_id: 'm1', text: 'I look.' }],
      [
        'tool_call',
        {
          tool_call_id: 'c1',
          tool_kind: 'execute',
          status: 'completed',
          input: { command: 'ls' },
          output: { output: 'a', exit_code: 0 },
        },
      ],
      ['turn_ended', { turn_id: 't1', stop_reason: 'end_turn' }],
    );
    await runner.finish();
    const told = await program.timeline(client(), runId);
    expect(told.map((line) => line.replace(/ at .*/, ''))).toEqual([
      'run_created',
      'run_claimed',
      'sandbox_ready',
      'session_started',
      'agent_started',
      'run_done',
      'sandbox_shutdown',
    ]);
    const said = await program.conversation(client(), runId);
    expect(said).toEqual(
      expect.arrayContaining([
        'user: Look and tell.',
        'assistant: I look.',
        'assistant does run_command (command)',
        'tool got completed for c1',
      ]),
    );
    expect(said.some((line) => line.endsWith('[thinking]'))).toBe(true);
  });

  it('decides on what an agent asks', async () => {
    const { id } = await runs.build({ by: member, team, state: 'BLOCKED', approvals: 2 });
    expect(await program.decide(client(), id, 'allow')).toEqual([
      expect.objectContaining({ state: 'allowed', note: 'By a program.' }),
      expect.objectContaining({ state: 'allowed' }),
    ]);
    expect((await program.get(client(), id)).state).toBe('INPROGRESS');
  });

  it('downloads the transcript', async () => {
    const { id } = await runs.build({ by: member, team, state: 'SUCCEEDED', transcript: '{"a":1}\n' });
    const url = await program.transcriptUrl(client(), id);
    expect(await (await fetch(url ?? '')).text()).toBe('{"a":1}\n');
  });

  it('is refused with the problem that the document describes', async () => {
    const { id } = await runs.build({ by: member, team, state: 'SUCCEEDED' });
    const refusals: [() => Promise<unknown>, number, string][] = [
      [() => program.cancel(client(), id), 400, 'invalid_request'],
      [() => program.transcriptUrl(client(), id), 404, 'resource_not_found'],
      [() => program.list(client(), ['DONE']), 400, 'invalid_request'],
    ];
    for (const [refusal, status, code] of refusals) {
      const error = await refusal().then(
        () => null,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(program.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });
});
