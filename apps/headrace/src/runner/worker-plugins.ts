import type { Backend } from '#execution/backends';
import type { Environment } from '#platform/config';
import { CommandError } from '../cli/command.js';

/** `direct` is another name of `process`. */
const BUILT_IN = ['process', 'direct', 'docker', 'kubernetes'];

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
    { Clock, SystemClock },
  ] = await Promise.all([
    import('@nestjs/core'),
    import('#execution/backends'),
    import('#platform/plugins'),
    import('../process/plugins.js'),
    import('#platform/kernel'),
  ]);
  const plugins = await openPlugins(parseSettings({ HEADRACE_PLUGINS }));
  class WorkerPluginsModule {}
  class WorkerClockModule {}
  const context = await NestFactory.createApplicationContext(
    {
      module: WorkerPluginsModule,
      imports: [
        DiscoveryModule,
        {
          module: WorkerClockModule,
          global: true,
          providers: [{ provide: Clock, useClass: SystemClock }],
          exports: [Clock],
        },
        PluginsModule.of(plugins, 'worker', pluginVariablesOf(environment)),
      ],
    },
    { abortOnError: false, logger: ['error', 'warn'] },
  );
  const backends = extensionsOf(context.get(DiscoveryService), Backend);
  const names = [...BUILT_IN, ...backends.map(({ name }) => name)];
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw new CommandError(`There are two backends ${repeated}: remove one of them.`);
  return { backends, close: () => context.close() };
}
