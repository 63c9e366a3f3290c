import { existsSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Type } from '@nestjs/common';
import { satisfies, valid, validRange } from 'semver';
import { z } from 'zod';
import { moduleFault } from './module-rules.js';
import {
  type LoadedPlugin,
  PLUGIN_PROCESSES,
  type PluginMetadata,
  type PluginModule,
  readPluginMark,
} from './plugin.js';

/** A plugin cannot be loaded; the message names it and says what to do. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
}

const NAME = /^[a-z](?:[a-z0-9]|-(?=[a-z0-9])){0,39}$/;
const PERMISSION = /^[a-z][a-z0-9_]*:[a-z][a-z0-9_]*$/;
/** The source of our own migrations. */
const RESERVED = ['headrace'];

const metadataSchema = z.strictObject({
  name: z
    .string()
    .regex(
      NAME,
      'must consist of lower-case letters, digits and single -, begin with a letter, and not exceed 40 characters',
    )
    .refine((name) => !RESERVED.includes(name), 'is reserved'),
  version: z.string().refine((version) => valid(version) !== null, 'must be a semantic version such as 1.0.0'),
  headrace: z
    .string()
    .refine((range) => validRange(range) !== null, 'must be a range of semantic versions such as ^0.2'),
  processes: z.array(z.enum(PLUGIN_PROCESSES)).min(1),
  migrations: z
    .union([z.instanceof(URL), z.string()])
    .refine(isDirectory, 'must be a directory, as a file: URL or an absolute path')
    .optional(),
  permissions: z
    .record(z.string().regex(PERMISSION, 'must be <resource>:<action>'), z.enum(['admin', 'member', 'viewer']))
    .optional(),
});

const pathOf = (directory: URL | string): string =>
  directory instanceof URL || directory.startsWith('file:') ? fileURLToPath(directory) : directory;

function isDirectory(directory: URL | string): boolean {
  if (directory instanceof URL && directory.protocol !== 'file:') return false;
  const path = pathOf(directory);
  return isAbsolute(path) && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

export interface LoadOptions {
  /** Package names, which are resolved where Headrace is installed, and paths of files, relative to `directory`. */
  readonly specifiers: readonly string[];
  /** Classes with `@Plugin()` that are loaded already. */
  readonly classes?: readonly Type[];
  readonly directory: string;
  /** Of Headrace. */
  readonly version: string;
}

/** Rejects with a {@link PluginError} for the first plugin that cannot be used. */
export async function loadPlugins({
  specifiers,
  classes = [],
  directory,
  version,
}: LoadOptions): Promise<LoadedPlugin[]> {
  const loaded: LoadedPlugin[] = [];
  const add = (specifier: string, exported: unknown): void => {
    const plugin = checkPlugin(specifier, exported, version);
    if (loaded.some(({ name }) => name === plugin.name))
      throw new PluginError(`Two plugins have the name ${plugin.name}: remove one of them.`);
    loaded.push(plugin);
  };
  for (const specifier of specifiers) add(specifier, await importPlugin(specifier, directory));
  for (const plugin of classes) add(plugin.name, plugin);
  return loaded;
}

/** `specifier`: what messages call it. */
function checkPlugin(specifier: string, exported: unknown, version: string): LoadedPlugin {
  const mark = readPluginMark(exported);
  if (mark.kind === 'other_copy')
    throw new PluginError(
      `The plugin ${specifier} uses another copy of Headrace than the one that runs: install both in one directory, and declare headrace as a peer dependency of the plugin.`,
    );
  if (mark.kind === 'none')
    throw new PluginError(
      `The plugin ${specifier} has no default export that is a class with @Plugin() of headrace/plugin.`,
    );
  const result = metadataSchema.safeParse(mark.metadata);
  if (!result.success) {
    const problems = result.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
    throw new PluginError(`The metadata of the plugin ${specifier} is not valid: ${problems.join('; ')}.`);
  }
  const { name, headrace, migrations }: PluginMetadata = mark.metadata;
  if (!satisfies(version, headrace, { includePrerelease: true }))
    throw new PluginError(
      `The plugin ${name} works with Headrace ${headrace}, and this is ${version}: install another version of one of them.`,
    );
  const module = exported as PluginModule;
  const fault = moduleFault({ module, processes: mark.metadata.processes });
  if (fault !== null) throw new PluginError(`The plugin ${name} ${fault}.`);
  return { ...mark.metadata, module, migrations: migrations === undefined ? null : pathOf(migrations) };
}

async function importPlugin(specifier: string, directory: string): Promise<unknown> {
  const url = resolvePlugin(specifier, directory);
  assertOneNest(specifier, url);
  try {
    const { default: exported } = (await import(url)) as { default?: unknown };
    // What compilers write for CommonJS has the default export of the source in a property.
    const { __esModule: isCompiled, default: inner } = (exported ?? {}) as { __esModule?: boolean; default?: unknown };
    return isCompiled === true ? inner : exported;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new PluginError(`The plugin ${specifier} cannot be loaded: ${reason}`, { cause: error });
  }
}

function resolvePlugin(specifier: string, directory: string): string {
  if (/^\.{0,2}\//.test(specifier)) {
    const file = resolve(directory, specifier);
    if (!existsSync(file)) throw new PluginError(`The plugin ${specifier} does not exist: there is no file ${file}.`);
    return pathToFileURL(file).href;
  }
  try {
    const url = import.meta.resolve(specifier);
    if (!url.startsWith('file:')) throw new Error(`${url} is no file`);
    return url;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new PluginError(
      `The plugin ${specifier} is not installed beside Headrace: run \`npm install ${specifier}\` (${reason}).`,
      { cause: error },
    );
  }
}

/** Nest identifies its own classes, such as ModuleRef, by the copy that they come from. */
function assertOneNest(specifier: string, url: string): void {
  const ours = nestFrom(import.meta.url);
  const theirs = nestFrom(url);
  if (theirs !== null && ours !== null && theirs !== ours)
    throw new PluginError(
      `The plugin ${specifier} uses another copy of @nestjs/common (${theirs}) than Headrace: install both in one directory, and declare @nestjs/common as a peer dependency of the plugin.`,
    );
}

/** The directory of the package `@nestjs/common` that a module gets; null without one. */
function nestFrom(url: string): string | null {
  const directories = createRequire(url).resolve.paths('@nestjs/common') ?? [];
  const found = directories
    .map((path) => join(path, '@nestjs/common'))
    .find((path) => existsSync(join(path, 'package.json')));
  return found === undefined ? null : realpathSync(found);
}
