import { type DynamicModule, Global, Module } from '@nestjs/common';
import { PLUGIN_PREFIX } from '#platform/config';
import { type LoadedPlugin, moduleFor, type PluginProcess, type PluginSummary } from './plugin.js';

/** The variables that operators set for plugins. Injected into the providers of a plugin. */
export class PluginVariables {
  constructor(private readonly variables: Readonly<Record<string, string>>) {}

  /** Those of a plugin without their prefix: `{ DIRECTORY: '…' }` for `HEADRACE_PLUGIN_ACME_SIGN_DIRECTORY` and `acme-sign`. */
  of(name: string): Readonly<Record<string, string>> {
    const prefix = `${PLUGIN_PREFIX}${name.toUpperCase().replaceAll('-', '_')}_`;
    return Object.fromEntries(
      Object.entries(this.variables).flatMap(([variable, value]) =>
        variable.startsWith(prefix) ? [[variable.slice(prefix.length), value]] : [],
      ),
    );
  }
}

/** The plugins of an installation: a dependency-injection token. */
export class InstalledPlugins {
  constructor(readonly list: readonly LoadedPlugin[]) {}

  get summaries(): PluginSummary[] {
    return this.list.map(({ name, version, processes }) => ({ name, version, processes }));
  }
}

/** The modules of the plugins that a process loads, and {@link InstalledPlugins} for every other module. */
@Global()
@Module({})
export class PluginsModule {
  static of(
    plugins: readonly LoadedPlugin[],
    process: PluginProcess,
    variables: Readonly<Record<string, string>> = {},
  ): DynamicModule {
    return {
      module: PluginsModule,
      imports: [
        ...plugins
          .filter(({ processes }) => processes.includes(process))
          .map(({ module }) => moduleFor(module, process)),
      ],
      providers: [
        { provide: InstalledPlugins, useValue: new InstalledPlugins(plugins) },
        { provide: PluginVariables, useValue: new PluginVariables(variables) },
      ],
      exports: [InstalledPlugins, PluginVariables],
    };
  }
}
