import { join } from 'node:path';
import { Global, Module, type OnModuleInit } from '@nestjs/common';
import { Settings } from '#libs/config';
import { Clock } from '#libs/kernel';
import { LocalObjectStore } from './local-object-store.js';
import { ObjectStore } from './object-store.js';
import { SignedLinks } from './signed-links.js';

/** Objects on disk under the data directory. Needs `Settings` and `Clock` to be provided globally. */
@Global()
@Module({
  providers: [
    {
      provide: SignedLinks,
      inject: [Settings, Clock],
      useFactory: ({ secretsKey }: Settings, clock: Clock) => {
        if (secretsKey === undefined) throw new Error('SECRETS_KEY is needed: it signs download links.');
        return new SignedLinks(secretsKey, clock);
      },
    },
    {
      provide: LocalObjectStore,
      inject: [Settings, SignedLinks],
      useFactory: (settings: Settings, links: SignedLinks) =>
        new LocalObjectStore(
          { directory: join(settings.dataDir, 'objects'), publicUrl: () => settings.publicUrl },
          links,
        ),
    },
    { provide: ObjectStore, useExisting: LocalObjectStore },
  ],
  exports: [ObjectStore, LocalObjectStore, SignedLinks],
})
export class StorageModule implements OnModuleInit {
  constructor(private readonly store: LocalObjectStore) {}

  async onModuleInit(): Promise<void> {
    await this.store.removeAbandoned();
  }
}
