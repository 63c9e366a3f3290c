import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import createClient from 'openapi-fetch';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import ts from 'typescript';
import { FactoryBuilder, noteExchange, startTestApi, type TestApi, type TestPrincipal } from '#testing';

/** Parts of the program that a user of generated types might write; each calls different operations. */
export const PROGRAMS = [
  'runs',
  'reading',
  'team',
  'notifications',
  'secrets',
  'webhooks',
  'environments',
  'factories',
  'schedules',
  'automations',
  'definitions',
] as const;
export type ProgramName = (typeof PROGRAMS)[number];

export const textOf = (name: string): string =>
  readFileSync(new URL(`programs/${name}.ts.txt`, import.meta.url), 'utf8');

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

export const generateTypes = async (document: string): Promise<string> =>
  astToString(await openapiTS(JSON.parse(document) as OpenAPI3));

const disk = ts.createCompilerHost(OPTIONS);
/** Read once: most of a compilation's time goes into them. */
const libraries = new Map<string, ts.SourceFile | undefined>();

/**
 * What the compiler has to say about the files, by name without ending. They exist in memory only, here, where packages
 * are found.
 */
export function complaints(texts: Readonly<Record<string, string>>): string[] {
  const files = new Map(Object.entries(texts).map(([name, text]) => [join(import.meta.dirname, `${name}.ts`), text]));
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (name) => files.has(name) || disk.fileExists(name),
    readFile: (name) => files.get(name) ?? disk.readFile(name),
    getSourceFile: (name, version, ...rest) => {
      const text = files.get(name);
      if (text !== undefined) return ts.createSourceFile(name, text, version);
      const source = libraries.get(name) ?? disk.getSourceFile(name, version, ...rest);
      libraries.set(name, source);
      return source;
    },
  };
  const compiled = ts.createProgram([...files.keys()], OPTIONS, host);
  return ts.getPreEmitDiagnostics(compiled).map(({ file, start, messageText }) => {
    const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
    return `${file?.fileName.split('/').at(-1) ?? ''}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}

/** Operations that a program calls, as `METHOD /path`, sorted. */
export function operationsIn(name: ProgramName): string[] {
  const calls = textOf(name)
    .replace(/\/\/ @ts-expect-error.*\n.*/g, '')
    .matchAll(/\bapi\.([A-Z]+)\('([^']+)'/g);
  return [...new Set([...calls].map(([, method, path]) => `${method} ${path}`))].sort();
}

export interface RunningProgram<P> {
  readonly program: P;
  /** What it throws when it is refused; holds the `problem`. */
  readonly Refused: new (...values: never[]) => Error;
  /** What `openapi-fetch` makes for somebody. */
  client(principal: TestPrincipal): unknown;
  /** Operations called so far, as `METHOD /path`, sorted. */
  called(): string[];
  close(): void;
}

/** Loads a program to be run against the API. */
export async function loadProgram<P>(name: ProgramName, api: TestApi): Promise<RunningProgram<P>> {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-test-program-'));
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  for (const part of ['answer', name]) {
    // What they import of other packages are types, of which nothing is left.
    const { outputText } = ts.transpileModule(textOf(part), {
      compilerOptions: { ...OPTIONS, module: ts.ModuleKind.ES2022 },
    });
    writeFileSync(join(directory, `${part}.js`), outputText);
  }
  const load = (part: string): Promise<unknown> => import(pathToFileURL(join(directory, `${part}.js`)).href);
  const called = new Set<string>();
  return {
    program: (await load(name)) as P,
    ...((await load('answer')) as Pick<RunningProgram<P>, 'Refused'>),
    client({ token }) {
      const client = createClient({
        baseUrl: `${api.url}/api/v1`,
        headers: { authorization: `Bearer ${token}` },
        fetch: async (request) => {
          const response = await fetch(request);
          noteExchange(request.method, request.url.slice(`${api.url}/api/v1`.length), response.status);
          return response;
        },
      });
      client.use({ onRequest: ({ request, schemaPath }) => void called.add(`${request.method} ${schemaPath}`) });
      return client;
    },
    called: () => [...called].sort(),
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** Why a promise was rejected, or null. */
export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (reason: unknown) => reason,
  );

/** A factory with an admin of its team, and a program that manages it. */
export interface FactoryProgram<Program> {
  readonly api: TestApi;
  readonly team: string;
  readonly factory: string;
  readonly admin: TestPrincipal;
  readonly running: RunningProgram<Program>;
  close(): Promise<void>;
}

export async function startFactoryProgram<Program>(name: ProgramName): Promise<FactoryProgram<Program>> {
  const api = await startTestApi();
  const team = await api.identities.team();
  const admin = await api.identities.user({ [team]: 'admin' });
  const factory = await new FactoryBuilder(api.database).build({ teamUid: team });
  const running = await loadProgram<Program>(name, api);
  return {
    ...{ api, team, factory, admin, running },
    close: async () => {
      await api.close();
      running.close();
    },
  };
}
