import type { Backend } from '#execution/backends';
import { type Environment, parseSettings, pluginVariablesOf } from '#platform/config';
import { Clock, SystemClock } from '#platform/kernel';
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
      global: true,
      imports: [DiscoveryModule, PluginsModule.of(plugins, 'worker', pluginVariablesOf(environment))],
      providers: [{ provide: Clock, useClass: SystemClock }],
      exports: [Clock],
    },
    { abortOnError: false, logger: ['error', 'warn'] },
  );
  const backends = extensionsOf(context.get(DiscoveryService), Backend);
  const names = [...BUILT_IN, ...backends.map(({ name }) => name)];
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw new CommandError(`There are two backends ${repeated}: remove one of them.`);
  return { backends, close: () => context.close() };
}
