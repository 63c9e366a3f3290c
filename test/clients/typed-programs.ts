import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
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
  'administration',
] as const;
export type ProgramName = (typeof PROGRAMS)[number];

export const textOf = (name: string): string =>
  readFileSync(new URL(`programs/${name}.ts.txt`, import.meta.url), 'utf8');

const ROOT = join(import.meta.dirname, '../..');

const OPTIONS = {
  target: 'es2023',
  lib: ['es2023', 'dom', 'dom.iterable'],
  module: 'nodenext',
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

/** The errors of the compiler in these files, which are given by name without ending, each as `file:line message`. */
export async function compileErrors(texts: Readonly<Record<string, string>>): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-test-compile-'));
  try {
    for (const [name, text] of Object.entries(texts)) {
      const file = join(directory, `${name}.ts`);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions: OPTIONS }));
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    const compiler = join(ROOT, 'node_modules/typescript-7/bin/tsc');
    const output = await promisify(execFile)(process.execPath, [compiler, '-p', directory, '--pretty', 'false'], {
      cwd: directory,
    }).then(
      ({ stdout }) => stdout,
      ({ stdout, code }: { stdout: string; code: unknown }) => {
        if (code === 1 || code === 2) return stdout;
        throw new Error(`The compiler ended with ${String(code)}: ${stdout}`);
      },
    );
    const errors = [...output.matchAll(/^(\S+)\((\d+),\d+\): error TS\d+: (.*)$/gm)];
    if (errors.length === 0 && output.trim() !== '') throw new Error(output);
    return errors.map(([, file, line, message]) => `${file ?? ''}:${line ?? ''} ${message ?? ''}`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
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
      compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ES2022 },
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
