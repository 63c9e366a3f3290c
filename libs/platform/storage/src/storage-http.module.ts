import { Module, type OnModuleInit } from '@nestjs/common';
import { Readiness } from '#platform/http';
import { ObjectsController } from './http/objects.controller.js';
import { ObjectStore } from './object-store.js';

/**
 * `GET /objects/*`: downloads by signed URL, for the API application, which is ready only while objects can be stored.
 * Needs {@link StorageModule}.
 */
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
