// Starts the bundled program. Node.js keeps no compiled code on disk before version 22: the first process of a command stores
// what V8 has compiled, and the next ones compile little. `scripts/lib/bundle.mjs` writes this file to `dist/headrace.cjs`.
'use strict';

const { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { basename, dirname, join } = require('node:path');
const { cachedDataVersionTag, setFlagsFromString } = require('node:v8');
const { Script } = require('node:vm');

const WASM_FLAGS = ['wasm-tier-up', 'wasm-dynamic-tiering'];
/**
 * The HTTP parser of fetch is WebAssembly. V8 of Node.js 20 would optimize it at the first response for longer than a command or a runner
 * exists: half of the processor time of their first request, and 30 MB. Newer versions do not. The flags are set late, and after the module of fetch was loaded: the
 * compiled code of modules of Node.js is valid for its own flags only.
 */
const { fetch } = globalThis;
globalThis.fetch = function fetchFirst(...parameters) {
  if (globalThis.fetch === fetchFirst) globalThis.fetch = fetch;
  void globalThis.Response;
  for (const flag of WASM_FLAGS) setFlagsFromString(`--no-${flag}`);
  return fetch(...parameters);
};

/** All chunks are in its directory. */
const entry = join(__dirname, 'ENTRY');

/** They use different functions of the same chunks. All other commands share what the first of them has compiled. */
const COMMANDS = ['up', 'api', 'ingress', 'processor', 'worker', 'agent run', 'builtin-agent'];
const words = process.argv.slice(2, 4).join(' ');
const command = COMMANDS.find((name) => `${words} `.startsWith(`${name} `)) ?? 'others';

/** V8 accepts code from the same version with the same flags; the tag identifies both. Of the source it compares only the length. */
const build = `BUILD-${cachedDataVersionTag().toString(16)}`;
const cache = join(__dirname, '.code-cache', build, command.replace(' ', '-'));

/** Later, V8 has removed the code of the start, which is not used again. */
const STORE_AFTER_MS = 10_000;
/** Longer than a process needs to write a file. */
const ABANDONED_MS = 60_000;

/** Stored code has lost how it imports: V8 stores no options of a script. Chunks and this file are in the same package. */
const importModule = (specifier) => import(specifier);

const requireOfPackages = createRequire(entry);
const requireAny = Object.assign(
  (id) => (id.startsWith('./') ? load(join(dirname(entry), id)) : requireOfPackages(id)),
  requireOfPackages,
);

const modules = new Map();
/** Those whose compiled code is not stored. */
const missing = new Map();

function load(path) {
  const loaded = modules.get(path);
  if (loaded !== undefined) return loaded;
  const exports = {};
  modules.set(path, exports);
  const stored = join(cache, basename(path));
  const cachedData = readStored(stored);
  // The bundle is written in ASCII, which is read faster than UTF-8.
  const code = readFileSync(path, 'latin1');
  const script = new Script(`(function (exports, require, importModule, __filename) {${code}\n})`, {
    filename: path,
    cachedData,
  });
  if (cachedData === undefined || script.cachedDataRejected) missing.set(stored, script);
  script.runInThisContext()(exports, requireAny, importModule, path);
  return exports;
}

/** Undefined: no process has stored it, or another user has, whose files this one may not read. */
function readStored(path) {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'EACCES') return undefined;
    throw error;
  }
}

function store() {
  if (missing.size === 0) return;
  // As when the next process begins, which would reject code with other flags.
  for (const flag of WASM_FLAGS) setFlagsFromString(`--${flag}`);
  try {
    mkdirSync(cache, { recursive: true });
    for (const [path, script] of missing) {
      const temporary = `${path}.new`;
      // A process that was killed has left it.
      if (statSync(temporary, { throwIfNoEntry: false })?.mtimeMs < Date.now() - ABANDONED_MS) rmSync(temporary);
      writeFileSync(temporary, script.createCachedData(), { flag: 'wx', flush: true });
      renameSync(temporary, path);
    }
  } catch (error) {
    if (error.syscall === undefined) throw error;
    // Another process stores the same, or the installation cannot be written to: the next start is slower, and nothing else.
  }
  missing.clear();
}

setTimeout(store, STORE_AFTER_MS).unref();
process.once('exit', store);
load(entry);
