import type { Type } from '@nestjs/common';
import { declarePermissions } from '#platform/auth';
import type { Settings } from '#platform/config';
import { ownVersion } from '#platform/kernel';
import type { MigrationSource } from '#platform/persistence';
import { type LoadedPlugin, loadPlugins, PluginError, pluginSchema } from '#platform/plugins';
import { CommandError } from '../cli/command.js';

/**
 * The plugins of HEADRACE_PLUGINS and the given classes, with their permissions declared. Rejects with a {@link CommandError}.
 */
export async function openPlugins(
  { plugins: specifiers }: Pick<Settings, 'plugins'>,
  classes: readonly Type[] = [],
): Promise<readonly LoadedPlugin[]> {
  try {
    const plugins = await loadPlugins({ specifiers, classes, directory: process.cwd(), version: ownVersion() });
    for (const { name, permissions } of plugins) if (permissions) declarePermissions(name, permissions);
    return plugins;
  } catch (error) {
    throw error instanceof PluginError ? new CommandError(error.message) : error;
  }
}

/** Each may change its own schema only. */
export const pluginMigrations = (plugins: readonly LoadedPlugin[]): MigrationSource[] =>
  plugins.flatMap(({ name, migrations }) =>
    migrations === null ? [] : [{ name, directory: migrations, ownSchema: pluginSchema(name) }],
  );
