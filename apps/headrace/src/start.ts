import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import type { Environment } from '#platform/config';
import { logToOutput } from './process/logging.js';
import { openPlugins } from './process/plugins.js';
import { prepareSettings } from './process/prepare-settings.js';
import { closingTime, ClosingStack, startApp } from './process/run-server.js';
import { openTelemetry } from './process/telemetry.js';
import { startInstallation } from './up/start-installation.js';

export interface StartOptions {
  /**
   * Settings by the names of `.env.example`, such as `{ PORT: '0', HEADRACE_DATA_DIR: '/srv/headrace' }`. The environment of the
   * process is not read.
   */
  readonly settings?: Environment;
  /** Plugins beside those of the setting HEADRACE_PLUGINS: classes with `@Plugin()`. */
  readonly plugins?: readonly Type[];
}

/** A running installation: API, ingress and processor in this process. */
export interface Headrace {
  /** Origin of the API. */
  readonly url: string;
  /** Origin of the webhook ingress. */
  readonly ingressUrl: string;
  /** Bearer token of the first user, the owner of the first team. */
  readonly token: string;
  readonly teamUid: string;
  readonly factoryUid: string;
  /** Of PostgreSQL; that of the embedded server is a socket. */
  readonly databaseUrl: string;
  /** Stops everything in order. Rejects when a part did not stop in time. */
  close(): Promise<void>;
}

/**
 * Starts what `headrace up` starts, without its handling of signals. Rejects with a message for the operator, and leaves nothing
 * open then.
 */
export async function startHeadrace({
  settings: environment = {},
  plugins: given = [],
}: StartOptions = {}): Promise<Headrace> {
  const settings = await prepareSettings(environment);
  const opened = new ClosingStack(closingTime(settings));
  const close = async (): Promise<void> => {
    if (!(await opened.close())) throw new Error('A part of Headrace did not stop; the log names it.');
  };
  try {
    await openTelemetry(settings, opened);
    await logToOutput(settings);
    const plugins = await openPlugins(settings, given);
    const installation = await startInstallation(
      {
        settings,
        opened,
        wait: { timeoutMs: settings.databaseStartTimeout },
        startApp: async (name, start, final) => {
          const app = await startApp(name, () => start(final), final);
          opened.add(name, () => app.close());
          return app;
        },
      },
      plugins,
    );
    const { connection } = installation;
    return {
      url: connection.base_url.replace(/\/api\/v1$/, ''),
      ingressUrl: connection.ingress_base_url,
      token: connection.token,
      teamUid: connection.team_uid,
      factoryUid: connection.factory_uid,
      databaseUrl: installation.settings.databaseUrl ?? '',
      close,
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}
