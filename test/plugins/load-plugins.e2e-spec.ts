import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

let directory: string;

/** A directory with a package in `node_modules`, as npm writes it. */
function link(from: string, name: string, target: string): void {
  mkdirSync(join(from, 'node_modules', name, '..'), { recursive: true });
  symlinkSync(target, join(from, 'node_modules', name));
}

const plugin = (metadata: string, module = 'default class'): string => `
import { Plugin } from 'headrace/plugin';
export ${module} Sample {}
Plugin({ name: 'sample', version: '1.0.0', headrace: '*', processes: ['api'], ${metadata} })(Sample);
`;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'headrace-load-plugins-'));
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  link(directory, 'headrace', ROOT);
  link(directory, '@nestjs/common', join(ROOT, 'node_modules/@nestjs/common'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function write(name: string, text: string): string {
  mkdirSync(join(directory, name, '..'), { recursive: true });
  writeFileSync(join(directory, name), text);
  return `./${name}`;
}

/** For each list of plugins: their names, or why they are refused. In one process, which loads the build once. */
async function load(cases: readonly (readonly string[])[]): Promise<readonly (readonly string[] | string)[]> {
  const program = `
import { loadPlugins } from ${JSON.stringify(pathToFileURL(join(ROOT, 'dist/libs/platform/plugins/src/index.js')).href)};
const results = [];
for (const specifiers of JSON.parse(process.argv[1]))
  results.push(await loadPlugins({ specifiers, directory: process.cwd(), version: '0.2.7' })
    .then((plugins) => plugins.map(({ name }) => name), (error) => error.name + ': ' + error.message));
console.log(JSON.stringify(results));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program, JSON.stringify(cases)], {
    cwd: directory,
  });
  return JSON.parse(stdout) as (string[] | string)[];
}

describe('the loader of plugins', () => {
  it('loads files in their order, and refuses every plugin that cannot work with the reason', async () => {
    const good = write('good.js', plugin('headrace: "^0.2"'));
    const other = write('other.js', plugin('name: "other", permissions: { "notes:read": "viewer" }'));
    const cases: readonly (readonly [plugins: readonly string[], result: readonly string[] | RegExp])[] = [
      [[], []],
      [
        [other, good],
        ['other', 'sample'],
      ],
      [[good, write('same.js', plugin(''))], /Two plugins have the name sample: remove one of them/],
      [['./missing.js'], /The plugin \.\/missing\.js does not exist: there is no file .*missing\.js/],
      [['@acme/not-installed'], /@acme\/not-installed is not installed beside Headrace: run `npm install/],
      [[write('broken.js', 'export default {')], /broken\.js cannot be loaded: Unexpected/],
      [[write('named.js', plugin('', 'class'))], /named\.js has no default export that is a class with @Plugin\(\)/],
      [[write('plain.js', 'export default class {}')], /plain\.js has no default export that is a class with @Plugin/],
      [[write('future.js', plugin('headrace: "^0.3"'))], /sample works with Headrace \^0\.3, and this is 0\.2\.7/],
      [[write('range.js', plugin('headrace: "new"'))], /headrace must be a range of semantic versions/],
      [[write('reserved.js', plugin('name: "headrace"'))], /name is reserved/],
      [[write('name.js', plugin('name: "Ä b"'))], /name must consist of lower-case letters/],
      [[write('process.js', plugin('processes: ["console"]'))], /processes\.0/],
      [[write('unknown.js', plugin('colour: "red"'))], /not valid: .*colour/],
      [[write('sql.js', plugin('migrations: "/nowhere"'))], /migrations must be a directory/],
      [[write('role.js', plugin('permissions: { "notes:read": "anybody" }'))], /permissions\.notes:read/],
      [['fs'], /The plugin fs is not installed beside Headrace/],
      [
        [
          write(
            'filter.js',
            `${plugin('')}import { Module } from '@nestjs/common';\nModule({ providers: [{ provide: 'APP_GUARD', useValue: {} }] })(Sample);`,
          ),
        ],
        /sample provides APP_GUARD, which would apply to the requests of Headrace/,
      ],
      [
        [write('middleware.js', `${plugin('')}Sample.prototype.configure = () => undefined;`)],
        /sample has the method configure/,
      ],
      [
        [write('process-module.js', `${plugin('')}Sample.forProcess = () => undefined;`)],
        /sample has a method forProcess that returns no module for api/,
      ],
      [
        [
          write(
            'half.js',
            `${plugin('')}import { Module } from '@nestjs/common';\nimport { Extension, SignatureScheme } from 'headrace/plugin';
class Half extends SignatureScheme {}\nExtension()(Half);\nModule({ providers: [Half] })(Sample);`,
          ),
        ],
        /sample needs the processes ingress for Half: add them to its metadata/,
      ],
      [
        [
          write(
            'compiled.cjs',
            "Object.defineProperty(exports, '__esModule', { value: true });\nexports.default = class {};",
          ),
        ],
        /no default export that is a class with @Plugin/,
      ],
      [
        [write('extension.js', `import { Extension } from 'headrace/plugin';\nExtension()(class Lost {});`)],
        /Lost has @Extension\(\) and extends no extension point/,
      ],
    ];
    const results = await load(cases.map(([plugins]) => plugins));
    for (const [index, [plugins, expected]] of cases.entries()) {
      const result = results[index];
      if (expected instanceof RegExp) expect(result, plugins.join()).toMatch(/^PluginError: /);
      if (expected instanceof RegExp) expect(result, plugins.join()).toMatch(expected);
      else expect(result, plugins.join()).toEqual(expected);
    }
  });

  it('refuses a plugin with another copy of Headrace, or of Nest', async () => {
    const decorator = 'export const Plugin = (metadata) => (target) =>\n';
    const mark =
      "  Object.defineProperty(target, Symbol.for('headrace:plugin'), { value: { copy: Symbol(), metadata } });\n";
    write('copy/node_modules/headrace/package.json', '{"type":"module","exports":{"./plugin":"./plugin.js"}}');
    write('copy/node_modules/headrace/plugin.js', decorator + mark);
    write('nest/node_modules/@nestjs/common/package.json', '{"name":"@nestjs/common"}');
    const [copy, nest] = await load([[write('copy/plugin.js', plugin(''))], [write('nest/plugin.js', plugin(''))]]);
    expect(copy).toContain('uses another copy of Headrace than the one that runs: install both in one directory');
    expect(nest).toContain('uses another copy of @nestjs/common');
  });

  it('stops a process that cannot load one, with the reason', async () => {
    const env = {
      PATH: process.env.PATH,
      HEADRACE_PLUGINS: './missing.js',
      DATABASE_URL: 'postgres://127.0.0.1:1/none',
    };
    const program = join(ROOT, 'bin/headrace.mjs');
    const failure = await run(process.execPath, [program, 'migrate'], { cwd: directory, env }).catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^headrace: The plugin \.\/missing\.js does/),
    });
  });
});
