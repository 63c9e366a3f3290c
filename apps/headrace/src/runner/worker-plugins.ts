import type { Backend } from '#execution/backends';
import type { Environment } from '#platform/config';

export interface WorkerPlugins {
  /** Those that plugins add. */
  readonly backends: readonly Backend[];
  close(): Promise<void>;
}

/** The plugins of HEADRACE_PLUGINS for a worker. Without one, nothing is loaded. */
export async function openWorkerPlugins(environment: Environment): Promise<WorkerPlugins> {
  const { parseSettings, pluginVariablesOf } = await import('#platform/config');
  const { HEADRACE_PLUGINS = '' } = environment;
  if (HEADRACE_PLUGINS.trim() === '') return { backends: [], close: () => Promise.resolve() };
  const [
    { NestFactory, DiscoveryModule, DiscoveryService },
    { Backend },
    { extensionsOf, PluginsModule },
    { openPlugins },
  ] = await Promise.all([
    import('@nestjs/core'),
    import('#execution/backends'),
    import('#platform/plugins'),
    import('../process/plugins.js'),
  ]);
  const plugins = await openPlugins(parseSettings({ HEADRACE_PLUGINS }));
  class WorkerPluginsModule {}
  const context = await NestFactory.createApplicationContext(
    {
      module: WorkerPluginsModule,
      imports: [DiscoveryModule, PluginsModule.of(plugins, 'worker', pluginVariablesOf(environment))],
    },
    { abortOnError: false, logger: ['error', 'warn'] },
  );
  return { backends: extensionsOf(context.get(DiscoveryService), Backend), close: () => context.close() };
}
