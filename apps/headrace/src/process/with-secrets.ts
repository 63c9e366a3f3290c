import type { INestApplicationContext } from '@nestjs/common';
import { SecretsModule } from '#platform/secrets';
import { WebhooksModule } from '#domain/webhooks';
import { CommandError } from '../cli/command.js';
import { withInstallationKeys } from './prepare-settings.js';
import { withUseCases } from './services.js';

/**
 * For commands that read or write secrets: the use cases, managed secrets and their listeners. It never generates a key,
 * because other processes could not decrypt values that were encrypted with it.
 */
export function withSecrets<T>(work: (services: INestApplicationContext) => Promise<T>): Promise<T> {
  return withUseCases(work, {
    prepare: (settings) => {
      const prepared = withInstallationKeys(settings, settings.dataDir, { generates: false });
      if (prepared.secretsKey !== undefined) return prepared;
      throw new CommandError('SECRETS_KEY is required: the key with which the installation runs.');
    },
    imports: [SecretsModule, WebhooksModule],
  });
}
