import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type DynamicModule, Global, type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import 'reflect-metadata';
import { FactoriesModule } from '#domain/factories';
import { AuthModule } from '#platform/auth';
import { ensureDataDir, parseSettings, Settings, withSettings } from '#platform/config';
import { Clock, SystemClock } from '#platform/kernel';
import { PersistenceModule } from '#platform/persistence';
import { CommandError } from '../cli/command.js';
import { openDatabase } from './database.js';
import { connectLauncher } from './launcher.js';
import { logErrorsOnly } from './logging.js';

const FEW_CONNECTIONS = 2;

/** Modules and providers that a command needs in addition to the common ones. */
export interface MoreServices {
  readonly imports?: readonly Type<unknown>[];
  readonly providers?: readonly Type<unknown>[];
}

/** The services of the command line, without listeners. */
@Global()
@Module({})
class ServicesModule {
  static of(settings: Settings, { imports = [], providers = [] }: MoreServices): DynamicModule {
    return {
      module: ServicesModule,
      imports: [PersistenceModule.forRoot(), AuthModule, FactoriesModule, ...imports],
      providers: [
        { provide: Settings, useValue: withSettings(settings, { databasePoolSize: FEW_CONNECTIONS }) },
        { provide: Clock, useClass: SystemClock },
        ...providers,
      ],
      exports: [Settings, Clock],
    };
  }
}

/** Runs `work` with the services of a migrated database, whose URL must be in the settings. */
export async function withServices<T>(
  settings: Settings,
  work: (services: INestApplicationContext) => Promise<T>,
  more: MoreServices = {},
): Promise<T> {
  const services = await NestFactory.createApplicationContext(ServicesModule.of(settings, more), {
    abortOnError: false,
    bufferLogs: false,
  });
  try {
    return await work(services);
  } finally {
    await services.close();
  }
}

export interface UseCaseOptions extends MoreServices {
  /** Completes the settings before anything is opened. May throw a CommandError. */
  readonly prepare?: (settings: Settings) => Settings;
}

/** For commands that use the database of the installation, whether `up` is running or not. */
export async function withUseCases<T>(
  work: (services: INestApplicationContext) => Promise<T>,
  { prepare = (settings) => settings, ...more }: UseCaseOptions = {},
): Promise<T> {
  logErrorsOnly();
  const { environment } = await connectLauncher();
  const settings = parseSettings(environment);
  if (settings.databaseUrl === undefined && !existsSync(join(settings.dataDir, 'secrets'))) {
    throw new CommandError(`no installation found in ${settings.dataDir}. Start one, or set HEADRACE_DATA_DIR.`);
  }
  const prepared = prepare(withSettings(settings, { dataDir: ensureDataDir(settings.dataDir) }));
  const database = await openDatabase(prepared, { migrate: false });
  try {
    return await withServices(database.settings, work, more);
  } finally {
    await database.close();
  }
}

export const unknownTeam = (uid: string): CommandError =>
  new CommandError(`team ${uid} not found; \`headrace team list\` shows the UIDs.`);
