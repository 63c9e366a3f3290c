import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type DynamicModule, Global, type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import 'reflect-metadata';
import { FactoriesModule } from '#domain/factories';
import { WebhooksModule } from '#domain/webhooks';
import { AuthModule } from '#platform/auth';
import { ensureDataDir, parseSettings, Settings, withSettings } from '#platform/config';
import { Clock, SystemClock } from '#platform/kernel';
import { PersistenceModule } from '#platform/persistence';
import { SecretsModule } from '#platform/secrets';
import { commandKind, CommandError } from '../cli/command.js';
import { OUTPUT_OPTIONS } from '../cli/shared-options.js';
import { openDatabase } from './database.js';
import { connectLauncher } from './launcher.js';
import { logErrorsOnly } from './logging.js';
import { openPlugins, pluginMigrations } from './plugins.js';
import { withInstallationKeys } from './prepare-settings.js';

const FEW_CONNECTIONS = 2;

@Global()
@Module({})
class ServicesModule {
  static of(settings: Settings, imports: readonly Type<unknown>[]): DynamicModule {
    return {
      module: ServicesModule,
      imports: [DiscoveryModule, PersistenceModule.forRoot(), AuthModule, FactoriesModule, ...imports],
      providers: [
        { provide: Settings, useValue: withSettings(settings, { databasePoolSize: FEW_CONNECTIONS }) },
        { provide: Clock, useClass: SystemClock },
      ],
      exports: [Settings, Clock, DiscoveryModule],
    };
  }
}

/** Runs `work` with the services of a migrated database, whose URL must be in the settings, and of further modules. */
export async function withServices<T>(
  settings: Settings,
  work: (services: INestApplicationContext) => Promise<T>,
  imports: readonly Type<unknown>[] = [],
): Promise<T> {
  const services = await NestFactory.createApplicationContext(ServicesModule.of(settings, imports), {
    abortOnError: false,
    bufferLogs: false,
  });
  try {
    return await work(services);
  } finally {
    await services.close();
  }
}

type Work = (services: INestApplicationContext) => Promise<number | void>;

/** Runs `work` with the database of the installation, whether `up` is running or not. `prepare` completes the settings. */
async function withInstallation(
  work: Work,
  imports: readonly Type<unknown>[],
  prepare = (settings: Settings): Settings => settings,
): Promise<number | void> {
  logErrorsOnly();
  const { environment } = await connectLauncher();
  const settings = parseSettings(environment);
  if (settings.databaseUrl === undefined && !existsSync(join(settings.dataDir, 'secrets'))) {
    throw new CommandError(`no installation found in ${settings.dataDir}. Start one, or set HEADRACE_DATA_DIR.`);
  }
  const prepared = prepare(withSettings(settings, { dataDir: ensureDataDir(settings.dataDir) }));
  const migrations = pluginMigrations(await openPlugins(settings));
  const database = await openDatabase(prepared, { migrate: false, migrations });
  try {
    return await withServices(database.settings, work, imports);
  } finally {
    await database.close();
  }
}

/** A command that uses the database of the installation. `imports`: modules that it needs in addition to the common ones. */
export const databaseCommandWith = (...imports: readonly Type<unknown>[]) =>
  commandKind(OUTPUT_OPTIONS, (_values, work: Work) => withInstallation(work, imports));

/** Never generates a key, because other processes could not decrypt values that were encrypted with it. */
export const secretsCommand = commandKind(OUTPUT_OPTIONS, (_values, work: Work) =>
  withInstallation(work, [SecretsModule, WebhooksModule], (settings) => {
    const prepared = withInstallationKeys(settings, settings.dataDir, { generates: false });
    if (prepared.secretsKey !== undefined) return prepared;
    throw new CommandError('SECRETS_KEY is required: the key with which the installation runs.');
  }),
);

export const unknownTeam = (uid: string): CommandError =>
  new CommandError(`team ${uid} not found; \`headrace team list\` shows the UIDs.`);
