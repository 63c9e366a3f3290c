import type { INestApplicationContext } from '@nestjs/common';
import { SecretsModule } from '#platform/secrets';
import { WebhooksModule } from '#domain/webhooks';
import { CommandError } from '../cli/command.js';
import { withInstallationKeys } from './secrets-keys.js';
import { withUseCases } from './with-use-cases.js';

/**
 * For commands that read or write secrets: the use cases, managed secrets and their listeners. It never generates a key:
 * what is encrypted with it could not be decrypted anywhere else.
 */
export function withSecrets<T>(work: (services: INestApplicationContext) => Promise<T>): Promise<T> {
  return withUseCases(work, {
    prepare: (settings) => {
      const prepared = withInstallationKeys(settings, settings.dataDir, { generates: false });
      if (prepared.secretsKey !== undefined) return prepared;
      throw new CommandError('SECRETS_KEY is needed: the same one that the installation runs with.');
    },
    imports: [SecretsModule, WebhooksModule],
  });
}
