import { Global, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Readiness } from '#platform/http';
import { ObjectsController } from './http/objects.controller.js';
import { LocalObjectStore } from './local-object-store.js';
import { ObjectDisposal, ObjectDisposalTask } from './object-disposal.js';
import { ObjectStore } from './object-store.js';
import { openConfiguredS3 } from './s3/open-configured-store.js';
import { SignedLinks } from './signed-links.js';

/** Needs `Settings`, `Clock` and `Database` to be provided globally. */
@Global()
@Module({
  providers: [
    SignedLinks,
    // Also with S3: links that were issued before the configuration changed keep working.
    LocalObjectStore,
    {
      provide: ObjectStore,
      inject: [Settings, LocalObjectStore],
      useFactory: async (settings: Settings, local: LocalObjectStore): Promise<ObjectStore> =>
        (await openConfiguredS3(settings)) ?? local,
    },
    ObjectDisposal,
  ],
  exports: [ObjectStore, LocalObjectStore, SignedLinks, ObjectDisposal],
})
export class StorageModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly local: LocalObjectStore,
    private readonly store: ObjectStore,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.local.removeAbandoned();
  }

  onApplicationShutdown(): void {
    this.store.close();
  }
}

/** For the API, which is ready only while objects can be stored. Needs {@link StorageModule}. */
@Module({ controllers: [ObjectsController] })
export class StorageHttpModule implements OnModuleInit {
  constructor(
    private readonly readiness: Readiness,
    private readonly store: ObjectStore,
  ) {}

  onModuleInit(): void {
    this.readiness.register('objects', () => this.store.assertWritable());
  }
}

@Module({ imports: [StorageModule], providers: [ObjectDisposalTask] })
export class StorageJobsModule {}
