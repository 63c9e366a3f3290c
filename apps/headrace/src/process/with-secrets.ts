import type { INestApplicationContext } from '@nestjs/common';
import { SecretsModule } from '#platform/secrets';
import { WebhooksModule } from '#domain/webhooks';
import { CommandError } from '../cli/command.js';
import { SEALED_PLACES } from './sealed-places.js';
import { withInstallationKeys } from './prepare-settings.js';
import { withUseCases } from './services.js';

/**
 * For commands that read or write secrets: the use cases, managed secrets, and whatever follows these. A key is never
 * made here: what is sealed under it would open nowhere else.
 */
export function withSecrets<T>(work: (services: INestApplicationContext) => Promise<T>): Promise<T> {
  return withUseCases(work, {
    prepare: (settings) => {
      const prepared = withInstallationKeys(settings, settings.dataDir, { generates: false });
      if (prepared.secretsKey !== undefined) return prepared;
      throw new CommandError('SECRETS_KEY is needed: the same one that the installation runs with.');
    },
    imports: [SecretsModule, WebhooksModule],
    providers: [...SEALED_PLACES],
  });
}
