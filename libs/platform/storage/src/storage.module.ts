import { Global, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { Settings, SettingsError } from '#platform/config';
import { Readiness } from '#platform/http';
import type { Clock } from '#platform/kernel';
import { extensionsOf, hasExtension } from '#platform/plugins';
import { ObjectsController } from './http/objects.controller.js';
import { LocalObjectStore } from './local-object-store.js';
import { ObjectDisposal, ObjectDisposalTask } from './object-disposal.js';
import { ObjectStore } from './object-store.js';
import { openConfiguredS3 } from './s3/open-configured-store.js';
import { PluginObjectStore } from './plugin-object-store.js';
import { SignedLinks } from './signed-links.js';

/** The store that the settings name, for a command without an application. The stores of plugins are not known here. */
export const openObjectStore = async (settings: Settings, clock: Clock): Promise<ObjectStore> =>
  (await openConfiguredS3(settings)) ?? new LocalObjectStore(settings, new SignedLinks(settings, clock));

/** Needs `Settings`, `Clock` and `Database` to be provided globally. */
@Global()
@Module({
  providers: [
    SignedLinks,
    // Also with S3: links that were issued before the configuration changed keep working.
    LocalObjectStore,
    {
      provide: ObjectStore,
      inject: [Settings, LocalObjectStore, DiscoveryService],
      useFactory: async (
        settings: Settings,
        local: LocalObjectStore,
        discovery: DiscoveryService,
      ): Promise<ObjectStore> => {
        if (!hasExtension(discovery, ObjectStore)) return (await openConfiguredS3(settings)) ?? local;
        if (settings.objectStoreUrl === undefined) return new PluginObjectStore();
        throw new SettingsError(['OBJECT_STORE_URL must not be set: a plugin adds the object store.']);
      },
    },
    ObjectDisposal,
  ],
  exports: [ObjectStore, LocalObjectStore, SignedLinks, ObjectDisposal],
})
export class StorageModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly local: LocalObjectStore,
    private readonly store: ObjectStore,
    private readonly discovery: DiscoveryService,
  ) {}

  async onModuleInit(): Promise<void> {
    if (this.store instanceof PluginObjectStore) this.store.use(this.onlyExtension());
    else if (extensionsOf(this.discovery, ObjectStore).length > 0)
      throw new Error('An object store of a plugin must be a class in the list of providers, without a factory.');
    await this.local.removeAbandoned();
  }

  onApplicationShutdown(): void {
    this.store.close();
  }

  private onlyExtension(): ObjectStore {
    const [store, other] = extensionsOf(this.discovery, ObjectStore);
    if (store && !other) return store;
    throw new Error('Two plugins add an object store, and an installation has one: remove one of them.');
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
