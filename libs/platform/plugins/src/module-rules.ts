import 'reflect-metadata';
import type { DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { requiredProcesses } from '#platform/kernel';
import { type LoadedPlugin, moduleFor, type PluginProcess } from './plugin.js';

/** They would apply to the requests of Headrace too. */
const GLOBAL_TOKENS: readonly string[] = [APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE];

/** Why the module of a plugin cannot be used; null when they can. Completes "The plugin … ". */
export function moduleFault({ module, processes }: Pick<LoadedPlugin, 'module' | 'processes'>): string | null {
  for (const process of processes) {
    const own: unknown = moduleFor(module, process);
    if (typeof own !== 'function' && (typeof own !== 'object' || own === null))
      return `has a method forProcess that returns no module for ${process}`;
    const providers = providersOf(own);
    if (typeof (module.prototype as { configure?: unknown }).configure === 'function')
      return 'has the method configure, and its middleware would apply to the requests of Headrace';
    const tokens = providers.map((one) => (one as { provide?: unknown }).provide);
    const token = GLOBAL_TOKENS.find((one) => tokens.includes(one));
    if (token !== undefined) return `provides ${token}, which would apply to the requests of Headrace`;
    const fault = processFault(providers, processes);
    if (fault !== null) return fault;
  }
  return null;
}

/** Whether the module of a plugin contains an extension of the extension point, in any process. */
export const pluginExtends = (
  { module, processes }: Pick<LoadedPlugin, 'module' | 'processes'>,
  point: abstract new (...parameters: never[]) => unknown,
): boolean =>
  processes.some((process) =>
    classesOf(providersOf(moduleFor(module, process))).some(({ prototype }) => prototype instanceof point),
  );

/** An extension that some processes have and others lack would divide the installation. */
function processFault(providers: readonly unknown[], processes: readonly PluginProcess[]): string | null {
  for (const type of classesOf(providers)) {
    const missing = requiredProcesses(type).filter((process) => !(processes as readonly string[]).includes(process));
    if (missing.length > 0)
      return `needs the processes ${missing.join(', ')} for ${type.name}: add them to its metadata`;
  }
  return null;
}

const classesOf = (providers: readonly unknown[]): { readonly name: string; readonly prototype: object }[] =>
  providers
    .map((provider) => (typeof provider === 'function' ? provider : (provider as { useClass?: unknown }).useClass))
    .filter((type) => typeof type === 'function');

/** Of the module itself: those that it imports may be of Headrace. */
function providersOf(given: object): unknown[] {
  const dynamic = typeof given === 'function' ? {} : (given as Partial<DynamicModule>);
  const type = dynamic.module ?? given;
  const declared = (Reflect.getMetadata('providers', type) ?? []) as unknown[];
  return [...declared, ...(dynamic.providers ?? [])].filter((one) => one !== null && one !== undefined);
}
