// Creates the library of a new resource of teams, with its table, its operations, its tests and its registrations:
//   npm run new:resource release-note
//   npm run new:resource policy -- --plural policies
// docs/extending/add-a-resource.md explains what to change next.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { inRoot } from './lib/paths.mjs';

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const USAGE = 'Usage: npm run new:resource NAME [-- --plural NAMES]\nNAME is a singular noun such as `release-note`.';

class InputError extends Error {}

function readArguments() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { plural: { type: 'string' } } });
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new InputError(USAGE);
  const files = values.plural ?? `${file}s`;
  for (const name of [file, files]) if (!NAME.test(name)) throw new InputError(`${name} is no name.\n${USAGE}`);
  if (file === files) throw new InputError(`The plural of ${file} must be another word.`);
  return { file, files };
}

const capitalized = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const inCamelCase = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

/** What replaces `{{key}}` in the templates. */
function wordsOf({ file, files }) {
  const [noun, nouns] = [file.replaceAll('-', ' '), files.replaceAll('-', ' ')];
  const a = /^[aeiou]/.test(noun) ? 'an' : 'a';
  const table = files.replaceAll('-', '_');
  return {
    ...{ file, files, noun, nouns, a, table },
    ...{ A: capitalized(a), Nouns: capitalized(nouns), CONSTANT: table.toUpperCase() },
    ...{ name: inCamelCase(file), names: inCamelCase(files) },
    ...{ Class: capitalized(inCamelCase(file)), Classes: capitalized(inCamelCase(files)) },
  };
}

const TEMPLATES = inRoot('scripts/templates/resource');

function fillTemplate(path, words) {
  const text = readFileSync(join(TEMPLATES, `${path}.template`), 'utf8');
  return text.replace(/\{\{(\w+)\}\}/g, (_, key) => {
    if (!(key in words)) throw new Error(`${path} uses {{${key}}}, which is not defined.`);
    return words[key];
  });
}

/** New file → template. */
function newFiles({ file, files }) {
  const library = `libs/domain/${files}`;
  const today = new Date().toISOString().slice(0, 10);
  return {
    [`${library}/README.md`]: 'library/README.md',
    [`${library}/sql/migrations/${today}-create-${files}.sql`]: 'library/sql/migrations/migration.sql',
    [`${library}/src/index.ts`]: 'library/src/index.ts',
    [`${library}/src/${files}.module.ts`]: 'library/src/module.ts',
    [`${library}/src/domain/${file}.ts`]: 'library/src/domain/resource.ts',
    [`${library}/src/application/${files}.service.ts`]: 'library/src/application/service.ts',
    [`${library}/src/persistence/${files}.store.ts`]: 'library/src/persistence/store.ts',
    [`${library}/src/http/${file}.dto.ts`]: 'library/src/http/dto.ts',
    [`${library}/src/http/${files}.controller.ts`]: 'library/src/http/controller.ts',
    [`test/api/${files}/${files}.e2e-spec.ts`]: 'test/spec.ts',
  };
}

/** Existing file → the text before which a line is inserted, and the line. */
function registrations({ file, files, nouns, Nouns, Class, Classes, table }) {
  const inTree = `    ${`${files}/`.padEnd(19)}${nouns} of teams`;
  const operations = [`list${Classes}`, `create${Class}`, `get${Class}`, `update${Class}`, `delete${Class}`];
  return [
    ['.dependency-cruiser.cjs', 'const domain = {\n', `  '${files}': [],\n`, 'after'],
    ['ARCHITECTURE.md', '  execution/           how', `${inTree}\n`],
    ['apps/api/src/app.module.ts', '\n@Module({})', `import { ${Classes}Module } from '#domain/${files}';\n`],
    ['apps/api/src/app.module.ts', '        DefinitionsHttpModule,\n', `        ${Classes}Module,\n`],
    [
      'apps/api/src/openapi.ts',
      '];\n\nconst PATH_PARAMETERS',
      `  { name: '${Nouns}', description: '${Nouns} of teams.' },\n`,
    ],
    ['apps/headrace/src/process/migrations.ts', '];\n\nexport const migrationSources', `  'domain/${files}',\n`],
    ['libs/platform/auth/src/domain/roles.ts', "  'secrets:manage',\n", `  '${table}:read',\n  '${table}:manage',\n`],
    ['libs/platform/auth/src/domain/domain.spec.ts', '  const reads = [\n', `    '${table}:read',\n`, 'after'],
    [
      'test/architecture/route-audit.e2e-spec.ts',
      '    const beyond = [\n',
      `      'list${Classes}',\n      'create${Class}',\n`,
      'after',
    ],
    [
      'test/api/access-table.e2e-spec.ts',
      'const OPERATIONS_ELSEWHERE: Readonly<Record<string, string>> = {',
      operations.map((id) => `\n  ${id}: 'test/api/${files}/${files}.e2e-spec.ts',`).join(''),
      'after',
    ],
  ];
}

/** Reads everything before it writes anything, so that a failure changes no file. */
function plan(names) {
  const words = wordsOf(names);
  const writes = new Map();
  for (const [path, template] of Object.entries(newFiles(names))) {
    if (existsSync(inRoot(path))) throw new InputError(`${path} exists already.`);
    writes.set(path, fillTemplate(template, words));
  }
  for (const [path, anchor, line, side = 'before'] of registrations(words)) {
    const text = writes.get(path) ?? readFileSync(inRoot(path), 'utf8');
    const at = text.indexOf(anchor);
    if (at < 0)
      throw new Error(`${path} does not contain ${JSON.stringify(anchor)}; scripts/new-resource.mjs is stale.`);
    const position = side === 'after' ? at + anchor.length : at;
    writes.set(path, text.slice(0, position) + line + text.slice(position));
  }
  return writes;
}

function format(files) {
  const formatter = inRoot('node_modules/oxfmt/bin/oxfmt');
  execFileSync(process.execPath, [formatter, '--no-error-on-unmatched-pattern', ...files], { cwd: inRoot() });
}

try {
  const names = readArguments();
  const writes = plan(names);
  for (const [path, text] of writes) {
    const file = inRoot(path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    console.log(path);
  }
  format(writes.keys());
  console.log('\nNext: `npm run generate`, then docs/extending/add-a-resource.md.');
} catch (error) {
  if (!(error instanceof InputError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
